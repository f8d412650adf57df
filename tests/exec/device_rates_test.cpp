// SPDX-License-Identifier: MIT
// What follows from the rates of described cards.
#include "exec/device_rates.hpp"

#include <gtest/gtest.h>

#include "base/code_capability.hpp"
#include "kizami/predict.hpp"
#include "schemes/ozaki2/device_seconds.hpp"

namespace kizami::exec {
namespace {

[[nodiscard]] product::DeviceFacts facts_of(const char* name) {
  const model::Device& device = *model::find_device(name);
  product::DeviceFacts facts;
  static_cast<base::DeviceLimits&>(facts) = limits_of(device);
  facts.rates = rates_of(device);
  return facts;
}

TEST(DeviceRates, TheCrtTakesIntegersWhereFp64IsRare) {
  for (const char* const strong : {"a100", "h100", "h200", "gh200", "b200", "gb200"}) {
    ASSERT_NE(model::find_device(strong), nullptr) << strong;
    EXPECT_FALSE(ozaki2::crt_takes_limbs(facts_of(strong))) << strong;
  }
  for (const char* const weak : {"rtx4090", "rtx5080", "rtx5090", "rtxpro6000", "l40s", "b300"}) {
    ASSERT_NE(model::find_device(weak), nullptr) << weak;
    EXPECT_TRUE(ozaki2::crt_takes_limbs(facts_of(weak))) << weak;
  }
}

TEST(DeviceRates, CodeHasWhatEveryCardThatRunsItTakes) {
  int without = 0;
  for (const model::Device& device : model::known_devices()) {
    const base::DeviceLimits limits = limits_of(device);
    if (limits.code_capability == 0) continue;
    EXPECT_TRUE(base::code_has_room_for(static_cast<std::size_t>(limits.shared_bytes), limits.code_capability))
        << device.name;
    if (base::code_has_crt_by_fp64(limits.code_capability)) continue;
    EXPECT_TRUE(ozaki2::crt_takes_limbs(facts_of(device.name.c_str()))) << device.name;
    product::DeviceFacts strong = facts_of(device.name.c_str());  // as a calibration may find it
    strong.rates.fp64 = 10;
    EXPECT_TRUE(ozaki2::crt_takes_limbs(strong)) << device.name;
    ++without;
  }
  EXPECT_GE(without, 3);
}

}  // namespace
}  // namespace kizami::exec
