// SPDX-License-Identifier: MIT
// SliceSums::kRounded, which is ozIMMU as equation 3 of the document has it: every product of slices is added to an FP64
// sum by itself. Judged by those sums written out, by the exact product, and by what no schedule may change.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <string>
#include <vector>

#include "api_case.hpp"
#include "base/int_math.hpp"
#include "num/exponent.hpp"
#include "num/slices.hpp"
#include "problem/lines.hpp"
#include "schemes/ozaki1/numerics.hpp"
#include "schemes/ozaki1/split.hpp"
#include "tests/sanitized.hpp"

namespace kizami::api_test {
namespace {

using check::Case;

Policy rounded(SliceSplit split, int num_slices, int num_diagonals = 0) {
  Policy policy;
  policy.scheme = Scheme::kOzaki1;
  policy.gauge = Gauge::kNorm;
  policy.slices.split = split;
  policy.slices.num_slices = num_slices;
  policy.slices.num_diagonals = num_diagonals;
  policy.slices.sums = SliceSums::kRounded;
  policy.threads = kThreads;
  return policy;
}

/// Digits of some lines, [line][slice][stride], and the exponents that they count from.
struct Digits {
  std::int64_t stride = 0;
  std::vector<std::int8_t> slices;
  std::vector<std::int32_t> exponents;
};
Digits digits_of(const problem::Lines<double>& lines, const num::DigitRule& rule, int num_slices) {
  Digits digits;
  digits.stride = base::round_up(lines.length, 64);
  digits.slices.resize(static_cast<std::size_t>(lines.num_lines * num_slices * digits.stride));
  for (std::int64_t i = 0; i < lines.num_lines; ++i) {
    double largest = 0;
    for (std::int64_t h = 0; h < lines.length; ++h) largest = std::max(largest, std::abs(lines.term(i, h)));
    digits.exponents.push_back(largest == 0 ? 0 : num::floor_log2(largest));
  }
  ozaki1::make_slices(lines, num::SliceTerms::kPlain, digits.exponents.data(), 0, lines.length, rule, num_slices, false,
                      1, digits.slices.data(), num_slices * digits.stride, digits.stride);
  return digits;
}

/// C <- diag(mu) sum_g sum_s 2^(2 - g beta) A^(s) B^(g - s) diag(nu), from the first g on, every addition in FP64.
std::vector<double> equation_3(const check::Operands<double>& x, const Policy& policy, int num_diagonals) {
  const num::DigitRule rule = ozaki1::slice_rule(policy.slices);
  const int l = policy.slices.num_slices;
  const problem::Lines<double> a_lines = problem::lines_of<double>(Side::kA, x.a.view());
  const problem::Lines<double> b_lines = problem::lines_of<double>(Side::kB, x.b.view());
  const Digits a = digits_of(a_lines, rule, l);
  const Digits b = digits_of(b_lines, rule, l);
  std::vector<double> c;
  for (std::int64_t j = 0; j < b_lines.num_lines; ++j) {
    for (std::int64_t i = 0; i < a_lines.num_lines; ++i) {
      double sum = 0;
      for (int g = 0; g < num_diagonals; ++g) {
        for (int s = std::max(0, g - l + 1); s <= std::min(g, l - 1); ++s) {
          std::int64_t product = 0;
          for (std::int64_t h = 0; h < a_lines.length; ++h) {
            product += std::int64_t{a.slices[static_cast<std::size_t>((i * l + s) * a.stride + h)]} *
                       b.slices[static_cast<std::size_t>((j * l + g - s) * b.stride + h)];
          }
          sum += std::ldexp(static_cast<double>(product), 2 * num::digit_unit(rule, 0) - rule.step * g);
        }
      }
      c.push_back(std::ldexp(sum, a.exponents[static_cast<std::size_t>(i)] + b.exponents[static_cast<std::size_t>(j)]));
    }
  }
  return c;
}

TEST(RoundedSums, AreThoseOfEquation3) {
  int differing = 0, turn = 0;
  for (const SliceSplit split : {SliceSplit::kTruncated, SliceSplit::kNearest, SliceSplit::kBytes}) {
    for (const auto& [l, d] : {std::pair(7, 7), {5, 8}, {1, 1}, {20, 39}}) {
      for (const char* line : {"d nn 9x11x70 A=randn B=randn seed=3", "d nn 5x4x2000 A=exprand:phi=2 B=randn seed=4"}) {
        if (tests::is_left_out(turn++, 5)) continue;
        Case c = case_of(line);
        c.policy = rounded(split, l, d);
        const check::Operands<double> x(c);
        const std::vector<double> got = product_of<double>(c);
        expect_same_bits(got, equation_3(x, c.policy, d), c.m, c.n, line);
        c.policy.slices.sums = SliceSums::kPairs;
        const std::vector<double> exact = product_of<double>(c);
        for (std::size_t e = 0; e < got.size(); ++e) differing += got[e] != exact[e] ? 1 : 0;
      }
    }
  }
  EXPECT_GT(differing, 50) << "sums do round";
}

TEST(RoundedSums, KeepTheirBound) {
  for (const char* line : {"d nt 13x17x300 A=randn B=randn seed=1", "s tn 13x17x300 A=exprand:phi=1 B=randn seed=2",
                           "z cn 9x7x129 A=randn B=randn seed=3", "c nn 9x7x129 A=randn B=grade:cols seed=4",
                           "d nn 5x6x1 A=randn B=randn"}) {
    for (const SliceSplit split : {SliceSplit::kTruncated, SliceSplit::kBytes}) {
      Case c = case_of(line);
      c.policy = rounded(split, 8);
      with_scalar(c.scalar, [&]<class T>() {
        static_cast<void>(api_test::expect_within_bound<T>(c, nullptr, [](const Outcome&) { return std::string(); }));
      });
      Case exact = c;
      exact.policy.slices.sums = SliceSums::kPairs;
      const auto bound = [](const Case& x) { return make_plan(x.scalar, x.m, x.n, x.k, x.policy).value().bound(); };
      EXPECT_GT(bound(c), bound(exact)) << "rounding has its share";
    }
  }
}

TEST(RoundedSums, HaveTheSameBitsWhateverTheSchedule) {
  for (const char* line : {"d nt 70x50x500 A=randn B=randn seed=3", "z cn 40x37x300 A=randn B=randn seed=4",
                           "s tn 33x20x77 A=rands B=randn seed=5 a=2 b=-1"}) {
    for (const ComplexForm form : {ComplexForm::kFourProducts, ComplexForm::kEnlarged}) {
      Case c = case_of(line);
      if (!is_complex(c.scalar) && form == ComplexForm::kEnlarged) continue;
      c.policy = rounded(SliceSplit::kTruncated, 6);
      if (is_complex(c.scalar)) c.policy.slices.complex_form = form;
      with_scalar(c.scalar, [&]<class T>() {
        const std::vector<T> want = product_of<T>(c);
        const std::size_t bytes = make_plan(c.scalar, c.m, c.n, c.k, c.policy).value().workspace_bytes();
        for (const EngineName engine : {EngineName::kCpuRef, EngineName::kCpuSimd, EngineName::kTile}) {
          Case other = c;
          other.policy.engine = engine;
          other.policy.threads = engine == EngineName::kCpuRef ? 1 : 3;
          other.policy.workspace_limit_bytes = engine == EngineName::kCpuSimd ? bytes * 2 / 3 : 0;
          expect_same_bits(product_of<T>(other), want, c.m, c.n, line);
        }
      });
    }
  }
}

TEST(RoundedSums, AreRefusedWhereTheyHaveNoMeaning) {
  const auto reason = [](const char* line, const auto& change) {
    Case c = case_of(line);
    c.policy = rounded(SliceSplit::kTruncated, 7);
    change(c.policy);
    const Result<Plan> plan = make_plan(c.scalar, c.m, c.n, c.k, c.policy);
    return plan.ok() ? std::string("accepted") : plan.status().reason();
  };
  const auto nothing = [](Policy&) {};
  EXPECT_EQ(reason("d nn 5x5x131072", nothing), "accepted");
  EXPECT_EQ(reason("d nn 5x5x131073", nothing),
            "scheme ozaki1: sums = rounded with k = 131073, must be at most 131072: blocks of k would round otherwise");
  EXPECT_EQ(reason("d nn 5x5x131072", [](Policy& p) { p.slices.split = SliceSplit::kBytes; }),
            "scheme ozaki1: sums = rounded with k = 131072, must be at most 130944: blocks of k would round otherwise");
  EXPECT_EQ(reason("d nn 5x5x5",
                   [](Policy& p) {
                     p.slices.format = SliceFormat::kBf16;
                     p.slices.split = SliceSplit::kAuto;
                   }),
            "scheme ozaki1: sums = rounded with format bf16, must be int8");
  EXPECT_EQ(reason("d nn 5x5x5", [](Policy& p) { p.slices.num_slices = kUntilZero; }),
            "scheme ozaki1: sums = rounded with slices = -1, must be a named number");
  EXPECT_EQ(reason("d nn 5x5x5", [](Policy& p) { p.slices.num_slices = 0; }),
            "scheme ozaki1: sums = rounded with slices = 0, must be a named number");
  EXPECT_EQ(
      reason("z nn 5x5x5", [](Policy& p) { p.slices.complex_form = ComplexForm::kKaratsuba; }),
      "scheme ozaki1: sums = rounded with complex_form = karatsuba, must be four or enlarged: it cancels, and with it "
      "the rounding errors grow");
}

}  // namespace
}  // namespace kizami::api_test
