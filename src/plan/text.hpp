// SPDX-License-Identifier: MIT
// Numbers in the reasons of plans.
#pragma once

#include <cstdio>
#include <string>

namespace kizami::plan {

/// Three digits: "3.55e-15".
[[nodiscard]] inline std::string short_number(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", x);
  return text;
}

/// Four digits.
[[nodiscard]] inline std::string number(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", x);
  return text;
}

}  // namespace kizami::plan
