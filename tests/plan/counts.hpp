// SPDX-License-Identifier: MIT
// Plans at the ends of the ranges of all counts (docs/limits.md): a plan keeps to its limit, or is refused with a
// reason, and no number in its words has wrapped. Needs no memory; sanitizers see the arithmetic in between.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "plan/plan.hpp"
#include "tests/sanitized.hpp"

namespace kizami::plan {

inline constexpr std::int64_t kMost = (std::int64_t{1} << 34) - 1;
inline constexpr std::int64_t kRoot = std::int64_t{1} << 31;
inline constexpr std::int64_t kProducts[] = {1, std::int64_t{1} << 40, std::numeric_limits<std::int64_t>::max()};
inline constexpr std::size_t kLimits[] = {1, std::size_t{1} << 30, std::size_t{1} << 60, SIZE_MAX};

[[nodiscard]] inline std::vector<problem::Shape> shapes_of(Scalar scalar) {
  std::vector<problem::Shape> shapes;
  const std::int64_t extents[] = {0, 1, 65536, kRoot - 1, kRoot, std::int64_t{1} << 33, kMost};
  for (const std::int64_t m : extents) {
    for (const std::int64_t n : extents) {
      for (const std::int64_t k : extents) shapes.push_back({scalar, m, n, k});
    }
  }
  return shapes;
}

/// A number below zero, which no count is; exponents as in 1e-14 are none.
[[nodiscard]] inline bool has_negative_number(const std::string& text) {
  for (std::size_t i = 0; i + 1 < text.size(); ++i) {
    const bool is_sign =
        text[i] == '-' && (i == 0 || std::string_view(" =(").find(text[i - 1]) != std::string_view::npos);
    if (is_sign && text[i + 1] >= '0' && text[i + 1] <= '9') return true;
  }
  return false;
}

struct Tally {
  int planned = 0;
  int refused = 0;
};

inline void expect_counted(const problem::Shape& shape, const Policy& policy, const Environment& environment,
                           std::int64_t num_products, Tally& tally) {
  const std::string what = std::string(to_string(shape.scalar)) + " " + std::to_string(shape.m) + "x" +
                           std::to_string(shape.n) + "x" + std::to_string(shape.k) + " x " +
                           std::to_string(num_products) + ", limit " + std::to_string(policy.workspace_limit_bytes) +
                           ", " + std::string(to_string(policy.scheme));
  const Result<Plan> plan = make(shape, policy, environment, {num_products, false});
  ++(plan.ok() ? tally.planned : tally.refused);
  if (!plan.ok()) {
    EXPECT_FALSE(plan.status().reason().empty()) << what;
    EXPECT_FALSE(has_negative_number(plan.status().reason())) << what << ": " << plan.status().reason();
    return;
  }
  const Schedule& schedule = plan.value().schedule;
  EXPECT_LE(schedule.workspace_bytes, policy.workspace_limit_bytes) << what;
  EXPECT_LE(schedule.workspace_bytes, std::size_t{PTRDIFF_MAX}) << what;
  EXPECT_TRUE(std::isfinite(schedule.seconds) && schedule.seconds >= 0) << what << ": " << schedule.seconds;
  const std::string words = explain(plan.value());
  EXPECT_FALSE(has_negative_number(words)) << what << ": " << words;
}

/// Plans at the ends of all ranges: shapes, schemes, numbers of products, limits.
inline void expect_counted(Scalar scalar, const std::vector<Scheme>& schemes, const Environment& environment) {
  Tally tally;
  int turn = 0;
  for (const problem::Shape& shape : shapes_of(scalar)) {
    for (const Scheme scheme : schemes) {
      for (const std::size_t limit : kLimits) {
        if (tests::is_left_out(turn++, 5)) continue;
        Policy policy;
        policy.scheme = scheme;
        policy.workspace_limit_bytes = limit;
        policy.reproducibility = Reproducibility::kNotGuaranteed;
        expect_counted(shape, policy, environment, kProducts[(shape.m + shape.n + shape.k) % 3], tally);
        if (testing::Test::HasFailure()) return;
      }
    }
  }
  EXPECT_GT(tally.planned, 100) << "nothing is counted";
  EXPECT_GT(tally.refused, 100) << "nothing is large";
}

}  // namespace kizami::plan
