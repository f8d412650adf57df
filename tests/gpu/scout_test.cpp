// SPDX-License-Identifier: MIT
// What the scout of a device call decides, and that no bit hangs on it: the same C as by engine cublaslt, which has none, so that its
// certificate of blocks follows a sample.
#include <gtest/gtest.h>

#include <cstddef>
#include <span>
#include <string>

#include "exec/device_batch.hpp"
#include "exec/device_environment.hpp"
#include "gpu/device_case.hpp"
#include "plan/device_buffers.hpp"
#include "plan/plan.hpp"

namespace kizami::gpu_test {
namespace {

class ScoutTest : public DeviceTest {};

/// Runs the case by engine hopper and compares with engine cublaslt.
template <class T>
plan::DeviceState run_case(const std::string& line, bool has_scout = true) {
  const Case c = case_of(line);
  const Result<plan::Environment> environment = exec::device_environment();
  EXPECT_TRUE(environment.ok());
  const Result<plan::Plan> plan =
      plan::make({c.scalar, c.m, c.n, c.k}, device_policy(c, EngineName::kHopper), environment.value());
  if (!plan.ok()) {
    ADD_FAILURE() << line << ": " << plan.status().reason();
    return {};
  }
  EXPECT_EQ(plan::has_scout(plan.value()), has_scout) << line;
  const check::Operands<T> host(c, api_test::kThreads);
  const DeviceOperands<T> x(host);
  const DeviceArray<std::byte> workspace(plan.value().schedule.workspace_bytes);
  const auto view = [&](const T* data, Op op, check::Which which) {
    const check::StoredShape s = check::stored_shape(c, which);
    MatrixView<const T> v = blas_view(data, s.rows, s.cols, s.ld, c.layout);
    if (is_transposed(op)) v = v.transposed();
    v.is_conjugated = kIsComplex<T> && is_conjugated(op);
    return v;
  };
  const check::StoredShape s = check::stored_shape(c, check::Which::kC);
  const exec::DeviceProblem<T> problem{check::alpha_of<T>(c), view(x.a.data(), c.op_a, check::Which::kA),
                                       view(x.b.data(), c.op_b, check::Which::kB), check::beta_of<T>(c),
                                       blas_view(x.c.data(), s.rows, s.cols, s.ld, c.layout)};
  const std::span<std::byte> memory(workspace.data(), workspace.size());
  const Status status = exec::run_device<T>(plan.value(), std::span(&problem, 1), memory, nullptr);
  EXPECT_TRUE(status.ok()) << line << ": " << status.reason();
  Policy reference = device_policy(c, EngineName::kCublasLt);
  reference.may_sync = true;  // else an engine that does not follow the state has one rung
  expect_same(x.c.download(), multiply<T>(c, reference).c, line);
  EXPECT_TRUE(x.c.guards_are_intact() && workspace.guards_are_intact()) << line;
  base::Carver carver(workspace.data());
  plan::DeviceState state;
  check(cudaMemcpy(&state, plan::carve_device(carver, plan.value()).state, sizeof state, cudaMemcpyDeviceToHost),
        "state");
  return state;
}

[[nodiscard]] std::string both(const std::string& head, const std::string& spec) {
  return head + " A=" + spec + " B=" + spec;
}

template <class T>
void expect_looks(const std::string& type) {
  const std::string narrow = both(type + " nn 3080x3073x3072", "exprand:phi=0.5");
  const plan::DeviceState sample = run_case<T>(narrow);
  EXPECT_EQ(sample.look, plan::Look::kSample) << narrow;
  EXPECT_EQ(sample.has_rungs, 0) << narrow;
  EXPECT_EQ(sample.selection.rung, 0) << narrow;
  const std::string wide = both(type + " tn 3073x3080x3090", "exprand:phi=4");
  const plan::DeviceState first = run_case<T>(wide);
  EXPECT_EQ(first.look, plan::Look::kBlocksFirst) << wide;
  EXPECT_EQ(first.has_rungs, 1) << wide;
  EXPECT_EQ(first.sampled_failures, 0U) << wide << ": no sampled product is made";
  EXPECT_GT(first.selection.rung, 0) << wide;
}
TEST_F(ScoutTest, SeesWideExponents) {
  expect_looks<double>("d");
  expect_looks<std::complex<float>>("c");
}

TEST_F(ScoutTest, SeesThatTheLowestRungIsProbablyEnough) {
  const plan::DeviceState state = run_case<double>(both("d nt 3072x3073x3100", "exprand:phi=1.1"));
  EXPECT_EQ(state.look, plan::Look::kBlocks);
  EXPECT_EQ(state.has_rungs, 1);
  EXPECT_EQ(state.sampled_failures, 0U);
  EXPECT_EQ(state.selection.rung, 0);
}

/// Lines that are not like one another, of which the scout reads a few: it may be right or wrong.
TEST_F(ScoutTest, ChangesNoBit) {
  for (const char* line :
       {"d nn 3072x3100x3073 A=grade:rows,span=60 B=exprand:phi=3", "d nn 3072x3100x3073 A=randn,nan@middle",
        "d nn 3072x3100x3073 A=zeros", "d nn 3072x3100x3073 A=randn,x2^-990",
        "d nn 3072x3100x3073 A=grade:inner,span=400 B=grade:inner,span=400",
        "d nn 3072x3100x3073 A=exprand:phi=4 B=randn a=0.3 b=0.5", "d nn 3072x3100x3073 a=0 b=2"}) {
    run_case<double>(line);
  }
}

TEST_F(ScoutTest, IsNotAskedAboutSmallProducts) {
  const plan::DeviceState state = run_case<double>(both("d nn 3100x3000x3100", "exprand:phi=4"), false);
  EXPECT_EQ(state.look, plan::Look::kSample);
  EXPECT_GT(state.sampled_failures, 0U);
}

}  // namespace
}  // namespace kizami::gpu_test
