// SPDX-License-Identifier: MIT
// Numbers in the reasons of plans.
#pragma once

#include <cstdio>
#include <string>

namespace kizami::plan {

/// Three digits: "3.55e-15".
[[nodiscard]] inline std::string bound_text(double bound) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", bound);
  return text;
}

}  // namespace kizami::plan
