// SPDX-License-Identifier: MIT
// Accuracy `correct` against MPFR: every element, and part of a complex element, is the exact sum rounded once.
#include <gmp.h>
#include <gtest/gtest.h>
#include <mpfr.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "api_case.hpp"
#include "check/matrix_spec.hpp"
#include "check/text.hpp"
#include "num/long_accumulator.hpp"

namespace kizami::api_test {
namespace {

using check::Case;
using check::MatrixSpec;

/// The exact sum of products of FP64 numbers, rounded by MPFR. 4400 bits hold any such sum.
class ExactSum {
 public:
  ExactSum() {
    mpfr_init2(sum_, 4400);
    mpfr_init2(term_, 106);
    mpfr_init2(factor_, 53);
    mpfr_set_zero(sum_, 1);
  }
  ~ExactSum() { mpfr_clears(sum_, term_, factor_, static_cast<mpfr_ptr>(nullptr)); }
  ExactSum(const ExactSum&) = delete;
  ExactSum& operator=(const ExactSum&) = delete;

  void add_product(double x, double y) {
    int inexact = mpfr_set_d(factor_, x, MPFR_RNDN);
    inexact |= mpfr_mul_d(term_, factor_, y, MPFR_RNDN);
    inexact |= mpfr_add(sum_, sum_, term_, MPFR_RNDN);
    ASSERT_EQ(inexact, 0);
  }
  /// The sum or its negative; an exact zero is +0.
  template <class R>
  [[nodiscard]] R rounded(bool negate) {
    if (mpfr_zero_p(sum_)) return R{0};
    if (negate) mpfr_neg(sum_, sum_, MPFR_RNDN);
    if constexpr (std::is_same_v<R, float>) return mpfr_get_flt(sum_, MPFR_RNDN);
    return static_cast<R>(mpfr_get_d(sum_, MPFR_RNDN));
  }

