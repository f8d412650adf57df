// SPDX-License-Identifier: MIT
// The entry points of variants.hpp.
#include "tile_kernels/attention.hpp"
#include "variants.hpp"

#define ENTRY(suffix, visible, type, T, head, tile_q, tile_k, occ, warps)                                              \
  extern "C" [[cutile::hint(900, occupancy = occ, num_worker_warps_per_cta = warps)]] __tile_global__ void             \
      attention_##type##_h##head##_##tile_q##x##tile_k##_o##occ##_w##warps##suffix(                                    \
          const T* __restrict__ Q, const T* __restrict__ K, const T* __restrict__ V, T* __restrict__ O, int num_heads, \
          int num_queries, int num_keys, float c) {                                                                    \
    kizami::tile_kernels::attention_block<T, tile_q, tile_k, head, kizami::tile_kernels::Visible::visible>(            \
        Q, K, V, O, num_heads, num_queries, num_keys, c);                                                              \
  }
#define BOTH(...) ENTRY(, kAll, __VA_ARGS__) ENTRY(_causal, kCausal, __VA_ARGS__)
KIZAMI_TILE_ATTENTION(BOTH)
