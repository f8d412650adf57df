// SPDX-License-Identifier: MIT
// What a user would write without this library, for more than FP64 or for FP64 on FP32 units: baselines of the
// benchmark, column-major C = A B.
#pragma once

#include <cstdint>

#include "kizami/types.hpp"

namespace kizami::cli {

/// Sums in double-double arithmetic: an exact product and one double-double addition a term.
/// @shape A: m x k, B: k x n, C: m x n, dense column-major @cite ORO2005 (TwoProduct, TwoSum)
void multiply_double_double(std::int64_t m, std::int64_t n, std::int64_t k, const double* a, const double* b,
                            DoubleDouble* c, int threads);

/// Sums in the compiler's __float128 (113 bits, in software).
void multiply_float128(std::int64_t m, std::int64_t n, std::int64_t k, const double* a, const double* b,
                       DoubleDouble* c, int threads);

/// FP64 by pairs of FP32, "ff32": sums in the order of k (float_float.hpp).
/// @shape as above  @bound float_float_bound(k) |A||B|
/// @throws Failure kRefused names the element out of FP32's range, or k
void multiply_float_float(std::int64_t m, std::int64_t n, std::int64_t k, const double* a, const double* b, double* c,
                          int threads);

}  // namespace kizami::cli
