// SPDX-License-Identifier: MIT
// Entry points of attention: FP16 and BF16, heads of 64 and 128, all keys and causal; 128 keys at a time. Heads of 128
// are done by two warp groups of 64 queries each, heads of 64 by one, of which a multiprocessor has two: of those that
// were timed the quickest from 4096 keys on, or within 2 % of it (tile/docs/attention.md).
// grid: (ceil(queries / tile of queries), heads, 1)
#include "tile_kernels/attention.hpp"

namespace kernels = kizami::tile_kernels;

#define ATTENTION(name, T, tile_q, head, visible, ctas, warps)                                                     \
  extern "C" [[cutile::hint(900, occupancy = ctas, num_worker_warps_per_cta = warps)]] __tile_global__ void name(  \
      const T* __restrict__ Q, const T* __restrict__ K, const T* __restrict__ V, T* __restrict__ O, int num_heads, \
      int num_queries, int num_keys, float c) {                                                                    \
    kernels::attention_block<T, tile_q, 128, head, kernels::Visible::visible>(Q, K, V, O, num_heads, num_queries,  \
                                                                              num_keys, c);                        \
  }
ATTENTION(attention_f16_64, __half, 64, 64, kAll, 2, 4)
ATTENTION(attention_f16_64_causal, __half, 64, 64, kCausal, 2, 4)
ATTENTION(attention_f16_128, __half, 128, 128, kAll, 1, 8)
ATTENTION(attention_f16_128_causal, __half, 128, 128, kCausal, 1, 8)
ATTENTION(attention_bf16_64, __nv_bfloat16, 64, 64, kAll, 2, 4)
ATTENTION(attention_bf16_64_causal, __nv_bfloat16, 64, 64, kCausal, 2, 4)
ATTENTION(attention_bf16_128, __nv_bfloat16, 128, 128, kAll, 1, 8)
ATTENTION(attention_bf16_128_causal, __nv_bfloat16, 128, 128, kCausal, 1, 8)
