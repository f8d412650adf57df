// SPDX-License-Identifier: MIT
// The FP64 rung: its order of summation restated and compared bit for bit, its bounds decided by exact arithmetic on
// every matrix class and on lines that use the whole range of FP64.
#include "fp64/fp64.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "certify/statistics.hpp"
#include "check/exact.hpp"
#include "check/matrix_classes.hpp"
#include "fp64/headroom.hpp"
#include "num/error_free.hpp"
#include "tests/certify/simd_targets.hpp"
#include "tests/certify/stored_lines.hpp"
#include "tests/num/exact_numbers.hpp"

namespace kizami::fp64 {
namespace {

using num::Fp64Summation;
using num::LineStats;
using num::Scaled;
using tests::exact;
using tests::Rational;
using tests::Rng;
using tests::StoredLines;

constexpr Fp64Summation kSummations[] = {Fp64Summation::kPairwise, Fp64Summation::kCompensated};
double bound_of(Fp64Summation summation, std::int64_t k) {
  return summation == Fp64Summation::kPairwise ? num::fp64_pairwise_bound(k) : num::fp64_compensated_bound(k);
}

template <class T>
std::vector<LineStats> stats_of(const problem::Lines<T>& lines) {
  std::vector<LineStats> stats(static_cast<std::size_t>(lines.num_lines));
  certify::gather_statistics(lines, nullptr, 1, stats.data());
  return stats;
}
template <class T>
std::vector<std::vector<T>> ordinary_lines(Rng& rng, std::int64_t num_lines, std::int64_t length, int spread) {
  std::vector<std::vector<T>> lines(static_cast<std::size_t>(num_lines),
                                    std::vector<T>(static_cast<std::size_t>(length)));
  for (auto& line : lines) {
    const int base = tests::random_int(rng, -50, 50);
    for (T& x : line) x = rng() % 9 == 0 ? T{0} : tests::random_value<T>(rng, base - tests::random_int(rng, 0, spread));
  }
  return lines;
}

// ---- the definition restated ----------------------------------------------------------------------------------------

/// Chains of 128 fused multiply-adds from 0; sums of equal weight are added in pairs as they come, the rest from the
/// smallest up. @range the products of the scaled lines neither underflow nor overflow
double pairwise_by_definition(const std::vector<double>& x, const std::vector<double>& y) {
  struct Partial {
    double sum;
    int level;
  };
  std::vector<Partial> stack;
  for (std::size_t h = 0; h < x.size(); h += 128) {
    double s = 0;
    for (std::size_t i = h; i < std::min(h + 128, x.size()); ++i) s = std::fma(x[i], y[i], s);
    stack.push_back({s, 0});
    while (stack.size() > 1 && stack[stack.size() - 2].level == stack.back().level) {
      const Partial right = stack.back();
      stack.pop_back();
      stack.back() = {stack.back().sum + right.sum, right.level + 1};
    }
  }
  if (stack.empty()) return 0;
  double sum = stack.back().sum;
  for (std::size_t i = stack.size() - 1; i-- > 0;) sum = stack[i].sum + sum;
  return sum;
}
double compensated_by_definition(const std::vector<double>& x, const std::vector<double>& y) {
  num::Pair<double> acc{0, 0};
  for (std::size_t h = 0; h < x.size(); ++h) acc = num::dot2_step(acc, x[h], y[h]);
  return num::dot2_value(acc);
}

/// Lines whose largest element has exponent 0 at most: scaling by powers of two changes nothing here.
TEST(LineProduct, OrderOfSummation) {
  Rng rng(1);
  for (const std::int64_t k :
       {0, 1, 2, 127, 128, 129, 255, 256, 257, 384, 385, 512, 513, 640, 1000, 2048, 2049, 5000}) {
    for (int repeat = 0; repeat < tests::cases(20); ++repeat) {
      const auto a = ordinary_lines<double>(rng, 1, k, 20);
      const auto b = ordinary_lines<double>(rng, 1, k, 20);
      const StoredLines<double> x(a, tests::Storage::kLineContiguous);
      const StoredLines<double> y(b, tests::Storage::kLineContiguous);
      const auto sx = stats_of(x.lines());
      const auto sy = stats_of(y.lines());
      for (const Fp64Summation summation : kSummations) {
        const Scaled p = line_product(x.lines(), sx[0], 0, y.lines(), sy[0], 0, summation);
        const double want = summation == Fp64Summation::kPairwise ? pairwise_by_definition(a[0], b[0])
                                                                  : compensated_by_definition(a[0], b[0]);
        ASSERT_EQ(std::ldexp(p.mantissa, p.exponent), want)
            << "k = " << k << ", summation " << static_cast<int>(summation);
      }
    }
  }
}

/// Numbers of any exponent, so that lines span more than FP64 does, with zeros and subnormal numbers.
std::vector<double> wide_line(Rng& rng, std::int64_t length) {
  std::vector<double> line(static_cast<std::size_t>(length));
  for (double& x : line)
    x = rng() % 7 == 0 ? 0.0 : std::ldexp(tests::random_value<double>(rng, 0), tests::random_int(rng, -1074, 1020));
  return line;
}

/// Where terms may underflow: a 2^(exponent of b - largest) and b 2^-(its exponent), summed in the same order.
TEST(LineProduct, TermsRelativeToTheLargest) {
  const int targets = tests::for_each_simd_target([&](const std::string& name) {
    Rng rng(11);
    for (const std::int64_t k : {1, 2, 3, 127, 128, 129, 257, 1000}) {
      for (int repeat = 0; repeat < tests::cases(20); ++repeat) {
        const std::vector<double> a = wide_line(rng, k), b = wide_line(rng, k);
        const StoredLines<double> x({a}, tests::Storage::kLineContiguous);
        const StoredLines<double> y({b}, tests::Storage::kLineContiguous);
        const auto sx = stats_of(x.lines());
        const auto sy = stats_of(y.lines());
        if (!may_underflow(sx[0], sy[0])) continue;
        int largest = -10000;
        for (std::size_t h = 0; h < a.size(); ++h) {
          if (a[h] != 0 && b[h] != 0) largest = std::max(largest, std::ilogb(a[h]) + std::ilogb(b[h]));
        }
        std::vector<double> terms(a.size(), 0.0), factors(a.size(), 0.0);
        for (std::size_t h = 0; h < a.size(); ++h) {
          if (a[h] == 0 || b[h] == 0) continue;
          terms[h] = std::ldexp(a[h], std::ilogb(b[h]) - largest);
          factors[h] = std::ldexp(b[h], -std::ilogb(b[h]));
        }
        for (const Fp64Summation summation : kSummations) {
          const double sum = summation == Fp64Summation::kPairwise ? pairwise_by_definition(terms, factors)
                                                                   : compensated_by_definition(terms, factors);
          const Scaled want = largest == -10000 ? Scaled{} : num::make_scaled(sum, largest);
          const Scaled got = line_product(x.lines(), sx[0], 0, y.lines(), sy[0], 0, summation);
          ASSERT_EQ(got.mantissa, want.mantissa) << name << ", k = " << k;
          ASSERT_EQ(got.exponent, want.exponent) << name << ", k = " << k;
        }
      }
    }
  });
  EXPECT_GT(targets, 1);
}

// ---- gemm_fp64 against line_product ---------------------------------------------------------------------------------

/// Of all exponents that lines have if `wide`; complex elements of two such lines.
template <class T>
std::vector<std::vector<T>> some_lines(Rng& rng, std::int64_t num_lines, std::int64_t length, bool wide) {
  if constexpr (kIsComplex<T>) {
    const auto re = some_lines<RealOf<T>>(rng, num_lines, length, wide);
    const auto im = some_lines<RealOf<T>>(rng, num_lines, length, wide);
    std::vector<std::vector<T>> lines(re.size());
    for (std::size_t i = 0; i < lines.size(); ++i) {
      for (std::size_t h = 0; h < re[i].size(); ++h) lines[i].emplace_back(re[i][h], im[i][h]);
    }
    return lines;
  } else {
    return wide ? tests::random_lines<T>(rng, num_lines, length) : ordinary_lines<T>(rng, num_lines, length, 30);
  }
}

template <class T>
void expect_gemm_is_line_product(Rng& rng, std::int64_t m, std::int64_t n, std::int64_t k, T alpha, T beta, bool wide) {
  using R = RealOf<T>;
  auto a = some_lines<T>(rng, m, k, wide);
  auto b = some_lines<T>(rng, n, k, wide);
  if (k > 0 && m > 2 && rng() % 2 == 0) a[1][static_cast<std::size_t>(k / 2)] = std::numeric_limits<R>::quiet_NaN();
  if (k > 0 && n > 2 && rng() % 2 == 0) b[2][static_cast<std::size_t>(k - 1)] = std::numeric_limits<R>::infinity();
  const StoredLines<T> x(a, rng() % 2 == 0 ? tests::Storage::kLinePadded : tests::Storage::kInnerPadded);
  const StoredLines<T> y(b, rng() % 2 == 0 ? tests::Storage::kLineContiguous : tests::Storage::kBothStrided);
  const auto sx = stats_of(x.lines());
  const auto sy = stats_of(y.lines());
  for (const Fp64Summation summation : kSummations) {
    const T old = beta == T{0} ? T(std::numeric_limits<R>::quiet_NaN()) : T(1.5);
    const std::int64_t ld = m + 3;
    std::vector<T> want(static_cast<std::size_t>(ld * n + 1), T(-99));
    for (std::int64_t j = 0; j < n; ++j) {
      for (std::int64_t i = 0; i < m; ++i) {
        T& out = want[static_cast<std::size_t>(j * ld + i)];
        out = old;
        const LineStats& row = sx[static_cast<std::size_t>(i)];
        const LineStats& col = sy[static_cast<std::size_t>(j)];
        if (!row.is_finite || !col.is_finite) continue;
        out = num::finish(line_product(x.lines(), row, i, y.lines(), col, j, summation), alpha, beta,
                          beta == T{0} ? T{0} : old);
      }
    }
    for (const int threads : {1, 3}) {
      std::vector<T> got(want.size(), T(-99));
      for (std::int64_t j = 0; j < n; ++j) std::fill_n(got.begin() + j * ld, m, old);
      gemm_fp64(x.lines(), sx.data(), y.lines(), sy.data(), summation, alpha, beta, threads,
                MatrixView<T>{got.data(), m, n, 1, ld});
      ASSERT_EQ(std::memcmp(got.data(), want.data(), got.size() * sizeof(T)), 0)
          << m << " x " << n << " x " << k << ", summation " << static_cast<int>(summation) << ", threads " << threads;
    }
  }
}

TEST(GemmFp64, IsLineProductAroundTileEdges) {
  Rng rng(2);
  for (const std::int64_t m : {1, 15, 16, 17, 33}) {
    for (const std::int64_t n : {1, 3, 4, 5, 9}) {
      for (const std::int64_t k : {0, 1, 127, 128, 129, 255, 256, 257, 400}) {
        if (tests::kIsSanitized && m * n * k > 9000) continue;
        expect_gemm_is_line_product<double>(rng, m, n, k, 1.0, 0.0, false);
        expect_gemm_is_line_product<float>(rng, m, n, k, 1.0F, 0.0F, false);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(GemmFp64, IsLineProductForAnyScalarsAndRanges) {
  Rng rng(3);
  for (int i = 0; i < tests::cases(60); ++i) {
    const std::int64_t k = tests::random_int(rng, 1, 200);
    for (const auto& [alpha, beta] :
         std::vector<std::pair<double, double>>{{1, 0}, {-1, 0}, {0.7, 0}, {1, 1}, {-2.5, 0.3}}) {
      expect_gemm_is_line_product<double>(rng, 5, 6, k, alpha, beta, i % 2 == 0);
      expect_gemm_is_line_product<float>(rng, 5, 6, k, static_cast<float>(alpha), static_cast<float>(beta), i % 2 == 0);
      if (HasFatalFailure()) return;
    }
  }
}

/// Several tiles of B share a panel of A where there are many: 5 x 5 tiles and more for one thread, not for three.
TEST(GemmFp64, IsLineProductWhereTilesShareAPanel) {
  Rng rng(12);
  for (const std::int64_t k : {1, 130, 260}) {
    if (tests::kIsSanitized && k > 130) continue;
    for (const bool wide : {false, true}) {
      expect_gemm_is_line_product<double>(rng, 70, 18, k, 1.0, 0.0, wide);
      expect_gemm_is_line_product<std::complex<double>>(rng, 33, 33, k, {1.0, -0.5}, {0.25, 1.0}, wide);
      expect_gemm_is_line_product<std::complex<float>>(rng, 65, 21, k, {1.0F, 0.0F}, {0.0F, 0.0F}, wide);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(GemmFp64, SameBitsOnEveryTarget) {
  std::vector<double> pairwise, compensated;
  const int targets = tests::for_each_simd_target([&](const std::string& name) {
    Rng rng(4);
    const StoredLines<double> x(ordinary_lines<double>(rng, 19, 300, 30), tests::Storage::kLinePadded);
    const StoredLines<double> y(ordinary_lines<double>(rng, 7, 300, 30), tests::Storage::kInnerPadded);
    const auto sx = stats_of(x.lines());
    const auto sy = stats_of(y.lines());
    for (const Fp64Summation summation : kSummations) {
      std::vector<double> c(19 * 7);
      gemm_fp64(x.lines(), sx.data(), y.lines(), sy.data(), summation, 1.0, 0.0, 2,
                MatrixView<double>{c.data(), 19, 7, 1, 19});
      std::vector<double>& want = summation == Fp64Summation::kPairwise ? pairwise : compensated;
      if (want.empty()) want = c;
      ASSERT_EQ(c, want) << name;
    }
  });
  EXPECT_GT(targets, 1);
  EXPECT_NE(pairwise, compensated);
}

/// The inner loops themselves, with lengths that no caller uses.
TEST(Tiles, SameBitsOnEveryTarget) {
  Rng rng(5);
  std::vector<double> a(128 * kTileA), b(128 * kTileB), high0(kTileA * kTileB), low0(high0.size());
  for (auto* v : {&a, &b, &high0}) {
    for (double& x : *v) x = tests::random_double(rng, tests::random_int(rng, -30, 30));
  }
  for (double& x : low0) x = tests::random_double(rng, -80);
  for (const std::int64_t length : {0, 1, 2, 63, 127, 128}) {
    std::vector<double> want_chain(high0.size()), want_high = high0, want_low = low0;
    for (std::size_t j = 0; j < kTileB; ++j) {
      for (std::size_t i = 0; i < kTileA; ++i) {
        double s = 0;
        num::Pair<double> acc{high0[j * kTileA + i], low0[j * kTileA + i]};
        for (std::size_t h = 0; h < static_cast<std::size_t>(length); ++h) {
          s = std::fma(a[h * kTileA + i], b[h * kTileB + j], s);
          acc = num::dot2_step(acc, a[h * kTileA + i], b[h * kTileB + j]);
        }
        want_chain[j * kTileA + i] = s;
        want_high[j * kTileA + i] = acc.hi;
        want_low[j * kTileA + i] = acc.lo;
      }
    }
    tests::for_each_simd_target([&](const std::string&) {
      std::vector<double> sums(high0.size(), 7), high = high0, low = low0;
      chain_tile(a.data(), b.data(), length, sums.data());
      compensated_tile(a.data(), b.data(), length, high.data(), low.data());
      ASSERT_EQ(sums, want_chain);
      ASSERT_EQ(high, want_high);
      ASSERT_EQ(low, want_low);
    });
  }
}

// ---- bounds ---------------------------------------------------------------------------------------------------------

struct Sums {
  Rational product;
  Rational gauge;
};
template <class T>
Sums sums_of(const problem::Lines<T>& a, std::int64_t i, const problem::Lines<T>& b, std::int64_t j) {
  Sums sums;
  for (std::int64_t h = 0; h < a.length; ++h) {
    const Rational term = exact(a.term(i, h)) * exact(b.term(j, h));
    sums.product += term;
    sums.gauge += abs(term);
  }
  return sums;
}
Rational value_of(Scaled p) { return tests::scaled(exact(p.mantissa), p.exponent); }

/// |p - AB| <= bound |A||B|, decided exactly, for every pair of lines. Dot2 also within u |AB| + gamma_k^2 |A||B|.
template <class T>
void expect_within_bound(const problem::Lines<T>& a, const problem::Lines<T>& b, const std::string& what) {
  const auto sa = stats_of(a);
  const auto sb = stats_of(b);
  for (std::int64_t i = 0; i < a.num_lines; ++i) {
    for (std::int64_t j = 0; j < b.num_lines; ++j) {
      const LineStats& row = sa[static_cast<std::size_t>(i)];
      const LineStats& col = sb[static_cast<std::size_t>(j)];
      const Sums sums = sums_of(a, i, b, j);
      for (const Fp64Summation summation : kSummations) {
        const Rational error = abs(Rational(value_of(line_product(a, row, i, b, col, j, summation)) - sums.product));
        ASSERT_LE(error, Rational(exact(bound_of(summation, a.length)) * sums.gauge))
            << what << ", k = " << a.length << ", element " << i << ", " << j << ", summation "
            << static_cast<int>(summation);
        if (summation == Fp64Summation::kCompensated) {
          ASSERT_LE(error, Rational(tests::scaled(abs(sums.product), -53) +
                                    exact(num::dot2_gamma_squared<double>(a.length)) * sums.gauge))
              << what;
        }
      }
    }
  }
}

template <class T>
void expect_bound_on_every_class() {
  for (const check::ClassInfo& info : check::class_inventory()) {
    for (const std::int64_t k : {1, 2, 5, 60, 128, 129, 300}) {
      if (tests::kIsSanitized && k > 60) continue;
      const std::int64_t m = 4;
      const std::int64_t n = 3;
      const check::MatrixSpec spec = check::default_spec(info.id);
      std::vector<T> a(static_cast<std::size_t>(m * k)), b(static_cast<std::size_t>(k * n));
      const MatrixView<T> view_a{a.data(), m, k, 1, m};
      const MatrixView<T> view_b{b.data(), k, n, 1, k};
      check::fill(spec, 77, check::Which::kA, view_a);
      check::fill(spec, 77, check::Which::kB, view_b);
      expect_within_bound<T>(problem::lines_of<T>(Side::kA, view_a), problem::lines_of<T>(Side::kB, view_b),
                             std::string(info.name));
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}
TEST(Bound, HoldsOnEveryMatrixClass64) { expect_bound_on_every_class<double>(); }
TEST(Bound, HoldsOnEveryMatrixClass32) { expect_bound_on_every_class<float>(); }

/// Lines over the whole range of FP64: terms apart by thousands of bits, subnormal, next to 2^1023, sparse.
TEST(Bound, HoldsOverTheWholeRange) {
  Rng rng(6);
  for (int i = 0; i < tests::cases(300); ++i) {
    const std::int64_t k = tests::random_int(rng, 1, i % 20 == 0 ? 300 : 40);
    const StoredLines<double> a(tests::random_lines<double>(rng, 3, k), tests::Storage::kLineContiguous);
    const StoredLines<double> b(tests::random_lines<double>(rng, 3, k), tests::Storage::kLineContiguous);
    expect_within_bound(a.lines(), b.lines(), "random lines");
    if (HasFatalFailure()) return;
  }
}

/// Where the largest elements of both lines meet only zeros, what is left may lie below anything a common scale
/// reaches.
TEST(Bound, HoldsWhereTheLargestElementsMeetZeros) {
  Rng rng(7);
  for (int i = 0; i < tests::cases(1000); ++i) {
    const std::int64_t k = tests::random_int(rng, 3, 20);
    std::vector<std::vector<double>> a(1), b(1);
    for (std::int64_t h = 0; h < k; ++h) {
      const int e = tests::random_int(rng, -1074, 0);
      a[0].push_back(h == 0 ? tests::random_double(rng, 1023) : h == 1 ? 0.0 : tests::random_value<double>(rng, e));
      b[0].push_back(h == 0   ? 0.0
                     : h == 1 ? tests::random_double(rng, 1023)
                              : tests::random_value<double>(rng, i % 2 == 0 ? tests::random_int(rng, -1074, 1022)
                                                                            : -e - tests::random_int(rng, 0, 30)));
    }
    expect_within_bound(StoredLines<double>(a, tests::Storage::kLineContiguous).lines(),
                        StoredLines<double>(b, tests::Storage::kLineContiguous).lines(), "largest elements meet zeros");
    if (HasFatalFailure()) return;
  }
}

/// Dot products that cancel to their last bits: pairwise sums lose everything, compensated ones hold their sharper
/// bound.
TEST(Bound, CompensatedOnIllConditionedProducts) {
  Rng rng(8);
  int better = 0;
  for (int i = 0; i < tests::cases(300); ++i) {
    const std::int64_t k = 2 * tests::random_int(rng, 5, 150);
    const int decades = tests::random_int(rng, 10, 100);
    std::vector<double> x, y;
    Rational sum = 0;
    for (std::int64_t h = 0; h < k; ++h) {
      if (h < k / 2) {
        x.push_back(tests::random_double(rng, tests::random_int(rng, 0, decades / 2)));
        y.push_back(tests::random_double(rng, tests::random_int(rng, 0, decades / 2)));
      } else {  // take away most of what is there
        x.push_back(tests::random_double(rng, tests::random_int(rng, 0, 4)));
        y.push_back(sgn(sum) == 0 ? 1.0 : -tests::rounded<double>(tests::rounded_to_bits(sum, 53)) / x.back());
      }
      sum += exact(x.back()) * exact(y.back());
    }
    const StoredLines<double> a({x}, tests::Storage::kLineContiguous);
    const StoredLines<double> b({y}, tests::Storage::kLineContiguous);
    expect_within_bound(a.lines(), b.lines(), "ill-conditioned");
    if (HasFatalFailure()) return;
    const auto error = [&](Fp64Summation s) -> Rational {
      return abs(Rational(
          value_of(line_product(a.lines(), stats_of(a.lines())[0], 0, b.lines(), stats_of(b.lines())[0], 0, s)) - sum));
    };
    better += error(Fp64Summation::kCompensated) < error(Fp64Summation::kPairwise) ? 1 : 0;
  }
  EXPECT_GT(better, tests::cases(300) / 2);
}

TEST(LineProduct, FiniteLinesNeverGiveNaN) {
  Rng rng(9);
  const double max = std::numeric_limits<double>::max();
  for (int i = 0; i < tests::cases(500); ++i) {
    const std::int64_t k = tests::random_int(rng, 1, 300);
    std::vector<std::vector<double>> a(1), b(1);
    for (std::int64_t h = 0; h < k; ++h) {
      a[0].push_back(rng() % 2 == 0 ? max : -max);
      b[0].push_back(rng() % 3 == 0 ? -max : max);
    }
    const StoredLines<double> x(a, tests::Storage::kLineContiguous);
    const StoredLines<double> y(b, tests::Storage::kLineContiguous);
    const auto sx = stats_of(x.lines());
    const auto sy = stats_of(y.lines());
    for (const Fp64Summation summation : kSummations) {
      const Scaled p = line_product(x.lines(), sx[0], 0, y.lines(), sy[0], 0, summation);
      ASSERT_TRUE(std::isfinite(p.mantissa));
      for (const double alpha : {1.0, -1.0, 1e-300, max}) {
        for (const double beta : {0.0, 1.0, -max}) ASSERT_FALSE(std::isnan(num::finish(p, alpha, beta, max)));
      }
    }
  }
}

// ---- lines with NaN or Inf ------------------------------------------------------------------------------------------

template <class T>
void expect_ieee_class(std::uint64_t seed) {
  Rng rng(seed);
  const T inf = std::numeric_limits<T>::infinity();
  const T specials[] = {inf,
                        -inf,
                        std::numeric_limits<T>::quiet_NaN(),
                        T{0},
                        -T{0},
                        std::numeric_limits<T>::max(),
                        -std::numeric_limits<T>::max()};
  int classes[4] = {};
  for (int i = 0; i < tests::cases(20000); ++i) {
    const std::int64_t k = tests::random_int(rng, 1, 12);
    std::vector<std::vector<T>> a(1), b(1);
    const auto value = [&] {
      return rng() % 3 == 0 ? specials[rng() % (rng() % 4 == 0 ? 7 : 2)]
                            : tests::random_value<T>(rng, tests::random_int(rng, -149, 127));
    };
    for (std::int64_t h = 0; h < k; ++h) {
      a[0].push_back(value());
      b[0].push_back(value());
    }
    check::ValueClass want = check::ValueClass::kFinite;
    for (std::size_t h = 0; h < a[0].size(); ++h) {
      want = check::class_of_sum(want,
                                 check::class_of_product(static_cast<double>(a[0][h]), static_cast<double>(b[0][h])));
    }
    const StoredLines<T> x(a, tests::Storage::kLinePadded);
    const StoredLines<T> y(b, tests::Storage::kInnerPadded);
    const double got = nonfinite_product(x.lines(), 0, y.lines(), 0);
    // A line of finite elements only is not what it is for, but the answer is then 0.
    ASSERT_EQ(static_cast<int>(check::class_of(got)), static_cast<int>(want));
    ++classes[static_cast<int>(want)];
  }
  for (const int count : classes) EXPECT_GT(count, 0);
}
TEST(NonfiniteProduct, AsIeee64) { expect_ieee_class<double>(10); }
TEST(NonfiniteProduct, AsIeee32) { expect_ieee_class<float>(11); }

}  // namespace
}  // namespace kizami::fp64
