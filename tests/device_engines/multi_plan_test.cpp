// SPDX-License-Identifier: MIT
// How H200s share products, planned without one.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "device_engines/h200_environment.hpp"
#include "multi/pieces.hpp"
#include "multi/plan.hpp"

namespace kizami::multi {
namespace {

Result<std::shared_ptr<const plan::Plan>> plan_on_h200(int device, const problem::Shape& shape, const Policy& policy) {
  plan::Environment environment = plan::h200_environment();
  environment.facts.device = device;
  Result<plan::Plan> made = plan::make(shape, policy, environment);
  if (!made.ok()) return made.status();
  return std::make_shared<const plan::Plan>(std::move(made).value());
}

MultiPlan made(const problem::Shape& shape, const Placement& placement, const Policy& policy = {}) {
  Result<MultiPlan> plan = make(shape, policy, placement, plan_on_h200);
  EXPECT_TRUE(plan.ok()) << plan.status().reason();
  return std::move(plan).value();
}

void expect_sound(const MultiPlan& plan) {
  std::vector<Rect> all;
  for (const Share& share : plan.shares) {
    ASSERT_EQ(share.plans.size(), share.blocks.size());
    for (std::size_t i = 0; i < share.blocks.size(); ++i) {
      const plan::Plan& of_block = *share.plans[i];
      EXPECT_EQ(of_block.shape.m, share.blocks[i].rows);
      EXPECT_EQ(of_block.shape.n, share.blocks[i].cols);
      EXPECT_EQ(of_block.shape.k, plan.shape.k);
      EXPECT_EQ(of_block.schedule.facts.device, share.device);
      EXPECT_LE(of_block.schedule.workspace_bytes, share.product_bytes);
      EXPECT_EQ(plan::numerics_hash(of_block), plan::numerics_hash(*plan.whole));
      all.push_back(share.blocks[i]);
    }
  }
  const Status status = validate_pieces("C", plan.shape.m, plan.shape.n, all);
  EXPECT_TRUE(status.ok()) << status.reason();
}

/// One block on one device; four of each of several, so that panels travel while others are multiplied.
TEST(MultiPlan, EveryDeviceHasItsShareOfALargeProduct) {
  for (const Scalar scalar : {Scalar::kF32, Scalar::kF64, Scalar::kC64, Scalar::kC128}) {
    for (const int devices : {1, 2, 3, 4, 8}) {
      Placement placement{.devices = {}};
      for (int d = 0; d < devices; ++d) placement.devices.push_back(d);
      const MultiPlan plan = made({scalar, 8192, 8192, 8192}, placement);
      EXPECT_EQ(plan.num_blocks(), devices > 1 ? 4 * static_cast<std::size_t>(devices) : 1U);
      EXPECT_EQ(plan.has_exchange, devices > 1);
      expect_sound(plan);
      for (const Share& share : plan.shares) {
        EXPECT_TRUE(share.is_resident);
        EXPECT_LE(share_bytes(plan, share, {}), plan::h200_facts().memory_bytes);
      }
    }
  }
}

TEST(MultiPlan, DevicesGoWithoutABlock) {
  const MultiPlan plan = made({Scalar::kF64, 1, 1, 64}, {.devices = {0, 1, 2}});
  EXPECT_EQ(plan.num_blocks(), 1U);
  EXPECT_FALSE(plan.has_exchange);
  expect_sound(plan);
  EXPECT_EQ(made({Scalar::kF64, 0, 5, 64}, {.devices = {0, 1}}).num_blocks(), 0U);
}

TEST(MultiPlan, WhatDoesNotFitIsStreamed) {
  for (const std::vector<int>& devices : {std::vector<int>{0}, {0, 1}, {0, 0, 0}, {3, 2, 1, 0}}) {
    Policy policy;
    policy.scheme = Scheme::kOzaki2;
    policy.workspace_limit_bytes = std::size_t{32} << 20;
    const Scalar scalar = devices.size() == 2 ? Scalar::kC64 : Scalar::kF64;
    const MultiPlan plan = made({scalar, 1500, 2800, 700}, {.devices = devices, .parts = 8}, policy);
    expect_sound(plan);
    for (const Share& share : plan.shares) {
      EXPECT_FALSE(share.is_resident) << explain(plan);
      EXPECT_EQ(share.num_workspaces, 1);
      EXPECT_LE(share.b_places, 2);
      EXPECT_LE(share_bytes(plan, share, {}), policy.workspace_limit_bytes);
    }
  }
  // A matrix of 34 GB stays where it fits, and the others pass by.
  const MultiPlan large = made({Scalar::kF64, 65536, 65536, 65536}, {.devices = {0}});
  expect_sound(large);
  for (const Share& share : large.shares) {
    EXPECT_FALSE(share.is_resident) << explain(large);
    EXPECT_EQ(share.a_places, 1) << explain(large);
    EXPECT_LE(share_bytes(large, share, {}), plan::h200_facts().memory_bytes / 8 * 7);
  }
}

TEST(MultiPlan, MatricesInPlaceTakeNoWorkspace) {
  const MultiPlan plan = made({Scalar::kF64, 8192, 8192, 8192}, {.devices = {0, 1}});
  const Share& share = plan.shares[0];
  const std::size_t all = share_bytes(plan, share, {});
  const std::size_t none = share_bytes(plan, share, {false, false, false});
  EXPECT_GE(all - none, std::size_t{8} * (8192 * 8192 + 4096 * 8192 + 4096 * 8192));
}

TEST(MultiPlan, RefusesWhatCannotBeCut) {
  const auto code = [](const problem::Shape& shape, const Policy& policy, const Placement& placement) {
    return make(shape, policy, placement, plan_on_h200).status().code();
  };
  Policy slices;
  slices.scheme = Scheme::kOzaki1;
  slices.slices.num_slices = 4;
  slices.slices.one_scale = true;
  EXPECT_EQ(code({Scalar::kF64, 500, 500, 500}, slices, {.devices = {0, 1}}), StatusCode::kUnsupported);
  EXPECT_EQ(code({Scalar::kF64, 500, 500, 500}, slices, {.devices = {0}}), StatusCode::kOk);
  slices.slices.one_scale = false;
  EXPECT_EQ(code({Scalar::kF64, 500, 500, 500}, slices, {.devices = {0, 1}}), StatusCode::kOk);
  Policy small;
  small.workspace_limit_bytes = std::size_t{1} << 20;
  EXPECT_EQ(code({Scalar::kF64, 500, 500, 1 << 20}, small, {.devices = {0}}), StatusCode::kWorkspaceTooSmall);
  EXPECT_EQ(code({Scalar::kF64, 5, 5, 5}, {}, {.devices = {0}, .parts = -1}), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace kizami::multi
