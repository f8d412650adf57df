// SPDX-License-Identifier: MIT
// Products in double-double against MPFR: every element within the plan's bound of the exact sum, relative to |A||B|.
#include <gtest/gtest.h>
#include <mpfr.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "api_case.hpp"
#include "check/matrix_spec.hpp"

namespace kizami::api_test {
namespace {

using check::Case;

/// A number of 8000 bits: exact for every sum here.
class Wide {
 public:
  Wide() {
    mpfr_init2(value_, 8000);
    mpfr_set_zero(value_, 1);
  }
  ~Wide() { mpfr_clear(value_); }
  Wide(const Wide&) = delete;
  Wide& operator=(const Wide&) = delete;

  void set(DoubleDouble x) {
    mpfr_set_d(value_, x.hi, MPFR_RNDN);
    mpfr_add_d(value_, value_, x.lo, MPFR_RNDN);
  }
  mpfr_t value_;
};

[[nodiscard]] DoubleDouble value_of(double x) { return {x}; }
[[nodiscard]] DoubleDouble value_of(DoubleDouble x) { return x; }

/// The largest |C - (alpha AB + beta C0)| / (|alpha| |A||B| + |beta C0|) over all elements.
template <class In>
[[nodiscard]] double worst_error(const std::vector<In>& a, const std::vector<In>& b, std::int64_t m, std::int64_t n,
                                 std::int64_t k, DoubleDouble alpha, DoubleDouble beta,
                                 const std::vector<DoubleDouble>& before, const std::vector<DoubleDouble>& after) {
  double worst = 0;
  Wide x, y, sum, gauge, factor, old, got;
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = 0; i < m; ++i) {
      mpfr_set_zero(sum.value_, 1);
      mpfr_set_zero(gauge.value_, 1);
      for (std::int64_t h = 0; h < k; ++h) {
        x.set(value_of(a[static_cast<std::size_t>(h * m + i)]));
        y.set(value_of(b[static_cast<std::size_t>(j * k + h)]));
        mpfr_mul(x.value_, x.value_, y.value_, MPFR_RNDN);
        mpfr_add(sum.value_, sum.value_, x.value_, MPFR_RNDN);
        mpfr_abs(x.value_, x.value_, MPFR_RNDN);
        mpfr_add(gauge.value_, gauge.value_, x.value_, MPFR_RNDN);
      }
      factor.set(alpha);
      mpfr_mul(sum.value_, sum.value_, factor.value_, MPFR_RNDN);
      mpfr_abs(factor.value_, factor.value_, MPFR_RNDN);
      mpfr_mul(gauge.value_, gauge.value_, factor.value_, MPFR_RNDN);
      if (beta != DoubleDouble{0}) {
        factor.set(beta);
        old.set(before[static_cast<std::size_t>(j * m + i)]);
        mpfr_mul(old.value_, old.value_, factor.value_, MPFR_RNDN);
        mpfr_add(sum.value_, sum.value_, old.value_, MPFR_RNDN);
        mpfr_abs(old.value_, old.value_, MPFR_RNDN);
        mpfr_add(gauge.value_, gauge.value_, old.value_, MPFR_RNDN);
      }
      const DoubleDouble& c = after[static_cast<std::size_t>(j * m + i)];
      if (std::isinf(c.hi) && mpfr_get_d(sum.value_, MPFR_RNDN) == c.hi && c.lo == 0) continue;
      if (!std::isfinite(c.hi) || c.hi + c.lo != c.hi) return std::numeric_limits<double>::infinity();
      got.set(c);
      mpfr_sub(sum.value_, sum.value_, got.value_, MPFR_RNDN);
      mpfr_abs(sum.value_, sum.value_, MPFR_RNDN);
      if (mpfr_cmp_d(sum.value_, 0x1p-1074) <= 0) continue;  // the rounding of a subnormal low part
      if (mpfr_zero_p(gauge.value_) != 0) return std::numeric_limits<double>::infinity();
      mpfr_div(sum.value_, sum.value_, gauge.value_, MPFR_RNDA);
      worst = std::max(worst, mpfr_get_d(sum.value_, MPFR_RNDA));
    }
  }
  return worst;
}

