// SPDX-License-Identifier: MIT
// What the scout of a device call decides, and that no bit hangs on it: the same C as by engine cublaslt, which has
// none, so that its certificate of blocks follows a sample.
#include <gtest/gtest.h>

#include <algorithm>
#include <complex>
#include <cstdint>
#include <string>
#include <vector>

#include "device/learned_look.hpp"
#include "gpu/planned_call.hpp"
#include "gpu/sm90_test.hpp"
#include "schemes/ozaki2/device_looks.hpp"
#include "schemes/ozaki2/residues.hpp"
#include "schemes/ozaki2/stage.hpp"

namespace kizami::gpu_test {
namespace {

class ScoutTest : public Sm90Test {};

/// Runs the case by engine hopper and compares with engine cublaslt.
template <class T>
device::DeviceState run_case(const std::string& line, bool has_scout = true) {
  const Case c = case_of(line);
  PlannedCall<T> call(c, device_policy(c, EngineName::kHopper));
  EXPECT_EQ(ozaki2::has_scout(call.plan()), has_scout) << line;
  call.run();
  Policy reference = device_policy(c, EngineName::kCublasLt);
  reference.may_sync = true;  // else an engine that does not follow the state has one rung
  expect_same(call.c(), multiply<T>(c, reference).c, line);
  return call.state();
}

[[nodiscard]] std::string both(const std::string& head, const std::string& spec) {
  return head + " A=" + spec + " B=" + spec;
}

template <class T>
void expect_looks(const std::string& type) {
  const std::string narrow = both(type + " nn 3080x3073x3072", "exprand:phi=0.5");
  const device::DeviceState sample = run_case<T>(narrow);
  EXPECT_EQ(sample.look, device::Look::kSample) << narrow;
  EXPECT_EQ(sample.has_rungs, 0) << narrow;
  EXPECT_EQ(sample.selection.rung, 0) << narrow;
  const std::string wide = both(type + " tn 3073x3080x3090", "exprand:phi=4");
  const device::DeviceState first = run_case<T>(wide);
  EXPECT_EQ(first.look, device::Look::kBlocksFirst) << wide;
  EXPECT_EQ(first.has_rungs, 1) << wide;
  EXPECT_EQ(first.sampled_failures, 0U) << wide << ": no sampled product is made";
  EXPECT_EQ(first.num_unread_steps, 0U) << wide << ": tiles are asked in vain";
  EXPECT_GT(first.selection.rung, 0) << wide;
}
TEST_F(ScoutTest, SeesWideExponents) {
  expect_looks<double>("d");
  expect_looks<std::complex<float>>("c");
}

TEST_F(ScoutTest, SeesThatTheLowestRungIsProbablyEnough) {
  const device::DeviceState state = run_case<double>(both("d nt 3072x3073x3100", "exprand:phi=1"));
  EXPECT_EQ(state.look, device::Look::kBlocks);
  EXPECT_EQ(state.has_rungs, 1);
  EXPECT_GT(state.num_unread_steps, 0U) << "no tile ended before all blocks were added";
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
  const device::DeviceState state = run_case<double>(both("d nn 3100x3000x3100", "exprand:phi=4"), false);
  EXPECT_EQ(state.look, device::Look::kSample);
  EXPECT_GT(state.sampled_failures, 0U);
}

/// Products on which no scout is asked may be begun with any look: the selection and the bits of the host.
template <class T>
void expect_every_look(const std::string& line) {
  const Case c = case_of(line);
  const DeviceResult<T> want = host_result<T>(c, c.policy.max_rungs);
  for (const device::Look look : {device::Look::kSample, device::Look::kBlocks, device::Look::kBlocksFirst}) {
    const std::string what = line + ", look " + std::to_string(static_cast<int>(look));
    PlannedCall<T> call(c, device_policy(c, EngineName::kHopper));
    ASSERT_FALSE(ozaki2::has_scout(call.plan())) << what;
    call.run(look);
    device::DeviceState state = call.state();
    // The gain of equilibration is found beside the rungs where it may be wanted, if the blocks run together: not for
    // certain on a card that others use.
    const bool has_gain = look == device::Look::kBlocksFirst && ozaki2::ozaki2_of(call.plan()).ladder.may_equilibrate;
    for (int again = 0; again < 4 && has_gain && static_cast<int>(state.num_measured) != certify::kNumGains; ++again) {
      call.run(look);
      state = call.state();
    }
    EXPECT_EQ(state.look, look) << what;
    if (look != device::Look::kSample) {
      EXPECT_EQ(state.has_rungs, 1) << what;
      EXPECT_EQ(state.sampled_failures, 0U) << what;
    }
    EXPECT_EQ(state.num_gathered != 0, has_gain) << what;
    EXPECT_EQ(static_cast<int>(state.num_measured), has_gain ? certify::kNumGains : 0) << what;
    const Outcome got = call.outcome();
    EXPECT_EQ(got.rung, want.outcome.rung) << what;
    EXPECT_EQ(got.equilibrated, want.outcome.equilibrated) << what;
    EXPECT_EQ(got.repaired, want.outcome.repaired) << what;
    expect_same(call.c(), want.c, what);
  }
}

TEST_F(ScoutTest, EveryLookHasTheBitsOfTheHost) {
  expect_every_look<double>("d nn 33x70x129");
  expect_every_look<double>(both("d nt 270x260x520", "exprand:phi=2"));
  expect_every_look<double>("d tn 200x200x400 A=grade:inner,span=400 B=grade:inner,span=400");
  expect_every_look<float>(both("s tt 65x130x1000", "exprand:phi=3"));
  expect_every_look<std::complex<float>>(both("c cn 40x50x300", "exprand:phi=4"));
  expect_every_look<std::complex<double>>("z nc 130x65x257 A=exprand:phi=4,nan@middle B=randn accuracy=bits=52");
}

/// Where no scout is asked, a call begins with what the one before by the same plan has needed; and has the same bits.
/// @param words  that integers of the rung take which wide elements ask for
template <class T>
void expect_to_learn(const std::string& type, int words) {
  const auto line = [&](const std::string& spec) { return both(type + " nt 2048x2050x2100", spec); };
  const Case wide = case_of(line("exprand:phi=4"));
  const Case tame = case_of(line("exprand:phi=0.5"));
  const plan::Plan plan = planned(wide, device_policy(wide, EngineName::kHopper));
  ASSERT_TRUE(ozaki2::learns_look(plan));
  Policy reference = device_policy(wide, EngineName::kCublasLt);
  reference.may_sync = true;
  const auto run = [&](PlannedCall<T>& call, const std::vector<T>& want) {
    call.run();
    const device::DeviceState state = call.state();
    EXPECT_EQ(state.num_sampled_products, state.look == device::Look::kSample ? device::kMostSampledProducts : 0);
    EXPECT_EQ(state.has_rungs, state.look == device::Look::kSample && state.sampled_failures == 0 ? 0 : 1);
    expect_same(call.c(), want, type);
    return state;
  };
  PlannedCall<T> of_wide(wide, plan);
  const std::vector<T> wide_c = multiply<T>(wide, reference).c;
  EXPECT_EQ(run(of_wide, wide_c).look, device::Look::kSample) << "nobody knows";
  const int rung = of_wide.state().selection.rung;
  ASSERT_EQ(ozaki2::words_of(ozaki2::ozaki2_of(plan).ladder.rungs[static_cast<std::size_t>(rung)]), words);
  std::uint32_t most_measured = 0;
  for (int call = 0; call < 3; ++call) {
    const device::DeviceState state = run(of_wide, wide_c);
    EXPECT_EQ(state.look, device::Look::kBlocks);
    EXPECT_EQ(state.first_rung, rung) << "whose planes the split makes";
    EXPECT_EQ(state.num_unread_steps, 0U) << "nobody asks whether the lowest rung is enough";
    most_measured = std::max(most_measured, static_cast<std::uint32_t>(state.num_measured));
  }
  EXPECT_EQ(static_cast<int>(most_measured), certify::kNumGains)
      << "for the gain of equilibration; on a card that others use not in every call";
  PlannedCall<T> of_tame(tame, plan);
  const std::vector<T> tame_c = multiply<T>(tame, reference).c;
  EXPECT_EQ(run(of_tame, tame_c).look, device::Look::kBlocks) << "as the call before";
  device::DeviceState last = run(of_tame, tame_c);
  EXPECT_EQ(last.look, device::Look::kBlocks) << "the lowest rung was enough";
  EXPECT_EQ(last.first_rung, 0);
  int calls = 0;
  for (; last.look != device::Look::kSample && calls < 100; ++calls) last = run(of_tame, tame_c);
  EXPECT_EQ(calls, static_cast<int>(device::kCallsOnBlocks));
  for (int call = 0; call < 3; ++call) EXPECT_EQ(run(of_tame, tame_c).look, device::Look::kSample) << "which is enough";
  // Nobody samples any more, so wide elements are looked at by blocks at once: of more pairs than lines a sample would refuse most.
  const device::DeviceState changed = run(of_wide, wide_c);
  EXPECT_EQ(changed.look, device::Look::kSample);
  EXPECT_EQ(changed.sampled_failures, changed.open_lines) << "samples were multiplied";
  EXPECT_GT(changed.open_lines, 0U);
}
TEST_F(ScoutTest, LearnsFromTheCallBefore) {
  expect_to_learn<double>("d", 3);
  expect_to_learn<std::complex<double>>("z", 3);
  expect_to_learn<std::complex<float>>("c", 2);
}

/// A call that knows of a tame one does not ask the scout: wide elements surprise it, but no bit depends on it.
TEST_F(ScoutTest, IsNotAskedWhereTheCallBeforeWasTame) {
  const Case wide = case_of(both("d nn 3073x3080x3090", "exprand:phi=4"));
  const Case tame = case_of(both("d nn 3073x3080x3090", "exprand:phi=0.5"));
  const plan::Plan plan = planned(wide, device_policy(wide, EngineName::kHopper));
  ASSERT_TRUE(ozaki2::has_scout(plan) && ozaki2::learns_look(plan));
  PlannedCall<double> of_tame(tame, plan);
  of_tame.run();
  PlannedCall<double> of_wide(wide, plan);
  of_wide.run();
  EXPECT_EQ(of_wide.state().look, device::Look::kSample) << "a scout would have seen it";
  EXPECT_EQ(of_wide.state().has_rungs, 1);
  Policy reference = device_policy(wide, EngineName::kCublasLt);
  reference.may_sync = true;
  expect_same(of_wide.c(), multiply<double>(wide, reference).c, "wide elements");
  of_wide.run();
  EXPECT_EQ(of_wide.state().look, device::Look::kBlocks) << "as the call before needed";
}

TEST_F(ScoutTest, RefusesALookThatTheSplitCannotMake) {
  const Case c = case_of("d nn 33x70x20000");  // longer lines than the split in one pass takes
  PlannedCall<double> call(c, device_policy(c, EngineName::kHopper));
  EXPECT_FALSE(ozaki2::takes_any_look(call.plan()));
  const Status status = call.enqueue(device::Look::kBlocks);
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(status.reason().find("look"), std::string::npos) << status.reason();
}

}  // namespace
}  // namespace kizami::gpu_test
