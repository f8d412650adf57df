// SPDX-License-Identifier: MIT
// The last rung: products in FP64 arithmetic, in an order that is part of the definition, so that every machine gives
// the same bits. It answers what no number of moduli certifies, and lines with NaN or Inf.
//   num::Fp64Summation::kPairwise:    bound num::fp64_pairwise_bound()
//   num::Fp64Summation::kCompensated: bound num::fp64_compensated_bound()
// Each line is first multiplied by 2^(480 - exponent), so that finite operands never overflow on the way. Where terms
// could underflow by that (lines that together span more than 2034 bits), the terms are scaled by the largest of them
// instead: the bounds hold for all finite operands.
#pragma once

#include <complex>
#include <cstdint>
#include <type_traits>

#include "num/bounds.hpp"
#include "num/line_stats.hpp"
#include "num/scaled.hpp"
#include "problem/lines.hpp"

namespace kizami::fp64 {

/// A product before the epilogue, and a value that holds it in FP64.
template <class T>
using ScaledOf = std::conditional_t<kIsComplex<T>, num::ScaledComplex, num::Scaled>;
template <class T>
using WideOf = std::conditional_t<kIsComplex<T>, std::complex<double>, double>;

/// The product of line i of A and line j of B. The parts of a complex product are real products of 2k terms.
/// @range both lines finite @bound see num::Fp64Summation, relative to (|A||B|)_ij of each part
template <class T>
[[nodiscard]] ScaledOf<T> line_product(const problem::Lines<T>& a, const num::LineStats& a_stats, std::int64_t i,
                                       const problem::Lines<T>& b, const num::LineStats& b_stats, std::int64_t j,
                                       num::Fp64Summation summation);

/// What IEEE arithmetic makes of a pair with a non-finite line: NaN or Inf of a sign. Terms of finite factors cannot
/// change it.
template <class T>
[[nodiscard]] WideOf<T> nonfinite_product(const problem::Lines<T>& a, std::int64_t i, const problem::Lines<T>& b,
                                          std::int64_t j);

/// C <- alpha AB + beta C by line_product() for every element whose lines are finite; the others are left untouched.
/// Bit-identical with line_product(), vectorised along the lines of A.
/// @queue blocks until done, on up to `threads` threads
template <class T>
void gemm_fp64(const problem::Lines<T>& a, const num::LineStats* a_stats, const problem::Lines<T>& b,
               const num::LineStats* b_stats, num::Fp64Summation summation, T alpha, T beta, int threads,
               MatrixView<T> c);

/// Lines of A and B, and elements of k, that one micro-tile of gemm_fp64 takes.
inline constexpr std::int64_t kTileA = 16;
inline constexpr std::int64_t kTileB = 4;

/// Sums of one chain (kPairwise, length <= num::kFp64ChainLength) for kTileA x kTileB pairs:
/// sums[j * kTileA + i] = fma chain over h of a[h * kTileA + i] * b[h * kTileB + j], from 0.
void chain_tile(const double* a, const double* b, std::int64_t length, double* sums);
/// Continues compensated sums (kCompensated): high and low parts, read and written.
void compensated_tile(const double* a, const double* b, std::int64_t length, double* high, double* low);

// ---- pairs whose terms may underflow when each line has one scale: src/fp64/wide_tile.cpp ---------------------------
// Panels of numbers taken apart, x = mantissa 2^exponent with 1 <= |mantissa| < 2; a zero has mantissa 0 and kNoTerm.
// The terms of a pair are those of
//   (a 2^(a_exponent + b_exponent - largest)) b,  the first factor rounded once where it is subnormal,
// with the largest exponent of all terms of the pair.

/// Exponent of a zero: below all others, and a sum of two as well.
inline constexpr double kNoTerm = -100000;

struct TermPanel {
  const double* mantissas = nullptr;  ///< [length][kTileA or kTileB]
  const double* exponents = nullptr;
};

/// Mantissas and exponents of finite values.
void take_apart(const double* values, std::int64_t count, double* mantissas, double* exponents);
/// largest[j * kTileA + i] = max(itself, a_exponent + b_exponent) over the panels.
void largest_tile(const TermPanel& a, const TermPanel& b, std::int64_t length, double* largest);
/// chain_tile() and compensated_tile() of such terms.
void wide_chain_tile(const TermPanel& a, const TermPanel& b, const double* largest, std::int64_t length, double* sums);
void wide_compensated_tile(const TermPanel& a, const TermPanel& b, const double* largest, std::int64_t length,
                           double* high, double* low);

}  // namespace kizami::fp64