/// Elements of a case in FP64, with low parts of their own for double-double.
template <class In>
[[nodiscard]] std::vector<In> filled(const Case& c, check::Which which) {
  const check::Operand<double> operand(c, which, kThreads);
  const MatrixView<const double> view = operand.view();
  std::vector<In> out;
  std::uint64_t state = c.seed;
  for (std::int64_t j = 0; j < view.cols; ++j) {
    for (std::int64_t i = 0; i < view.rows; ++i) {
      const double hi = view(i, j);
      if constexpr (std::is_same_v<In, double>) {
        out.push_back(hi);
      } else {
        state = state * 6364136223846793005ULL + 1442695040888963407ULL;
        const double half_ulp = std::ldexp(1.0, std::ilogb(hi == 0 ? 1.0 : hi) - 54);
        double lo = hi == 0 ? 0.0 : half_ulp * (static_cast<double>(state >> 12) * 0x1p-51 - 1.0);
        if (hi + lo != hi) lo = 0;
        out.push_back({hi, lo});
      }
    }
  }
  return out;
}

template <class In>
class DoubleDoubleProduct : public testing::Test {};
using Inputs = testing::Types<double, DoubleDouble>;
TYPED_TEST_SUITE(DoubleDoubleProduct, Inputs);

template <class In>
void expect_bound(const Case& c, DoubleDouble alpha, DoubleDouble beta, int bits, std::int64_t* num_repaired) {
  const std::vector<In> a = filled<In>(c, check::Which::kA);
  const std::vector<In> b = filled<In>(c, check::Which::kB);
  for (const std::vector<In>* x : {&a, &b}) {
    for (const In& v : *x) {
      if (!std::isfinite(value_of(v).hi)) return;
    }
  }
  const auto size = static_cast<std::size_t>(c.m * c.n);
  std::vector<DoubleDouble> before(size, DoubleDouble(0.3, 0x1p-60));
  std::vector<DoubleDouble> after = before;
  Policy policy;
  policy.accuracy = bits == 0 ? Accuracy::native() : Accuracy::at_bits(bits);
  policy.threads = kThreads;
  Outcome outcome;
  const Status status = gemm_dd<In>(Layout::kColMajor, Op::kNone, Op::kNone, c.m, c.n, c.k, alpha, a.data(),
                                    std::max<std::int64_t>(1, c.m), b.data(), std::max<std::int64_t>(1, c.k), beta,
                                    after.data(), std::max<std::int64_t>(1, c.m), policy, &outcome);
  ASSERT_TRUE(status.ok()) << check::print(c) << ": " << status.reason();
  const double worst = worst_error<In>(a, b, c.m, c.n, c.k, alpha, beta, before, after);
  const bool is_plain = (alpha == DoubleDouble{1} || alpha == DoubleDouble{-1}) && beta == DoubleDouble{0};
  EXPECT_LE(worst, outcome.bound + (is_plain ? 0.0 : 0x1p-105)) << check::print(c) << ", bits " << bits;
  EXPECT_EQ(outcome.bound, bits == 0 ? num::native_factor(c.k) * 0x1p-104 : std::ldexp(1.0, -bits));
  *num_repaired += outcome.repaired;
}

TYPED_TEST(DoubleDoubleProduct, EveryMatrixClassWithinItsBound) {
  std::int64_t repaired = 0;
  for (int id = 0; id < static_cast<int>(check::class_inventory().size()); ++id) {
    for (const int bits : {100, 0, 60}) {
      Case c;
      c.m = 6;
      c.n = 5;
      c.k = id % 2 == 0 ? 70 : 33;
      c.a = check::default_spec(static_cast<check::MatrixClass>(id));
      c.b = bits == 0 ? c.a : check::default_spec(check::MatrixClass::kRandn);
      c.seed = static_cast<std::uint64_t>(id + bits);
      expect_bound<TypeParam>(c, 1, 0, bits, &repaired);
      if (this->HasFatalFailure()) return;
    }
  }
  std::printf("[ dd       ] %lld elements from the long accumulator\n", static_cast<long long>(repaired));
}

TYPED_TEST(DoubleDoubleProduct, AlphaAndBeta) {
  Case c;
  c.m = 17;
  c.n = 9;
  c.k = 300;
  c.a = c.b = check::default_spec(check::MatrixClass::kRandn);
  std::int64_t repaired = 0;
  for (const DoubleDouble alpha :
       {DoubleDouble(1), DoubleDouble(-1), DoubleDouble(0.1, 0x1p-58), DoubleDouble(0x1p-600)}) {
    for (const DoubleDouble beta : {DoubleDouble(0), DoubleDouble(1), DoubleDouble(-3.7, 0x1p-55)}) {
      expect_bound<TypeParam>(c, alpha, beta, 100, &repaired);
    }
  }
}

