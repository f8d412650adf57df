// SPDX-License-Identifier: MIT
// Records of what was measured: a line of JSON each, its fields in the order in which they were given.
#pragma once

#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

namespace bench {

using Json = nlohmann::ordered_json;

/// In UTC, as 2026-11-23.
[[nodiscard]] std::string today();

/// Where the records of a run go.
class Records {
 public:
  /// @param path a file to whose end lines are added; empty: they go to `otherwise`, or nowhere if it is null
  /// @throws std::runtime_error the file cannot be opened
  explicit Records(const std::string& path = "", std::FILE* otherwise = stdout);
  Records(const Records&) = delete;
  Records& operator=(const Records&) = delete;
  ~Records();

  /// At once: what ends the process leaves the lines before it. Numbers have as many digits as tell them apart from
  /// others; what is not finite is null.
  /// @throws std::runtime_error the line cannot be written
  template <class AnyJson>
  void append(const AnyJson& record) const {
    write(record.dump(-1, ' ', false, AnyJson::error_handler_t::replace));
  }

 private:
  void write(const std::string& line) const;

  std::string path_;
  std::FILE* file_;
};

}  // namespace bench
