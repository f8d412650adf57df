// SPDX-License-Identifier: MIT
// wgmma of FP16 and TF32 into FP32: a warpgroup multiplies 64 lines by N lines, 32 bytes of k (16 FP16, 8 TF32) a time,
// both operands from shared memory. Descriptors are as wgmma_sm90.cuh says, registers as wgmma_text_sm90.cuh.
//
// The sum of an instruction is no FP32 sum: the products of 16 (TF32: 8) terms are aligned with the accumulator, cut
// off below its last place with two bits to spare, and the sum is cut off again. [Fasi2021]
#pragma once

#include <cstdint>

#include "base/wgmma_sm90.cuh"
#include "product/ec_planes.hpp"

namespace kizami::engines::hopper {

template <int kRegisters>
__device__ __forceinline__ void pin(float (&d)[kRegisters]) {
#pragma unroll
  for (int i = 0; i < kRegisters; ++i) asm volatile("" : "+f"(d[i])::"memory");
}

/// d (64 x 64) += rows (64 lines) times columns (64 lines), 32 bytes of k; d = without `accumulate`.
template <product::EcFormat kFormat>
__device__ __forceinline__ void wgmma_ec(float (&d)[32], std::uint32_t rows, std::uint32_t columns,
                                         std::int32_t accumulate) {
  if constexpr (kFormat == product::EcFormat::kF16) {
    KIZAMI_WGMMA(32, "+f", "m64n64k16.f32.f16.f16", ", 1, 1, 0, 0");
  } else {
    KIZAMI_WGMMA(32, "+f", "m64n64k8.f32.tf32.tf32", ", 1, 1");
  }
}

/// d (64 x 104) += rows (64 lines) times columns (104 lines), 32 bytes of k; d = without `accumulate`.
template <product::EcFormat kFormat>
__device__ __forceinline__ void wgmma_ec(float (&d)[52], std::uint32_t rows, std::uint32_t columns,
                                         std::int32_t accumulate) {
  if constexpr (kFormat == product::EcFormat::kF16) {
    KIZAMI_WGMMA(52, "+f", "m64n104k16.f32.f16.f16", ", 1, 1, 0, 0");
  } else {
    KIZAMI_WGMMA(52, "+f", "m64n104k8.f32.tf32.tf32", ", 1, 1");
  }
}

/// d (64 x 112) += rows (64 lines) times columns (112 lines), 32 bytes of k; d = without `accumulate`.
template <product::EcFormat kFormat>
__device__ __forceinline__ void wgmma_ec(float (&d)[56], std::uint32_t rows, std::uint32_t columns,
                                         std::int32_t accumulate) {
  if constexpr (kFormat == product::EcFormat::kF16) {
    KIZAMI_WGMMA(56, "+f", "m64n112k16.f32.f16.f16", ", 1, 1, 0, 0");
  } else {
    KIZAMI_WGMMA(56, "+f", "m64n112k8.f32.tf32.tf32", ", 1, 1");
  }
}

/// d (64 x 128) += rows (64 lines) times columns (128 lines), 32 bytes of k; d = without `accumulate`.
template <product::EcFormat kFormat>
__device__ __forceinline__ void wgmma_ec(float (&d)[64], std::uint32_t rows, std::uint32_t columns,
                                         std::int32_t accumulate) {
  if constexpr (kFormat == product::EcFormat::kF16) {
    KIZAMI_WGMMA(64, "+f", "m64n128k16.f32.f16.f16", ", 1, 1, 0, 0");
  } else {
    KIZAMI_WGMMA(64, "+f", "m64n128k8.f32.tf32.tf32", ", 1, 1");
  }
}

/// d (64 x 192) += rows (64 lines) times columns (192 lines), 32 bytes of k; d = without `accumulate`.
template <product::EcFormat kFormat>
__device__ __forceinline__ void wgmma_ec(float (&d)[96], std::uint32_t rows, std::uint32_t columns,
                                         std::int32_t accumulate) {
  if constexpr (kFormat == product::EcFormat::kF16) {
    KIZAMI_WGMMA(96, "+f", "m64n192k16.f32.f16.f16", ", 1, 1, 0, 0");
  } else {
    KIZAMI_WGMMA(96, "+f", "m64n192k8.f32.tf32.tf32", ", 1, 1");
  }
}

}  // namespace kizami::engines::hopper
