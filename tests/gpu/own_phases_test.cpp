// SPDX-License-Identifier: MIT
// Calls of engine tile in device memory, whose split and reconstruction are its own where they take what is there and
// the common ones where they do not: the bits of the host in every case, and in the workspace who did it.
#if defined(KIZAMI_TEST_HAS_TILE)
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "exec/device_batch.hpp"
#include "exec/device_environment.hpp"
#include "gpu/device_case.hpp"
#include "plan/device_buffers.hpp"
#include "plan/plan.hpp"
#include "tile_kernels/crt_record.hpp"

namespace kizami::gpu_test {
namespace {

using OwnPhases = DeviceTest;

/// What nobody wrote: the poison of DeviceArray.
constexpr std::int32_t kNotAsked = static_cast<std::int32_t>(0xA5A5A5A5U);

/// Counts of moduli that the engine's own bodies took in the last block of a call; 0: they left it to the common ones,
/// kNotAsked: they were not enqueued.
struct Taken {
  std::int32_t a = 0;
  std::int32_t b = 0;
  std::int32_t result = 0;
  Outcome outcome;
};

/// Runs the case on engine tile and compares with the host.
Taken run_case(const std::string& line) {
  const Case c = case_of(line);
  Policy policy = device_policy(c, EngineName::kTile);
  Taken taken;
  const Result<plan::Environment> environment = exec::device_environment();
  if (!environment.ok()) {
    ADD_FAILURE() << environment.status().reason();
    return taken;
  }
  const Result<plan::Plan> plan = plan::make({c.scalar, c.m, c.n, c.k}, policy, environment.value());
  if (!plan.ok()) {
    ADD_FAILURE() << line << ": " << plan.status().reason();
    return taken;
  }
  const check::Operands<double> host(c, api_test::kThreads);
  const DeviceOperands<double> x(host);
  const DeviceArray<std::byte> workspace(plan.value().schedule.workspace_bytes);
  const auto view = [&](const double* data, Op op, check::Which which) {
    const check::StoredShape s = check::stored_shape(c, which);
    const MatrixView<const double> v = blas_view(data, s.rows, s.cols, s.ld, c.layout);
    return is_transposed(op) ? v.transposed() : v;
  };
  const check::StoredShape s = check::stored_shape(c, check::Which::kC);
  const exec::DeviceProblem<double> problem{check::alpha_of<double>(c), view(x.a.data(), c.op_a, check::Which::kA),
                                            view(x.b.data(), c.op_b, check::Which::kB), check::beta_of<double>(c),
                                            blas_view(x.c.data(), s.rows, s.cols, s.ld, c.layout)};
  const std::span<std::byte> memory(workspace.data(), workspace.size());
  const Status status = exec::run_device<double>(plan.value(), std::span(&problem, 1), memory, nullptr);
  EXPECT_TRUE(status.ok()) << line << ": " << status.reason();
  EXPECT_TRUE(exec::read_device_outcomes(plan.value(), memory, nullptr, std::span(&taken.outcome, 1)).ok()) << line;
  expect_same(x.c.download(), host_result<double>(c, c.policy.max_rungs).c, line);
  EXPECT_TRUE(x.c.guards_are_intact() && workspace.guards_are_intact()) << line;
  base::Carver carver(workspace.data());
  const plan::DevicePhaseBuffers phases = plan::carve_device(carver, plan.value()).phases;
  const auto read = [](const std::int32_t* from, std::int32_t& to) {
    check(cudaMemcpy(&to, from, sizeof to, cudaMemcpyDeviceToHost), "count of moduli");
  };
  read(phases.a_moduli, taken.a);
  read(phases.b_moduli, taken.b);
  read(phases.result_moduli, taken.result);
  return taken;
}

TEST_F(OwnPhases, TakeWholeCalls) {
  for (const char* ops : {"nn", "nt", "tn", "tt"}) {
    for (const char* rest : {" 150x140x300", " 33x70x129 a=0.3 ld+3", " 1x1x1", " 17x130x2000", " 300x2x4097"}) {
      const std::string line = std::string("d ") + ops + rest;
      const Taken taken = run_case(line);
      EXPECT_GT(taken.outcome.moduli, 0) << line;
      EXPECT_EQ(taken.a, taken.outcome.moduli) << line;
      EXPECT_EQ(taken.b, taken.outcome.moduli) << line;
      EXPECT_EQ(taken.result, taken.outcome.moduli) << line;
    }
  }
}

TEST_F(OwnPhases, TakeEveryCountThatTheirIntegersHold) {
  for (int count = 6; count <= 49; ++count) {
    const Taken taken = run_case("d nt 37x66x150 A=exprand:phi=1 B=randn moduli=" + std::to_string(count));
    EXPECT_EQ(taken.outcome.moduli, count);
    EXPECT_EQ(taken.a, count <= 24 ? count : kNotAsked) << count;  // integers below 2^96
    EXPECT_EQ(taken.result, count <= tile_kernels::CrtRecord::kMostModuli ? count : kNotAsked) << count;
    EXPECT_EQ(taken.b, taken.a);
  }
}

TEST_F(OwnPhases, FollowTheLadder) {
  const Taken low = run_case("d nn 150x140x520");
  const Taken high = run_case("d nn 150x140x520 A=exprand:phi=2 B=exprand:phi=2");
  EXPECT_GT(high.outcome.moduli, low.outcome.moduli);
  for (const Taken& taken : {low, high}) {
    EXPECT_EQ(taken.a, taken.outcome.moduli);
    EXPECT_EQ(taken.result, taken.outcome.moduli);
  }
}

TEST_F(OwnPhases, LeaveTheRestToTheCommonOnes) {
  EXPECT_EQ(run_case("d nn 90x80x200 b=0.5").result, kNotAsked) << "beta C may be read again";
  EXPECT_EQ(run_case("d nn 90x80x200 layout=row").result, kNotAsked) << "C must be column-major";
  EXPECT_EQ(run_case("d nn 90x80x200 a=1e200").result, kNotAsked) << "alpha may leave the range";
  EXPECT_EQ(run_case("d nn 90x80x200 A=randn,x2^500 B=randn,x2^400").result, 0) << "products may leave the range";
  EXPECT_EQ(run_case("d nn 90x80x200 A=randn,x2^-1000 B=randn,x2^700").result, 0) << "scales may leave the range";
  const Taken equilibrated = run_case("d nn 200x200x400 A=grade:inner,span=400 B=grade:inner,span=400");
  EXPECT_TRUE(equilibrated.outcome.equilibrated);
  EXPECT_EQ(equilibrated.a, 0) << "the split knows no inner shifts";
}

TEST_F(OwnPhases, LeaveLinesWithNaNAndInfAsTheyAre) {
  for (const char* what :
       {"A=randn,nan@middle", "B=randn,inf@corner", "A=randn,nan@all", "A=randn,-inf@edge B=randn,nan@last"}) {
    for (const char* rest : {"d nn 50x41x150 ", "d tt 50x41x150 a=2 ", "d nn 50x41x150 b=1 "}) {
      const Taken taken = run_case(std::string(rest) + what);
      if (taken.outcome.rung >= 0) {
        EXPECT_EQ(taken.a, taken.outcome.moduli) << rest << what;
      }
    }
  }
}

/// What they write where FP64 arithmetic answers is written over.
TEST_F(OwnPhases, LeaveNothingOfRepairedElements) {
  std::int64_t repaired = 0;
  for (const char* phi : {"1", "2", "3", "4"}) {
    for (const char* seed : {" seed=1", " seed=2", " seed=3"}) {
      const Taken taken =
          run_case("d nn 270x260x520 A=exprand:phi=" + std::string(phi) + " B=exprand:phi=" + phi + seed);
      if (taken.result > 0) repaired += taken.outcome.repaired;
    }
  }
  EXPECT_GT(repaired, 0);
}

TEST_F(OwnPhases, WorkInEveryChunk) {
  Case c = case_of("d nn 700x650x900");
  const DeviceResult<double> whole = multiply<double>(c, device_policy(c, EngineName::kTile));
  for (const std::size_t megabytes : {20, 12}) {
    Policy policy = device_policy(c, EngineName::kTile);
    policy.workspace_limit_bytes = megabytes << 20;
    expect_same(multiply<double>(c, policy).c, whole.c, std::to_string(megabytes) + " MB");
  }
}

}  // namespace
}  // namespace kizami::gpu_test
#endif
