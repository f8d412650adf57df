#define KIZAMI_TILE_SLICE_PRODUCTS(V)    \
  V(pairs, 128, 64, 256, 1, 1, 1, 8)     \
  V(pairs, 128, 64, 128, 2, 1, 1, 8)     \
  V(pairs, 128, 64, 64, 4, 1, 1, 8)      \
  V(pairs, 128, 128, 256, 1, 1, 1, 8)    \
  V(pairs, 128, 128, 64, 4, 1, 1, 8)     \
  V(pairs, 128, 128, 128, 2, 1, 1, 8)    \
  V(pairs, 256, 128, 64, 4, 2, 1, 8)     \
  V(diagonal, 128, 64, 64, 4, 1, 1, 8)   \
  V(diagonal, 128, 128, 128, 2, 1, 1, 8) \
  V(diagonal, 128, 128, 32, 8, 1, 1, 8)  \
  V(diagonal, 128, 128, 64, 4, 1, 1, 8)  \
  V(diagonal, 256, 128, 64, 4, 2, 1, 8)
