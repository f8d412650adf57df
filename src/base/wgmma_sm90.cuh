// SPDX-License-Identifier: MIT
// wgmma of bytes: a warpgroup multiplies 64 lines by N lines, 32 bytes of k a time, both operands from shared memory.
// Sums wrap modulo 2^32 (no .satfinite): product.hpp says why that is wanted. A kernel with these calls no function
// that is not inlined: ptxas would wait after each of them.
#pragma once

#include <cstdint>

#include "base/wgmma_text_sm90.cuh"

namespace kizami::base {

/// Low word of the descriptor of K-major lines of 128 bytes in the 128-byte swizzle, whose groups of 8 lines (1024
/// bytes) follow one another. Bits 0-13 address / 16; 16-29 leading offset / 16, which this layout does not use.
/// @range address: of shared memory (below 2^18), 1024-byte aligned, plus 32 x for the x-th 32 bytes of k
__device__ __forceinline__ std::uint32_t swizzled_lines(std::uint32_t address) { return (address >> 4) | (1U << 16); }
/// What to add to a descriptor to move by so many bytes.
[[nodiscard]] constexpr std::uint32_t descriptor_step(int bytes) { return static_cast<std::uint32_t>(bytes) >> 4; }

// High word: bits 0-13 (32-45 of the descriptor) the stride between groups of 8 lines, 1024 / 16; bits 30-31 (62-63)
// layout 1, the 128-byte swizzle: 0x40000040.

/// Orders earlier accesses to registers and shared memory before the warpgroup's next wgmma.
__device__ __forceinline__ void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;\n" ::: "memory"); }
__device__ __forceinline__ void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;\n" ::: "memory"); }
/// Waits until at most kPending groups are in flight.
template <int kPending>
__device__ __forceinline__ void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;\n" ::"n"(kPending) : "memory");
}
/// Keeps the compiler from moving accesses to an accumulator over this point.
template <int kRegisters>
__device__ __forceinline__ void pin(std::int32_t (&d)[kRegisters]) {
#pragma unroll
  for (int i = 0; i < kRegisters; ++i) asm volatile("" : "+r"(d[i])::"memory");
}

/// d (64 x 64) += rows (64 lines) times columns (64 lines), 32 bytes of k; d = without `accumulate`.
__device__ __forceinline__ void wgmma_s8(std::int32_t (&d)[32], std::uint32_t rows, std::uint32_t columns,
                                         std::int32_t accumulate) {
  KIZAMI_WGMMA(32, "+r", "m64n64k32.s32.s8.s8", "");
}
/// d (64 x 128) += rows (64 lines) times columns (128 lines), 32 bytes of k; d = without `accumulate`.
__device__ __forceinline__ void wgmma_s8(std::int32_t (&d)[64], std::uint32_t rows, std::uint32_t columns,
                                         std::int32_t accumulate) {
  KIZAMI_WGMMA(64, "+r", "m64n128k32.s32.s8.s8", "");
}
/// d (64 x 192) += rows (64 lines) times columns (192 lines), 32 bytes of k; d = without `accumulate`.
__device__ __forceinline__ void wgmma_s8(std::int32_t (&d)[96], std::uint32_t rows, std::uint32_t columns,
                                         std::int32_t accumulate) {
  KIZAMI_WGMMA(96, "+r", "m64n192k32.s32.s8.s8", "");
}
/// d (64 x 256) += rows (64 lines) times columns (256 lines), 32 bytes of k; d = without `accumulate`.
__device__ __forceinline__ void wgmma_s8(std::int32_t (&d)[128], std::uint32_t rows, std::uint32_t columns,
                                         std::int32_t accumulate) {
  KIZAMI_WGMMA(128, "+r", "m64n256k32.s32.s8.s8", "");
}

/// The same four of bytes without sign.
__device__ __forceinline__ void wgmma_u8(std::int32_t (&d)[32], std::uint32_t rows, std::uint32_t columns,
                                         std::int32_t accumulate) {
  KIZAMI_WGMMA(32, "+r", "m64n64k32.s32.u8.u8", "");
}
__device__ __forceinline__ void wgmma_u8(std::int32_t (&d)[64], std::uint32_t rows, std::uint32_t columns,
                                         std::int32_t accumulate) {
  KIZAMI_WGMMA(64, "+r", "m64n128k32.s32.u8.u8", "");
}
__device__ __forceinline__ void wgmma_u8(std::int32_t (&d)[96], std::uint32_t rows, std::uint32_t columns,
                                         std::int32_t accumulate) {
  KIZAMI_WGMMA(96, "+r", "m64n192k32.s32.u8.u8", "");
}
__device__ __forceinline__ void wgmma_u8(std::int32_t (&d)[128], std::uint32_t rows, std::uint32_t columns,
                                         std::int32_t accumulate) {
  KIZAMI_WGMMA(128, "+r", "m64n256k32.s32.u8.u8", "");
}

}  // namespace kizami::base
