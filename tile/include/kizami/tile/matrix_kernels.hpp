// SPDX-License-Identifier: MIT
// The products of dense row-major matrices under mma and matmul, compiled once in the library for each instruction set
// and chosen at run time.
//   out = c + a b      a: m x k, b: k x n, c and out: m x n, rows without gaps; c = nullptr is zero, c = out is allowed
#pragma once

#include <cstdint>

#include "kizami/export.h"

namespace kizami::tile {

/// The formats whose products are accumulated in FP32.
enum class NarrowFormat : std::uint8_t { kFp16, kBf16, kTf32, kE4m3, kE5m2 };

/// @exact products and sums as fused multiply-adds where the processor has them, k ascending; not the same bits on
///        every processor
KIZAMI_API void multiply_add(const float* a, const float* b, const float* c, float* out, int m, int n, int k) noexcept;
KIZAMI_API void multiply_add(const double* a, const double* b, const double* c, double* out, int m, int n,
                             int k) noexcept;
/// @exact products are exact in FP32 but for sums; as above
KIZAMI_API void multiply_add_narrow(NarrowFormat format, const void* a, const void* b, const float* c, float* out,
                                    int m, int n, int k) noexcept;
/// @exact modulo 2^32
KIZAMI_API void multiply_add_int8(const void* a, bool is_a_signed, const void* b, bool is_b_signed,
                                  const std::int32_t* c, std::int32_t* out, int m, int n, int k) noexcept;

}  // namespace kizami::tile
