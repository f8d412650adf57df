// SPDX-License-Identifier: MIT
// How a plan is told in words, and what its hashes tell apart.
#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>

#include "schemes/ozaki2/plan.hpp"
#include "tests/plan/plan_case.hpp"

namespace kizami::plan {
namespace {

TEST_F(PlanTest, ExplainSaysEverything) {
  FakeEngine refuses("cpu_simd", refusing("needs AVX-1024"));
  const Result<Plan> p =
      make(shape(Scalar::kF64, 123, 456, 789), Policy{}, FakeMachine({&refuses, &cpu_ref}).environment());
  ASSERT_TRUE(p.ok());
  const std::string text = explain(p.value());
  for (const std::string& part : {std::string("f64"),
                                  std::string("m = 123"),
                                  std::string("n = 456"),
                                  std::string("k = 789"),
                                  std::string("native"),
                                  std::string("ozaki2"),
                                  std::string("|A||B|"),
                                  std::string("entry"),
                                  std::string("14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24 moduli"),
                                  std::string("equilibrated"),
                                  std::string("FP64"),
                                  std::string("pairwise"),
                                  std::string("k blocks"),
                                  std::to_string(ozaki2::ozaki2_of(p.value()).chunk.kc),
                                  std::string("131072"),
                                  std::string("cpu_ref"),
                                  std::string("cpu_simd: needs AVX-1024"),
                                  std::to_string(p.value().schedule.workspace_bytes) + " bytes",
                                  std::string("its bits depend"),
                                  std::string("certificate")}) {
    EXPECT_NE(text.find(part), std::string::npos) << text << "\nlacks " << part;
  }
  Policy policy;
  policy.gauge = Gauge::kNorm;
  policy.accuracy = Accuracy::at_bits(20);
  const std::string norm = explain(plan(square(100), policy).value());
  for (const char* part : {"||a_i|| ||b_j||", "norm", "bits=20", "2^-20"})
    EXPECT_NE(norm.find(part), std::string::npos) << norm;
  policy = Policy{};
  policy.forced_moduli = 9;
  EXPECT_NE(explain(plan(square(100), policy).value()).find("moduli=9 (forced)"), std::string::npos);
  policy = Policy{};
  policy.scheme = Scheme::kNative;
  const std::string native = explain(plan(square(100), policy).value());
  for (const char* part : {"native", "native_blas", "k blocks", "0 bytes"})
    EXPECT_NE(native.find(part), std::string::npos) << native;
  // One fact a line, nothing glued.
  for (const std::string& t : {text, norm, native}) {
    EXPECT_EQ(t.back(), '\n');
    EXPECT_EQ(t.find("\n\n"), std::string::npos);
  }
}

/// What never changes a bit never changes the hash.
TEST_F(PlanTest, HashIgnoresTheSchedule) {
  const std::uint64_t want = numerics_hash(plan(square(2000)).value());
  Policy policy;
  policy.threads = 3;
  EXPECT_EQ(numerics_hash(plan(square(2000), policy).value()), want);
  policy.workspace_limit_bytes = 64 * kMiB;
  EXPECT_EQ(numerics_hash(plan(square(2000), policy).value()), want);
  policy.engine = EngineName::kCpuRef;
  EXPECT_EQ(numerics_hash(plan(square(2000), policy).value()), want);
  policy.reject_nonfinite = true;
  EXPECT_EQ(numerics_hash(plan(square(2000), policy).value()), want);
  EXPECT_EQ(numerics_hash(plan(shape(Scalar::kF64, 5, 77, 2000), policy).value()), want) << "m and n are no numerics";
}

TEST_F(PlanTest, HashTellsNumericsApart) {
  std::set<std::uint64_t> hashes;
  int count = 0;
  const auto add = [&](const problem::Shape& s, const Policy& policy) {
    const Result<Plan> p = plan(s, policy);
    ASSERT_TRUE(p.ok()) << p.status().reason();
    hashes.insert(numerics_hash(p.value()));
    ++count;
  };
  for (const Scalar scalar : {Scalar::kF32, Scalar::kF64}) {
    for (const std::int64_t k : {100, 101, 5000}) {
      add(shape(scalar, 10, 10, k), Policy{});
      for (int bits = 1; bits <= 20; ++bits) {
        Policy policy;
        policy.accuracy = Accuracy::at_bits(bits);
        add(shape(scalar, 10, 10, k), policy);
      }
      for (int n = 2; n <= 28; ++n) {
        Policy policy;
        policy.forced_moduli = n;
        add(shape(scalar, 10, 10, k), policy);
      }
      Policy policy;
      policy.allow_fp64_arithmetic = false;
      add(shape(scalar, 10, 10, k), policy);
      // Gauge norm takes one count for any data: the same numerics as that count forced, counted above.
      policy = Policy{};
      policy.gauge = Gauge::kNorm;
      const Plan norm = plan(shape(scalar, 10, 10, k), policy).value();
      policy = Policy{};
      policy.forced_moduli = ozaki2::ozaki2_of(norm).ladder.rungs[0].num_moduli;
      EXPECT_EQ(numerics_hash(norm), numerics_hash(plan(shape(scalar, 10, 10, k), policy).value()));
      policy = Policy{};
      policy.scheme = Scheme::kNative;
      add(shape(scalar, 10, 10, k), policy);
    }
  }
  EXPECT_EQ(static_cast<int>(hashes.size()), count);
}

/// At k = 64 native allows 64 2^-53, as 47 bits do: the same rungs, but not as many pairs that they leave.
TEST_F(PlanTest, HashTellsTheLimitOfRepairs) {
  const Plan native = plan(square(64)).value();
  Policy policy;
  policy.accuracy = Accuracy::at_bits(47);
  const Plan bits = plan(square(64), policy).value();
  EXPECT_EQ(ozaki2::ozaki2_of(native).ladder.rungs, ozaki2::ozaki2_of(bits).ladder.rungs);
  EXPECT_EQ(ozaki2::ozaki2_of(bits).ladder.repair_shift, num::kRepairShift);
  EXPECT_NE(numerics_hash(native), numerics_hash(bits));
}

TEST_F(PlanTest, PlanningIsPureAndRepeats) {
  const Plan first = plan(square(777)).value();
  const Plan second = plan(square(777)).value();
  EXPECT_EQ(explain(first), explain(second));
  EXPECT_EQ(numerics_hash(first), numerics_hash(second));
}

}  // namespace
}  // namespace kizami::plan
