// SPDX-License-Identifier: MIT
// Tests of what only code for compute capability 9.0 has: engine hopper, clusters of blocks, early launches, FP8.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "base/device_limits.hpp"
#include "gpu/device_memory.hpp"

namespace kizami::gpu_test {

/// Why such code cannot run on the device, or was not built for it; empty: it runs.
[[nodiscard]] inline std::string why_no_wgmma() {
  base::DeviceLimits limits;
  const Status status = base::find_device_limits(limits);
  if (!status.ok()) return status.reason();
  return limits.has_wgmma() ? "" : base::why_no_wgmma(limits);
}

/// Skips a test where it cannot.
class Sm90Test : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    if (const std::string why = why_no_wgmma(); !why.empty()) GTEST_SKIP() << why;
  }
};

}  // namespace kizami::gpu_test
