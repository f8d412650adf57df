// SPDX-License-Identifier: MIT
// What code leaves out, since no card that runs it takes it. Of compute capability 12.x each has 99 KB of shared memory for a
// block, and FP64 at 1/64 of the rate of FP32 (CUDA C++ programming guide, compute capabilities). Libraries for all cards are
// smaller by it. Cards of data centres keep all other kernels: on them tests take a card for another one.
#pragma once

#include <cstddef>

namespace kizami::base {

/// Of the code that is being compiled, as DeviceLimits::code_capability; 0 on the host.
#if defined(__CUDA_ARCH__)
inline constexpr int kCodeCapability = __CUDA_ARCH__ / 10;
#else
inline constexpr int kCodeCapability = 0;
#endif

/// Kernels that ask for so much shared memory.
[[nodiscard]] constexpr bool code_has_room_for(std::size_t shared_bytes, int code_capability = kCodeCapability) {
  return code_capability < 120 || shared_bytes <= std::size_t{99} << 10;
}
/// A split in one pass of blocks that take whole lines: cards of 12.x have clusters.
[[nodiscard]] constexpr bool code_has_pass_of_whole_lines(int code_capability = kCodeCapability) {
  return code_capability < 120;
}
/// A CRT by FP64 instructions, beside the one by limbs of integers.
[[nodiscard]] constexpr bool code_has_crt_by_fp64(int code_capability = kCodeCapability) {
  return code_capability < 120;
}

/// Planes of residues from 0 to p - 1: of all engines hopper alone multiplies them.
[[nodiscard]] constexpr bool code_has_unsigned_planes(int code_capability = kCodeCapability) {
  return code_capability == 0 || code_capability == 90;
}

/// Split and CRT of quadrants: of all engines hopper alone repeats moduli.
[[nodiscard]] constexpr bool code_has_quadrants(int code_capability = kCodeCapability) {
  return code_capability == 0 || code_capability == 90;
}

}  // namespace kizami::base
