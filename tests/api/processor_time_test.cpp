// SPDX-License-Identifier: MIT
// What took many times longer than what it stands beside: FP64 arithmetic on data over all exponents, and calls of almost no
// work. The limits are several times what is measured (docs/perf/cpu_int8.md), and several times below what was wrong.
#include <gtest/gtest.h>

#include <time.h>

#include <algorithm>
#include <bit>
#include <complex>
#include <cstdint>
#include <vector>

#include "api/api_case.hpp"
#include "kizami/gemm.hpp"
#include "kizami/plan.hpp"

namespace kizami::api_test {
namespace {

constexpr int kRounds = 3;

/// Seconds of this process on processors, the least of some rounds: what else the machine does counts little.
template <class Body>
double processor_seconds(const Body& body) {
  const auto now = [] {
    timespec t{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
  };
  double least = 1e30;
  for (int round = 0; round < kRounds; ++round) {
    const double begin = now();
    body();
    least = std::min(least, now() - begin);
  }
  return least;
}

/// Numbers of every exponent that normal FP64 numbers have.
std::vector<double> of_all_exponents(std::size_t size, std::uint64_t state) {
  std::vector<double> out(size);
  for (double& x : out) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    const std::uint64_t exponent = 1 + (state >> 33) % 2046;
    x = std::bit_cast<double>((state & 0x800FFFFFFFFFFFFF) | exponent << 52);
  }
  return out;
}

template <class T>
void expect_quicker_than(double limit) {
  constexpr std::int64_t kN = 192;
  constexpr std::size_t kTerms = sizeof(T) / sizeof(double);
  const std::vector<double> a = of_all_exponents(kTerms * kN * kN, 1), b = of_all_exponents(kTerms * kN * kN, 2);
  std::vector<T> c(kN * kN);
  const auto seconds = [&](Accuracy accuracy, bool is_arithmetic) {
    Policy policy;
    policy.accuracy = accuracy;
    policy.threads = 1;
    return processor_seconds([&] {
      Outcome outcome;
      const Status status =
          gemm<T>(Layout::kColMajor, Op::kNone, Op::kNone, kN, kN, kN, T{1}, reinterpret_cast<const T*>(a.data()), kN,
                  reinterpret_cast<const T*>(b.data()), kN, T{0}, c.data(), kN, policy, &outcome);
      ASSERT_TRUE(status.ok()) << status.reason();
      ASSERT_EQ(outcome.rung < 0, is_arithmetic) << "no test of FP64 arithmetic";
    });
  };
  const double correct = seconds(Accuracy::correct(), false);
  EXPECT_LT(seconds(Accuracy::native(), true), limit * correct);
  EXPECT_LT(seconds(Accuracy::at_bits(52), true), 2 * limit * correct);
}

#if defined(__OPTIMIZE__)
constexpr bool kIsOptimized = !kIsSanitized;
#else
constexpr bool kIsOptimized = false;
#endif

// It took 20 times as long, and compensated sums still 3 times when others were mended.
TEST(ProcessorTime, Fp64ArithmeticBesideCorrect) {
  if (!kIsOptimized) GTEST_SKIP() << "times of this build mean nothing";
  expect_quicker_than<double>(4);
  expect_quicker_than<std::complex<double>>(4);
}

// 27 times the prediction, and complex ones still 9 times when others were mended.
TEST(ProcessorTime, BatchesOfTinyProductsBesideTheirPrediction) {
  if (!kIsOptimized) GTEST_SKIP() << "times of this build mean nothing";
  const auto check = [&]<class T>(T one) {
    constexpr std::int64_t kCount = 2000;
    for (const std::int64_t n : {1, 4}) {
      Policy policy;
      policy.threads = 4;
      const Result<Plan> plan = make_plan(kScalarOf<T>, n, n, n, policy);
      ASSERT_TRUE(plan.ok()) << plan.status().reason();
      const std::vector<T> a(static_cast<std::size_t>(n * n * kCount), one);
      std::vector<T> c(a.size());
      const double seconds = processor_seconds([&] {
        const Status status =
            gemm_strided_batched<T>(Layout::kColMajor, Op::kNone, Op::kNone, n, n, n, one, a.data(), n, n * n, a.data(),
                                    n, n * n, T{0}, c.data(), n, n * n, kCount, policy);
        ASSERT_TRUE(status.ok()) << status.reason();
      });
      EXPECT_LT(seconds / kCount, 6 * plan.value().predicted_seconds())
          << to_string(kScalarOf<T>) << ", n = " << n << ": " << 1e6 * seconds / kCount << " us";
    }
  };
  check(1.0F);
  check(1.0);
  check(std::complex<float>(1.0F, 0.5F));
  check(std::complex<double>(1.0, 0.5));
}

}  // namespace
}  // namespace kizami::api_test
