// SPDX-License-Identifier: MIT
// The products of a batch of split FP32 operands in one persistent launch, tile by tile, product by product, as
// product_ec_sm90.cuh makes one. A kernel of its own: that of one product has no registers left for what only a batch
// asks, and would spill.
#pragma once

#include "engines/hopper/product_ec_sm90.cuh"

namespace kizami::engines::hopper {

/// The products of a batch whose planes hold split s, one after another, for a warpgroup.
template <int kStages>
struct EcProductOfBatch {
  static constexpr bool kIsBatch = true;
  static constexpr bool kIsTriangle = false;
  const EcBatchParams& all;
  const std::int8_t* decisions;  ///< [num_products] in shared memory
  int s = 0;
  // Where the products of the split before have left the ring, and how many promotions there were.
  RingPlace<kStages> ring;
  std::uint32_t turn = 0;
  // As in EcParams.
  std::uint32_t num_tiles;
  static constexpr auto kNumTiles = &EcProductOfBatch::num_tiles;
  std::int32_t m;
  std::int32_t n;
  std::int64_t c_col_stride;
  // Of the product that has been entered.
  float* c = nullptr;
  const std::int32_t* a_scales = nullptr;
  const std::int32_t* b_scales = nullptr;
  std::int32_t has_aligned_c = 0;

  __device__ __forceinline__ EcProductOfBatch(const EcBatchParams& params, const std::int8_t* in_shared)
      : all(params),
        decisions(in_shared),
        num_tiles(params.num_tiles),
        m(params.m),
        n(params.n),
        c_col_stride(params.c_col_stride) {}
  /// What all products have.
  // NOLINTNEXTLINE(google-explicit-constructor): it stands for EcParams
  __device__ __forceinline__ operator const EcParams&() const { return all; }
  /// @return false: a product of the other split
  __device__ __forceinline__ bool enter(int product) {
    if (decisions[product] != s) return false;
    c = all.c_array == nullptr ? all.c + product * all.c_product_stride : all.c_array[product];
    a_scales = (s == 0 ? all.a_scales : all.second_a_scales) + product * all.a_scales_stride;
    b_scales = (s == 0 ? all.b_scales : all.second_b_scales) + product * all.b_scales_stride;
    has_aligned_c = all.has_aligned_c != 0 && reinterpret_cast<std::uintptr_t>(c) % 16 == 0 ? 1 : 0;
    return true;
  }
};

/// Reads which split the planes of each product of a batch hold, by all threads, to shared memory, for every tile asks;
/// -1: none that is multiplied. What earlier kernels have written is there. @return bit s: some product has split s
__device__ __forceinline__ std::uint32_t read_decisions(const EcBatchParams& params, std::int8_t* decisions) {
  std::uint32_t seen = 0;
  for (int product = static_cast<int>(threadIdx.x); product < params.num_products; product += kNumThreads) {
    const std::int32_t decision = params.decision == nullptr ? 0 : params.decision[product * params.decision_stride];
    const bool is_taken = decision >= 0 && decision < params.num_splits;
    decisions[product] = static_cast<std::int8_t>(is_taken ? decision : -1);
    if (is_taken) seen |= 1U << decision;
  }
  std::uint32_t all = 0;
  for (int s = 0; s < params.num_splits; ++s) {
    if (__syncthreads_or(static_cast<int>(seen >> s & 1)) != 0) all |= 1U << s;
  }
  return all;
}

/// product_ec_sm90() of the products of a batch, those of the first split first.
template <class F, int kPromoted>
__global__ void __launch_bounds__(kNumThreads, 1) products_ec_sm90(const __grid_constant__ EcBatchParams params) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  extern __shared__ __align__(1024) std::uint8_t shared_memory[];
  __shared__ std::int8_t decisions[product::kMostEcProducts];
  static_assert(F::kSharedBytes + static_cast<int>(sizeof decisions) <= kMostSharedBytes);
  const CtaPlace cta =
      begin_cta<F>(shared_memory, F::kRingBytes + F::kExchangeBytes, params.splits[0].a_map, params.splits[0].b_map);
  const EcPlace at{cta, blockIdx.x / F::kCluster, gridDim.x / F::kCluster};
  base::follow_previous_kernel();
  const std::uint32_t taken = read_decisions(params, decisions);
  if (taken == 0) return;  // all CTAs
  asm volatile("fence.proxy.async;\n" ::: "memory");
  const bool is_product = has_product(params);
  const std::uint32_t warpgroup = __shfl_sync(kWholeWarp, threadIdx.x / 128, 0);
  EcProductOfBatch<F::kStages> products(params, decisions);

  if (warpgroup == 0) {
    give_registers_back<40>();
    if (threadIdx.x == 0) {
#pragma unroll 1
      for (int s = 0; s < params.num_splits; ++s) {
        if ((taken >> s & 1) == 0) continue;
        products.s = s;
        produce_stages<F>(products, params.splits[s], at, is_product ? params.splits[s].num_k_blocks : 0);
      }
    }
    __syncwarp();
  } else {
    take_registers<232>();
    using product::EcFormat;
#pragma unroll 1
    for (int s = 0; s < params.num_splits; ++s) {
      if ((taken >> s & 1) == 0) continue;
      products.s = s;
      const EcSplitParams& split = params.splits[s];
      const int num_k_blocks = is_product ? split.num_k_blocks : 0;
      if (split.is_tf32 != 0) {
        consume_stages<F, EcFormat::kTf32, kPromoted>(products, at, warpgroup - 1, num_k_blocks,
                                                      split.block_promotions);
      } else {
        consume_stages<F, EcFormat::kF16, kPromoted>(products, at, warpgroup - 1, num_k_blocks, split.block_promotions);
      }
    }
  }
  if constexpr (F::kCluster > 1) cluster_sync();
#else
  __trap();  // built for another architecture
#endif
}

template <EcForm form, product::EcPromotion promotion>
EcKernel ec_batch_kernel() {
  using F = EcShapeOf<form>;
  static_assert(product::takes_ec_batches(promotion));
  return {reinterpret_cast<const void*>(&products_ec_sm90<F, stages_of(promotion)>), F::kSharedBytes};
}

}  // namespace kizami::engines::hopper

#define KIZAMI_INSTANTIATE_EC_BATCH_KERNEL(form, promotion) \
  template ::kizami::engines::hopper::EcKernel              \
  kizami::engines::hopper::ec_batch_kernel<kizami::engines::EcForm::form, kizami::product::EcPromotion::promotion>()
