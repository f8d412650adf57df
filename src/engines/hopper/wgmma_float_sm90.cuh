// SPDX-License-Identifier: MIT
// wgmma of floating-point slices into FP32: a warpgroup multiplies 64 lines by 192, 32 bytes of k a time, both operands
// from shared memory. Descriptors are as wgmma_sm90.cuh says, registers as wgmma_text_sm90.cuh.
#pragma once

#include <cstdint>

#include "base/wgmma_sm90.cuh"
#include "kizami/policy.hpp"

namespace kizami::engines::hopper {

/// d (64 x 192) += rows (64 lines) times columns (192 lines), 32 bytes of k; d = without `accumulate`.
template <SliceFormat kFormat>
__device__ __forceinline__ void wgmma_float(float (&d)[96], std::uint32_t rows, std::uint32_t columns,
                                            std::int32_t accumulate) {
  if constexpr (kFormat == SliceFormat::kFp16) {
    KIZAMI_WGMMA(96, "+f", "m64n192k16.f32.f16.f16", ", 1, 1, 0, 0");
  } else if constexpr (kFormat == SliceFormat::kBf16) {
    KIZAMI_WGMMA(96, "+f", "m64n192k16.f32.bf16.bf16", ", 1, 1, 0, 0");
  } else if constexpr (kFormat == SliceFormat::kE4m3) {
    KIZAMI_WGMMA(96, "+f", "m64n192k32.f32.e4m3.e4m3", ", 1, 1");
  } else {
    static_assert(kFormat == SliceFormat::kE5m2);
    KIZAMI_WGMMA(96, "+f", "m64n192k32.f32.e5m2.e5m2", ", 1, 1");
  }
}

}  // namespace kizami::engines::hopper
