// SPDX-License-Identifier: MIT
// Limits of workspaces, and what is booked of them.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "schemes/ozaki2/buffers.hpp"
#include "schemes/ozaki2/plan.hpp"
#include "tests/plan/plan_case.hpp"

namespace kizami::plan {
namespace {

// The default limit is a limit: plans of any shape stay within it, or are refused with what they would need.
TEST_F(PlanTest, TheDefaultLimitIsKeptOrNamed) {
  std::int64_t num_refused = 0;
  for (const Scalar scalar : {Scalar::kF32, Scalar::kF64, Scalar::kC128, Scalar::kDD}) {
    for (const auto& [m, n, k] : std::vector<std::array<std::int64_t, 3>>{{1, 1, 100},
                                                                          {20000, 20000, 20000},
                                                                          {1, 1, 50000000},
                                                                          {1, 1, 200000000},
                                                                          {1 << 28, 1, 1},
                                                                          {1, 3000000000, 2},
                                                                          {100000, 100000, 1000000},
                                                                          {1, 1, num::kMaxLineLength / 2}}) {
      for (const Scheme scheme : {Scheme::kAuto, Scheme::kOzaki2, Scheme::kOzaki1}) {
        if (scheme == Scheme::kOzaki1 && scalar == Scalar::kDD) continue;
        Policy policy;
        policy.scheme = scheme;
        const Result<Plan> p = plan(shape(scalar, m, n, k), policy);
        if (p.ok()) {
          EXPECT_LE(p.value().schedule.workspace_bytes, kDefaultWorkspaceLimit) << m << " x " << n << " x " << k;
          continue;
        }
        ++num_refused;
        expect_refused(p, StatusCode::kWorkspaceTooSmall,
                       {"workspace limit = 1073741824 bytes (the default)", "must be >= "});
        const std::string reason = p.status().reason();
        policy.workspace_limit_bytes = std::stoull(reason.substr(reason.find(">= ") + 3));
        EXPECT_GT(policy.workspace_limit_bytes, kDefaultWorkspaceLimit);
        const Result<Plan> granted = plan(shape(scalar, m, n, k), policy);
        ASSERT_TRUE(granted.ok()) << granted.status().reason();
        EXPECT_LE(granted.value().schedule.workspace_bytes, policy.workspace_limit_bytes);
      }
    }
  }
  EXPECT_GT(num_refused, 0);
}

// What the prediction leaves out is named: the last rung answers all where exponents span all of FP64.
TEST_F(PlanTest, NamesTheTimeOfTheLastRung) {
  const auto seconds = [&](Scalar scalar, Accuracy accuracy) {
    Policy policy;
    policy.accuracy = accuracy;
    policy.threads = 1;
    const Result<Plan> p = plan(square(1000, scalar), policy);
    EXPECT_TRUE(p.ok()) << p.status().reason();
    const std::string text = explain(p.value());
    const std::size_t at = text.find("; at most ");
    EXPECT_NE(at, std::string::npos) << text;
    EXPECT_NE(text.find(" s, where it answers all", at), std::string::npos) << text;
    return at == std::string::npos ? 0.0 : std::stod(text.substr(at + 10));
  };
  const double pairwise = seconds(Scalar::kF64, Accuracy::native());
  const double compensated = seconds(Scalar::kF64, Accuracy::at_bits(52));
  EXPECT_GT(pairwise, 0);
  EXPECT_GT(compensated, pairwise);
  EXPECT_DOUBLE_EQ(seconds(Scalar::kC128, Accuracy::native()), 4 * pairwise) << "four real products";
}

// Threads that take longer to wake than a small product takes are neither used nor predicted with.
TEST_F(PlanTest, SmallProductsAreForOneThread) {
  for (const Scalar scalar : {Scalar::kF32, Scalar::kF64, Scalar::kC64, Scalar::kC128, Scalar::kDD}) {
    Policy policy;
    if (scalar == Scalar::kDD) policy.accuracy = Accuracy::at_bits(80);
    for (const std::int64_t n : {1, 4, 8, 1000}) {
      const auto planned = [&](int threads) {
        policy.threads = threads;
        return plan(square(n, scalar), policy);
      };
      const Result<Plan> one = planned(1);
      const Result<Plan> eight = planned(8);
      ASSERT_TRUE(one.ok() && eight.ok()) << one.status().reason() << eight.status().reason();
      EXPECT_EQ(ozaki2::useful_threads(one.value()), 1);
      EXPECT_EQ(ozaki2::useful_threads(eight.value()), n == 1000 ? 8 : 1) << "n = " << n;
      if (n == 1000) {
        EXPECT_LT(eight.value().schedule.seconds, one.value().schedule.seconds);
      } else {
        EXPECT_EQ(eight.value().schedule.seconds, one.value().schedule.seconds) << "n = " << n;
      }
    }
  }
}

// A call carves its workspace again; what engines ask for is known by then.
TEST_F(PlanTest, CarvingAPlanAsksNoEngineAgain) {
  for (const Scheme scheme : {Scheme::kOzaki2, Scheme::kOzaki1}) {
    Policy policy;
    policy.scheme = scheme;
    const FakeEngine engine("cpu_simd", offering(1e-3, 12345));
    const Result<Plan> p = make(square(300), policy, FakeMachine({&engine}).environment());
    ASSERT_TRUE(p.ok()) << p.status().reason();
    EXPECT_GT(engine.asked.size(), 0U);
    engine.asked.clear();
    base::Carver counter;
    static_cast<void>(ozaki2::carve(counter, p.value()));
    EXPECT_EQ(engine.asked.size(), 0U) << to_string(scheme);
    EXPECT_EQ(counter.bytes(), p.value().schedule.workspace_bytes);
  }
}

TEST_F(PlanTest, WorkspaceLimitIsKept) {
  for (const problem::Shape& s :
       {square(16384), square(16384, Scalar::kF32), square(1000), shape(Scalar::kF64, 1, 1, 1 << 20),
        shape(Scalar::kF64, 100000, 3, 50), shape(Scalar::kF32, 7, 100000, 9000)}) {
    for (const Gauge gauge : {Gauge::kEntry, Gauge::kNorm}) {
      for (const std::size_t limit : {64 * kMiB, 200 * kMiB, std::size_t{0}, 5000 * kMiB}) {
        Policy policy;
        policy.gauge = gauge;
        policy.workspace_limit_bytes = limit;
        const Result<Plan> p = plan(s, policy);
        ASSERT_TRUE(p.ok()) << p.status().reason();
        EXPECT_LE(p.value().schedule.workspace_bytes, limit == 0 ? kDefaultWorkspaceLimit : limit);
        const Chunk& chunk = ozaki2::ozaki2_of(p.value()).chunk;
        EXPECT_TRUE(chunk.mc >= 1 && chunk.nc >= 1 && chunk.kc >= 64 && chunk.kc % 64 == 0 &&
                    chunk.kc <= product::kBlockMaxI8);
        EXPECT_TRUE(chunk.mc <= s.m && chunk.nc <= s.n);
      }
    }
  }
}

/// A limit that is too small is refused with the least that would do; that is enough, and one byte less is not.
TEST_F(PlanTest, TinyLimitNamesTheLeastWorkspace) {
  for (const problem::Shape& s :
       {square(1), square(100), shape(Scalar::kF64, 1000, 10, 5000), shape(Scalar::kF32, 3, 3, 200000), square(4096)}) {
    for (const Gauge gauge : {Gauge::kEntry, Gauge::kNorm}) {
      Policy policy;
      policy.gauge = gauge;
      policy.workspace_limit_bytes = 1;
      const Result<Plan> refused = plan(s, policy);
      expect_refused(refused, StatusCode::kWorkspaceTooSmall, {"workspace limit = 1 bytes", "must be >= "});
      if (HasFatalFailure()) return;
      const std::string& reason = refused.status().reason();
      const auto least = static_cast<std::size_t>(std::strtoull(reason.c_str() + reason.find(">= ") + 3, nullptr, 10));
      ASSERT_GT(least, 1U);
      policy.workspace_limit_bytes = least;
      const Result<Plan> enough = plan(s, policy);
      ASSERT_TRUE(enough.ok()) << enough.status().reason();
      EXPECT_LE(enough.value().schedule.workspace_bytes, least);
      policy.workspace_limit_bytes = least - 1;
      expect_refused(plan(s, policy), StatusCode::kWorkspaceTooSmall, {"must be >= " + std::to_string(least)});
    }
  }
}

/// The largest products whose elements can be counted at all are booked without overflow, and refused with a number.
TEST_F(PlanTest, HugeShapesAreBookedWithoutOverflow) {
  const std::int64_t huge = std::int64_t{1} << 31;
  Policy policy;
  policy.workspace_limit_bytes = 64 * kMiB;
  for (const problem::Shape& s : {square(huge), shape(Scalar::kF64, huge, huge, 1), shape(Scalar::kF32, 1, 1, huge)}) {
    Policy roomy;
    roomy.workspace_limit_bytes = std::size_t{1} << 60;
    const Result<Plan> p = plan(s, roomy);
    ASSERT_TRUE(p.ok()) << p.status().reason();
    EXPECT_GT(p.value().schedule.workspace_bytes, 0U);
    EXPECT_LE(p.value().schedule.workspace_bytes, roomy.workspace_limit_bytes);
    if (s.m == huge) expect_refused(plan(s, policy), StatusCode::kWorkspaceTooSmall, {"limit = 67108864 bytes"});
  }
}

TEST_F(PlanTest, AnotherEngineIsTriedWhereOneWantsTooMuchWorkspace) {
  FakeEngine hungry("cpu_simd", offering(1.0, 100 * kMiB));
  Policy policy;
  policy.workspace_limit_bytes = 64 * kMiB;
  const Result<Plan> p = make(square(100), policy, FakeMachine({&hungry, &cpu_ref}).environment());
  ASSERT_TRUE(p.ok()) << p.status().reason();
  EXPECT_EQ(ozaki2::ozaki2_of(p.value()).engine, &cpu_ref);
  expect_mentions(p.value().refusals, "cpu_simd: needs a workspace of ");
  expect_refused(make(square(100), policy, FakeMachine({&hungry}).environment()), StatusCode::kWorkspaceTooSmall,
                 {"workspace limit = 67108864 bytes"});
}

TEST_F(PlanTest, LaunchesOfACertificateOfFewLinesHaveTheirPrice) {
  // A millisecond whatever the product; and an engine that is slow but for the least products.
  FakeEngine slow_to_start("cpu_simd", offering(1e-3));
  FakeEngine slow_to_multiply("cpu_ref", [](const product::ProductDesc& d) {
    return FakeEngine::Answer(product::Offer{0, d.m * d.n == 1 ? 1e-9 : 0.1, 1});
  });
  const FakeMachine both({&slow_to_start, &slow_to_multiply});
  Policy policy;
  const Result<Plan> ample = make(square(20), policy, both.environment());
  ASSERT_TRUE(ample.ok()) << ample.status().reason();
  EXPECT_EQ(ozaki2::ozaki2_of(ample.value()).engine, &slow_to_start);

  policy.workspace_limit_bytes = 1;
  const std::string reason = make(square(20), policy, both.environment()).status().reason();
  const std::string key = "must be >= ";
  ASSERT_NE(reason.find(key), std::string::npos) << reason;
  policy.workspace_limit_bytes = std::stoull(reason.substr(reason.find(key) + key.size()));
  const Result<Plan> least = make(square(20), policy, both.environment());
  ASSERT_TRUE(least.ok()) << least.status().reason();
  EXPECT_EQ(ozaki2::ozaki2_of(least.value()).certificate.mc * ozaki2::ozaki2_of(least.value()).certificate.nc, 1);
  EXPECT_EQ(ozaki2::ozaki2_of(least.value()).engine, &slow_to_multiply);
  expect_mentions(least.value().refusals, "cpu_simd: predicted 0.4");
}

TEST_F(PlanTest, DefaultLimitDoesNotGiveWayForLineStatistics) {  // 2^28 lines need more than 1 GiB by themselves
  expect_refused(plan(shape(Scalar::kF64, 1 << 28, 1, 1)), StatusCode::kWorkspaceTooSmall, {"(the default)"});
  const Result<Plan> nothing = plan(shape(Scalar::kF64, 1 << 28, 1, 0));  // C <- beta C takes no workspace
  EXPECT_TRUE(nothing.ok()) << nothing.status().reason();
}

// Sizes of these shapes are beyond what any memory has, or stop at the largest number.
TEST_F(PlanTest, NoLimitLetsAPlanTakeMoreThanMemoryHas) {
  constexpr std::int64_t kLong = num::kMaxLineLength;
  for (const auto& [m, n, k] : std::vector<std::array<std::int64_t, 3>>{{1 << 28, 1 << 28, kLong / 2},
                                                                        {kLong, 1 << 28, 1 << 28},
                                                                        {1 << 30, 1 << 30, 1},
                                                                        {1 << 28, 1 << 28, kLong}}) {
    for (const Scalar scalar : {Scalar::kF64, Scalar::kC128}) {
      if (is_complex(scalar) && k > kLong / 2) continue;
      for (const Scheme scheme : {Scheme::kOzaki2, Scheme::kOzaki1}) {
        Policy policy;
        policy.scheme = scheme;
        policy.workspace_limit_bytes = SIZE_MAX;
        const Result<Plan> p = plan(shape(scalar, m, n, k), policy);
        if (!p.ok()) continue;
        EXPECT_LE(p.value().schedule.workspace_bytes, std::size_t{PTRDIFF_MAX}) << m << " " << n << " " << k;
      }
    }
  }
}

TEST_F(PlanTest, EngineWorkspaceIsBooked) {
  FakeEngine hungry("cpu_simd", offering(1.0, 3 * kMiB));
  const std::size_t plain = plan(square(200)).value().schedule.workspace_bytes;
  const Result<Plan> p = make(square(200), Policy{}, FakeMachine({&hungry}).environment());
  ASSERT_TRUE(p.ok());
  EXPECT_GE(p.value().schedule.workspace_bytes, 3 * kMiB);
  EXPECT_GE(p.value().schedule.workspace_bytes, plain);
}

}  // namespace
}  // namespace kizami::plan
