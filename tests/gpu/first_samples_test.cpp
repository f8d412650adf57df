// SPDX-License-Identifier: MIT
// Of large calls the product of some of the samples comes first: that it answers alone where it is enough, that all samples
// are multiplied where it is not, and that they refuse what they refuse without it.
#include <gtest/gtest.h>

#include <complex>
#include <string>

#include "device/state.hpp"
#include "gpu/planned_call.hpp"
#include "gpu/sm90_test.hpp"
#include "schemes/ozaki2/device_buffers.hpp"

namespace kizami::gpu_test {
namespace {

class FirstSamplesTest : public Sm90Test {};

/// A call that begins with a sample, whatever a scout would say. @param has_first  whether some come first
template <class T>
device::DeviceState sampled(const std::string& line, bool has_first) {
  const Case c = case_of(line);
  PlannedCall<T> call(c, device_policy(c, EngineName::kHopper));
  EXPECT_EQ(call.buffers().sampled.first_terms > 0, has_first) << line;
  call.run(device::Look::kSample);
  return call.state();
}
/// The same by an engine that compares nothing and knows no scout.
device::DeviceState sampled_at_once(const std::string& line) {
  const Case c = case_of(line);
  Policy policy = device_policy(c, EngineName::kCublasLt);
  policy.may_sync = true;  // else an engine that does not follow the state has one rung
  PlannedCall<double> call(c, policy);
  EXPECT_EQ(call.buffers().sampled.first_terms, 0) << line;
  call.run();
  return call.state();
}
[[nodiscard]] std::string both(const std::string& head, const std::string& spec) {
  return head + " A=" + spec + " B=" + spec;
}

TEST_F(FirstSamplesTest, AnswerAloneForOrdinaryElements) {
  for (const char* spec : {"randn", "exprand:phi=0.5"}) {
    const device::DeviceState real = sampled<double>(both("d nn 4096x4096x2600", spec), /*has_first=*/true);
    EXPECT_EQ(real.first_sampled_failures, 0U) << spec;
    EXPECT_EQ(real.sampled_failures, 0U) << spec;
    EXPECT_EQ(real.selection.rung, 0) << spec;
    const device::DeviceState complex = sampled<std::complex<float>>(both("c nt 4000x4096x1500", spec), true);
    EXPECT_EQ(complex.first_sampled_failures, 0U) << spec;
    EXPECT_EQ(complex.selection.rung, 0) << spec;
    const device::DeviceState wide = sampled<std::complex<double>>(both("z nn 3000x3000x4096", spec), true);
    EXPECT_EQ(wide.first_sampled_failures, 0U) << spec;
    EXPECT_EQ(wide.selection.rung, 0) << spec;
  }
}

TEST_F(FirstSamplesTest, AskAllWhereTheyAreNotEnough) {
  const device::DeviceState state = sampled<double>(both("d nn 4096x4096x2600", "exprand:phi=0.7"), true);
  EXPECT_GT(state.first_sampled_failures, 0U);
  EXPECT_EQ(state.sampled_failures, 0U) << "or the test says nothing of all samples";
  EXPECT_EQ(state.selection.rung, 0);
}

/// Also where what comes first has no large elements.
TEST_F(FirstSamplesTest, RefuseWhatAllSamplesRefuse) {
  for (const char* spec : {"exprand:phi=1", "grade:inner,span=200"}) {
    const std::string line = both("d tn 4096x4096x2600", spec);
    const device::DeviceState state = sampled<double>(line, true);
    const device::DeviceState reference = sampled_at_once(line);
    EXPECT_GT(state.first_sampled_failures, 0U) << spec;
    EXPECT_GT(state.sampled_failures, 0U) << spec;
    EXPECT_EQ(state.sampled_failures, reference.sampled_failures) << spec;
    EXPECT_EQ(state.selection.rung, reference.selection.rung) << spec;
  }
}

TEST_F(FirstSamplesTest, AreNotOfSmallProducts) { sampled<double>("d nn 1000x1000x2000", /*has_first=*/false); }

}  // namespace
}  // namespace kizami::gpu_test
