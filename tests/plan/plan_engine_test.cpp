// SPDX-License-Identifier: MIT
// Which engine a plan takes, of how many threads, and shapes that have none or little to do.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "engines/cpu_ref/cpu_ref.hpp"
#include "schemes/ozaki2/plan.hpp"
#include "tests/plan/plan_case.hpp"

namespace kizami::plan {
namespace {

TEST_F(PlanTest, EngineAndSchemeMustGoTogether) {
  Policy policy;
  policy.scheme = Scheme::kNative;
  for (const EngineName engine : {EngineName::kCpuRef, EngineName::kCpuSimd}) {
    policy.engine = engine;
    expect_refused(plan(square(5), policy), StatusCode::kUnsupported,
                   {std::string(to_string(engine)), "ozaki2", "native"});
  }
  policy.scheme = Scheme::kOzaki2;
  policy.engine = EngineName::kNativeBlas;
  expect_refused(plan(square(5), policy), StatusCode::kUnsupported, {"native_blas", "native", "ozaki2"});
  policy.scheme = Scheme::kAuto;
  EXPECT_EQ(plan(square(5), policy).value().first().scheme, Scheme::kNative);
}

TEST_F(PlanTest, ForcedEngineIsHonouredOrRefused) {
  Policy policy;
  policy.engine = EngineName::kCpuRef;
  EXPECT_EQ(ozaki2::ozaki2_of(plan(square(100), policy).value()).engine, &cpu_ref);
  EXPECT_TRUE(cpu_simd.asked.empty());
  FakeEngine refuses("cpu_ref", refusing("not today"));
  expect_refused(make(square(100), policy, FakeMachine({&cpu_simd, &refuses}).environment()), StatusCode::kUnsupported,
                 {"cpu_ref", "not today"});
  expect_refused(make(square(100), policy, FakeMachine({&cpu_simd}).environment()), StatusCode::kUnsupported,
                 {"cpu_ref"});
  expect_refused(make(square(100), Policy{}, FakeMachine({}).environment()), StatusCode::kUnsupported, {"no engine"});
}

TEST_F(PlanTest, NextEngineAfterARefusal) {
  FakeEngine refuses("cpu_simd", refusing("needs AVX-1024"));
  const Result<Plan> p = make(square(100), Policy{}, FakeMachine({&refuses, &cpu_ref}).environment());
  ASSERT_TRUE(p.ok());
  EXPECT_EQ(ozaki2::ozaki2_of(p.value()).engine, &cpu_ref);
  expect_mentions(p.value().refusals, "cpu_simd: needs AVX-1024");
}

/// An engine is asked about everything the plan may launch, not only about the first rung.
TEST_F(PlanTest, EngineMustCarryAllThatMayBeLaunched) {
  const auto refusing_if = [](const auto& predicate, const char* reason) {
    return [=](const product::ProductDesc& d) {
      return predicate(d) ? FakeEngine::Answer(product::Refusal{reason}) : FakeEngine::Answer(product::Offer{});
    };
  };
  const std::vector<FakeEngine::Query> queries = {
      refusing_if([](const product::ProductDesc& d) { return d.epilogue == product::Epilogue::kStoreAcc; },
                  "what the test refuses"),
      refusing_if([](const product::ProductDesc& d) { return d.epilogue == product::Epilogue::kReduceAdd; },
                  "what the test refuses"),
      refusing_if([](const product::ProductDesc& d) { return d.num_products > 20; }, "what the test refuses"),
      refusing_if(
          [](const product::ProductDesc& d) {
            return d.epilogue == product::Epilogue::kStoreAcc && d.num_products > 1;
          },
          "what the test refuses"),
  };
  for (const auto& query : queries) {
    FakeEngine partial("cpu_simd", query);
    const Result<Plan> p =
        make(shape(Scalar::kF64, 300, 300, 300000), Policy{}, FakeMachine({&partial, &cpu_ref}).environment());
    ASSERT_TRUE(p.ok()) << p.status().reason();
    EXPECT_EQ(ozaki2::ozaki2_of(p.value()).engine, &cpu_ref);
    expect_mentions(p.value().refusals, "what the test refuses");
  }
}

TEST_F(PlanTest, ThreadsComeFromThePolicyOrTheMachine) {
  Policy policy;
  EXPECT_EQ(plan(square(100), policy).value().schedule.facts.num_threads, 4);
  policy.threads = 7;
  EXPECT_EQ(plan(square(100), policy).value().schedule.facts.num_threads, 7);
  EXPECT_EQ(cpu_simd.threads_seen, 7);
  policy.threads = -1;
  expect_refused(plan(square(100), policy), StatusCode::kInvalidArgument, {"threads = -1", "in 0..32767"});
}

TEST_F(PlanTest, InvalidShapes) {
  expect_refused(plan(shape(Scalar::kF64, -1, 1, 1)), StatusCode::kInvalidArgument, {"m = -1"});
  expect_refused(plan(shape(Scalar::kF64, 1, 1, std::int64_t{1} << 34)), StatusCode::kInvalidArgument, {"k = "});
}

TEST_F(PlanTest, DegenerateShapesHavePlans) {
  for (const std::int64_t m : {0, 1}) {
    for (const std::int64_t n : {0, 1}) {
      for (const std::int64_t k : {0, 1}) {
        for (const Scheme scheme : {Scheme::kAuto, Scheme::kNative, Scheme::kOzaki2}) {
          Policy policy;
          policy.scheme = scheme;
          const Result<Plan> p = plan(shape(Scalar::kF64, m, n, k), policy);
          ASSERT_TRUE(p.ok()) << p.status().reason();
          EXPECT_FALSE(explain(p.value()).empty());
          // An engine that checks what it is asked accepts it too.
          EXPECT_TRUE(
              make(shape(Scalar::kF64, m, n, k), policy, FakeMachine({&engines::cpu_ref_engine()}).environment()).ok());
        }
      }
    }
  }
}

}  // namespace
}  // namespace kizami::plan
