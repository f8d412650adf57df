// SPDX-License-Identifier: MIT
// Signed-byte digits of |x| for the certificate: INT8 products of them are proven lower bounds of |A||B|.
//
// Sampled digits, one scale per line, every stride-th element:  d_h = floor(|x_h| 2^(6 - exponent)) in [0, 127],
//   sum_h d_h d'_h 2^-12 <= (|a|.|b|) 2^-(e + f).  Tight for data of narrow spread; costs 1/stride of a product.
// Block digits, one scale for each block of 64 elements:
//   d_h = floor(|x_h| 2^(6 - e_block)),  deficit = exponent - e_block,
//   sum_blocks (sum_h d_h d'_h) 2^-(12 + deficit + deficit') <= (|a|.|b|) 2^-(e + f).
//   In a block both lines have elements near their own maximum, so the sum stays tight for spreads of hundreds of bits
//   (docs/accuracy/certificate.md): a second, finer certificate when the first one fails.
// All integers, all rounded down: order, tiling and machine do not matter.
#pragma once

#include <cstdint>

#include "num/line_stats.hpp"
#include "num/rung.hpp"
#include "problem/lines.hpp"

namespace kizami::split {

/// Elements that share one scale in the block digits.
inline constexpr std::int64_t kDigitBlock = 64;
/// Deficits are stored in a byte; this one and above contribute nothing.
inline constexpr int kMaxDeficit = 255;
/// Fraction bits of a digit.
inline constexpr int kDigitBits = 6;

using num::num_sampled_terms;
using num::sample_stride;

/// @shape digits[i * row_stride + t] for the terms t of elements 0, stride, 2 stride, ...; zero up to the next multiple
///        of 64
template <class T>
void make_sampled_digits(const problem::Lines<T>& lines, const num::LineStats* stats, std::int64_t stride, int threads,
                         std::int8_t* digits, std::int64_t row_stride);

/// @shape inner_shift: [length] or null. digits[i * row_stride + t], zero up to the next multiple of 64;
///        deficits[i * ceil(num_terms / 64) + block]
template <class T>
void make_block_digits(const problem::Lines<T>& lines, const num::LineStats* stats, const std::int32_t* inner_shift,
                       int threads, std::int8_t* digits, std::int64_t row_stride, std::uint8_t* deficits);

/// 1 where the term of a finite line is not zero, else 0: products count the non-zero terms of a pair.
/// @shape as make_block_digits
template <class T>
void make_indicators(const problem::Lines<T>& lines, const num::LineStats* stats, int threads, std::int8_t* digits,
                     std::int64_t row_stride);

// Double-doubles: the digits of their high parts, 2^-53 off at most, which the slack of num::Rung::allowance covers.
inline void make_sampled_digits(const problem::Lines<DoubleDouble>& lines, const num::LineStats* stats,
                                std::int64_t stride, int threads, std::int8_t* digits, std::int64_t row_stride) {
  make_sampled_digits(lines.high(), stats, stride, threads, digits, row_stride);
}
inline void make_block_digits(const problem::Lines<DoubleDouble>& lines, const num::LineStats* stats,
                              const std::int32_t* inner_shift, int threads, std::int8_t* digits,
                              std::int64_t row_stride, std::uint8_t* deficits) {
  make_block_digits(lines.high(), stats, inner_shift, threads, digits, row_stride, deficits);
}
inline void make_indicators(const problem::Lines<DoubleDouble>& lines, const num::LineStats* stats, int threads,
                            std::int8_t* digits, std::int64_t row_stride) {
  make_indicators(lines.high(), stats, threads, digits, row_stride);
}

/// The digits of complex lines with real and imaginary parts exchanged: what the imaginary part of a product meets.
/// @shape rows of row_stride bytes, even
void swap_parts(const std::int8_t* digits, std::int64_t num_lines, std::int64_t row_stride, int threads,
                std::int8_t* swapped);

}  // namespace kizami::split
