// SPDX-License-Identifier: MIT
// What the first call on a card of a kind that nobody has run does: this device, and the card that it is taken for, pass;
// one bit of one product that differs is seen and said; and it takes little of a program's start.
#include "exec/device_self_test.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <string>

#include "exec/device_environment.hpp"
#include "gpu/device_memory.hpp"

namespace kizami::exec {
namespace {

class SelfTest : public gpu_test::DeviceTest {};

TEST_F(SelfTest, ThisDevicePasses) {
  const Result<plan::Environment> environment = device_environment();
  ASSERT_TRUE(environment.ok()) << environment.status().reason();
  const Status status = self_test(environment.value());
  EXPECT_TRUE(status.ok()) << status.reason();
}

TEST_F(SelfTest, SeesABitOfAnyProduct) {
  const Result<plan::Environment> environment = device_environment();
  ASSERT_TRUE(environment.ok()) << environment.status().reason();
  for (std::size_t i = 0; i < kSelfTestCases.size(); ++i) {
    auto cases = kSelfTestCases;
    cases[i].digest ^= 1;
    const Status status = self_test(environment.value(), cases);
    ASSERT_FALSE(status.ok()) << "case " << i;
    EXPECT_EQ(status.code(), StatusCode::kUnsupported);
    for (const std::string& words : {std::string("device 0, of compute capability "), std::string("fails a test: "),
                                     std::string(to_string(cases[i].scalar)) + " " + std::to_string(cases[i].m) + "x",
                                     std::string("by engine "), std::string("the bits are not the processor's")}) {
      EXPECT_NE(status.reason().find(words), std::string::npos) << words << ": " << status.reason();
    }
  }
}

/// But for what CUDA does once: kernels are loaded by then.
TEST_F(SelfTest, TakesTwentyMilliseconds) {
  const Result<plan::Environment> environment = device_environment();
  ASSERT_TRUE(environment.ok()) << environment.status().reason();
  ASSERT_TRUE(self_test(environment.value()).ok());
  std::array<double, 5> seconds{};
  for (double& of_one : seconds) {
    const auto begin = std::chrono::steady_clock::now();
    ASSERT_TRUE(self_test(environment.value()).ok());
    of_one = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }
  std::ranges::sort(seconds);
  EXPECT_LT(seconds[seconds.size() / 2], 20e-3);
}

}  // namespace
}  // namespace kizami::exec
