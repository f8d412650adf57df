// SPDX-License-Identifier: MIT
// The judge's arithmetic on results that the host computes from the definitions of BLAS, in long double: good ones
// pass, one bad element does not, and NaN and Inf must be where they belong.
#include "gpu_soak/reference.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "gpu_soak/on_host.hpp"
#include "num/bounds.hpp"
#include "sanitized.hpp"

namespace gpu_soak {
namespace {

template <class R, bool kIsComplex>
void expect_judged(const Case& x) {
  SCOPED_TRACE(text_of(x));
  OnHost<R, kIsComplex> host(x);
  host.compute();
  const auto good = host.judge();
  EXPECT_EQ(good.wrong, 0);
  EXPECT_EQ(good.misplaced, 0);
  EXPECT_LE(good.worst, 1.0);
  const Section& s = x.sections.back();
  if (s.m == 0 || s.n == 0) return;
  ASSERT_GT(good.judged, 0);
  // One element of the diagonal, which every triangle has.
  const std::int64_t i = std::min(s.m, s.n) - 1;
  const std::int64_t element = s.c.start(s.num_products - 1, s.num_products) + i + i * s.c.ld;
  R& bad = host.c()[static_cast<std::size_t>(element * (kIsComplex ? 2 : 1))];
  const R before = bad;
  // Operands are at most 1 in each part: no gauge is beyond twice the terms, and no C0 beyond 2.
  const Allowed allowed = judged_of(x, {}, {0, true}).back().allowed;
  const double terms = static_cast<double>(2 * s.k + 1) * 2 * (1 + std::abs(s.alpha)) + 2 * std::abs(s.beta);
  bad += static_cast<R>(4 * (allowed.relative + allowed.rounding) * terms);
  EXPECT_GE(host.judge().wrong, 1);
  bad = std::numeric_limits<R>::quiet_NaN();
  EXPECT_GE(host.judge().misplaced, 1);
  bad = before;
  EXPECT_EQ(host.judge().wrong, 0);
}

TEST(Judge, TakesWhatTheDefinitionsSay) {
  Limits limits;
  limits.max_size = 24;
  limits.features.set(Feature::kNonFinite, false);
  for (std::uint64_t seed = 0; seed < (kizami::tests::kIsSanitized ? 80 : 400); ++seed) {
    const Case x = draw_case(seed, limits);
    switch (x.scalar) {
      case kizami::Scalar::kF32:
        expect_judged<float, false>(x);
        break;
      case kizami::Scalar::kF64:
        expect_judged<double, false>(x);
        break;
      case kizami::Scalar::kC64:
        expect_judged<float, true>(x);
        break;
      default:
        expect_judged<double, true>(x);
        break;
    }
  }
}

Case plain_product(kizami::Scalar scalar, std::int64_t m, std::int64_t n, std::int64_t k) {
  Case x;
  x.scalar = scalar;
  Section s;
  s.m = m;
  s.n = n;
  s.k = k;
  s.a = {m, k, m, kGuard, 0, 0};
  s.b = {k, n, k, kGuard, 0, 0};
  s.c = {m, n, m, kGuard, 0, 0};
  x.sections.push_back(s);
  return x;
}

/// An exception in row 2 of A belongs into row 2 of C, and nowhere else.
template <class R, bool kIsComplex>
void expect_exceptions(kizami::Scalar scalar, R exception) {
  constexpr int kParts = kIsComplex ? 2 : 1;
  OnHost<R, kIsComplex> host(plain_product(scalar, 5, 4, 3));
  host.a()[static_cast<std::size_t>((kGuard + 2 + 5 * 1) * kParts)] = exception;
  host.set_factors(-1.5, 0);
  host.compute();
  EXPECT_EQ(host.judge().misplaced, 0);
  EXPECT_EQ(host.judge().wrong, 0);
  std::vector<R>& c = host.c();
  for (std::int64_t j = 0; j < 4; ++j) {
    for (std::int64_t i = 0; i < 5; ++i) {
      R* const element = &c[static_cast<std::size_t>((kGuard + i + 5 * j) * kParts)];
      const R before[2]{element[0], element[kParts - 1]};
      element[0] = element[kParts - 1] = i == 2 ? R{1} : std::numeric_limits<R>::infinity();
      EXPECT_EQ(host.judge().misplaced, 1) << i << ", " << j;
      if constexpr (!kIsComplex) {
        if (i == 2 && !std::isnan(exception)) {  // the other infinity, and NaN, are misplaced as well
          element[0] = -before[0];
          EXPECT_EQ(host.judge().misplaced, 1);
          element[0] = std::numeric_limits<R>::quiet_NaN();
          EXPECT_EQ(host.judge().misplaced, 1);
        }
      }
      element[kParts - 1] = before[1];
      element[0] = before[0];
    }
  }
}

TEST(Judge, KnowsWhereNaNAndInfBelong) {
  for (const double exception : {std::nan(""), HUGE_VAL, -HUGE_VAL}) {
    expect_exceptions<float, false>(kizami::Scalar::kF32, static_cast<float>(exception));
    expect_exceptions<double, false>(kizami::Scalar::kF64, exception);
    expect_exceptions<float, true>(kizami::Scalar::kC64, static_cast<float>(exception));
    expect_exceptions<double, true>(kizami::Scalar::kC128, exception);
  }
}

/// A result moved to just within and just beyond the bound, which is the one of src/num but for the reference's own
/// errors.
TEST(Judge, HasTheBoundsOfTheLibrary) {
  namespace num = kizami::num;
  using Accuracy = kizami::Accuracy;
  for (const std::int64_t k : {1, 7, 300, 2000}) {
    for (const int bits : {0, 20, 40}) {
      Case x = plain_product(kizami::Scalar::kF64, 1, 1, k);
      const double wanted = num::target_bound(bits == 0 ? Accuracy::native() : Accuracy::at_bits(bits), x.scalar, k);
      const Allowed allowed = judged_of(x, {}, {bits, true}).front().allowed;
      EXPECT_GE(allowed.relative, wanted);
      EXPECT_LE(allowed.relative, wanted * (1 + 0x1p-30));
      EXPECT_EQ(allowed.rounding, 0);
      x.sections.front().beta = 1;
      EXPECT_EQ(judged_of(x, {}, {bits, true}).front().allowed.rounding, num::epilogue_bound(x.scalar, 1, 0));
      // 40 bits are more than FP32 has: cuBLAS answers, and sums in any order.
      x.scalar = kizami::Scalar::kF32;
      if (bits == 40) {
        EXPECT_GE(judged_of(x, {}, {bits, true}).front().allowed.relative, num::dot_bound(k, 0x1p-24));
      }
      // A part of a complex product has twice the terms.
      x.scalar = kizami::Scalar::kC128;
      if (bits == 0) {
        EXPECT_GE(judged_of(x, {}, {bits, true}).front().allowed.relative, num::native_factor(2 * k) * 0x1p-53);
      }
    }
  }
}

}  // namespace
}  // namespace gpu_soak
