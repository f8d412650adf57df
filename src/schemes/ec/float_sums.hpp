// SPDX-License-Identifier: MIT
// The last phase of scheme ec: FP32 sums of scaled lines become elements of C.
//   C_ij = alpha p_ij + beta C_ij,  p_ij = sum_ij 2^-(row_scale_i + col_scale_j),  by num::finish() like every scheme
#pragma once

#include <cstdint>

#include "kizami/types.hpp"

namespace kizami::ec {

/// Sums of one block of C, by form: one, or those of a complex type.
/// @shape element (i, j) of form f at data[f * form_stride + j * col_stride + i]
struct FloatSums {
  const float* data = nullptr;
  std::int64_t col_stride = 0;
  std::int64_t form_stride = 0;
};

/// What the sums of complex types are.
enum class ComplexSums : std::uint8_t {
  kParts,      ///< form 0: the real part, form 1: the imaginary part
  kKaratsuba,  ///< P1, P2, P3: P1 - P2 + i (P3 - P1 - P2), in FP64
};

/// @shape  row_scale: [c.rows], col_scale: [c.cols]; rows and columns of num::kSkipLine are left untouched
/// @exact  alpha = 1, beta = 0: nothing but the rounding of results that are no normal numbers
/// @bound  otherwise num::epilogue_bound()   @queue blocks until done, on up to `threads` threads
template <class T>
void reconstruct_float(const FloatSums& sums, const std::int32_t* row_scale, const std::int32_t* col_scale, T alpha,
                       T beta, int threads, MatrixView<T> c, ComplexSums complex_sums = ComplexSums::kParts);

}  // namespace kizami::ec
