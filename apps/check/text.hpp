// SPDX-License-Identifier: MIT
// Strict, locale-free numbers for the case grammar: what is printed parses back to the same bits, and what is malformed
// or out of range is refused with the text, the reason and the limits.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "kizami/status.hpp"
#include "kizami/text.hpp"

namespace kizami::check {

/// Parses a decimal integer: digits with an optional minus sign, nothing before or after.
/// @status kInvalidArgument: not an integer, or outside [lo, hi].
[[nodiscard]] Result<std::int64_t> parse_integer(std::string_view text, std::int64_t lo, std::int64_t hi);

/// Parses an unsigned 64-bit decimal integer. @status kInvalidArgument: not one, or past 2^64 - 1.
[[nodiscard]] Result<std::uint64_t> parse_unsigned(std::string_view text);

enum class NonFiniteText : std::uint8_t { kRefused, kAllowed };

/// Parses a decimal real such as -0.5 or 1e-3, rounded to nearest; nan, inf and -inf only where allowed.
/// @status kInvalidArgument: not a number, or its magnitude is outside the range of double.
[[nodiscard]] Result<double> parse_real(std::string_view text, NonFiniteText nonfinite = NonFiniteText::kRefused);

/// A number as text has it; a text without imaginary part has im = +0.
struct ComplexText {
  double re = 0;
  double im = 0;
  bool has_imag = false;
};
/// Parses REAL, REAL+REALi, REAL-REALi or REALi, parts as parse_real() with NaN and Inf allowed: 1.5-2i, nan+infi.
/// @status kInvalidArgument: names the part that is not a number.
[[nodiscard]] Result<ComplexText> parse_complex(std::string_view text);

/// Prints the shortest decimal that parse_real() maps to the same bits; every NaN is "nan".
[[nodiscard]] std::string print_real(double x);
/// The shortest decimal that parse_real() and rounding to float map to the same bits.
[[nodiscard]] std::string print_real(float x);

/// Shorthand for a refusal.
[[nodiscard]] inline Status invalid(std::string reason) { return {StatusCode::kInvalidArgument, std::move(reason)}; }

}  // namespace kizami::check
