// SPDX-License-Identifier: MIT
// Calls of engine tile in device memory, whose split and reconstruction are its own where they take what is there and
// the common ones where they do not: the bits of the host in every case, and in the workspace who did it.
#if defined(KIZAMI_TEST_HAS_TILE)
#include <cstddef>
#include <cstdint>
#include <string>

#include "gpu/planned_call.hpp"
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
  PlannedCall<double> call(c, device_policy(c, EngineName::kTile));
  call.run();
  expect_same(call.c(), host_result<double>(c, c.policy.max_rungs).c, line);
  const ozaki2::DevicePhaseBuffers phases = call.buffers().phases;
  return {call.read(phases.a_moduli), call.read(phases.b_moduli), call.read(phases.result_moduli), call.outcome()};
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
