// SPDX-License-Identifier: MIT
// First phase of the split: what is known of each line before any rounding. Reads every element twice, writes
// LineStats. Results are maxima, minima and integer sums: no order, thread count or layout changes them.
#pragma once

#include <cstdint>

#include "num/line_stats.hpp"
#include "problem/lines.hpp"

namespace kizami::certify {

/// Gathers the statistics of every line, of the real terms of the elements x_h 2^inner_shift[h].
/// @shape inner_shift: [length], or null for no shift. stats: [num_lines]
/// @range length <= num::kMaxLineLength @exact integers only; see num::LineStats for the direction of rounding
/// @queue blocks until done, on up to `threads` threads
template <class T>
void gather_statistics(const problem::Lines<T>& lines, const std::int32_t* inner_shift, int threads,
                       num::LineStats* stats);

/// The same for double-doubles: exponents and sums of the high parts, lsb of both. @range every finite element is
/// normalised
void gather_statistics(const problem::Lines<DoubleDouble>& lines, const std::int32_t* inner_shift, int threads,
                       num::LineStats* stats);

/// The first line with a finite element that is not normalised (see DoubleDouble), or num_lines.
[[nodiscard]] std::int64_t first_unnormalised(const problem::Lines<DoubleDouble>& lines, int threads);

/// exponents[h] = max over the finite non-zero terms of elements h of all lines of floor(log2 |x|), or
/// num::kNoExponent.
/// @shape exponents: [length]
template <class T>
void gather_inner_exponents(const problem::Lines<T>& lines, int threads, std::int32_t* exponents);
inline void gather_inner_exponents(const problem::Lines<DoubleDouble>& lines, int threads, std::int32_t* exponents) {
  gather_inner_exponents(lines.high(), threads, exponents);
}

/// The exact power-of-two rescaling of the inner index that balances both operands: with the largest exponents e_h of
/// column h of A and f_h of row h of B, d_h = ((e_h - f_h) - centre) / 2 rounded to nearest, ties towards zero, where
/// centre is the mean of the largest and the least e_h - f_h; A takes 2^-d_h and B 2^d_h.
/// Relative to the centre, so that an operand multiplied by a power of two, a permutation of h and the exchange of A
/// and B (which negates d) change no bit of C.
/// @shape all [length]; on return a_shift = -d, b_shift = d; may alias the exponents given in.
/// @cite DemmelGrading (test 4: A = X D, B = D^-1 Y)
void equilibration_shifts(std::int64_t length, std::int32_t* a_exponents_to_shifts,
                          std::int32_t* b_exponents_to_shifts);

}  // namespace kizami::certify
