// SPDX-License-Identifier: MIT
// Second phase of the split: elements become integers, integers become residues.
//   a'_ih = rint(a_ih 2^(s_i + d_h)),  s_i = scale_bits(rung, sum_squares_i) - exponent_i,  plane l holds a' mod p_l.
#pragma once

#include <cstdint>

#include "num/line_stats.hpp"
#include "num/rung.hpp"
#include "problem/lines.hpp"

namespace kizami::ozaki2 {

/// The power of two that a line is multiplied by before it is rounded to integers; 0 for a zero or non-finite line.
[[nodiscard]] KIZAMI_HOST_DEVICE inline int line_scale(const num::Rung& rung, const num::LineStats& line) {
  return line.is_zero() ? 0 : num::scale_bits(rung, line.sum_squares) - line.exponent;
}

/// Bits of an integer a' at a rung at most, with its sign: |a'| < 2^(t + 1) with 2^t <= norm_limit, because the largest
/// element of a line counts at least 1.
[[nodiscard]] KIZAMI_HOST_DEVICE inline int integer_bits(const num::Rung& rung) {
  return num::floor_log2(rung.norm_limit) + 2;
}

/// Whether the integers of a rung take two words of 32 bits on a device.
[[nodiscard]] KIZAMI_HOST_DEVICE inline bool fits_two_words(const num::Rung& rung) { return integer_bits(rung) <= 63; }

/// Words of 32 bits that hold the integers of a rung on a device: 2, 3 or kMostWords.
inline constexpr int kMostWords = 6;  ///< 191 bits and a sign: more than kMaxIntegerBits
[[nodiscard]] KIZAMI_HOST_DEVICE inline int words_of(const num::Rung& rung) {
  return fits_two_words(rung) ? 2 : integer_bits(rung) <= 95 ? 3 : kMostWords;
}

/// Words of the integers that the split in one pass over both operands makes: of complex FP32 numbers one where it
/// holds them, in the place of the number. @range one_pass_takes() takes the rung
[[nodiscard]] KIZAMI_HOST_DEVICE inline int pass_words_of(Scalar scalar, const num::Rung& rung) {
  return scalar == Scalar::kC64 && integer_bits(rung) <= 32 ? 1 : words_of(rung);
}

/// Whether that split keeps integers of so many words in shared memory: those of complex FP32 numbers in one word a term,
/// and those of FP64 numbers in two, in the place of the number; of three words the third lies beside them.
[[nodiscard]] constexpr bool keeps_fragments(Scalar scalar, int words) {
  const bool is_fp64 = scalar == Scalar::kF64 || scalar == Scalar::kC128;
  return is_fp64 ? words == 2 || words == 3 : scalar == Scalar::kC64 && words == 1;
}

/// Whether they take a block of that split more shared memory than every card has, but at most kRoomForMore.
[[nodiscard]] constexpr bool needs_more_room(Scalar scalar, int words) {
  return words > 2 && keeps_fragments(scalar, words);
}
inline constexpr int kRoomForMore = 128 << 10;

/// Most bits of an integer a'.
inline constexpr int kMaxIntegerBits = 184;

/// Writes the residue planes of elements [first, first + length) of every line, for the first rung.num_moduli moduli of
/// the ring of T: symmetric residues in Z, the planes of num::CrtTable in Z[i].
/// @shape  stats: [num_lines], of whole lines. inner_shift: [lines.length] or null. Element h of line i of plane l goes
///         to planes[l * plane_stride + i * row_stride + h - first]; up to the next multiple of 64 each row is zero-
///         filled.
/// @range  row_stride >= round_up(length, 64); first a multiple of 64
/// @exact  a' is rounded to nearest, ties to even; |a'| < 2^(scale_bits + 1); then integers only. Lines that are zero
///         or not finite give zero residues.
/// @queue  blocks until done, on up to `threads` threads   @cite OUI2025, section 3; KT2026
template <class T>
void make_residue_planes(const problem::Lines<T>& lines, const num::LineStats* stats, const std::int32_t* inner_shift,
                         std::int64_t first, std::int64_t length, const num::Rung& rung, int threads,
                         std::int8_t* planes, std::int64_t row_stride, std::int64_t plane_stride);

/// The same for double-doubles: a' = rint(hi 2^(s + d)) + rint(lo 2^(s + d)).
void make_residue_planes(const problem::Lines<DoubleDouble>& lines, const num::LineStats* stats,
                         const std::int32_t* inner_shift, std::int64_t first, std::int64_t length,
                         const num::Rung& rung, int threads, std::int8_t* planes, std::int64_t row_stride,
                         std::int64_t plane_stride);

/// Elements that a row of planes is computed for: a multiple of this; the rest of its padding is set to zero.
template <class T>
inline constexpr std::int64_t kComputedElems = kIsComplex<T> ? 32 : 16;

/// One row: the residues of rint(x[h] * first * second) for h in [0, length) modulo each of the moduli.
/// @range length a multiple of 16 and <= problem::kTileLength; |x first second| < 2^max_bits, max_bits <=
///        kMaxIntegerBits
void residue_row(const double* x, std::int64_t length, double first, double second, int max_bits,
                 const std::int16_t* moduli, int num_moduli, std::int8_t* out, std::int64_t plane_stride);

/// The planes of `count` complex elements modulo complex modulus number l, from the symmetric residues of their parts.
/// @shape interleaved: [2 count], re, im, re, im, ...; out[plane * plane_stride + h] @range count a multiple of 32
void combine_parts(const std::int8_t* interleaved, std::int64_t count, int l, std::int8_t* out,
                   std::int64_t plane_stride);

/// The instruction set that residue_row() uses on this machine, e.g. "AVX3".
[[nodiscard]] const char* residue_row_target();

}  // namespace kizami::ozaki2
