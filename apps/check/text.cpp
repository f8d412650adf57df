// SPDX-License-Identifier: MIT
#include "check/text.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <system_error>

namespace kizami::check {
namespace {

constexpr std::size_t kMaxQuoted = 60;
constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 50;
struct Suffix {
  char letter;
  int shift;
};
constexpr std::array<Suffix, 3> kSuffixes{{{'G', 30}, {'M', 20}, {'K', 10}}};

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

std::string quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text.substr(0, kMaxQuoted)) {
    if (c >= 0x20 && c < 0x7f) {
      out += c;
    } else {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  out += text.size() > kMaxQuoted ? "...'" : "'";
  return out;
}

Result<std::int64_t> parse_integer(std::string_view text, std::int64_t lo, std::int64_t hi) {
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc::invalid_argument || stop != end) {
    return invalid(fmt::format("{} is not an integer; allowed: {}..{}", quoted(text), lo, hi));
  }
  if (error == std::errc::result_out_of_range || value < lo || value > hi) {
    return invalid(fmt::format("{} is out of range; allowed: {}..{}", quoted(text), lo, hi));
  }
  return value;
}

Result<std::uint64_t> parse_unsigned(std::string_view text) {
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end) {
    return invalid(fmt::format("{} is not an integer in 0..18446744073709551615", quoted(text)));
  }
  return value;
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
    return invalid(fmt::format("{} is not a number{}", quoted(text),
                               nonfinite == NonFiniteText::kAllowed ? "; allowed: decimals, nan, inf, -inf" : ""));
  }
  if (error == std::errc::result_out_of_range) {
    return invalid(fmt::format("{} is outside the range of double", quoted(text)));
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

Result<std::uint64_t> parse_bytes(std::string_view text) {
  int shift = 0;
  std::string_view digits = text;
  for (const Suffix& suffix : kSuffixes) {
    if (!text.empty() && text.back() == suffix.letter) {
      shift = suffix.shift;
      digits.remove_suffix(1);
    }
  }
  const Result<std::uint64_t> count = parse_unsigned(digits);
  if (!count.ok())
    return invalid(fmt::format("{} is not a size; allowed: an integer with an optional K, M or G", quoted(text)));
  if (count.value() > (kMaxBytes >> shift)) {
    return invalid(fmt::format("{} is out of range; allowed: up to {}", quoted(text), print_bytes(kMaxBytes)));
  }
  return count.value() << shift;
}

std::string print_bytes(std::uint64_t bytes) {
  for (const Suffix& suffix : kSuffixes) {
    if (bytes != 0 && (bytes & ((std::uint64_t{1} << suffix.shift) - 1)) == 0) {
      return fmt::format("{}{}", bytes >> suffix.shift, suffix.letter);
    }
  }
  return fmt::format("{}", bytes);
}

}  // namespace kizami::check
