// SPDX-License-Identifier: MIT
// Reads the part of Python's literal syntax that headers of .npy files are written in: strings, integers, True, False,
// None, tuples, lists, dictionaries. Input is hostile: any bytes, depth and size; nothing is evaluated.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kizami/status.hpp"

namespace kizami::cli {

struct PythonLiteral {
  enum class Kind : std::uint8_t { kNone, kBool, kInt, kString, kSequence, kDict };
  Kind kind = Kind::kNone;
  bool boolean = false;
  std::int64_t integer = 0;
  std::string string;
  std::vector<PythonLiteral> items;  ///< kSequence: the elements; kDict: key, value, key, value, ...
};

/// Values may be nested this deep: the header of a structured dtype with sub-arrays needs 4.
inline constexpr int kMaxLiteralDepth = 16;

/// Parses one literal with blanks around it.
/// @status kInvalidArgument: malformed, nested too deeply, or an integer beyond 64 bits; says what and at which byte.
[[nodiscard]] Result<PythonLiteral> parse_python_literal(std::string_view text);

}  // namespace kizami::cli
