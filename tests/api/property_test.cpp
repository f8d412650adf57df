// SPDX-License-Identifier: MIT
// T6: identities that hold bit for bit, because everything between split and rounding is an integer: scaling by powers
// of two, permutations of rows, columns and of the inner index, negation, products with the identity.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "api_case.hpp"
#include "certify/statistics.hpp"
#include "num/rung.hpp"
#include "plan/plan.hpp"
#include "problem/lines.hpp"
#include "schemes/ozaki2/stage.hpp"

namespace kizami::api_test {
namespace {

using check::Case;

/// Data of every kind of answer: lowest rung, higher rungs, equilibrated, repaired, FP64 arithmetic, NaN.
constexpr const char* kKinds[] = {"A=randn B=randn",
                                  "A=exprand:phi=2 B=exprand:phi=2",
                                  "A=exprand:phi=4 B=rand",
                                  "A=grade:inner,span=100 B=grade:inner,span=100",
                                  "A=grade:shift,span=60 B=grade:shift,span=60",
                                  "A=evil:span=90 B=evil:span=90",
                                  "A=lower B=randn",
                                  "A=identity B=randn",
                                  "A=int:bits=12 B=int:bits=12",
                                  "A=randn,nan@2:3 B=randn,inf@4:1",
                                  "A=randn B=randn gauge=norm",
                                  "A=randn B=rands accuracy=bits=20",
                                  "A=halfulp B=halfulp moduli=5"};

class Property : public ::testing::TestWithParam<const char*> {
 protected:
  [[nodiscard]] static bool is_complex_type() { return GetParam()[0] == 'z' || GetParam()[0] == 'c'; }
  void for_each_kind(const std::function<void(Case)>& f) const {
    int turn = 0;
    for (const char* kind : kKinds) {
      for (const char* shape : {"9x7x33", "12x10x200"}) {
        if (const int t = turn++; is_left_out(t + t / 2, 2)) continue;  // the shapes in turn
        f(case_of(std::string(GetParam()) + " nn " + shape + " " + kind + " threads=2"));
      }
    }
  }
};
INSTANTIATE_TEST_SUITE_P(All, Property, ::testing::Values("d", "s", "z", "c"),
                         [](const auto& test) { return std::string(test.param); });

/// op(A), op(B) and C = AB of a case as dense arrays.
template <class T>
struct Product {
  explicit Product(const Case& spec) : c_spec(spec), m(spec.m), n(spec.n), k(spec.k) {
    const check::Operands<T> x(spec);
    a.resize(static_cast<std::size_t>(m * k));
    b.resize(static_cast<std::size_t>(k * n));
    for (std::int64_t l = 0; l < k; ++l) {
      for (std::int64_t i = 0; i < m; ++i) a[static_cast<std::size_t>(l * m + i)] = x.a.view()(i, l);
      for (std::int64_t j = 0; j < n; ++j) b[static_cast<std::size_t>(j * k + l)] = x.b.view()(l, j);
    }
  }
  [[nodiscard]] std::vector<T> multiply(Outcome* outcome = nullptr) const {
    std::vector<T> c(static_cast<std::size_t>(m * n));
    const Status status = gemm<T>(T{1}, dense(a, m, k), dense(b, k, n), T{0}, dense(c, m, n), c_spec.policy, outcome);
    EXPECT_TRUE(status.ok()) << check::print(c_spec) << ": " << status.reason();
    return c;
  }
  Case c_spec;
  std::int64_t m, n, k;
  std::vector<T> a, b;  // column-major
};

TEST_P(Property, ScalingAScalesC) {
  for_each_kind([&](const Case& c) {
    with_scalar(c.scalar, [&]<class T>() {
      Product<T> x(c);
      Outcome before, after;
      const std::vector<T> plain = x.multiply(&before);
      for (const int s : {-20, -5, -1, 1, 3, 40}) {
        if (is_left_out(s, 20)) continue;
        Product<T> scaled = x;
        const auto times_power = [&](RealOf<T> part) { return std::ldexp(part, s); };
        for (T& value : scaled.a) value = map_parts(value, times_power);
        std::vector<T> want = plain;
        for (T& value : want) value = map_parts(value, times_power);
        expect_same_bits(scaled.multiply(&after), want, x.m, x.n, check::print(c) + " times 2^" + std::to_string(s));
        EXPECT_EQ(after.rung, before.rung) << check::print(c);
        EXPECT_EQ(after.equilibrated, before.equilibrated) << check::print(c);
      }
    });
  });
}

TEST_P(Property, NegatingANegatesC) {
  for_each_kind([&](const Case& c) {
    with_scalar(c.scalar, [&]<class T>() {
      Product<T> x(c);
      std::vector<T> want = x.multiply();
      for (T& value : want) {
        value = map_parts(value,
                          [](RealOf<T> part) { return part == 0 || std::isnan(part) ? part : -part; });  // zero is +0
      }
      for (T& value : x.a) value = -value;
      std::vector<T> got = x.multiply();
      for (std::size_t t = 0; t < got.size(); ++t) {
        got[t] = with_nans_of(want[t], got[t]);
      }
      expect_same_bits(got, want, x.m, x.n, check::print(c));
    });
  });
}

TEST_P(Property, PermutingRowsAndColumnsPermutesC) {
  for_each_kind([&](const Case& c) {
    with_scalar(c.scalar, [&]<class T>() {
      const Product<T> x(c);
      const std::vector<T> plain = x.multiply();
      Product<T> permuted = x;
      std::vector<T> want = plain;
      const auto row_of = [&](std::int64_t i) { return (5 * i + 3) % x.m; };  // m = 9, 12: coprime to 5
      const auto col_of = [&](std::int64_t j) { return (3 * j + 1) % x.n; };  // n = 7, 10: coprime to 3
      for (std::int64_t l = 0; l < x.k; ++l) {
        for (std::int64_t i = 0; i < x.m; ++i) dense(permuted.a, x.m, x.k)(row_of(i), l) = dense(x.a, x.m, x.k)(i, l);
        for (std::int64_t j = 0; j < x.n; ++j) dense(permuted.b, x.k, x.n)(l, col_of(j)) = dense(x.b, x.k, x.n)(l, j);
      }
      for (std::int64_t j = 0; j < x.n; ++j) {
        for (std::int64_t i = 0; i < x.m; ++i)
          dense(want, x.m, x.n)(row_of(i), col_of(j)) = dense(plain, x.m, x.n)(i, j);
      }
      expect_same_bits(permuted.multiply(), want, x.m, x.n, check::print(c));
    });
  });
}

// Where a rung answers. FP64 arithmetic sums in the order of k, and the certificate samples k, so it may choose
// differently where data are near its limits.
TEST_P(Property, PermutingTheInnerIndexLeavesC) {
  int compared = 0;
  for_each_kind([&](const Case& c) {
    with_scalar(c.scalar, [&]<class T>() {
      const Product<T> x(c);
      Outcome before, after;
      const std::vector<T> plain = x.multiply(&before);
      Product<T> permuted = x;
      const auto place_of = [&](std::int64_t l) { return (7 * l + 5) % x.k; };  // k = 33, 200: coprime to 7
      for (std::int64_t l = 0; l < x.k; ++l) {
        for (std::int64_t i = 0; i < x.m; ++i) dense(permuted.a, x.m, x.k)(i, place_of(l)) = dense(x.a, x.m, x.k)(i, l);
        for (std::int64_t j = 0; j < x.n; ++j) dense(permuted.b, x.k, x.n)(place_of(l), j) = dense(x.b, x.k, x.n)(l, j);
      }
      const std::vector<T> got = permuted.multiply(&after);
      std::vector<num::LineStats> stats(static_cast<std::size_t>(x.m)), stats_permuted = stats;
      certify::gather_statistics(problem::lines_of(Side::kA, dense(x.a, x.m, x.k)), nullptr, 1, stats.data());
      certify::gather_statistics(problem::lines_of(Side::kA, dense(std::as_const(permuted.a), x.m, x.k)), nullptr, 1,
                                 stats_permuted.data());
      EXPECT_EQ(stats, stats_permuted) << check::print(c);
      if (before.rung < 0 || before.repaired > 0 || after.rung != before.rung ||
          after.equilibrated != before.equilibrated)
        return;
      ++compared;
      expect_same_bits(got, plain, x.m, x.n, check::print(c));
    });
  });
  EXPECT_GE(compared, kIsSanitized ? 6 : 12) << "too few kinds kept their rung";
}

// Lossless: every element of A is a multiple of its quantum, and so is 1.
TEST_P(Property, TimesIdentityIsTheSame) {
  for (const char* kind :
       {"int:bits=20", "randn", "pow2", "exprand:phi=1", "ones", "hilbert", "subnormal", "tiny", "big"}) {
    const Case c = case_of(std::string(GetParam()) + " nn 11x13x13 A=" + kind +
                           (is_complex_type() ? " B=identity,re" : " B=identity") + " moduli=22 threads=2");
    with_scalar(c.scalar, [&]<class T>() {
      const Product<T> x(c);
      const Plan plan = make_plan(c.scalar, c.m, c.n, c.k, c.policy).value();
      std::vector<num::LineStats> stats(static_cast<std::size_t>(x.m));
      certify::gather_statistics(problem::lines_of(Side::kA, dense(x.a, x.m, x.k)), nullptr, 1, stats.data());
      for (const num::LineStats& line : stats) {
        ASSERT_EQ(num::first_exact_rung(ozaki2::ozaki2_of(plan.impl()).ladder, line), 0)
            << "not lossless: " << check::print(c);
      }
      expect_same_bits(x.multiply(), x.a, x.m, x.n, check::print(c));
    });
  }
}

// C^T = B^T A^T: the two sides are treated alike. Complex FP64 arithmetic sums Ar Bi + Ai Br in the order of A.
TEST_P(Property, TheTransposedProductIsTheTranspose) {
  int compared = 0;
  for_each_kind([&](Case c) {
    with_scalar(c.scalar, [&]<class T>() {
      const Product<T> x(c);
      Outcome outcome;
      const std::vector<T> plain = x.multiply(&outcome);
      if (is_complex_type() && (outcome.rung < 0 || outcome.repaired > 0)) return;
      ++compared;
      std::vector<T> transposed(plain.size());
      const Status status = gemm<T>(T{1}, dense(x.b, x.k, x.n).transposed(), dense(x.a, x.m, x.k).transposed(), T{0},
                                    dense(transposed, x.n, x.m), c.policy);
      ASSERT_TRUE(status.ok()) << status.reason();
      const check::Verdict verdict =
          check::bits_equal<T>(dense(std::as_const(transposed), x.n, x.m).transposed(), dense(plain, x.m, x.n));
      EXPECT_TRUE(verdict) << check::print(c) << ": " << verdict.message;
    });
  });
  EXPECT_GE(compared, kIsSanitized ? 8 : 16) << "too few kinds took a rung";
}

}  // namespace
}  // namespace kizami::api_test
