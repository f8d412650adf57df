// SPDX-License-Identifier: MIT
// One object of JSON on one line, its fields in the order in which they are given.
#pragma once

#include <cmath>
#include <concepts>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace kizami::dropin {

class JsonLine {
 public:
  JsonLine& field(std::string_view name, std::string_view text) { return raw(name, quoted(text)); }
  JsonLine& field(std::string_view name, const char* text) { return raw(name, quoted(text)); }
  JsonLine& field(std::string_view name, bool value) { return raw(name, value ? "true" : "false"); }
  template <std::integral Integer>
  JsonLine& field(std::string_view name, Integer value) {
    return raw(name, std::to_string(value));
  }
  /// Inf and NaN, which JSON does not have, are null.
  JsonLine& field(std::string_view name, double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.6g", value);
    return raw(name, std::isfinite(value) ? text : "null");
  }
  JsonLine& field(std::string_view name, const std::vector<std::string>& texts) {
    std::string list;
    for (const std::string& text : texts) list += (list.empty() ? "" : ", ") + quoted(text);
    return raw(name, "[" + list + "]");
  }
  [[nodiscard]] std::string line() const { return "{" + fields_ + "}\n"; }

 private:
  JsonLine& raw(std::string_view name, const std::string& value) {
    fields_ += (fields_.empty() ? "" : ", ") + quoted(name) + ": " + value;
    return *this;
  }
  /// Bytes beyond ASCII are taken for Latin-1: a path need not be UTF-8, JSON must be.
  static std::string quoted(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
      const auto byte = static_cast<unsigned char>(c);
      if (c == '"' || c == '\\') {
        out += {'\\', c};
      } else if (byte < 0x20 || byte >= 0x7f) {
        char escape[8];
        std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(byte));
        out += escape;
      } else {
        out += c;
      }
    }
    return out + '"';
  }

  std::string fields_;
};

}  // namespace kizami::dropin
