// SPDX-License-Identifier: MIT
#include "check/text.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <system_error>

namespace kizami::check {
namespace {

bool starts_like_a_number(std::string_view text) {
  if (!text.empty() && text.front() == '-') text.remove_prefix(1);
  return !text.empty() && ((text.front() >= '0' && text.front() <= '9') || text.front() == '.');
}

template <class T>
std::string shortest(T x) {
  if (std::isnan(x)) return "nan";
  if (std::isinf(x)) return x > 0 ? "inf" : "-inf";
  std::array<char, 40> buffer{};
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), x);
  return error == std::errc{} ? std::string(buffer.data(), end) : std::string("nan");
}

}  // namespace

Result<std::int64_t> parse_integer(std::string_view text, std::int64_t lo, std::int64_t hi) {
  std::int64_t value = 0;
  switch (kizami::parse_integer(text, lo, hi, value)) {
    case IntegerFault::kNone:
      return value;
    case IntegerFault::kNotAnInteger:
      return invalid(fmt::format("{} is not an integer; allowed: {}..{}", in_quotes(text), lo, hi));
    case IntegerFault::kOutOfRange:
      break;
  }
  return invalid(fmt::format("{} is out of range; allowed: {}..{}", in_quotes(text), lo, hi));
}

Result<std::uint64_t> parse_unsigned(std::string_view text) {
  std::uint64_t value = 0;
  if (kizami::parse_integer<std::uint64_t>(text, 0, UINT64_MAX, value) == IntegerFault::kNone) return value;
  return invalid(fmt::format("{} is not an integer in 0..{}", in_quotes(text), UINT64_MAX));
}

Result<double> parse_real(std::string_view text, NonFiniteText nonfinite) {
  if (nonfinite == NonFiniteText::kAllowed) {
    if (text == "nan") return std::nan("");
    if (text == "inf") return HUGE_VAL;
    if (text == "-inf") return -HUGE_VAL;
  }
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (!starts_like_a_number(text) || error == std::errc::invalid_argument || stop != end) {
    return invalid(fmt::format("{} is not a number{}", in_quotes(text),
                               nonfinite == NonFiniteText::kAllowed ? "; allowed: decimals, nan, inf, -inf" : ""));
  }
  if (error == std::errc::result_out_of_range) {
    return invalid(fmt::format("{} is outside the range of double", in_quotes(text)));
  }
  return value;
}

Result<ComplexText> parse_complex(std::string_view text) {
  ComplexText out;
  std::string_view re = text;
  if (text.ends_with('i')) {
    out.has_imag = true;
    std::string_view im = text.substr(0, text.size() - 1);
    // The sign between the parts is the last that follows no exponent mark.
    std::size_t sign = im.find_last_of("+-");
    while (sign != std::string_view::npos && sign > 0 && (im[sign - 1] == 'e' || im[sign - 1] == 'E'))
      sign = im.find_last_of("+-", sign - 1);
    if (sign == std::string_view::npos) sign = 0;
    re = im.substr(0, sign);
    im.remove_prefix(sign);
    if (!re.empty() && im.starts_with('+')) im.remove_prefix(1);
    const Result<double> value = parse_real(im, NonFiniteText::kAllowed);
    if (!value.ok()) return invalid(fmt::format("imaginary part {}", value.status().reason()));
    out.im = value.value();
    if (re.empty()) return out;
  }
  const Result<double> value = parse_real(re, NonFiniteText::kAllowed);
  KIZAMI_RETURN_IF_ERROR(value.status());
  out.re = value.value();
  return out;
}

std::string print_real(double x) { return shortest(x); }
std::string print_real(float x) { return shortest(x); }

}  // namespace kizami::check
