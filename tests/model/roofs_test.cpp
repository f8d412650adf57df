// SPDX-License-Identifier: MIT
// Seconds of one phase by the roofs of a device.
#include <gtest/gtest.h>

#include "model/roofs.hpp"
#include "model/round_device.hpp"

namespace kizami::model {
namespace {

TEST(Roofs, RatesComeFromTheSheet) {
  const Rates rates = round_rates();
  EXPECT_EQ(rates.memory, 0.5e12);
  EXPECT_EQ(rates.l2, 20.0 * 100 * 1e9);
  EXPECT_EQ(rates.fp64_instructions, 1e12);
  EXPECT_EQ(rates.int32_instructions, 1e12);
  EXPECT_EQ(rates.of(Format::kFp64), 2e12);  // no tensor cores for FP64
  EXPECT_EQ(rates.of(Format::kFp8), 0);
}

TEST(Roofs, EachRoofHoldsWhatAsksMostOfIt) {
  const Rates rates = round_rates();
  struct Case {
    Work work;
    Roof roof;
    double seconds;
  };
  const Case cases[] = {
      {{.phase = "x", .bytes = 1e9}, Roof::kMemory, 1e9 / 0.5e12},
      {{.phase = "x", .bytes = 1e6}, Roof::kL2, 1e6 / 2e12},
      {{.phase = "x", .launches = 10, .bytes = 1e7}, Roof::kLaunch, 20e-6 + 1e7 / 2e12},  // 1 MB a launch: cached
      {{.phase = "x", .launches = 3}, Roof::kLaunch, 6e-6},
      {{.phase = "x", .operations = 1e12}, Roof::kTensor, 1e-2},
      {{.phase = "x", .operations = 1e12, .reached = 0.5}, Roof::kTensor, 2e-2},
      {{.phase = "x", .fp64_instructions = 1e9}, Roof::kFp64Instructions, 1e-3},
      {{.phase = "x", .int32_instructions = 3e9}, Roof::kInt32Instructions, 3e-3},
      {{.phase = "x", .sm_cycles = 1e8}, Roof::kIssue, 1e-3},
      {{.phase = "x", .launches = 1, .bytes = 1e9, .operations = 1e11, .sm_cycles = 3e8}, Roof::kIssue, 2e-6 + 3e-3},
  };
  for (const Case& c : cases) {
    const PhaseTime time = time_of(c.work, rates);
    EXPECT_EQ(time.roof(), c.roof) << to_string(c.roof);
    EXPECT_DOUBLE_EQ(time.seconds, c.seconds) << to_string(c.roof);
    double held = 0;
    for (const double part : time.held) held += part;
    EXPECT_DOUBLE_EQ(held, time.seconds);
  }
}

TEST(Roofs, AFormatThatIsMissingTakesForever) {
  const PhaseTime time = time_of({.phase = "x", .format = Format::kFp8, .operations = 1}, round_rates());
  EXPECT_TRUE(std::isinf(time.seconds));
  EXPECT_EQ(time.roof(), Roof::kTensor);
}

TEST(Roofs, PhasesAddUp) {
  const Rates rates = round_rates();
  PhaseTime sum = time_of({.phase = "x", .bytes = 1e9}, rates);
  sum.add(time_of({.phase = "x", .sm_cycles = 5e8}, rates));
  EXPECT_DOUBLE_EQ(sum.seconds, 2e-3 + 5e-3);
  EXPECT_EQ(sum.roof(), Roof::kIssue);
}

}  // namespace
}  // namespace kizami::model
