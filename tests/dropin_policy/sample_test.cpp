// SPDX-License-Identifier: MIT
// The monitor must see what is wrong: an element one part in a thousand off, a NaN, a wrong sign.
#include "dropin/policy/sample.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

namespace kizami::dropin {
namespace {

constexpr std::int64_t kSize = 8;
constexpr std::size_t kCount = kSize * kSize;

/// C <- 2 A B + 3 C of small integers, which is exact; `spoil` changes C after it. A is taken 2^a_shift times, B
/// 2^b_shift times and C 2^(a_shift + b_shift) times.
template <class Spoil>
double ratio_after(const Spoil& spoil, Gauge gauge = Gauge::kEntry, int a_shift = 0, int b_shift = 0) {
  std::vector<double> a(kCount);
  std::vector<double> b(kCount);
  std::vector<double> c(kCount);
  for (std::size_t i = 0; i < kCount; ++i) {
    a[i] = std::ldexp(static_cast<double>(i % 7) - 3, a_shift);
    b[i] = std::ldexp(static_cast<double>(i % 5) + 1, b_shift);
    c[i] = std::ldexp(static_cast<double>(i % 3), a_shift + b_shift);
  }
  TypedCall<double> call;
  call.m = call.n = call.k = call.lda = call.ldb = call.ldc = kSize;
  call.alpha = 2;
  call.beta = 3;
  call.a = a.data();
  call.b = b.data();
  call.c = c.data();
  Sample<double> sample;
  for (int e = 0; e < Sample<double>::kElements; ++e) sample.add(call, e, read_host_line<double>);
  for (std::size_t j = 0; j < kSize; ++j) {
    for (std::size_t i = 0; i < kSize; ++i) {
      double sum = 0;
      for (std::size_t p = 0; p < kSize; ++p) sum += a[i + p * kSize] * b[p + j * kSize];
      c[i + j * kSize] = 2 * sum + 3 * c[i + j * kSize];
    }
  }
  spoil(c);
  return sample.worst_ratio(read_host_line<double>, [&](std::int64_t, std::int64_t) {
    return Allowance{0x1p-50, gauge, kEpilogueRoundings};
  });
}

TEST(Sample, ExactResultsHaveNoError) {
  EXPECT_EQ(ratio_after([](std::vector<double>&) {}), 0);
}

TEST(Sample, WhatIsWrongIsBeyondTheBound) {
  const auto beyond = [](double ratio) { return !(ratio <= 1); };
  EXPECT_TRUE(beyond(ratio_after([](std::vector<double>& c) { c[0] += std::abs(c[0]) * 0.001 + 0.001; })));
  EXPECT_TRUE(beyond(ratio_after([](std::vector<double>& c) {
    for (double& x : c) x = -x;
  })));
  EXPECT_TRUE(beyond(ratio_after([](std::vector<double>& c) { c[0] = std::numeric_limits<double>::quiet_NaN(); })));
  EXPECT_TRUE(beyond(ratio_after([](std::vector<double>& c) { c[0] = std::numeric_limits<double>::infinity(); })));
}

// Squares of such elements are beyond FP64: without them nothing may err in gauge norm, or everything.
TEST(Sample, JudgesElementsWhoseSquaresAreBeyondFp64) {
  for (const Gauge gauge : {Gauge::kEntry, Gauge::kNorm}) {
    for (const auto& [a_shift, b_shift] : {std::pair{-600, 300}, std::pair{600, -300}, std::pair{-700, 700},
                                           std::pair{700, -1000}, std::pair{-1020, 1000}, std::pair{-510, -500}}) {
      const auto ratio_of_error = [&, a_shift = a_shift, b_shift = b_shift](double relative) {
        return ratio_after(
            [&](std::vector<double>& c) {
              for (double& x : c) x *= 1 + relative;
            },
            gauge, a_shift, b_shift);
      };
      const double within = ratio_of_error(0x1p-51);
      EXPECT_GT(within, 0) << a_shift << ", " << b_shift;
      EXPECT_LE(within, 1) << a_shift << ", " << b_shift;
      EXPECT_GT(ratio_of_error(0x1p-40), 1) << a_shift << ", " << b_shift;
    }
  }
}

TEST(Sample, NoneChosenIsNoRatio) {
  EXPECT_LT(
      Sample<double>().worst_ratio(read_host_line<double>, [](std::int64_t, std::int64_t) { return Allowance(); }), 0);
}

}  // namespace
}  // namespace kizami::dropin
