// SPDX-License-Identifier: MIT
// The split of scheme ozaki1: elements become digits (num/slices.hpp), slice s holds digit s of every element. Slices
// of a line lie side by side, so that a product over several of them is one longer product and copies nothing
// [Nakajima, section 3.1]; those of B in reverse order, because digit i of A meets digit g - i of B.
#pragma once

#include <cstdint>

#include "num/line_stats.hpp"
#include "num/slices.hpp"
#include "problem/lines.hpp"

namespace kizami::ozaki1 {

using num::num_slice_terms;
using num::SliceTerms;

/// Slices of elements [first, first + length) of every line.
/// @shape  exponents: [num_lines], e of num/slices.hpp: not below that of the line; num::kSkipLine gives zeros. Digit s
///         of real number t of line i goes to slices[i * row_stride + place * slice_stride + t], place = s, or
///         num_slices - 1 - s if is_reversed; each slice is zero-filled up to slice_stride
/// @range  slice_stride >= the numbers of a slice, row_stride >= num_slices * slice_stride; digits fit Digit: signed
///         bytes, or a format of at least as many significand bits
/// @exact  digits are those of the exact numbers   @queue blocks until done, on up to `threads` threads
template <class Digit, class T>
void make_slices(const problem::Lines<T>& lines, SliceTerms terms, const std::int32_t* exponents, std::int64_t first,
                 std::int64_t length, const num::DigitRule& rule, int num_slices, bool is_reversed, int threads,
                 Digit* slices, std::int64_t row_stride, std::int64_t slice_stride);

}  // namespace kizami::ozaki1
