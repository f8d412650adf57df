// SPDX-License-Identifier: MIT
// Signed-byte digits of |x| for the certificate: INT8 products of them are proven lower bounds of |A||B|.
//
// Sampled digits, one scale per line, every stride-th element:  d_h = floor(|x_h| 2^(6 - exponent)) in [0, 127],
//   sum_h d_h d'_h 2^-12 <= (|a|.|b|) 2^-(e + f).  Tight for data of narrow spread; costs 1/stride of a product.
// Block digits, one scale for each block of 64 elements, or two blocks of a long real line; of a complex line for both
// parts:
//   d_h = floor(|x_h| 2^(6 - e_block)),  deficit = exponent - e_block, no digits where it is above 52;
//   sum_blocks (sum_h d_h d'_h) 2^-(12 + deficit + deficit') <= (|a|.|b|) 2^-(e + f).
//   In a block both lines have elements near their own maximum, so the sum stays tight for spreads of hundreds of bits
//   (docs/accuracy/certificate.md): a second, finer certificate when the first one fails.
// Products of digits are exact; the sums of a block digit's products are added in FP32, in the order of the blocks.
#pragma once

#include <cstdint>

#include "num/digit_blocks.hpp"
#include "num/line_stats.hpp"
#include "num/rung.hpp"
#include "problem/lines.hpp"

namespace kizami::certify {

using num::blocks_of_scale;
using num::kDigitBits;
using num::kDigitBlock;
using num::kMaxDeficit;
using num::num_sampled_terms;
using num::sample_stride;

/// @shape digits[i * row_stride + t] for the terms t of elements 0, stride, 2 stride, ...; zero up to the next multiple
///        of 64
template <class T>
void make_sampled_digits(const problem::Lines<T>& lines, const num::LineStats* stats, std::int64_t stride, int threads,
                         std::int8_t* digits, std::int64_t row_stride);

/// Real terms of a block of digits.
template <class T>
inline constexpr std::int64_t kBlockTerms = kDigitBlock* problem::kTerms<T>;

/// @shape inner_shift: [length] or null. digits[i * row_stride + t], zero up to the next multiple of kBlockTerms<T>;
///        scales[block * scale_stride + i] = 2^-(kDigitBits + deficit), equal for blocks_of_scale() blocks
template <class T>
void make_block_digits(const problem::Lines<T>& lines, const num::LineStats* stats, const std::int32_t* inner_shift,
                       int threads, std::int8_t* digits, std::int64_t row_stride, float* scales,
                       std::int64_t scale_stride);

/// 1 where the term of a finite line is not zero, else 0: products count the non-zero terms of a pair.
/// @shape digits as of make_block_digits
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
                              std::int64_t row_stride, float* scales, std::int64_t scale_stride) {
  make_block_digits(lines.high(), stats, inner_shift, threads, digits, row_stride, scales, scale_stride);
}
inline void make_indicators(const problem::Lines<DoubleDouble>& lines, const num::LineStats* stats, int threads,
                            std::int8_t* digits, std::int64_t row_stride) {
  make_indicators(lines.high(), stats, threads, digits, row_stride);
}

/// The digits of complex lines with real and imaginary parts exchanged: what the imaginary part of a product meets.
/// @shape rows of row_stride bytes, even
void swap_parts(const std::int8_t* digits, std::int64_t num_lines, std::int64_t row_stride, int threads,
                std::int8_t* swapped);

}  // namespace kizami::certify
