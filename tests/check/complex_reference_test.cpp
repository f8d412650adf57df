// SPDX-License-Identifier: MIT
// The exact complex product, its gauges and its ratios, both parts, against MPFR on the definition over complex
// numbers; and every comparator must go red when one part is spoiled.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <complex>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "case_line.hpp"
#include "check/case.hpp"
#include "check/compare.hpp"
#include "check/matrix_classes.hpp"
#include "check/operands.hpp"
#include "check/reference.hpp"
#include "mpfr_number.hpp"

namespace kizami::check {
namespace {

using Z = std::complex<double>;
using C = std::complex<float>;

template <class T>
Reference<T> reference_of(const Case& c, const Operands<T>& x) {
  return {alpha_of<T>(c), x.a.view(), x.b.view(), beta_of<T>(c), x.c.view()};
}

/// A complex number of MPFR. With `magnitudes` products add up without cancellation, part by part.
struct MpfrComplex {
  std::array<Mpfr, 2> parts;

  MpfrComplex() = default;
  template <class R>
  MpfrComplex(std::complex<R> x, bool magnitudes) {
    parts[0] = Mpfr(magnitudes ? std::abs(x.real()) : x.real());
    parts[1] = Mpfr(magnitudes ? std::abs(x.imag()) : x.imag());
  }
  static Mpfr product(const Mpfr& x, const Mpfr& y) {
    Mpfr out(x);
    out *= y;
    return out;
  }
  void add_product(const MpfrComplex& x, const MpfrComplex& y, bool magnitudes) {
    Mpfr crossed = product(x.parts[1], y.parts[1]);
    if (!magnitudes) crossed *= Mpfr(-1.0);
    parts[0] += product(x.parts[0], y.parts[0]);
    parts[0] += crossed;
    parts[1] += product(x.parts[0], y.parts[1]);
    parts[1] += product(x.parts[1], y.parts[0]);
  }
};

/// alpha AB + beta C0, or the same sum of magnitudes.
template <class T>
MpfrComplex mpfr_element(const Case& c, const Operands<T>& x, std::int64_t i, std::int64_t j, bool magnitudes) {
  MpfrComplex sum, out;
  for (std::int64_t l = 0; l < c.k; ++l) {
    sum.add_product(MpfrComplex(element(x.a.view(), i, l), magnitudes),
                    MpfrComplex(element(x.b.view(), l, j), magnitudes), magnitudes);
  }
  out.add_product(MpfrComplex(alpha_of<T>(c), magnitudes), sum, magnitudes);
  if (beta_of<T>(c) != T{0})
    out.add_product(MpfrComplex(beta_of<T>(c), magnitudes), MpfrComplex(x.c.view()(i, j), magnitudes), magnitudes);
  return out;
}

template <class T>
void expect_agrees_with_mpfr(const std::string& line) {
  const Case c = case_of(line);
  const Operands<T> x(c);
  const Reference<T> reference = reference_of(c, x);
  for (std::int64_t i = 0; i < c.m; ++i) {
    for (std::int64_t j = 0; j < c.n; ++j) {
      const MpfrComplex value = mpfr_element(c, x, i, j, false), entry = mpfr_element(c, x, i, j, true);
      for (const Part part : kBothParts) {
        const auto p = static_cast<std::size_t>(part);
        const auto got = reference.element(i, j, part);
        ASSERT_EQ(got.cls, ValueClass::kFinite) << line;
        EXPECT_EQ(got.part, part);
        EXPECT_EQ(got.value.template rounded<double>(), value.parts[p].to_double()) << line;
        EXPECT_EQ(got.entry.template rounded<double>(Rounding::kUp), entry.parts[p].to_double(MPFR_RNDU)) << line;
        EXPECT_GE(got.terms, got.value.abs()) << line;
        EXPECT_LE(got.terms, got.entry) << line;
        const RealOf<T> rounded = part_of(reference.rounded(i, j), part);
        if constexpr (std::is_same_v<T, C>) {
          EXPECT_EQ(rounded, value.parts[p].to_float()) << line;
        } else {
          EXPECT_EQ(rounded, value.parts[p].to_double()) << line;
        }
      }
    }
  }
}

TEST(ComplexReference, AgreesWithMpfrOnEveryClass) {
  for (const ClassInfo& info : class_inventory()) {
    const std::string name(info.name);
    expect_agrees_with_mpfr<Z>("z cr 2x2x7 a=-0.3+1.7i b=1.7-0.1i ld+2 A=" + name + " B=" + name + " C=" + name);
    expect_agrees_with_mpfr<C>("c nt 2x2x6 a=0.7i b=0 layout=row A=" + name + ",im2^-40 B=" + name + ",re");
    expect_agrees_with_mpfr<C>("c rc 1x2x5 a=0.7 b=-2 A=" + name + ",im B=" + name + " C=" + name);
  }
}

// The norm gauge: both parts are sums of 2k terms, |Re alpha| + |Im alpha| times the norms of the lines.
TEST(ComplexReference, NormGaugeIsThatOfTheRealTerms) {
  const Case c = case_of("z nc 3x2x20 a=2-0.5i b=0.25i C=randn");
  const Operands<Z> x(c);
  const Reference<Z> reference = reference_of(c, x);
  for (std::int64_t i = 0; i < c.m; ++i) {
    for (std::int64_t j = 0; j < c.n; ++j) {
      std::vector<double> a, b;
      for (std::int64_t l = 0; l < c.k; ++l) {
        for (const Part part : kBothParts) {
          a.push_back(part_of(x.a.view()(i, l), part));
          b.push_back(part_of(x.b.view()(l, j), part));
        }
      }
      const Z c0 = x.c.view()(i, j);
      for (const Part part : kBothParts) {
        const double other = 0.25 * std::abs(part == Part::kReal ? c0.imag() : c0.real());
        const Exact gauge = reference.gauge(reference.element(i, j, part), Against::kNorm, i, j);
        const double lower = 2.5 * norm_bounds(a).lower * norm_bounds(b).lower + other;
        const double upper = 2.5 * norm_bounds(a).upper * norm_bounds(b).upper + other;
        EXPECT_GE(gauge, Exact(lower * (1 - 0x1p-48)));
        EXPECT_LE(gauge, Exact(upper * (1 + 0x1p-48)));
        EXPECT_GE(gauge, Exact(std::abs(reference.rounded(i, j).real())));
      }
    }
  }
}

TEST(ComplexReference, ClosedForms) {
  {  // (1 + i)^2 = 2i, k times
    const Case c = case_of("z nn 2x2x10 A=ones B=ones");
    const Operands<Z> x(c);
    EXPECT_EQ(reference_of(c, x).rounded(1, 1), Z(0, 20));
    const auto real = reference_of(c, x).element(1, 1, Part::kReal);
    EXPECT_EQ(real.entry, Exact(20));
    EXPECT_EQ(real.value.sign(), 0);
  }
  {  // times the real identity, times i
    const Case c = case_of("c nn 4x4x4 a=1i B=identity,re");
    const Operands<C> x(c);
    const C a = x.a.view()(2, 3);
    EXPECT_EQ(reference_of(c, x).rounded(2, 3), C(-a.imag(), a.real()));
  }
  {  // |a|^2 on the diagonal of A A^H
    const Case c = case_of("z nn 5x5x9 A=gram B=gram");
    const Operands<Z> x(c);
    const Reference<Z> reference = reference_of(c, x);
    for (std::int64_t i = 0; i < 5; ++i) {
      EXPECT_EQ(reference.element(i, i, Part::kImaginary).value.sign(), 0);
      EXPECT_EQ(reference.element(i, i, Part::kImaginary).entry.sign(), 1);
      EXPECT_EQ(reference.rounded(i, 3), std::conj(reference.rounded(3, i)));
    }
  }
}

TEST(ComplexReference, ReadsConjugatedViews) {
  const Operands<Z> x(case_of("z nn 3x4x5"));
  const MatrixView<const Z> a = x.a.view(), b = x.b.view();
  const Reference<Z> plain(Z{1}, a, b, Z{0}, {}), both(Z{1}, a.conjugated(), b.conjugated(), Z{0}, {}),
      one(Z{1}, a.conjugated(), b, Z{0}, {});
  EXPECT_EQ(both.rounded(1, 2), std::conj(plain.rounded(1, 2)));
  EXPECT_NE(one.rounded(1, 2), plain.rounded(1, 2));
  EXPECT_NE(one.rounded(1, 2), both.rounded(1, 2));
}

TEST(ComplexReference, FollowsTheBlasRules) {
  const std::vector<Z> nan(6, Z(kQuietNaN, 1)), ones(6, Z(1, 0)), c(4, Z(3, kInfinity));
  const auto view = [](const std::vector<Z>& x, std::int64_t rows, std::int64_t cols) {
    return blas_view(x.data(), rows, cols, rows);
  };
  const auto at = [&](Z alpha, const std::vector<Z>& a, Z beta) {
    return Reference<Z>(alpha, view(a, 2, 3), view(ones, 3, 2), beta, view(c, 2, 2)).rounded(1, 1);
  };
  const auto expect = [](Z got, double re, double im) {
    EXPECT_TRUE(std::isnan(re) ? std::isnan(got.real()) : got.real() == re) << got;
    EXPECT_TRUE(std::isnan(im) ? std::isnan(got.imag()) : got.imag() == im) << got;
  };
  expect(at(0, nan, 2), 6, kInfinity);                         // alpha = 0 does not read A
  expect(at(1, ones, 0), 3, 0);                                // beta = 0 does not read C
  expect(at(1, ones, 1), 6, kInfinity);                        // a real beta: no 0 Inf
  expect(at(1, ones, Z(0, 1)), -kInfinity, kQuietNaN);         // i (3 + Inf i) = 0 Inf in the imaginary part
  expect(at(1, ones, Z(1, 1)), -kInfinity, kInfinity);         // 3 - Inf, Inf + 3
  expect(at(Z(kInfinity, 0), ones, 0), kInfinity, kQuietNaN);  // Inf 3, Inf 0
  expect(at(Z(1, kQuietNaN), ones, 0), kQuietNaN, kQuietNaN);
  expect(at(1, nan, 0), kQuietNaN, kQuietNaN);
}

TEST(ComplexReference, PlacesWhatIsNotFinite) {
  const Case c = case_of("z nn 3x4x5 A=ones,re,inf@1:2,nani@2:0 B=ones,re");
  const Operands<Z> x(c);
  const Reference<Z> reference = reference_of(c, x);
  EXPECT_EQ(reference.rounded(0, 0), Z(5, 0));
  EXPECT_EQ(reference.rounded(1, 0).real(), kInfinity);
  EXPECT_TRUE(std::isnan(reference.rounded(1, 0).imag()));  // Inf * 0
  EXPECT_TRUE(std::isnan(reference.rounded(2, 3).real()));
  EXPECT_TRUE(std::isnan(reference.rounded(2, 3).imag()));
}

/// Spoils one part of one element of the correctly rounded product and runs every judgement.
template <class T>
void expect_red_after(const std::string& line, RealOf<T> wrong) {
  const Case c = case_of(line);
  const Operands<T> x(c);
  const Reference<T> reference = reference_of(c, x);
  const std::vector<T> right = reference.rounded_all();
  const MatrixView<const T> want = blas_view(right.data(), c.m, c.n, c.m);
  const Allowance allowed = promised_allowance(Accuracy::native(), Gauge::kEntry, c.scalar, c.k);
  ASSERT_TRUE(ratio_at_most_one(error_ratios<T>(reference, want, allowed))) << line;
  EXPECT_TRUE(bits_equal<T>(want, want));
  for (const Part part : kBothParts) {
    std::vector<T> result = right;
    const MatrixView<T> view = blas_view(result.data(), c.m, c.n, c.m);
    const T value = view(1, 2);
    view(1, 2) = part == Part::kReal ? T(wrong, value.imag()) : T(value.real(), wrong);
    for (const int threads : {1, 3}) {
      const RatioStats stats = error_ratios<T>(reference, view, allowed, {}, threads);
      const Verdict verdict = ratio_at_most_one(stats);
      EXPECT_FALSE(verdict) << line << " " << wrong;
      EXPECT_EQ(stats.row, 1);
      EXPECT_EQ(stats.col, 2);
      EXPECT_EQ(stats.part, part);
      EXPECT_EQ(stats.num_red, 1);
      EXPECT_EQ(stats.count, 2 * c.m * c.n);
      EXPECT_EQ(verdict.message.find("imaginary part") != std::string::npos, part == Part::kImaginary);
    }
    const Verdict bits = bits_equal<T>(view, want);
    EXPECT_FALSE(bits);
    EXPECT_NE(bits.message.find("1 of "), std::string::npos) << bits.message;
    EXPECT_EQ(same_placement<T>(view, want).ok, std::isfinite(wrong));
  }
}

TEST(ComplexJudgement, SeesOneWrongPart) {
  for (const std::string line : {"z nt 4x5x30", "z cn 4x5x30 a=1-2i b=-0.5i layout=row A=exprand:phi=4"}) {
    for (const double wrong : {kQuietNaN, kInfinity, -kInfinity, 1e3, -1e3, 1e300}) expect_red_after<Z>(line, wrong);
  }
  for (const float wrong : {std::nanf(""), 1e3F, 1e30F}) expect_red_after<C>("c tr 4x5x30 a=3", wrong);
}

TEST(ComplexJudgement, SeesConjugatesSwappedPartsAndOneUlp) {
  const Case c = case_of("z nn 4x4x20");
  const Operands<Z> x(c);
  const Reference<Z> reference = reference_of(c, x);
  std::vector<Z> result = reference.rounded_all();
  const std::vector<Z> rounded = result;
  const MatrixView<Z> view = blas_view(result.data(), 4, 4, 4);
  const Allowance correct = promised_allowance(Accuracy::correct(), Gauge::kEntry, Scalar::kC128, c.k);
  EXPECT_EQ(correct.gauge, Against::kValue);
  EXPECT_TRUE(ratio_at_most_one(error_ratios<Z>(reference, view, correct)));
  EXPECT_TRUE(correctly_rounded<Z>(reference, view));
  EXPECT_FALSE(ratio_at_most_one(error_ratios<Z>(reference, view.conjugated(), correct)));
  EXPECT_FALSE(correctly_rounded<Z>(reference, view.transposed()));
  EXPECT_FALSE(correctly_rounded<Z>(reference, view.block(0, 0, 4, 3)));
  const Z right = view(2, 3);
  for (const Z wrong : {std::conj(right), -right, Z(right.imag(), right.real()), Z(kQuietNaN, right.imag())}) {
    view(2, 3) = wrong;
    EXPECT_FALSE(ratio_at_most_one(error_ratios<Z>(reference, view, correct))) << wrong;
  }
  for (const Z wrong :
       {Z(std::nextafter(right.real(), kInfinity), right.imag()), Z(right.real(), std::nextafter(right.imag(), 0.0)),
        Z(right.real(), -right.imag()), Z(kQuietNaN, right.imag()), Z(right.real(), kInfinity)}) {
    view(2, 3) = wrong;
    const Verdict verdict = correctly_rounded<Z>(reference, view);
    EXPECT_FALSE(verdict) << wrong;
    EXPECT_NE(verdict.message.find(wrong.real() == right.real() ? "imaginary part of (2, 3)" : "real part of (2, 3)"),
              std::string::npos)
        << verdict.message;
    EXPECT_FALSE(bits_equal<Z>(view, blas_view(rounded.data(), 4, 4, 4)));
  }
}

TEST(ComplexJudgement, JudgesKindsPartByPart) {
  const Case c = case_of("z nn 3x3x4 A=ones,re,inf@1:2 B=ones,re");
  const Operands<Z> x(c);
  const Reference<Z> reference = reference_of(c, x);
  std::vector<Z> result = reference.rounded_all();  // row 1: (Inf, NaN)
  const MatrixView<Z> view = blas_view(result.data(), 3, 3, 3);
  const Allowance allowed = promised_allowance(Accuracy::native(), Gauge::kEntry, Scalar::kC128, c.k);
  EXPECT_TRUE(ratio_at_most_one(error_ratios<Z>(reference, view, allowed)));
  for (const Z wrong : {Z(-kInfinity, kQuietNaN), Z(kQuietNaN, kQuietNaN), Z(5, kQuietNaN), Z(kInfinity, kInfinity),
                        Z(kInfinity, 0), Z(kQuietNaN, kInfinity)}) {
    const Z right = std::exchange(view(1, 1), wrong);
    EXPECT_FALSE(ratio_at_most_one(error_ratios<Z>(reference, view, allowed))) << wrong;
    view(1, 1) = right;
  }
}

TEST(ComplexJudgement, BoundsMayDifferByPart) {
  const Case c = case_of("z nn 3x3x4");
  const Operands<Z> x(c);
  const Reference<Z> reference = reference_of(c, x);
  std::vector<Z> result = reference.rounded_all();
  const MatrixView<Z> view = blas_view(result.data(), 3, 3, 3);
  view(0, 1) += Z(0, 1e-9);
  const auto judged = [&](double real, double imaginary) {
    return ratio_at_most_one(bound_ratios<Z>(reference, view, BoundOfPart([&](std::int64_t, std::int64_t, Part part) {
                                               return part == Part::kReal ? real : imaginary;
                                             })));
  };
  EXPECT_TRUE(judged(1e-14, 1e-8));
  EXPECT_FALSE(judged(1e-8, 1e-14));
  EXPECT_FALSE(judged(kQuietNaN, 1e-8));
  EXPECT_FALSE(judged(1e-8, kInfinity));
  EXPECT_TRUE(ratio_at_most_one(bound_ratios<Z>(reference, view, [](std::int64_t, std::int64_t) { return 1e-8; })));
}

TEST(ComplexJudgement, PromisesOfTwoKTerms) {
  const auto units = [](const Accuracy& accuracy, Scalar scalar, std::int64_t k) {
    return promised_allowance(accuracy, Gauge::kEntry, scalar, k).units;
  };
  EXPECT_EQ(units(Accuracy::native(), Scalar::kC128, 1), std::ldexp(8.0, -53));
  EXPECT_EQ(units(Accuracy::native(), Scalar::kC128, 100), std::ldexp(200.0, -53));
  EXPECT_EQ(units(Accuracy::native(), Scalar::kC64, 128), std::ldexp(256.0, -24));
  EXPECT_EQ(units(Accuracy::native(), Scalar::kC128, 1 << 19), std::ldexp(1.0, 14 - 53));
  EXPECT_EQ(units(Accuracy::at_bits(20), Scalar::kC64, 1000), std::ldexp(1.0, -20));
  EXPECT_EQ(units(Accuracy::correct(), Scalar::kC64, 1000), std::ldexp(1.0, -24));
  EXPECT_EQ(promised_allowance(Accuracy::native(), Gauge::kNorm, Scalar::kC64, 1).absolute, 0x1p-150);
  EXPECT_EQ(promised_allowance(Accuracy::native(), Gauge::kNorm, Scalar::kC128, 1).absolute, 0x1p-1074);
}

}  // namespace
}  // namespace kizami::check
