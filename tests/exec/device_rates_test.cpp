// SPDX-License-Identifier: MIT
// What follows from the rates of described cards.
#include "exec/device_rates.hpp"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace kizami::exec
