// SPDX-License-Identifier: MIT
// Where the split takes one pass it judges lines by their clipped sums: that ordinary lines need no sample, that those it leaves
// open are sampled, and that no rung depends on it.
#include <gtest/gtest.h>

#include <complex>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "device/state.hpp"
#include "gpu/planned_call.hpp"
#include "gpu/sm90_test.hpp"
#include "schemes/ozaki2/device_buffers.hpp"

namespace kizami::gpu_test {
namespace {

class ClippedSumTest : public Sm90Test {};

[[nodiscard]] std::string both(const std::string& head, const std::string& spec) {
  return head + " A=" + spec + " B=" + spec;
}
template <class T>
PlannedCall<T> call_of(const std::string& line) {
  const Case c = case_of(line);
  return PlannedCall<T>(c, device_policy(c, EngineName::kHopper));
}
template <class T>
device::DeviceState state_of(const std::string& line, device::Look look) {
  PlannedCall<T> call = call_of<T>(line);
  call.run(look);
  return call.state();
}

/// No line asks, and all pairs have the lowest rung by their blocks, too.
template <class T>
void expect_closed(const std::string& line) {
  const device::DeviceState sampled = state_of<T>(line, device::Look::kSample);
  EXPECT_EQ(sampled.open_lines, 0U) << line;
  EXPECT_EQ(sampled.sampled_failures, 0U) << line;
  EXPECT_EQ(sampled.selection.rung, 0) << line;
  const device::DeviceState by_blocks = state_of<T>(line, device::Look::kBlocksFirst);
  EXPECT_EQ(by_blocks.selection, sampled.selection) << line;
  EXPECT_EQ(by_blocks.statistics.plain.pairs[0], by_blocks.statistics.num_pairs) << line;
}
TEST_F(ClippedSumTest, OrdinaryLinesNeedNoSample) {
  for (const char* spec : {"randn", "rand", "exprand:phi=0.5"}) {
    expect_closed<double>(both("d nn 300x200x700", spec));
    expect_closed<double>(both("d tt 130x1000x4100", spec));
    expect_closed<std::complex<double>>(both("z nc 200x300x1000", spec));
    expect_closed<std::complex<float>>(both("c nn 256x256x2048", spec));
    expect_closed<float>(both("s nt 333x257x5000", spec));
  }
}

/// By an engine that compares nothing and knows no scout.
device::DeviceState sampled_at_once(const std::string& line) {
  const Case c = case_of(line);
  Policy policy = device_policy(c, EngineName::kCublasLt);
  policy.may_sync = true;  // else an engine that does not follow the state has one rung
  PlannedCall<double> call(c, policy);
  call.run();
  EXPECT_EQ(call.state().open_lines, 0U) << line;
  return call.state();
}
TEST_F(ClippedSumTest, SamplesRefuseWhatTheyRefuseWhereNoLineIsJudged) {
  for (const char* spec : {"exprand:phi=1", "grade:inner,span=200"}) {
    const std::string line = both("d tn 900x1000x2600", spec);
    const device::DeviceState state = state_of<double>(line, device::Look::kSample);
    const device::DeviceState reference = sampled_at_once(line);
    EXPECT_GT(state.open_lines, 0U) << spec;
    EXPECT_GT(state.sampled_failures, 0U) << spec;
    EXPECT_EQ(state.sampled_failures, reference.sampled_failures) << spec;
    EXPECT_EQ(state.selection.rung, reference.selection.rung) << spec;
  }
}

/// Wider elements, of which the lines say less than all pairs.
TEST_F(ClippedSumTest, OpenLinesAreSampled) {
  for (const char* spec : {"exprand:phi=0.75", "exprand:phi=2", "grade:inner,span=200"}) {
    const std::string line = both("d nn 500x500x1500", spec);
    const device::DeviceState sampled = state_of<double>(line, device::Look::kSample);
    const device::DeviceState by_blocks = state_of<double>(line, device::Look::kBlocksFirst);
    EXPECT_GT(sampled.open_lines, 0U) << spec;
    EXPECT_EQ(sampled.selection, by_blocks.selection) << spec;
    if (sampled.sampled_failures == 0) {
      EXPECT_EQ(by_blocks.statistics.plain.pairs[0], by_blocks.statistics.num_pairs) << spec;
    }
  }
}

constexpr std::int64_t kSize = 256;
constexpr std::int64_t kLength = 2048;  // calls of 2^27 multiplications learn of one another
const std::string kLines = "d tn 256x256x2048 A=randn B=randn";
/// Numbers from 1 to 4, but zeros where `is_zero(h)` says so.
template <class IsZero>
void run_with_zeros(PlannedCall<double>& call, const IsZero& is_zero,
                    std::optional<device::Look> look = device::Look::kSample) {
  DeviceOperands<double>& operands = call.operands();
  for (auto* const x : {&operands.a, &operands.b}) {
    std::vector<double> values = x->download();
    for (std::size_t at = 0; at < values.size(); ++at) {
      const auto h = static_cast<std::int64_t>(at) % kLength;
      values[at] = is_zero(h) ? 0.0 : 1.0 + 0.37 * static_cast<double>(at % 7);
    }
    x->upload(values);
  }
  call.run(look);
}

/// Nothing is where samples look: a product of them would refuse all pairs, so none was made.
TEST_F(ClippedSumTest, NoSampleIsMultipliedWhereAllLinesAreClosed) {
  PlannedCall<double> call = call_of<double>(kLines);
  ASSERT_EQ(call.buffers().sampled.log_stride, 2);
  run_with_zeros(call, [](std::int64_t h) { return h % 4 == 0; });
  const device::DeviceState state = call.state();
  EXPECT_EQ(state.open_lines, 0U);
  EXPECT_EQ(state.sampled_failures, 0U);
  EXPECT_EQ(state.has_rungs, 0);
  EXPECT_EQ(state.selection.rung, 0);
}

/// After a call whose lines were enough nothing is sampled: what samples would pass goes to blocks, which pass it too, and the
/// call behind it begins with them.
TEST_F(ClippedSumTest, NothingIsSampledWhereLinesWereEnough) {
  PlannedCall<double> call = call_of<double>(kLines);
  ASSERT_TRUE(ozaki2::learns_look(call.plan()));
  run_with_zeros(
      call, [](std::int64_t h) { return h % 4 == 0; }, std::nullopt);
  ASSERT_EQ(call.state().open_lines, 0U);
  const auto is_zero = [](std::int64_t h) { return h % 4 != 0; };  // samples see what is left
  run_with_zeros(call, is_zero, std::nullopt);
  device::DeviceState state = call.state();
  EXPECT_EQ(state.look, device::Look::kSample);
  EXPECT_EQ(state.open_lines, 2U * kSize);
  EXPECT_EQ(state.sampled_failures, 2U * kSize) << "samples would refuse none";
  EXPECT_EQ(state.has_rungs, 1);
  EXPECT_EQ(state.selection.rung, 0);
  run_with_zeros(call, is_zero, std::nullopt);
  EXPECT_EQ(call.state().look, device::Look::kBlocks);
}

/// Where lines are zero in more than half of their elements, only pairs can tell: all lines ask, and samples pass all pairs if
/// they see the others, and none if they do not.
TEST_F(ClippedSumTest, LinesOfZerosAreSampled) {
  for (const std::int64_t nonzero : {0, 1}) {
    PlannedCall<double> call = call_of<double>(kLines);
    run_with_zeros(call, [&](std::int64_t h) { return h % 4 != nonzero; });
    const device::DeviceState state = call.state();
    EXPECT_EQ(state.open_lines, 2U * kSize) << nonzero;
    EXPECT_EQ(state.sampled_failures, nonzero == 0 ? 0U : static_cast<std::uint64_t>(kSize * kSize)) << nonzero;
    EXPECT_EQ(state.selection.rung, 0) << nonzero;
  }
}

}  // namespace
}  // namespace kizami::gpu_test
