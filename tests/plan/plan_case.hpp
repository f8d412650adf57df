// SPDX-License-Identifier: MIT
// Plans by engines that only say yes or no, for the tests of the planner.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "plan/plan.hpp"
#include "tests/plan/fake_engine.hpp"

namespace kizami::plan {

inline constexpr std::size_t kMiB = std::size_t{1} << 20;

[[nodiscard]] inline problem::Shape shape(Scalar scalar, std::int64_t m, std::int64_t n, std::int64_t k) {
  return {scalar, m, n, k};
}
[[nodiscard]] inline problem::Shape square(std::int64_t n, Scalar scalar = Scalar::kF64) {
  return shape(scalar, n, n, n);
}

inline void expect_refused(const Result<Plan>& result, StatusCode code, const std::vector<std::string>& parts) {
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(to_string(result.status().code()), to_string(code)) << result.status().reason();
  for (const std::string& part : parts) {
    EXPECT_NE(result.status().reason().find(part), std::string::npos)
        << '"' << result.status().reason() << "\" lacks \"" << part << '"';
  }
}
inline void expect_mentions(const std::vector<std::string>& refusals, const std::string& part) {
  EXPECT_TRUE(std::any_of(refusals.begin(), refusals.end(),
                          [&](const std::string& r) { return r.find(part) != std::string::npos; }))
      << "no refusal says " << part;
}

class PlanTest : public testing::Test {
 protected:
  FakeEngine cpu_simd{"cpu_simd"};
  FakeEngine cpu_ref{"cpu_ref"};
  FakeMachine machine{{&cpu_simd, &cpu_ref}};

  [[nodiscard]] Result<Plan> plan(const problem::Shape& s, const Policy& policy = {}) const {
    return make(s, policy, machine.environment());
  }
};

}  // namespace kizami::plan
