// SPDX-License-Identifier: MIT
// Plans of many shapes: found again as long as no more than kPlanCacheSize others were asked for since, and never for another call.
#include "exec/plan_cache.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "exec/environment.hpp"

namespace kizami::exec {
namespace {

std::shared_ptr<const plan::Plan> plan_of(std::int64_t m, std::int64_t k, Accuracy accuracy = {}) {
  Policy policy;
  policy.accuracy = accuracy;
  auto plan = cached_plan({Scalar::kF64, m, 32, k}, policy, environment());
  EXPECT_TRUE(plan.ok());
  return std::move(plan).value();
}

TEST(PlanCache, AFactorizationFindsItsShapesAgain) {
  constexpr std::int64_t kShapes = 900;
  static_assert(kShapes + 2 < kPlanCacheSize);
  std::vector<std::shared_ptr<const plan::Plan>> first;
  for (std::int64_t left = kShapes; left > 0; --left) first.push_back(plan_of(left, 16));
  for (std::int64_t left = kShapes; left > 0; --left)
    ASSERT_EQ(plan_of(left, 16), first[static_cast<std::size_t>(kShapes - left)]) << left;
  const auto other_k = plan_of(7, 17);
  EXPECT_NE(other_k, plan_of(7, 16));
  EXPECT_EQ(other_k->shape.k, 17);
  const auto other_accuracy = plan_of(7, 16, Accuracy::at_bits(30));
  EXPECT_NE(other_accuracy, plan_of(7, 16));
  EXPECT_EQ(other_accuracy->policy.accuracy, Accuracy::at_bits(30));
  const problem::Shape shape{Scalar::kF64, 7, 32, 16};
  plan::Environment machine = environment();
  const auto plan = cached_plan(shape, {}, machine);
  ASSERT_TRUE(plan.ok());
  const auto batch = cached_plan(shape, {}, machine, {.num_products = 3});
  ASSERT_TRUE(batch.ok());
  EXPECT_EQ(batch.value()->schedule.batch.num_products, 3);
  EXPECT_NE(batch.value(), plan.value());
  const auto single = cached_plan({Scalar::kF32, 7, 32, 16}, {}, machine);
  ASSERT_TRUE(single.ok());
  EXPECT_EQ(single.value()->shape.scalar, Scalar::kF32);
  machine.facts.num_threads += 1;
  const auto threads = cached_plan(shape, {}, machine);
  ASSERT_TRUE(threads.ok());
  EXPECT_EQ(threads.value()->schedule.facts.num_threads, machine.facts.num_threads);
  EXPECT_EQ(cached_plan(shape, {}, environment()).value(), plan.value());
}

TEST(PlanCache, TheLeastRecentlyUsedGoesFirst) {
  const auto kept = plan_of(5000, 16);
  const auto lost = plan_of(5001, 16);
  for (std::int64_t m = 1; m < kPlanCacheSize; ++m) {
    static_cast<void>(plan_of(m, 18));
    if (m % 100 == 0) {
      ASSERT_EQ(plan_of(5000, 16), kept);
    }
  }
  static_cast<void>(plan_of(1, 19));
  EXPECT_EQ(plan_of(5000, 16), kept);
  EXPECT_NE(plan_of(5001, 16), lost);
}

}  // namespace
}  // namespace kizami::exec