 private:
  mpfr_t sum_;
  mpfr_t term_;
  mpfr_t factor_;
};

template <class R>
[[nodiscard]] bool has_equal_bits(R x, R y) {
  using Bits = std::conditional_t<sizeof(R) == 4, std::uint32_t, std::uint64_t>;
  return std::bit_cast<Bits>(x) == std::bit_cast<Bits>(y);
}

/// Multiplies dense column-major matrices and judges every element.
template <class T>
void expect_correct(const std::vector<T>& a, const std::vector<T>& b, std::int64_t m, std::int64_t n, std::int64_t k,
                    bool negate, const std::string& what, Outcome& outcome) {
  using R = RealOf<T>;
  Policy policy;
  policy.accuracy = Accuracy::correct();
  policy.threads = kThreads;
  std::vector<T> c(static_cast<std::size_t>(m * n), T(std::numeric_limits<R>::quiet_NaN()));
  const T alpha = negate ? T{-1} : T{1};
  const Status status = gemm<T>(alpha, dense(a, m, k), dense(b, k, n), T{0}, dense(c, m, n), policy, &outcome);
  ASSERT_TRUE(status.ok()) << what << ": " << status.reason();
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = 0; i < m; ++i) {
      const T got = c[static_cast<std::size_t>(j * m + i)];
      ExactSum re;
      ExactSum im;
      for (std::int64_t h = 0; h < k; ++h) {
        const std::complex<double> x(a[static_cast<std::size_t>(h * m + i)]);
        const std::complex<double> y(b[static_cast<std::size_t>(j * k + h)]);
        re.add_product(x.real(), y.real());
        if constexpr (kIsComplex<T>) {
          re.add_product(-x.imag(), y.imag());
          im.add_product(x.real(), y.imag());
          im.add_product(x.imag(), y.real());
        }
      }
      const auto judge = [&](R is, R should_be, const char* part) {
        ASSERT_TRUE(has_equal_bits(is, should_be))
            << what << ": " << part << " of (" << i << ", " << j << ") is " << check::print_real(is) << ", must be "
            << check::print_real(should_be);
      };
      if constexpr (kIsComplex<T>) {
        judge(got.real(), re.template rounded<R>(negate), "Re");
        judge(got.imag(), im.template rounded<R>(negate), "Im");
      } else {
        judge(got, re.template rounded<R>(negate), "element");
      }
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

/// The elements of op(A) or op(B) of a case as a dense array; complex ones of two real fillings.
template <class T>
[[nodiscard]] std::vector<T> dense_copy(const Case& c, check::Which which) {
  using R = RealOf<T>;
  const auto fill = [&](std::uint64_t seed) {
    Case real = c;
    real.scalar = kScalarOf<R>;
    real.seed = seed;
    const check::Operand<R> operand(real, which, kThreads);
    const MatrixView<const R> view = operand.view();
    std::vector<R> out;
    for (std::int64_t j = 0; j < view.cols; ++j) {
      for (std::int64_t i = 0; i < view.rows; ++i) out.push_back(view(i, j));
    }
    return out;
  };
  if constexpr (kIsComplex<T>) {
    const std::vector<R> re = fill(c.seed);
    const std::vector<R> im = fill(c.seed + 1000);
    std::vector<T> out(re.size());
    for (std::size_t i = 0; i < re.size(); ++i) out[i] = {re[i], im[i]};
    return out;
  } else {
    return fill(c.seed);
  }
}

template <class T>
class Correct : public testing::Test {};
using Types = testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(Correct, Types);

TYPED_TEST(Correct, EveryMatrixClass) {
  using T = TypeParam;
  std::int64_t accumulated = 0;
  for (int id = 0; id < static_cast<int>(check::class_inventory().size()); ++id) {
    const MatrixSpec spec = check::default_spec(static_cast<check::MatrixClass>(id));
    for (const bool is_b : {false, true}) {
      Case c;
      c.m = 7;
      c.n = 6;
      c.k = id % 3 == 0 ? 129 : 40;
      c.a = spec;
      c.b = is_b ? spec : check::default_spec(check::MatrixClass::kRandn);
      c.seed = static_cast<std::uint64_t>(id) + 1;
      const std::vector<T> a = dense_copy<T>(c, check::Which::kA);
      const std::vector<T> b = dense_copy<T>(c, check::Which::kB);
      const auto is_finite = [](T x) {
        return std::isfinite(std::complex<double>(x).real()) && std::isfinite(std::complex<double>(x).imag());
      };
      if (!std::all_of(a.begin(), a.end(), is_finite) || !std::all_of(b.begin(), b.end(), is_finite)) continue;
      Outcome outcome;
      expect_correct<T>(a, b, c.m, c.n, c.k, id % 2 == 0, check::print(c), outcome);
      if (this->HasFatalFailure()) return;
      EXPECT_GT(outcome.moduli, 0);
      accumulated += outcome.repaired;
    }
  }
  std::printf("[ correct  ] %s: %lld results from the long accumulator\n", std::string(to_string(kScalarOf<T>)).c_str(),
              static_cast<long long>(accumulated));
}

/// Results far below and far above the range of the type: subnormal numbers, zeros of a sign, Inf.
TYPED_TEST(Correct, SubnormalAndOverflowingResults) {
  using T = TypeParam;
  using R = RealOf<T>;
  constexpr int kMin = std::numeric_limits<R>::min_exponent - std::numeric_limits<R>::digits;  // of the least number
  constexpr int kMax = std::numeric_limits<R>::max_exponent;
  for (const int target : {kMin - 3, kMin - 1, kMin, kMin + 2, kMin + 20, kMax - 6, kMax - 4, kMax - 3, kMax - 1}) {
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
      Case c;
      c.m = c.n = 5;
      c.k = 9;
      c.a = c.b = check::default_spec(check::MatrixClass::kRandn);
      c.seed = seed;
      std::vector<T> a = dense_copy<T>(c, check::Which::kA);
      std::vector<T> b = dense_copy<T>(c, check::Which::kB);
      for (T& x : a) x *= static_cast<R>(std::ldexp(1.0, target / 2));
      for (T& x : b) x *= static_cast<R>(std::ldexp(1.0, target - target / 2));
      Outcome outcome;
      expect_correct<T>(a, b, c.m, c.n, c.k, seed % 2 == 0, "2^" + std::to_string(target), outcome);
      if (this->HasFatalFailure()) return;
    }
  }
}

/// Sums that are exact ties, just off a tie, or zero after total cancellation, with lines too wide for any moduli: only
/// the long accumulator can tell.
TYPED_TEST(Correct, TiesAndCancellationBeyondAllModuli) {
  using T = TypeParam;
  using R = RealOf<T>;
  constexpr int kDigits = std::numeric_limits<R>::digits;
  const R unit = std::ldexp(R{1}, -kDigits);  // half a unit in the last place of 1
  const R tiny = std::numeric_limits<R>::denorm_min();
  const R huge = std::ldexp(R{1}, std::numeric_limits<R>::max_exponent - 2);
  struct Row {
    std::vector<R> x;
    R should_be;
  };
  const R next = std::nextafter(R{1}, R{2});
  const Row rows[] = {
      {{1, unit, 0, 0}, R{1}},                           // a tie, to even
      {{1, unit, tiny, 0}, next},                        // just above
      {{1, unit, -tiny, 0}, R{1}},                       // just below
      {{next, unit, 0, 0}, std::nextafter(next, R{2})},  // a tie, to even the other way
      {{huge, -huge, tiny, 0}, tiny},
      {{huge, -huge, tiny, -tiny}, R{0}},
      {{huge, 1, -huge, unit}, R{1}},
      {{huge, huge, huge, huge}, std::numeric_limits<R>::infinity()},
      {{-huge, -huge, -huge, -huge}, -std::numeric_limits<R>::infinity()},
  };
  std::vector<T> a;
  for (std::size_t h = 0; h < 4; ++h) {
    for (const Row& row : rows) a.push_back(T(row.x[h]));
  }
  const std::vector<T> b(4, T{1});
  Outcome outcome;
  expect_correct<T>(a, b, std::ssize(rows), 1, 4, false, "ties", outcome);
  std::vector<T> c(std::size(rows));
  Policy policy;
  policy.accuracy = Accuracy::correct();
  ASSERT_TRUE(
      gemm<T>(T{1}, dense(a, std::ssize(rows), 4), dense(b, 4, 1), T{0}, dense(c, std::ssize(rows), 1), policy).ok());
  for (std::size_t i = 0; i < c.size(); ++i) EXPECT_EQ(c[i], T(rows[i].should_be)) << "row " << i;
  EXPECT_GT(outcome.repaired, 0) << "no modulus holds these";
}

TYPED_TEST(Correct, SameBitsOnEveryEngineThreadCountAndWorkspace) {
  using T = TypeParam;
  Case c;
  c.m = 70;
  c.n = 33;
  c.k = kIsSanitized ? 70 : 300;
  c.a = c.b = check::default_spec(check::MatrixClass::kExprand);
  const std::vector<T> a = dense_copy<T>(c, check::Which::kA);
  const std::vector<T> b = dense_copy<T>(c, check::Which::kB);
  std::vector<T> first;
  for (const EngineName engine : {EngineName::kCpuRef, EngineName::kCpuSimd, EngineName::kTile}) {
    for (const int threads : {1, 3}) {
      for (const std::size_t limit : {std::size_t{0}, std::size_t{24} << 20}) {
        Policy policy;
        policy.accuracy = Accuracy::correct();
        policy.engine = engine;
        policy.threads = threads;
        policy.workspace_limit_bytes = limit;
        std::vector<T> out(static_cast<std::size_t>(c.m * c.n));
        const Status status = gemm<T>(T{1}, dense(a, c.m, c.k), dense(b, c.k, c.n), T{0}, dense(out, c.m, c.n), policy);
        ASSERT_TRUE(status.ok()) << status.reason();
        if (first.empty()) first = out;
        EXPECT_EQ(std::memcmp(first.data(), out.data(), out.size() * sizeof(T)), 0);
      }
    }
  }
}

TEST(CorrectRefuses, WhatItCannotRound) {
  Policy policy;
  policy.accuracy = Accuracy::correct();
  const std::vector<double> x(4, 1.0);
  std::vector<double> c(4, 7.0);
  const auto expect_refused = [&](double alpha, double beta, const std::string& part) {
    const Status status = gemm<double>(alpha, dense(x, 2, 2), dense(x, 2, 2), beta, dense(c, 2, 2), policy);
    EXPECT_EQ(status.code(), StatusCode::kUnsupported);
    EXPECT_NE(status.reason().find(part), std::string::npos) << status.reason();
    EXPECT_EQ(c, std::vector<double>(4, 7.0));
  };
  expect_refused(2.0, 0.0, "alpha = 2");
  expect_refused(0.0, 0.0, "alpha = 0");
  expect_refused(1.0, 1.0, "beta = 1");
  policy.scheme = Scheme::kNative;
  EXPECT_EQ(make_plan(Scalar::kF64, 2, 2, 1, policy).status().code(), StatusCode::kAccuracyUnreachable);
  policy.scheme = Scheme::kAuto;
  const Result<Plan> plan = make_plan(Scalar::kF64, 2, 2, 2, policy);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan.value().bound(), 0x1p-53);
  EXPECT_EQ(prepare<double>(plan.value(), Side::kA, dense(x, 2, 2)).status().code(), StatusCode::kUnsupported);
}

TEST(CorrectNonFinite, AsAnyOtherAccuracy) {
  Policy policy;
  policy.accuracy = Accuracy::correct();
  const double inf = std::numeric_limits<double>::infinity();
  const std::vector<double> a = {1, inf, 2, 3};  // rows (1, 2) and (inf, 3)
  const std::vector<double> b = {1, 1, 0, 1};
  std::vector<double> c(4);
  ASSERT_TRUE(gemm<double>(1.0, dense(a, 2, 2), dense(b, 2, 2), 0.0, dense(c, 2, 2), policy).ok());
  EXPECT_EQ(c[0], 3.0);
  EXPECT_EQ(c[1], inf);
  EXPECT_EQ(c[2], 2.0);
  EXPECT_TRUE(std::isnan(c[3]));
}

/// The accumulator itself: many terms, so that carries are resolved on the way, against GMP's integers.
TEST(LongAccumulator, SumsWithoutRounding) {
  num::LongAccumulator sum;
  for (int i = 0; i < 1000; ++i) {
    sum.add_product(0x1p1000, 0x1.8p23);
    sum.add_product(-0x1p-1074, 0x1p-1074);
    sum.add_product(-0x1.8p1000, 0x1p23);
  }
  EXPECT_EQ(sum.round<double>(false), -0.0);
  num::LongAccumulator exact;
  for (int i = 0; i < 4096; ++i) exact.add_product(0x1p-543, 0x1p-543);  // 2^12 2^-1086 = 2^-1074
  EXPECT_EQ(exact.round<double>(false), 0x1p-1074);
  EXPECT_EQ(exact.round<double>(true), -0x1p-1074);
  num::LongAccumulator large;
  for (int i = 0; i < 3; ++i) large.add_product(std::numeric_limits<double>::max(), std::numeric_limits<double>::max());
  EXPECT_EQ(large.round<double>(false), std::numeric_limits<double>::infinity());
  for (int i = 0; i < 3; ++i)
    large.add_product(std::numeric_limits<double>::max(), -std::numeric_limits<double>::max());
  EXPECT_TRUE(has_equal_bits(large.round<double>(true), 0.0));
}

}  // namespace
}  // namespace kizami::api_test
