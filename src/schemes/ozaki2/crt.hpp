// SPDX-License-Identifier: MIT
// Residues -> C. For every element the integer X with |X| <= (P - 1) / 2 is rebuilt exactly from its residues, rounded
// once to 53 bits, unscaled by a power of two and passed through the shared epilogue:
//   X = sum_l w_l r_l mod P,   p = round_53(X) 2^-(s_i + t_j),   C_ij = alpha p + beta C_ij.
// The definition is "the exact integer, correctly rounded", so any way to compute it gives the same bits.
#pragma once

#include <cstdint>

#include "kizami/types.hpp"
#include "num/crt_table.hpp"
#include "num/scaled.hpp"

namespace kizami::ozaki2 {

/// Residue planes of a block of C as engines store them: element (i, j) of plane q at
/// data[q * plane_stride + j * col_stride + i]. Z for real types, Z[i] for complex ones.
struct ResiduePlanes {
  const std::int8_t* data = nullptr;
  int num_moduli = 0;
  std::int64_t col_stride = 0;
  std::int64_t plane_stride = 0;
};

/// Reconstructs the block c (m x n) from its planes; complex types part by part: p_ij = X_ij 2^-(row_scale[i] +
/// col_scale[j]). Elements of lines of scale num::kSkipLine are left untouched.
/// @shape  row_scale: [m], col_scale: [n]; planes.col_stride >= round_up(m, 64), readable up to there
/// @exact  up to the single rounding to 53 bits and the epilogue (num::finish)
/// @alias  beta = 0 never reads c
/// @queue  blocks until done, on up to `threads` threads   @cite OUI2025, section 3
template <class T>
void reconstruct_crt(const ResiduePlanes& planes, const std::int32_t* row_scale, const std::int32_t* col_scale, T alpha,
                     T beta, int threads, MatrixView<T> c);

/// The digit sums of `count` <= kSegment neighbouring elements: X = sum_d digits[d * kSegment + i] 2^(36 d) is
/// congruent to the residues modulo P, |X| < 0.51 P.
/// @range  count a multiple of 64
inline constexpr std::int64_t kSegment = 256;
void crt_digits(const num::CrtTable& table, const std::int8_t* residues, std::int64_t plane_stride, std::int64_t count,
                double* digits);

}  // namespace kizami::ozaki2
