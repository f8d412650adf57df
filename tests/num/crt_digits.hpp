// SPDX-License-Identifier: MIT
// The constants of a CRT table as integers of GMP.
#pragma once

#include <gtest/gtest.h>

#include "num/crt_table.hpp"
#include "tests/num/exact_numbers.hpp"

namespace kizami::tests {

/// The integer of a table's digits.
[[nodiscard]] inline Integer reassemble(const double* digits, int count) {
  Integer x = 0;
  for (int d = count - 1; d >= 0; --d) {
    EXPECT_GE(digits[d], 0);
    EXPECT_LT(Integer(digits[d]), power_of_two(num::kCrtDigitBits));
    x = (x << num::kCrtDigitBits) + Integer(digits[d]);
  }
  return x;
}

}  // namespace kizami::tests