TYPED_TEST(DoubleDoubleProduct, SameBitsOnEveryEngineThreadCountAndWorkspace) {
  Case c;
  c.m = 60;
  c.n = 40;
  c.k = 500;
  c.a = check::default_spec(check::MatrixClass::kExprand);
  c.b = check::default_spec(check::MatrixClass::kRandn);
  const std::vector<TypeParam> a = filled<TypeParam>(c, check::Which::kA);
  const std::vector<TypeParam> b = filled<TypeParam>(c, check::Which::kB);
  std::vector<DoubleDouble> first;
  for (const EngineName engine : {EngineName::kCpuRef, EngineName::kCpuSimd, EngineName::kTile}) {
    for (const std::size_t limit : {std::size_t{0}, std::size_t{24} << 20}) {
      Policy policy;
      policy.accuracy = Accuracy::at_bits(100);
      policy.engine = engine;
      policy.threads = engine == EngineName::kCpuRef ? 1 : 3;
      policy.workspace_limit_bytes = limit;
      std::vector<DoubleDouble> out(static_cast<std::size_t>(c.m * c.n));
      const Status status = gemm_dd<TypeParam>(Layout::kColMajor, Op::kNone, Op::kNone, c.m, c.n, c.k, 1, a.data(), c.m,
                                               b.data(), c.k, 0, out.data(), c.m, policy);
      ASSERT_TRUE(status.ok()) << status.reason();
      if (first.empty()) first = out;
      EXPECT_EQ(out, first);
    }
  }
}

TEST(DoubleDouble, TransposesLayoutsAndQuickReturns) {
  const std::vector<DoubleDouble> a = {{1, 0x1p-60}, 2, 3, 4};  // columns (1+, 2), (3, 4)
  const std::vector<DoubleDouble> b = {1, 0, 0, 1};
  std::vector<DoubleDouble> c(4, DoubleDouble(5));
  ASSERT_TRUE(
      gemm_dd(Layout::kColMajor, Op::kTranspose, Op::kNone, 2, 2, 2, 1, a.data(), 2, b.data(), 2, 0, c.data(), 2).ok());
  EXPECT_EQ(c, (std::vector<DoubleDouble>{{1, 0x1p-60}, 3, 2, 4}));
  ASSERT_TRUE(
      gemm_dd(Layout::kRowMajor, Op::kNone, Op::kNone, 2, 2, 2, 1, a.data(), 2, b.data(), 2, 0, c.data(), 2).ok());
  EXPECT_EQ(c, a);
  ASSERT_TRUE(gemm_dd<DoubleDouble>(Layout::kColMajor, Op::kNone, Op::kNone, 2, 2, 0, 1, nullptr, 2, nullptr, 1,
                                    {0.5, 0}, c.data(), 2)
                  .ok());
  EXPECT_EQ(c[0], DoubleDouble(0.5, 0x1p-61));
  EXPECT_EQ(c[3], DoubleDouble(2));
}

TEST(DoubleDouble, Refusals) {
  std::vector<DoubleDouble> a = {1, 2, {3, 1}, 4};
  std::vector<DoubleDouble> c(4, DoubleDouble(7));
  const auto call = [&](const Policy& policy = {}) {
    return gemm_dd(Layout::kColMajor, Op::kNone, Op::kNone, 2, 2, 2, 1, a.data(), 2, a.data(), 2, 0, c.data(), 2,
                   policy);
  };
  EXPECT_EQ(call().code(), StatusCode::kInvalidArgument);
  EXPECT_NE(call().reason().find("A holds a double-double with |lo| > ulp(hi) / 2 in row 0"), std::string::npos)
      << call().reason();
  a[2].lo = 0;
  ASSERT_TRUE(call().ok());
  c.assign(4, DoubleDouble(7));
  Policy policy;
  policy.accuracy = Accuracy::correct();
  EXPECT_EQ(call(policy).code(), StatusCode::kUnsupported);
  policy.accuracy = Accuracy::at_bits(101);
  EXPECT_EQ(call(policy).code(), StatusCode::kInvalidArgument);
  policy.accuracy = Accuracy::native();
  policy.scheme = Scheme::kNative;
  EXPECT_EQ(call(policy).code(), StatusCode::kUnsupported);
  for (const DoubleDouble& x : c) EXPECT_EQ(x, DoubleDouble(7));
  EXPECT_EQ(
      gemm_dd(Layout::kColMajor, Op::kNone, Op::kNone, 2, 2, 2, 1, a.data(), 2, c.data(), 2, 0, c.data(), 2).code(),
      StatusCode::kInvalidArgument)
      << "C is B";
  const double inf = std::numeric_limits<double>::infinity();
  a[0] = inf;
  ASSERT_TRUE(call().ok());
  EXPECT_EQ(c[0].hi, inf);
  EXPECT_TRUE(std::isfinite(c[3].hi));
}

}  // namespace
}  // namespace kizami::api_test
