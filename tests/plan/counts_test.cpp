// SPDX-License-Identifier: MIT
// No count wraps in plans for the host, see counts.hpp.
#include "tests/plan/counts.hpp"

#include "exec/environment.hpp"

namespace kizami::plan {
namespace {

class Counts : public testing::TestWithParam<Scalar> {};

TEST_P(Counts, NeverWrapOnTheHost) {
  expect_counted(GetParam(), {Scheme::kAuto, Scheme::kOzaki2, Scheme::kOzaki1, Scheme::kEc}, exec::environment());
}

INSTANTIATE_TEST_SUITE_P(AllTypes, Counts,
                         testing::Values(Scalar::kF32, Scalar::kF64, Scalar::kC64, Scalar::kC128, Scalar::kDD),
                         [](const auto& test) { return std::string(to_string(test.param)); });

TEST(CountsOfPlans, AreSeenWhereTheyAreNegative) {
  EXPECT_TRUE(has_negative_number("workspace -12 bytes"));
  EXPECT_TRUE(has_negative_number("k = -1, must"));
  EXPECT_FALSE(has_negative_number("bound 1e-14 entry, 2^-30"));
}

}  // namespace
}  // namespace kizami::plan
