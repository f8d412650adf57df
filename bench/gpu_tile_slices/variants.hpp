#define KIZAMI_TILE_SLICE_PRODUCTS(V)    \
  V(pairs, 128, 64, 128, 1, 1, 1, 8)     \
  V(pairs, 128, 128, 128, 1, 1, 1, 8)    \
  V(pairs, 128, 128, 256, 1, 1, 1, 8)    \
  V(pairs, 128, 128, 128, 2, 1, 1, 8)    \
  V(pairs, 128, 128, 64, 4, 1, 1, 8)     \
  V(pairs, 128, 64, 128, 2, 1, 1, 8)     \
  V(diagonal, 128, 64, 128, 2, 1, 1, 8)  \
  V(diagonal, 128, 128, 128, 1, 1, 1, 8) \
  V(diagonal, 128, 128, 64, 2, 1, 1, 8)  \
  V(diagonal, 128, 128, 64, 1, 1, 1, 8)  \
  V(diagonal, 128, 128, 256, 1, 1, 1, 8) \
  V(diagonal, 128, 128, 128, 2, 1, 1, 8) \
  V(diagonal, 128, 128, 64, 4, 1, 1, 8)  \
  V(diagonal, 256, 128, 64, 4, 2, 1, 8)
