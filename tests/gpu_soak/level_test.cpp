// SPDX-License-Identifier: MIT
#include "gpu_soak/level.hpp"

#include <gtest/gtest.h>

namespace gpu_soak {
namespace {

TEST(Level, OfNothing) {
  const Growth growth = Level().after(60);
  EXPECT_EQ(growth.peak, 0);
  EXPECT_EQ(growth.peak_percent, 0);
  EXPECT_EQ(growth.median_percent, 0);
}

TEST(Level, WhatRisesBeforeItSettlesHasNotGrown) {
  Level level;
  for (int t = 0; t <= 400; ++t) level.add(t, t < 50 ? 10 * t : 500);
  const Growth growth = level.after(60);
  EXPECT_EQ(growth.settled_peak, 500);
  EXPECT_EQ(growth.peak, 500);
  EXPECT_EQ(growth.peak_percent, 0);
  EXPECT_EQ(growth.median_percent, 0);
}

TEST(Level, ALeakShowsInBoth) {
  Level level;
  for (int t = 0; t <= 300; ++t) level.add(t, 1000 + t);
  const Growth growth = level.after(60);
  EXPECT_EQ(growth.settled_peak, 1060);
  EXPECT_EQ(growth.peak, 1300);
  EXPECT_EQ(growth.last, 1300);
  EXPECT_EQ(growth.early_median, 1090);  // of 60 to 120 s
  EXPECT_EQ(growth.late_median, 1270);
  EXPECT_DOUBLE_EQ(growth.peak_percent, 100.0 * 240 / 1060);
  EXPECT_DOUBLE_EQ(growth.median_percent, 100.0 * 180 / 1090);
}

TEST(Level, ARareHighOneShowsInThePeakAlone) {
  Level level;
  for (int t = 0; t <= 300; ++t) level.add(t, t == 200 ? 2000 : 1000);
  const Growth growth = level.after(60);
  EXPECT_EQ(growth.peak_percent, 100);
  EXPECT_EQ(growth.median_percent, 0);
}

TEST(Level, OfAShortRunTheMinutesDoNotOverlap) {
  Level level;
  for (int t = 0; t <= 20; ++t) level.add(t, t);
  const Growth growth = level.after(10);
  EXPECT_LE(growth.early_median, 15);
  EXPECT_GE(growth.late_median, 15);
  EXPECT_GT(growth.late_median, growth.early_median);
}

}  // namespace
}  // namespace gpu_soak
