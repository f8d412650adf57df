// SPDX-License-Identifier: MIT
// The last phases of scheme ozaki1: products of slices go to exact integer sums, one of several words an element,
// whatever the order and the grouping; the sum is rounded once.
//   C_ij = alpha p_ij + beta C_ij,   p_ij = sum_ij 2^(unit + row_exponent_i + col_exponent_j),   by num::finish()
#pragma once

#include <cstdint>

#include "kizami/types.hpp"

namespace kizami::ozaki1 {

/// Words of an exact sum: two's complement, least significant first.
inline constexpr int kMaxSumWords = 8;

/// One word is an FP64 number instead, to which products are added with rounding.
/// Sums of one block of C, by form: one, or the real and the imaginary part.
/// @shape element (i, j) of form f at words + (f * form_stride + j * col_stride + i) * num_words
struct ExactSums {
  std::uint64_t* words = nullptr;
  int num_words = 2;  ///< 1, 2, 4 or 8
  std::int64_t col_stride = 0;
  std::int64_t form_stride = 0;
};

/// Products of slices as an engine left them: plane p of element (i, j) at data[p * plane_stride + j * col_stride + i].
template <class Acc>
struct SliceProducts {
  const Acc* data = nullptr;  ///< int32_t, or float of integer value
  int num_planes = 1;
  std::int64_t col_stride = 0;
  std::int64_t plane_stride = 0;
};

/// Sets the sums of a block to zero.
void clear_sums(const ExactSums& sums, std::int64_t rows, std::int64_t cols, int num_forms, int threads);

/// sums of form f += sign * sum of the planes * 2^shift. Planes are summed in INT32 first, planes_per_sum at a time, and
/// such sums added in the order of their planes.
/// @range sign +1 or -1; planes_per_sum planes sum exactly in INT32; the sums do not overflow their words; 0 <= shift <
///        900
template <class Acc>
void add_products(const SliceProducts<Acc>& products, int planes_per_sum, int sign, int shift, int form,
                  const ExactSums& sums, std::int64_t rows, std::int64_t cols, int threads);

/// @shape  row_exponent: [c.rows], col_exponent: [c.cols]; rows and columns of num::kSkipLine are left untouched
/// @exact  alpha = 1, beta = 0: the exact sum rounded to 53 bits, then to the type   @bound otherwise num::epilogue_bound()
/// @queue  blocks until done, on up to `threads` threads
template <class T>
void reconstruct_slices(const ExactSums& sums, int unit, const std::int32_t* row_exponent,
                        const std::int32_t* col_exponent, T alpha, T beta, int threads, MatrixView<T> c);

}  // namespace kizami::ozaki1
