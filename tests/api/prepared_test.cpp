// SPDX-License-Identifier: MIT
// T6: prepared operands. The same bits as the matrix they were made of, for A, B or both; where the lowest rung is not
// enough the original is used if it is there, else the call is refused and C is untouched.
#include <gtest/gtest.h>

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "api_case.hpp"

namespace kizami::api_test {
namespace {

using check::Case;

template <class T>
struct Prepared {
  explicit Prepared(const Case& spec)
      : c(spec), plan(make_plan(c.scalar, c.m, c.n, c.k, c.policy).value()), x(c, kThreads) {
    a.emplace(prepare<T>(plan, Side::kA, std::as_const(x.a).view()).value());
    b.emplace(prepare<T>(plan, Side::kB, std::as_const(x.b).view()).value());
  }
  [[nodiscard]] Status multiply(Operand<T> op_a, Operand<T> op_b, Outcome* outcome = nullptr) {
    return run<T>(plan, check::alpha_of<T>(c), op_a, op_b, check::beta_of<T>(c), x.c.view(), {}, outcome);
  }
  [[nodiscard]] MatrixView<const T> matrix_a() const { return x.a.view(); }
  [[nodiscard]] MatrixView<const T> matrix_b() const { return x.b.view(); }

  Case c;
  Plan plan;
  check::Operands<T> x;
  std::optional<PreparedOperand> a, b;
};

// The lowest rung serves: with or without the originals, even after they are gone.
TEST(PreparedOperand, GivesTheBitsOfTheMatrix) {
  for (const char* line :
       {"d nt 33x29x300 a=1 b=0 A=randn B=randn", "d tn 17x40x65 a=-2 b=0 A=int:bits=9 B=rand ld+2",
        "d nn 20x20x130 a=1 b=0 A=evil:span=300 B=grade:inner gauge=norm", "s nn 31x20x257 a=1 b=0 A=randn B=randn",
        "d nn 9x9x70 a=1 b=0 A=exprand:phi=3 B=randn moduli=9", "s tt 12x70x64 a=1 b=0 A=rand B=rands accuracy=bits=12",
        "z nc 23x19x150 a=1 b=0 A=randn B=randn", "z rt 17x20x65 a=-2+1i b=0 A=int:bits=9 B=rand,im2^-40 ld+2",
        "c cn 21x20x130 a=1i b=0 A=randn,re B=gram", "z tr 9x9x70 a=1 b=0 A=exprand:phi=3 B=randn moduli=21",
        "c rr 12x30x64 a=1 b=0 A=rand B=evil gauge=norm"}) {
    for (const std::size_t limit : {std::size_t{0}, std::size_t{5} << 20}) {
      Case c = case_of(line);
      c.policy.workspace_limit_bytes = limit;
      with_scalar(c.scalar, [&]<class T>() {
        const std::vector<T> want = product_of<T>(c);
        Prepared<T> p(c);
        EXPECT_EQ(p.a->side(), Side::kA);
        EXPECT_EQ(p.b->side(), Side::kB);
        EXPECT_GT(p.a->size_bytes(), static_cast<std::size_t>(c.m * c.k * p.plan.base_moduli()));
        const Operand<T> as[] = {p.matrix_a(), *p.a, Operand<T>(*p.a, p.matrix_a())};
        const Operand<T> bs[] = {p.matrix_b(), *p.b, Operand<T>(*p.b, p.matrix_b())};
        for (const Operand<T>& a : as) {
          for (const Operand<T>& b : bs) {
            Outcome outcome;
            const Status status = p.multiply(a, b, &outcome);
            ASSERT_TRUE(status.ok()) << line << ": " << status.reason();
            EXPECT_EQ(outcome.rung, 0) << line;
            const check::Verdict verdict = check::bits_equal<T>(p.x.c.view(), dense(want, c.m, c.n));
            EXPECT_TRUE(verdict) << line << ": " << verdict.message;
          }
        }
        const check::Verdict intact = p.x.inputs_intact();
        EXPECT_TRUE(intact) << line << ": " << intact.message;
        // The matrices may go.
        for (std::int64_t l = 0; l < c.k; ++l) {
          for (std::int64_t i = 0; i < c.m; ++i) p.x.a.view()(i, l) = T{99};
          for (std::int64_t j = 0; j < c.n; ++j) p.x.b.view()(l, j) = T{99};
        }
        ASSERT_TRUE(p.multiply(*p.a, *p.b).ok());
        const check::Verdict verdict = check::bits_equal<T>(p.x.c.view(), dense(want, c.m, c.n));
        EXPECT_TRUE(verdict) << line << ": " << verdict.message;
      });
    }
  }
}

TEST(PreparedOperand, HigherRungsNeedTheOriginal) {
  struct {
    const char* line;
    const char* refusal;
  } const cases[] = {{"d nn 20x18x300 a=1 b=0.5 A=exprand:phi=3 B=exprand:phi=3 C=randn",
                      "elements need more than its lowest rung; pass the original matrix with it"},
                     {"d nn 20x18x300 a=1 b=0 A=grade:inner,span=300 B=grade:inner,span=300 C=randn",
                      "elements need more than its lowest rung; pass the original matrix with it"},
                     {"s nn 20x18x64 a=1 b=0 A=evil:span=200 B=evil:span=200 C=randn",
                      "elements need more than its lowest rung; pass the original matrix with it"},
                     {"d nn 20x18x64 a=1 b=0 A=randn,nan@2:3 B=randn C=randn",
                      "NaN or Inf needs the values; pass the original matrix with it"},
                     {"d nn 20x18x64 a=1 b=0 A=randn B=randn,inf@2:3 C=randn gauge=norm",
                      "NaN or Inf needs the values; pass the original matrix with it"},
                     {"z cn 20x18x64 a=1-1i b=0.5i A=exprand:phi=4 B=exprand:phi=4 C=randn",
                      "elements need more than its lowest rung; pass the original matrix with it"},
                     {"c nr 20x18x64 a=1 b=0 A=randn B=randn,infi@2:3 C=randn",
                      "NaN or Inf needs the values; pass the original matrix with it"}};
  for (const auto& t : cases) {
    const Case c = case_of(t.line);
    with_scalar(c.scalar, [&]<class T>() {
      const std::vector<T> want = product_of<T>(c);
      Prepared<T> p(c);
      const auto expect_refused = [&](const Operand<T>& a, const Operand<T>& b) {
        const Status status = p.multiply(a, b);
        EXPECT_EQ(status.code(), StatusCode::kAccuracyUnreachable) << t.line;
        EXPECT_NE(status.reason().find(t.refusal), std::string::npos) << t.line << ": " << status.reason();
        const check::Verdict unchanged = p.x.c.unchanged();
        EXPECT_TRUE(unchanged) << t.line << ": " << unchanged.message;
      };
      expect_refused(*p.a, p.matrix_b());
      expect_refused(p.matrix_a(), *p.b);
      expect_refused(*p.a, *p.b);
      expect_refused(*p.a, Operand<T>(*p.b, p.matrix_b()));
      const Status status = p.multiply(Operand<T>(*p.a, p.matrix_a()), Operand<T>(*p.b, p.matrix_b()));
      ASSERT_TRUE(status.ok()) << t.line << ": " << status.reason();
      const check::Verdict verdict = check::bits_equal<T>(p.x.c.view(), dense(want, c.m, c.n));
      EXPECT_TRUE(verdict) << t.line << ": " << verdict.message;
    });
  }
}

TEST(PreparedOperand, IsBoundToSideShapeAndNumerics) {
  Prepared<double> p(case_of("d nn 20x20x20 a=1 b=1 A=randn B=randn C=randn"));
  const auto expect_invalid = [&](const Status& status, const std::string& reason) {
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_EQ(status.reason(), reason);
    EXPECT_TRUE(p.x.c.unchanged());
  };
  expect_invalid(p.multiply(*p.b, p.matrix_b()), "prepared operand A was prepared for the other side");
  expect_invalid(p.multiply(p.matrix_a(), *p.a), "prepared operand B was prepared for the other side");
  const auto run_with = [&](std::int64_t m, std::int64_t n, std::int64_t k, Policy policy) {
    const Plan plan = make_plan(Scalar::kF64, m, n, k, policy).value();
    std::vector<double> b(static_cast<std::size_t>(k * n), 1.0), c(static_cast<std::size_t>(m * n));
    return run<double>(plan, 1.0, *p.a, dense(std::as_const(b), k, n), 0.0, dense(c, m, n));
  };
  EXPECT_TRUE(run_with(20, 7, 20, {}).ok());
  Policy fast;
  fast.threads = 1;
  fast.engine = EngineName::kCpuRef;
  EXPECT_TRUE(run_with(20, 7, 20, fast).ok());
  expect_invalid(run_with(21, 7, 20, {}), "prepared operand A has 20 lines of 20, must be 21 of 20");
  expect_invalid(run_with(20, 7, 21, {}), "prepared operand A has 20 lines of 20, must be 20 of 21");
  Policy few_bits;
  few_bits.accuracy = Accuracy::at_bits(20);
  expect_invalid(run_with(20, 7, 20, few_bits), "prepared operand A was prepared by a plan of other numerics");
  Policy norm;
  norm.gauge = Gauge::kNorm;
  expect_invalid(run_with(20, 7, 20, norm), "prepared operand A was prepared by a plan of other numerics");
  Policy native;
  native.scheme = Scheme::kNative;
  const Plan native_plan = make_plan(Scalar::kF64, 20, 20, 20, native).value();
  const Status refused = prepare<double>(native_plan, Side::kA, p.matrix_a()).status();
  EXPECT_EQ(refused.code(), StatusCode::kUnsupported);
  EXPECT_EQ(refused.reason(), "scheme native without moduli has nothing to prepare; ask for scheme ozaki2");
  const Status run_refused = run<double>(native_plan, 1.0, *p.a, p.matrix_b(), 1.0, p.x.c.view());
  EXPECT_FALSE(run_refused.ok());
  EXPECT_TRUE(p.x.c.unchanged());
  // Of the matrix: shape and, if the policy wants, finiteness.
  const MatrixView<const double> part = p.matrix_a().block(0, 0, 19, 20);
  EXPECT_EQ(prepare<double>(p.plan, Side::kA, part).status().reason(), "A is 19 x 20, must be 20 x 20");
  EXPECT_EQ(prepare<double>(p.plan, Side::kB, part).status().reason(), "B is 19 x 20, must be 20 x 20");
  Policy finite;
  finite.reject_nonfinite = true;
  const Plan finite_plan = make_plan(Scalar::kF64, 20, 20, 20, finite).value();
  p.x.a.view()(4, 5) = std::numeric_limits<double>::quiet_NaN();
  const Status rejected = prepare<double>(finite_plan, Side::kA, p.matrix_a()).status();
  EXPECT_EQ(rejected.code(), StatusCode::kNonFinite);
  EXPECT_EQ(rejected.reason(), "NaN or Inf in 1 rows of op(A), the first is 4; must be finite (nonfinite = reject)");
}

// One A against many B, as it is meant to be used.
TEST(PreparedOperand, ServesManyProducts) {
  const Case base = case_of("d nn 25x10x200 a=1 b=0 A=randn B=randn");
  Prepared<double> p(base);
  for (std::uint64_t seed = 2; seed < 8; ++seed) {
    Case c = base;
    c.seed = seed;
    const check::Operands<double> other(c);
    std::vector<double> want(250), got(250);
    ASSERT_TRUE(gemm<double>(1.0, p.matrix_a(), other.b.view(), 0.0, dense(want, 25, 10)).ok());
    ASSERT_TRUE(run<double>(p.plan, 1.0, *p.a, other.b.view(), 0.0, dense(got, 25, 10)).ok());
    expect_same_bits(got, want, 25, 10, check::print(c));
  }
}

}  // namespace
}  // namespace kizami::api_test
