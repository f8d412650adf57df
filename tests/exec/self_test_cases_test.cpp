// SPDX-License-Identifier: MIT
// The digests that a device is tested by are those of the processor's results, by every engine that it has.
#include "exec/self_test_cases.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <complex>
#include <cstddef>
#include <vector>

#include "exec/environment.hpp"
#include "exec/run.hpp"

namespace kizami::exec {
namespace {

template <class T>
std::vector<T> multiply(const SelfTestCase& c, EngineName engine) {
  SelfTestNumbers numbers(c.spread);
  const std::vector<T> a = numbers.matrix<T>(c.m, c.k);
  const std::vector<T> b = numbers.matrix<T>(c.k, c.n);
  std::vector<T> out(static_cast<std::size_t>(c.m * c.n));
  Policy policy = self_test_policy(c);
  policy.engine = engine;
  const Result<plan::Plan> plan = plan::make({c.scalar, c.m, c.n, c.k}, policy, environment());
  EXPECT_TRUE(plan.ok()) << plan.status().reason();
  if (!plan.ok()) return out;
  const problem::Problem<T, T> problem{T{1}, blas_view<const T>(a.data(), c.m, c.k, c.m, Layout::kColMajor),
                                       blas_view<const T>(b.data(), c.k, c.n, c.k, Layout::kColMajor), T{0},
                                       blas_view(out.data(), c.m, c.n, c.m, Layout::kColMajor)};
  Outcome outcome;
  const Status status = run<T, T>(plan.value(), problem, nullptr, nullptr, {}, outcome);
  EXPECT_TRUE(status.ok()) << status.reason();
  return out;
}

/// If this fails because bits were changed on purpose, the digests are to be the new ones.
TEST(SelfTestCases, DigestsAreOfTheProcessorsBits) {
  for (const EngineName engine : {EngineName::kAuto, EngineName::kCpuRef}) {
    for (std::size_t i = 0; i < kSelfTestCases.size(); ++i) {
      const SelfTestCase& c = kSelfTestCases[i];
      with_scalar(c.scalar, [&]<class T>() {
        const std::vector<T> result = multiply<T>(c, engine);
        EXPECT_EQ(digest_of<T>(result), c.digest) << "case " << i << std::hex << ": 0x" << digest_of<T>(result);
      });
    }
  }
}

TEST(SelfTestCases, DigestSeesOneBitAndTheSignOfZero) {
  const std::array<double, 3> x = {1.0, 0.0, 2.0};
  std::array<double, 3> y = x;
  EXPECT_EQ(digest_of<double>(x), digest_of<double>(y));
  y[1] = -0.0;
  EXPECT_NE(digest_of<double>(x), digest_of<double>(y));
  const std::array<std::complex<float>, 2> z = {{{1.0F, 2.0F}, {3.0F, 4.0F}}};
  std::array<std::complex<float>, 2> w = z;
  w[1].imag(std::nextafter(4.0F, 5.0F));
  EXPECT_NE(digest_of<std::complex<float>>(z), digest_of<std::complex<float>>(w));
}

}  // namespace
}  // namespace kizami::exec
