// SPDX-License-Identifier: MIT
// What a user would write for more than FP64 without this library: baselines of the benchmark, column-major C = A B.
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

}  // namespace kizami::cli
