// SPDX-License-Identifier: MIT
// How H200s share products, planned without one.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "device_engines/h200_environment.hpp"
#include "exec/device_triangle.hpp"
#include "multi/pieces.hpp"
#include "multi/plan.hpp"
#include "schemes/ozaki2/stage.hpp"
#include "schemes/ozaki2/strassen.hpp"

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

/// Where blocks come over links in parts, what Strassen's products split more is hidden: they are taken of blocks that a
/// device alone makes by whole products.
TEST(MultiPlan, BlocksTakeStrassensProductsWhoseSplitIsHidden) {
  const auto taken_by = [](const MultiPlan& plan) {
    int taken = 0;
    for (const Share& share : plan.shares) {
      for (const auto& of_block : share.plans) taken += ozaki2::ozaki2_of(*of_block).takes_strassen ? 1 : 0;
    }
    return taken;
  };
  Policy policy;
  policy.scheme = Scheme::kOzaki2;
  const Placement four{.devices = {0, 1, 2, 3}, .parts = 1};
  EXPECT_EQ(taken_by(made({Scalar::kF64, 16384, 16384, 16384}, four, policy)), 4);
  EXPECT_TRUE(copies_take_turns(made({Scalar::kF64, 16384, 16384, 16384}, four, policy)));
  EXPECT_FALSE(copies_take_turns(made({Scalar::kF64, 16384, 16384, 16384}, {.devices = {0, 1}}, policy)));
  EXPECT_FALSE(copies_take_turns(made({Scalar::kF64, 16384, 16384, 16384}, {.devices = {0, 1, 1, 0}}, policy)));
  const problem::Shape shape{Scalar::kF64, 9728, 9728, 16384};
  const MultiPlan plan = made(shape, four, policy);
  expect_sound(plan);
  EXPECT_EQ(taken_by(plan), 4);
  const auto alone = plan_on_h200(0, {Scalar::kF64, 4864, 4864, 16384}, policy);
  ASSERT_TRUE(alone.ok());
  EXPECT_FALSE(ozaki2::ozaki2_of(*alone.value()).takes_strassen)
      << "as many blocks as the planner takes anyway say nothing";
  const double gain = ozaki2::strassen_gain_seconds(*plan.shares[0].plans[0]);
  const double of_block = ozaki2::strassen_gain_of_block_seconds(*plan.shares[0].plans[0], 4);
  EXPECT_NEAR(plan.shares[0].plans[0]->schedule.seconds, alone.value()->schedule.seconds - gain, 1e-9);
  EXPECT_LE(gain, 0.0);
  EXPECT_GT(of_block, 0.0);
  EXPECT_GT(of_block, ozaki2::strassen_gain_of_block_seconds(*plan.shares[0].plans[0], 2));
  // Not of several blocks a device, which share a panel that is split by each; nor of small panels; nor of FP32.
  EXPECT_EQ(taken_by(made(shape, {.devices = {0, 1, 2, 3}, .parts = 4}, policy)), 0);
  EXPECT_EQ(taken_by(made({Scalar::kF64, 4096, 4096, 4096}, four, policy)), 0);
  EXPECT_EQ(taken_by(made({Scalar::kF32, 16384, 16384, 16384}, four, policy)), 0);
  EXPECT_EQ(taken_by(made({Scalar::kC128, 16384, 16384, 16384}, four, policy)), 4);
  // Within the limit alone.
  Policy small = policy;
  small.workspace_limit_bytes = std::size_t{16} << 30;
  const MultiPlan limited = made(shape, four, small);
  for (std::size_t i = 0; i < limited.shares.size(); ++i)
    EXPECT_LE(share_bytes(limited, limited.shares[i], {}), small.workspace_limit_bytes);
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

// ---- one triangle of a matrix times itself ----

MultiPlan made_triangle(const problem::Shape& shape, const problem::Part& part, const Placement& placement,
                        const Policy& policy = {}) {
  Result<MultiPlan> plan = make_triangle(shape, part, policy, placement, plan_on_h200);
  EXPECT_TRUE(plan.ok()) << plan.status().reason();
  return plan.ok() ? std::move(plan).value() : MultiPlan{};
}

/// Blocks and, across the diagonal, their mirror images make up C; each has a plan that can leave a triangle out.
void expect_sound_triangle(const MultiPlan& plan) {
  std::vector<Rect> all;
  for (const Share& share : plan.shares) {
    ASSERT_EQ(share.plans.size(), share.blocks.size());
    for (std::size_t i = 0; i < share.blocks.size(); ++i) {
      const Rect& block = share.blocks[i];
      EXPECT_EQ(share.plans[i]->shape.m, block.rows);
      EXPECT_EQ(share.plans[i]->shape.n, block.cols);
      EXPECT_EQ(plan::numerics_hash(*share.plans[i]), plan::numerics_hash(*plan.whole));
      all.push_back(block);
      if (plan.is_triangle(block)) {
        EXPECT_EQ(exec::why_no_part(*share.plans[i]), std::nullopt);
        EXPECT_EQ(plan.part_of(block), plan.part);
        EXPECT_EQ(plan.times_of(block), 1);
      } else {
        EXPECT_EQ(block.row > block.col, plan.part.kind == problem::PartKind::kLower);
        EXPECT_TRUE(plan.part_of(block).is_all());
        EXPECT_EQ(plan.times_of(block), 2);
        all.push_back(block.transposed());
      }
    }
  }
  const Status status = validate_pieces("C", plan.shape.m, plan.shape.n, all);
  EXPECT_TRUE(status.ok()) << status.reason();
}

TEST(MultiPlan, ATriangleIsSharedByAreas) {
  for (const Scalar scalar : {Scalar::kF32, Scalar::kF64, Scalar::kC64, Scalar::kC128}) {
    for (const problem::PartKind kind : {problem::PartKind::kLower, problem::PartKind::kUpper}) {
      for (const std::size_t devices : {1, 2, 3, 4, 8}) {
        Placement placement{.devices = {}};
        for (std::size_t d = 0; d < devices; ++d) placement.devices.push_back(static_cast<int>(d));
        const MultiPlan plan = made_triangle({scalar, 8192, 8192, 8192}, {kind, is_complex(scalar)}, placement);
        expect_sound_triangle(plan);
        EXPECT_EQ(plan.has_exchange, devices > 1);
        EXPECT_EQ(plan.whole->first().scheme, Scheme::kOzaki2);
        for (const Share& share : plan.shares) {
          EXPECT_FALSE(share.blocks.empty());
          EXPECT_LE(share.blocks.size(), 3U) << explain(plan);
          EXPECT_TRUE(share.is_resident);
          EXPECT_EQ(share.b_places, 0);
        }
      }
    }
  }
  EXPECT_NE(explain(made_triangle({Scalar::kF64, 500, 500, 500}, {problem::PartKind::kUpper}, {.devices = {0, 1}}))
                .find("upper triangle, a matrix times itself transposed\n"),
            std::string::npos);
}

TEST(MultiPlan, OfATriangleWhoHasStrassensProductsHasMore) {
  for (const std::int64_t n : {16384, 32768}) {
    const MultiPlan plan = made_triangle({Scalar::kF64, n, n, n}, {problem::PartKind::kLower}, {.devices = {0, 1}});
    bool has_strassen = false;
    double pairs[2] = {};
    for (std::size_t i = 0; i < 2; ++i) {
      for (std::size_t b = 0; b < plan.shares[i].blocks.size(); ++b) {
        const Rect& block = plan.shares[i].blocks[b];
        has_strassen = has_strassen || plan.is_strassen_product(plan.shares[i], b);
        pairs[i] +=
            static_cast<double>(block.rows) * static_cast<double>(block.cols) * (plan.is_triangle(block) ? 0.5 : 1);
      }
    }
    EXPECT_EQ(has_strassen, n == 32768) << "or what is below says nothing";
    EXPECT_NEAR(pairs[1] / pairs[0], has_strassen ? 1.19 : 1.0, 0.03) << explain(plan);
  }
}

/// What two and four devices of 141 GB take at once.
TEST(MultiPlan, LargeTrianglesStayWhole) {
  for (const std::int64_t n : {16384, 32768}) {
    const auto blocks_of = [&](const Placement& placement) {
      const MultiPlan plan = made_triangle({Scalar::kF64, n, n, n}, {problem::PartKind::kLower}, placement);
      expect_sound_triangle(plan);
      std::vector<std::size_t> blocks;
      for (const Share& share : plan.shares) {
        EXPECT_TRUE(share.is_resident) << explain(plan);
        blocks.push_back(share.blocks.size());
      }
      return blocks;
    };
    const MultiPlan four =
        made_triangle({Scalar::kF64, n, n, n}, {problem::PartKind::kLower}, {.devices = {0, 1, 2, 3}});
    int by_strassen = 0;
    int named_by_plans = 0;  // of triangles
    for (const Share& share : four.shares) {
      for (std::size_t i = 0; i < share.blocks.size(); ++i) {
        const bool is_triangle = four.is_triangle(share.blocks[i]);
        named_by_plans += is_triangle && ozaki2::is_one_strassen_chunk(*share.plans[i]) ? 1 : 0;
        EXPECT_FALSE(is_triangle && four.is_strassen_product(share, i));
        by_strassen += four.is_strassen_product(share, i) ? 1 : 0;
      }
    }
    EXPECT_GT(by_strassen, 0) << "squares beside the diagonal";
    EXPECT_GT(named_by_plans, 0) << "or the test above says nothing";
    EXPECT_FALSE(copies_take_turns(four));
    EXPECT_EQ(blocks_of({.devices = {0, 1}}), (std::vector<std::size_t>{1, 2}));
    EXPECT_EQ(blocks_of({.devices = {0, 1, 2, 3}}), (std::vector<std::size_t>{1, 2, 2, 1}));
  }
}

TEST(MultiPlan, ATriangleIsCutUntilItFits) {
  const problem::Part lower{problem::PartKind::kLower};
  // One device's call would need 100 GB for all of C.
  const MultiPlan large = made_triangle({Scalar::kF64, 49152, 49152, 49152}, lower, {.devices = {0}});
  expect_sound_triangle(large);
  EXPECT_EQ(large.num_blocks(), 3U) << explain(large);
  for (const std::vector<int>& devices : {std::vector<int>{0}, {0, 1}, {0, 0, 0}}) {
    Policy policy;
    policy.workspace_limit_bytes = std::size_t{48} << 20;
    const MultiPlan plan = made_triangle({Scalar::kF64, 2000, 2000, 700}, lower, {.devices = devices}, policy);
    expect_sound_triangle(plan);
    EXPECT_GT(plan.num_blocks(), 2 * devices.size()) << explain(plan);
    for (const Share& share : plan.shares) EXPECT_LE(share_bytes(plan, share, {}), policy.workspace_limit_bytes);
  }
  // Of every type, each block twice, as the tests on a device have them.
  for (const auto& [scalar, megabytes] :
       {std::pair(Scalar::kF64, std::size_t{48}), {Scalar::kF32, 32}, {Scalar::kC128, 96}, {Scalar::kC64, 64}}) {
    Policy policy;
    policy.workspace_limit_bytes = megabytes << 20;
    const MultiPlan plan = made_triangle({scalar, 2000, 2000, 700}, lower, {.devices = {0}, .parts = 8}, policy);
    expect_sound_triangle(plan);
    EXPECT_GT(plan.num_blocks(), 2U) << explain(plan);
    EXPECT_FALSE(plan.shares[0].is_resident) << explain(plan);
  }
  const MultiPlan wished = made_triangle({Scalar::kF64, 2000, 2000, 700}, lower, {.devices = {0, 1}, .parts = 4});
  expect_sound_triangle(wished);
  for (const Share& share : wished.shares) EXPECT_GE(share.blocks.size(), 4U);
  const MultiPlan none = made_triangle({Scalar::kF64, 0, 0, 64}, lower, {.devices = {0, 1}});
  EXPECT_EQ(none.num_blocks(), 0U);
  const MultiPlan one = made_triangle({Scalar::kF64, 1, 1, 64}, lower, {.devices = {0, 1, 2}});
  EXPECT_EQ(one.num_blocks(), 1U);
}

/// A share whose first block is a small triangle has all of its others cut, too: of a device that is slow, 80 rows below
/// all lines of the other one.
TEST(MultiPlan, LongBlocksBehindASmallTriangleAreCut) {
  const problem::Part lower{problem::PartKind::kLower};
  const Placement uneven{.devices = {0, 1}, .speeds = {1, 0.05}};
  const MultiPlan whole = made_triangle({Scalar::kF64, 2000, 2000, 700}, lower, uneven);
  ASSERT_EQ(whole.shares[1].blocks.size(), 2U);
  EXPECT_LT(whole.shares[1].blocks[0].rows, 128);
  EXPECT_GT(whole.shares[1].blocks[1].cols, 1900);
  Policy policy;
  policy.workspace_limit_bytes = std::size_t{24} << 20;
  const MultiPlan plan = made_triangle({Scalar::kF64, 2000, 2000, 700}, lower, uneven, policy);
  expect_sound_triangle(plan);
  EXPECT_GT(plan.shares[1].blocks.size(), 2U);
  for (const Share& share : plan.shares) EXPECT_LE(share_bytes(plan, share, {}), policy.workspace_limit_bytes);
}

TEST(MultiPlan, RefusesTrianglesByName) {
  const auto status = [](const Policy& policy, std::int64_t n, std::int64_t k) {
    return make_triangle({Scalar::kF64, n, n, k}, {problem::PartKind::kLower}, policy, {.devices = {0, 1}},
                         plan_on_h200)
        .status();
  };
  Policy slices;
  slices.scheme = Scheme::kOzaki1;
  slices.slices.num_slices = 4;
  EXPECT_EQ(status(slices, 500, 500).code(), StatusCode::kUnsupported);
  EXPECT_NE(status(slices, 500, 500).reason().find("must be ozaki2 or auto"), std::string::npos);
  Policy small;
  small.workspace_limit_bytes = std::size_t{1} << 20;
  EXPECT_FALSE(status(small, 5000, 1 << 20).ok());
}

}  // namespace
}  // namespace kizami::multi
