// SPDX-License-Identifier: MIT
// Numbers and quotations in text, as settings and messages have them everywhere. Needs nothing but the C++ library.
#pragma once

#include "kizami/cxx20.hpp"  // before all else

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>

namespace kizami {

/// Text of a stranger for a message: in quotes, at most 60 characters, anything unprintable as \xNN.
[[nodiscard]] inline std::string in_quotes(std::string_view text) {
  constexpr std::size_t kMaxShown = 60;
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out = "'";
  for (const char c : text.substr(0, kMaxShown)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f) {
      out += c;
    } else {
      out += {'\\', 'x', kDigits[byte / 16], kDigits[byte % 16]};
    }
  }
  return out + (text.size() > kMaxShown ? "...'" : "'");
}

enum class IntegerFault : std::uint8_t { kNone, kNotAnInteger, kOutOfRange };

/// Decimal digits with an optional minus sign, nothing before or after.
template <class Integer>
[[nodiscard]] IntegerFault parse_integer(std::string_view text, Integer lo, Integer hi, Integer& out) noexcept {
  Integer value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc::invalid_argument || stop != end) return IntegerFault::kNotAnInteger;
  if (error == std::errc::result_out_of_range || value < lo || value > hi) return IntegerFault::kOutOfRange;
  out = value;
  return IntegerFault::kNone;
}

/// 2^10, 2^20 and 2^30 bytes.
struct ByteUnit {
  char letter;
  int shift;
};
inline constexpr ByteUnit kByteUnits[]{{'G', 30}, {'M', 20}, {'K', 10}};
inline constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 50;

/// An integer, or one with K, M or G. @range up to kMaxBytes
[[nodiscard]] inline IntegerFault parse_bytes(std::string_view text, std::uint64_t& out) noexcept {
  int shift = 0;
  for (const ByteUnit& unit : kByteUnits) {
    if (!text.empty() && text.back() == unit.letter) shift = unit.shift;
  }
  if (shift != 0) text.remove_suffix(1);
  std::uint64_t count = 0;
  const IntegerFault fault = parse_integer<std::uint64_t>(text, 0, kMaxBytes >> shift, count);
  if (fault == IntegerFault::kNone) out = count << shift;
  return fault;
}

/// With the largest unit that divides them.
[[nodiscard]] inline std::string print_bytes(std::uint64_t bytes) {
  for (const ByteUnit& unit : kByteUnits) {
    if (bytes != 0 && bytes % (std::uint64_t{1} << unit.shift) == 0)
      return std::to_string(bytes >> unit.shift) + unit.letter;
  }
  return std::to_string(bytes);
}

}  // namespace kizami
