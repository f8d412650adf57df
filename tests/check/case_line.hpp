// SPDX-License-Identifier: MIT
// Cases from their lines, and the numbers that lines of cases name.
#pragma once

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <string_view>

#include "check/case.hpp"

namespace kizami::check {

inline constexpr double kQuietNaN = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// The case of a line, which must be one.
[[nodiscard]] inline Case case_of(std::string_view line) {
  const Result<Case> c = parse_case(line);
  EXPECT_TRUE(c.ok()) << line << "\n" << c.status().reason();
  return c.ok() ? c.value() : Case{};
}

inline void expect_round_trip(const Case& c) {
  const std::string line = print(c);
  const Result<Case> back = parse_case(line);
  ASSERT_TRUE(back.ok()) << line << "\n" << back.status().reason();
  EXPECT_TRUE(back.value() == c) << line << "\n" << print(back.value());
  EXPECT_EQ(print(back.value()), line);
}

}  // namespace kizami::check
