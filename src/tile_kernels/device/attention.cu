// SPDX-License-Identifier: MIT
// Entry points of attention: FP16 and BF16, heads of 64 and 128, all keys and causal. Two warp groups of 64 queries
// each. Of 64 keys at a time (heads of 128) the compiler keeps three and four tiles on their way, and the softmax of one
// runs beside the products of another; of 128 it keeps one (tile/docs/attention.md). grid: (ceil(queries / 128), heads, 1)
#include "tile_kernels/attention.hpp"

namespace kernels = kizami::tile_kernels;

#define ATTENTION(name, T, tile_k, head, visible)                                                                  \
  extern "C" [[cutile::hint(900, occupancy = 1, num_worker_warps_per_cta = 8)]] __tile_global__ void name(         \
      const T* __restrict__ Q, const T* __restrict__ K, const T* __restrict__ V, T* __restrict__ O, int num_heads, \
      int num_queries, int num_keys, float c) {                                                                    \
    kernels::attention_block<T, 128, tile_k, head, kernels::Visible::visible>(Q, K, V, O, num_heads, num_queries,  \
                                                                              num_keys, c);                        \
  }
ATTENTION(attention_f16_64, __half, 128, 64, kAll)
ATTENTION(attention_f16_64_causal, __half, 128, 64, kCausal)
ATTENTION(attention_f16_128, __half, 64, 128, kAll)
ATTENTION(attention_f16_128_causal, __half, 64, 128, kCausal)
ATTENTION(attention_bf16_64, __nv_bfloat16, 128, 64, kAll)
ATTENTION(attention_bf16_64_causal, __nv_bfloat16, 128, 64, kCausal)
ATTENTION(attention_bf16_128, __nv_bfloat16, 64, 128, kAll)
ATTENTION(attention_bf16_128_causal, __nv_bfloat16, 64, 128, kCausal)
