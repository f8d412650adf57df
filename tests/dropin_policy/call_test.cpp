// SPDX-License-Identifier: MIT
#include "dropin/policy/call.hpp"

#include <gtest/gtest.h>

namespace kizami::dropin {
namespace {

/// Of N, T, C and R, those that the routine has.
std::string ops_of(Routine routine, bool is_complex) {
  Shape shape;
  shape.routine = routine;
  std::string ops;
  for (const char op : {'N', 'T', 'C', 'R'}) {
    if (has_op(shape, is_complex, op)) ops += op;
  }
  return ops;
}

TEST(Call, OnlyComplexRankUpdatesLackAnOperation) {
  for (int i = 0; i < kNumRoutines; ++i) {
    const auto routine = static_cast<Routine>(i);
    const bool is_update = is_rank_k(routine) || is_rank_kx(routine) || is_rank_2k(routine);
    const std::string expected = !is_update ? "NTC" : is_hermitian(routine) ? "NC" : "NT";
    EXPECT_EQ(ops_of(routine, true), expected) << to_string(routine);
    EXPECT_EQ(ops_of(routine, false), "NTC") << "of real types ^H is ^T: " << to_string(routine);
  }
}

}  // namespace
}  // namespace kizami::dropin
