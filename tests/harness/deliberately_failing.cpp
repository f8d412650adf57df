// SPDX-License-Identifier: MIT
// Fails on purpose: ctest expects this program to exit non-zero (a test runner that cannot turn red proves nothing).
#include <gtest/gtest.h>

TEST(DeliberatelyFailing, OneIsTwo) { EXPECT_EQ(1, 2) << "meant to fail"; }
