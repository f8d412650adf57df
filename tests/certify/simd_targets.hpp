// SPDX-License-Identifier: MIT
// Runs a test body once for every instruction set that the SIMD code was compiled for and this machine has.
#pragma once

#include <gtest/gtest.h>
#include <hwy/highway.h>

#include <cstdint>
#include <string>

namespace kizami::tests {

/// Calls body(name) with each target forced in turn, then returns to the best one. @return how many ran
template <class Body>
int for_each_simd_target(const Body& body) {
  int count = 0;
  for (std::int64_t left = hwy::SupportedTargets() & HWY_TARGETS; left != 0; left &= left - 1) {
    const std::int64_t target = left & -left;
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    const std::string name = hwy::TargetName(target);
    SCOPED_TRACE("SIMD target " + name);
    body(name);
    ++count;
    hwy::SetSupportedTargetsForTest(0);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
  return count;
}

}  // namespace kizami::tests
