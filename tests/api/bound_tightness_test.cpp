// SPDX-License-Identifier: MIT
// The bound of norm scaling is a theorem: for each element, with the quanta alpha_i = 2^-s_i and beta_j = 2^-t_j that
// the split derives from the statistics of the lines,
//   |C - AB| <= (alpha_i ||b_j||_1 + beta_j ||a_i||_1) / 2 + k alpha_i beta_j / 4 + rounding of the result.
// It holds for any data, and on data made against it (class halfulp: every element rounds up by half a quantum) it is
// no more than 8 times the worst error: neither the code nor the proof gives much away.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "api_case.hpp"
#include "certify/statistics.hpp"
#include "check/matrix_classes.hpp"
#include "num/bounds.hpp"
#include "num/rung.hpp"
#include "plan/plan.hpp"
#include "problem/lines.hpp"
#include "schemes/ozaki2/residues.hpp"
#include "schemes/ozaki2/stage.hpp"

namespace kizami::api_test {
namespace {

using check::Case;

/// What the bound needs to know of one line.
struct LineBound {
  double quantum = 0;  ///< 0 if the line consists of multiples of it
  double norm1 = 0;    ///< upper bound
};

template <class T>
std::vector<LineBound> line_bounds(const num::Rung& rung, Side side, MatrixView<const T> op) {
  const problem::Lines<T> lines = problem::lines_of(side, op);
  std::vector<num::LineStats> stats(static_cast<std::size_t>(lines.num_lines));
  certify::gather_statistics(lines, nullptr, 1, stats.data());
  std::vector<LineBound> out;
  for (const num::LineStats& line : stats) {
    const bool is_exact = line.is_zero() || num::scale_bits(rung, line.sum_squares) >= num::span_bits(line);
    out.push_back({is_exact ? 0.0 : std::ldexp(1.0, -ozaki2::line_scale(rung, line)),
                   std::ldexp(static_cast<double>(line.sum_abs), line.exponent - num::kAbsBits)});
  }
  return out;
}

/// The worst ratio error / bound over all elements of a case with a forced number of moduli.
template <class T>
double worst_ratio(const Case& c) {
  const Result<Plan> plan = make_plan(c.scalar, c.m, c.n, c.k, c.policy);
  EXPECT_TRUE(plan.ok()) << plan.status().reason();
  const num::Rung& rung = ozaki2::ozaki2_of(plan.value().impl()).ladder.rungs[0];
  check::Operands<T> x(c);
  const std::vector<LineBound> rows = line_bounds<T>(rung, Side::kA, std::as_const(x).a.view());
  const std::vector<LineBound> cols = line_bounds<T>(rung, Side::kB, std::as_const(x).b.view());
  Outcome outcome;
  const Status status = call(c, x, outcome);
  EXPECT_TRUE(status.ok()) << status.reason();
  const auto num_terms = static_cast<double>(c.k * problem::kTerms<T>);
  const check::Reference<T> reference(1, std::as_const(x).a.view(), std::as_const(x).b.view(), 0, {});
  const check::RatioStats stats = check::bound_ratios<T>(
      reference, std::as_const(x).c.view(), check::BoundOfPart([&](std::int64_t i, std::int64_t j, check::Part part) {
        const LineBound& a = rows[static_cast<std::size_t>(i)];
        const LineBound& b = cols[static_cast<std::size_t>(j)];
        const double truncation =
            (a.quantum * b.norm1 + b.quantum * a.norm1) / 2 + num_terms * a.quantum * b.quantum / 4;
        const double value = finite_up(reference.element(i, j, part).value.abs());
        return (truncation + num::result_rounding(c.scalar) * (value + truncation)) * num::kSlackUp;
      }));
  const check::Verdict verdict = check::ratio_at_most_one(stats);
  EXPECT_TRUE(verdict) << check::print(c) << ": " << verdict.message;
  return stats.max;
}

Case case_of_class(Scalar scalar, const char* cls, int q, std::int64_t k, int moduli) {
  Case c = case_of("d nn 24x20x1");
  c.scalar = scalar;
  c.k = k;
  c.a = c.b = check::parse_matrix_spec(cls).value();
  if (q > 0) c.a.params[0] = c.b.params[0] = q;
  c.policy.forced_moduli = moduli;
  c.policy.threads = kThreads;
  return c;
}

/// The q of class halfulp at which elements lie half a quantum from a multiple: most bits that any line gets, plus one.
int adverse_q(const Case& c) {
  const Result<Plan> plan = make_plan(c.scalar, c.m, c.n, c.k, c.policy);
  const check::Operands<double> x(c);
  std::vector<num::LineStats> stats(static_cast<std::size_t>(c.m));
  certify::gather_statistics(problem::lines_of(Side::kA, x.a.view()), nullptr, 1, stats.data());
  int bits = 0;
  for (const num::LineStats& line : stats) {
    bits = std::max(bits, num::scale_bits(ozaki2::ozaki2_of(plan.value().impl()).ladder.rungs[0], line.sum_squares));
  }
  return bits + 1;
}

TEST(TruncationBound, IsTightOnAdversarialData) {
  double least = 1;
  for (const std::int64_t k : {7, 65, 300, 1000}) {
    for (const int moduli : {4, 6, 8, 10, 12, 13}) {
      if (kIsSanitized && (k > 65 || moduli > 8)) continue;
      const int q = std::min(52, adverse_q(case_of_class(Scalar::kF64, "halfulp", 20, k, moduli)));
      const double ratio = worst_ratio<double>(case_of_class(Scalar::kF64, "halfulp", q, k, moduli));
      EXPECT_GE(ratio, 1.0 / 8) << "k = " << k << ", moduli = " << moduli << ", q = " << q;
      least = std::min(least, ratio);
    }
  }
  fmt::print("[ bound    ] truncation: the worst error reaches {:.3g} of the bound at least\n", least);
  RecordProperty("least_ratio", std::to_string(least));
}

TEST(TruncationBound, HoldsElementwiseForAnyData) {
  double worst = 0;
  int turn = 0;
  for (const char* cls : {"randn", "exprand:phi=2", "exprand:phi=8", "grade:inner", "evil", "huge", "cancel",
                          "int:bits=8", "pow2", "identity", "lower", "zerocols", "hilbert"}) {
    for (const std::int64_t k : {2, 64, 129, 300}) {
      for (const int moduli : {3, 5, 9, 14, 20}) {
        if (kIsSanitized && (k > 64 || moduli > 9)) continue;
        if (is_left_out(turn++, 5)) continue;
        worst = std::max(worst, worst_ratio<double>(case_of_class(Scalar::kF64, cls, 0, k, moduli)));
        if (k <= 129)
          worst = std::max(worst, worst_ratio<std::complex<double>>(case_of_class(Scalar::kC128, cls, 0, k, moduli)));
        if (moduli >= 9) continue;
        worst = std::max(worst, worst_ratio<float>(case_of_class(Scalar::kF32, cls, 0, k, moduli)));
        if (k <= 64)
          worst = std::max(worst, worst_ratio<std::complex<float>>(case_of_class(Scalar::kC64, cls, 0, k, moduli)));
      }
    }
  }
  fmt::print("[ bound    ] truncation on other data: largest ratio {:.3g}\n", worst);
}

// Complex products cut the lines of 2k real terms just so, for both parts.
TEST(TruncationBound, IsTightForBothParts) {
  for (const std::int64_t k : {7, 65, 300}) {
    for (const int moduli : {4, 8, 12, 17, 18, 22}) {
      if (kIsSanitized && (k > 65 || moduli > 8)) continue;
      Case c = case_of_class(Scalar::kC128, "halfulp", 20, k, moduli);
      const Result<Plan> plan = make_plan(c.scalar, c.m, c.n, c.k, c.policy);
      const check::Operands<std::complex<double>> x(c);
      std::vector<num::LineStats> stats(static_cast<std::size_t>(c.m));
      certify::gather_statistics(problem::lines_of(Side::kA, x.a.view()), nullptr, 1, stats.data());
      int bits = 0;
      for (const num::LineStats& line : stats)
        bits =
            std::max(bits, num::scale_bits(ozaki2::ozaki2_of(plan.value().impl()).ladder.rungs[0], line.sum_squares));
      if (bits + 1 > 52) continue;
      c.a.params[0] = c.b.params[0] = bits + 1;
      EXPECT_GE(worst_ratio<std::complex<double>>(c), 1.0 / 8) << "k = " << k << ", moduli = " << moduli;
    }
  }
}

// The a-priori bound that a forced plan reports covers the elementwise one, and falls with every modulus.
TEST(TruncationBound, FallsWithEveryModulus) {
  for (const Scalar scalar : {Scalar::kF32, Scalar::kF64, Scalar::kC64, Scalar::kC128}) {
    for (const std::int64_t k : {1, 300, 100000}) {
      double last = std::numeric_limits<double>::infinity();
      int counted = 0;
      const int most = is_complex(scalar) ? 27 : 28;
      for (int moduli = 2; moduli <= most; ++moduli) {
        Policy policy;
        policy.forced_moduli = moduli;
        const Result<Plan> plan = make_plan(scalar, 8, 8, k, policy);
        if (!plan.ok()) {
          EXPECT_EQ(plan.status().code(), StatusCode::kUnsupported) << plan.status().reason();
          EXPECT_EQ(counted, 0) << "a count of moduli is refused after a smaller one was accepted";
          continue;
        }
        EXPECT_LE(plan.value().bound(), last) << "k = " << k << ", moduli = " << moduli;
        EXPECT_EQ(plan.value().gauge(), Gauge::kNorm);
        last = plan.value().bound();
        ++counted;
      }
      EXPECT_GE(counted, most - 4);
      EXPECT_LE(last, 2 * num::unit_roundoff(scalar));
    }
  }
}

TEST(TruncationBound, CoversForcedCounts) {
  Tally tally;
  for (const char* cls : {"randn", "halfulp:q=40", "exprand:phi=4", "rand"}) {
    for (const int moduli : {2, 3, 6, 11, 17, 28}) {
      for (const char* k : {"5", "200"}) {
        expect_guaranteed(case_of(std::string("d nn 11x9x") + k + " A=" + cls + " B=" + cls +
                                  " threads=2 moduli=" + std::to_string(moduli)),
                          &tally);
      }
    }
  }
  for (int moduli = 2; moduli <= 27; ++moduli) {  // from two planes a modulus to three
    for (const char* head : {"z nc 11x9x5", "z tr 7x8x200", "c rn 7x9x64"}) {
      const char* const operands = moduli % 2 == 0 ? " A=randn B=exprand:phi=4" : " A=halfulp:q=20,im2^-40 B=gram";
      expect_guaranteed(case_of(head + std::string(operands) + " threads=2 moduli=" + std::to_string(moduli)), &tally);
    }
  }
  report("forced moduli", tally);
}

}  // namespace
}  // namespace kizami::api_test
