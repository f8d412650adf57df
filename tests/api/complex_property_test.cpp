// SPDX-License-Identifier: MIT
// T6: identities of complex products that hold bit for bit: conjugation, factors of i, Hermitian products, operands
// that are real or imaginary alone. Where FP64 arithmetic answers, only those that keep the order of its terms.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <functional>
#include <string>
#include <vector>

#include "api_case.hpp"

namespace kizami::api_test {
namespace {

using check::Case;

/// Lowest rung, higher rungs, equilibrated, repaired, FP64 arithmetic, NaN, gauge norm, bits, forced moduli.
constexpr const char* kKinds[] = {"A=randn B=randn",
                                  "A=exprand:phi=2 B=exprand:phi=2",
                                  "A=exprand:phi=4,im2^-40 B=rand",
                                  "A=grade:inner,span=100 B=grade:inner,span=100",
                                  "A=evil:span=90 B=evil:span=90",
                                  "A=evil:span=250,re B=evil:span=250",
                                  "A=lower,im B=randn",
                                  "A=int:bits=12 B=int:bits=12",
                                  "A=gram B=gram",
                                  "A=cancel B=cancel",
                                  "A=randn,nan@2:3 B=randn,infi@4:1",
                                  "A=randn B=randn,im2^-300 gauge=norm",
                                  "A=randn B=rands accuracy=bits=20",
                                  "A=halfulp B=halfulp moduli=5",
                                  "A=randn B=randn moduli=19"};

class ComplexProperty : public ::testing::TestWithParam<const char*> {
 protected:
  void for_each_kind(const std::function<void(Case)>& f) const {
    for (const char* kind : kKinds) {
      for (const char* shape : {"9x7x33", "8x9x130"})
        f(case_of(std::string(GetParam()) + " nn " + shape + " " + kind + " threads=2"));
    }
  }
};
INSTANTIATE_TEST_SUITE_P(All, ComplexProperty, ::testing::Values("z", "c"),
                         [](const auto& test) { return std::string(test.param); });

template <class R>
using Complex = std::complex<R>;

/// Calls f.template operator()<R>() with the type of the parts.
template <class F>
void with_part(const Case& c, const F& f) {
  c.scalar == Scalar::kC64 ? f.template operator()<float>() : f.template operator()<double>();
}

/// alpha AB + beta C0 of views, all of C0 one number.
template <class R>
std::vector<Complex<R>> multiply(const Policy& policy, Complex<R> alpha, MatrixView<const Complex<R>> a,
                                 MatrixView<const Complex<R>> b, Complex<R> beta, Complex<R> c0,
                                 Outcome* outcome = nullptr) {
  std::vector<Complex<R>> c(static_cast<std::size_t>(a.rows * b.cols), c0);
  const Status status = gemm<Complex<R>>(alpha, a, b, beta, dense(c, a.rows, b.cols), policy, outcome);
  EXPECT_TRUE(status.ok()) << status.reason();
  return c;
}

/// Equal bits, but for the sign of zeros and NaNs, which exact identities leave open.
template <class R>
void expect_same_numbers(std::vector<Complex<R>> got, const std::vector<Complex<R>>& want, const Case& c,
                         const std::string& what) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t t = 0; t < got.size(); ++t) {
    got[t] = with_nans_of(want[t], got[t]);
    if (got[t].real() == want[t].real()) got[t].real(want[t].real());
    if (got[t].imag() == want[t].imag()) got[t].imag(want[t].imag());
  }
  expect_same_bits(got, want, c.m, c.n, check::print(c) + " " + what);
}

bool is_on_a_rung(const Outcome& outcome) { return outcome.rung >= 0 && outcome.repaired == 0; }

/// x times i.
template <class R>
Complex<R> rotated(Complex<R> x) {
  return {-x.imag(), x.real()};
}

// conj(alpha) conj(A) conj(B) + conj(beta) conj(C) = conj(alpha AB + beta C), whichever way the conjugate is asked for.
TEST_P(ComplexProperty, ConjugatingEverythingConjugatesC) {
  for_each_kind([&](const Case& c) {
    with_part(c, [&]<class R>() {
      check::Operands<Complex<R>> x(c);
      for (const auto& [alpha, beta] : {std::pair<Complex<R>, Complex<R>>{R{1}, R{0}},
                                        {{R(1.5), R(-0.25)}, R{0}},
                                        {{R(-0.75), R(2)}, {R(0.5), R(3)}}}) {
        const Complex<R> c0(R(0.375), R(-5));
        std::vector<Complex<R>> want = multiply<R>(c.policy, alpha, x.a.view(), x.b.view(), beta, c0);
        for (Complex<R>& value : want) value = std::conj(value);
        const auto conjugated = [&, alpha = alpha, beta = beta](MatrixView<const Complex<R>> a,
                                                                MatrixView<const Complex<R>> b) {
          return multiply<R>(c.policy, std::conj(alpha), a, b, std::conj(beta), std::conj(c0));
        };
        expect_same_numbers(conjugated(x.a.view().conjugated(), x.b.view().conjugated()), want, c, "as views");
        check::Operands<Complex<R>> y(c);
        for (std::int64_t l = 0; l < c.k; ++l) {
          for (std::int64_t i = 0; i < c.m; ++i) y.a.view()(i, l) = std::conj(y.a.view()(i, l));
          for (std::int64_t j = 0; j < c.n; ++j) y.b.view()(l, j) = std::conj(y.b.view()(l, j));
        }
        expect_same_numbers(conjugated(y.a.view(), y.b.view()), want, c, "in memory");
        expect_same_numbers(conjugated(x.a.view().conjugated(), y.b.view()), want, c, "as view and in memory");
      }
    });
  });
}

// (iA) B = A (iB) = i (AB): parts trade places exactly. Inf and NaN take products with the zero in i, so not there.
TEST_P(ComplexProperty, AFactorOfIRotatesC) {
  int compared = 0;
  for_each_kind([&](const Case& c) {
    if (!c.a.placements.empty()) return;
    with_part(c, [&]<class R>() {
      check::Operands<Complex<R>> x(c);
      Outcome outcome;
      const Complex<R> one(R{1}), i_unit(R{0}, R{1});
      std::vector<Complex<R>> want = multiply<R>(c.policy, one, x.a.view(), x.b.view(), R{0}, R{0}, &outcome);
      for (Complex<R>& value : want) value = rotated(value);
      expect_same_numbers(multiply<R>(c.policy, i_unit, x.a.view(), x.b.view(), R{0}, R{0}), want, c, "alpha = i");
      if (!is_on_a_rung(outcome)) return;
      ++compared;
      check::Operands<Complex<R>> y(c);
      for (std::int64_t l = 0; l < c.k; ++l) {
        for (std::int64_t i = 0; i < c.m; ++i) y.a.view()(i, l) = rotated(y.a.view()(i, l));
        for (std::int64_t j = 0; j < c.n; ++j) y.b.view()(l, j) = rotated(y.b.view()(l, j));
      }
      Outcome after;
      expect_same_numbers(multiply<R>(c.policy, one, y.a.view(), x.b.view(), R{0}, R{0}, &after), want, c, "i A");
      EXPECT_EQ(after.rung, outcome.rung) << check::print(c);
      expect_same_numbers(multiply<R>(c.policy, one, x.a.view(), y.b.view(), R{0}, R{0}), want, c, "i B");
      for (Complex<R>& value : want) value = rotated(value);
      expect_same_numbers(multiply<R>(c.policy, one, y.a.view(), y.b.view(), R{0}, R{0}), want, c, "i A, i B");
    });
  });
  EXPECT_GE(compared, 12) << "too few kinds took a rung";
}

// A A^H is Hermitian bit for bit, and its diagonal is real: the terms of its imaginary part cancel exactly.
TEST_P(ComplexProperty, AProductWithTheConjugateTransposeIsHermitian) {
  for (const char* cls : {"randn", "exprand:phi=3", "grade:inner,span=60", "int:bits=12", "randn,im2^-10", "cancel"}) {
    for (const char* shape : {"9x9x40", "12x12x200"}) {
      const Case c = case_of(std::string(GetParam()) + " nn " + shape + " threads=2 A=" + cls);
      with_part(c, [&]<class R>() {
        check::Operands<Complex<R>> x(c);
        Outcome outcome;
        const MatrixView<const Complex<R>> a = x.a.view();
        const std::vector<Complex<R>> got =
            multiply<R>(c.policy, R{1}, a, a.transposed().conjugated(), R{0}, R{0}, &outcome);
        const auto view = dense(got, c.m, c.m);
        ASSERT_TRUE(is_on_a_rung(outcome)) << check::print(c);
        for (std::int64_t i = 0; i < c.m; ++i) {
          EXPECT_EQ(view(i, i).imag(), 0) << check::print(c) << " at " << i;
          EXPECT_GT(view(i, i).real(), 0) << check::print(c) << " at " << i;
          for (std::int64_t j = 0; j < i; ++j)
            EXPECT_EQ(view(i, j), std::conj(view(j, i))) << check::print(c) << " at " << i << ", " << j;
        }
      });
    }
  }
}

// Operands that are real: so is C, and an imaginary factor makes it imaginary. A part that is not there adds nothing.
TEST_P(ComplexProperty, RealAndImaginaryOperands) {
  for (const char* cls : {"randn", "exprand:phi=4", "evil:span=200", "int:bits=12", "grade:inner,span=200"}) {
    for (const bool is_a_imaginary : {false, true}) {
      for (const bool is_b_imaginary : {false, true}) {
        const Case c = case_of(std::string(GetParam()) + " nn 7x8x65 threads=2 A=" + cls +
                               (is_a_imaginary ? ",im" : ",re") + " B=" + cls + (is_b_imaginary ? ",im" : ",re"));
        with_part(c, [&]<class R>() {
          for (const Complex<R>& value : product_of<Complex<R>>(c)) {
            const bool is_real = is_a_imaginary == is_b_imaginary;
            EXPECT_EQ(is_real ? value.imag() : value.real(), 0) << check::print(c);
            EXPECT_NE(is_real ? value.real() : value.imag(), 0) << check::print(c);
          }
        });
        expect_guaranteed(c);
      }
    }
  }
}

// The smallest rung for ordinary data, and rungs, not FP64 arithmetic, for structured ones.
TEST_P(ComplexProperty, OrdinaryAndStructuredDataStayInIntegers) {
  for (const char* operands : {"A=randn B=randn", "A=rand B=randn,re", "A=rands,im B=rand", "A=gram B=gram"}) {
    for (const char* k : {"256", "1000"}) {
      const Case c = case_of(std::string(GetParam()) + " nc 16x12x" + k + " " + operands + " threads=2");
      const Outcome outcome = expect_guaranteed(c);
      EXPECT_EQ(outcome.rung, 0) << check::print(c);
      EXPECT_EQ(outcome.repaired, 0) << check::print(c);
      EXPECT_EQ(outcome.moduli, make_plan(c.scalar, c.m, c.n, c.k, c.policy).value().base_moduli());
    }
  }
  for (const char* cls : {"identity,re", "permutation", "diagonal", "lower", "int:bits=8", "onehot", "zeros"}) {
    for (const std::string& operands : {std::string("A=") + cls + " B=randn", std::string("A=randn B=") + cls}) {
      const Case c = case_of(std::string(GetParam()) + " rn 31x31x31 " + operands + " fp64=refuse threads=2");
      const Outcome outcome = expect_guaranteed(c);
      EXPECT_GE(outcome.rung, 0) << check::print(c);
      EXPECT_EQ(outcome.repaired, 0) << check::print(c);
    }
  }
}

// One part far below the other, both ways, and parts that cancel: each part keeps its own bound.
TEST_P(ComplexProperty, PartsOfDifferentSizeKeepTheirOwnBounds) {
  Tally tally;
  const bool is_fp64 = GetParam()[0] == 'z';
  const std::string exps[] = {"-40", "40", is_fp64 ? "-300" : "-100", is_fp64 ? "300" : "100"};
  for (const std::string& e : exps) {
    for (const std::string& f : exps) {
      for (const char* ops : {"nn", "cr", "tc"}) {
        for (const char* shape : {"5x6x9", "7x5x130"}) {
          for (const char* tail : {"A=randn", "A=exprand:phi=4", "A=gram", "A=cancel:near"}) {
            const std::string cls(tail + 2);
            const std::string line = std::string(GetParam()) + " " + ops + " " + shape + " A=" + cls + ",im2^" + e +
                                     " B=" + cls + ",im2^" + f + " threads=2";
            expect_guaranteed(case_of(line), &tally);
          }
        }
      }
    }
  }
  report(std::string("unequal parts ") + GetParam(), tally);
}

// What only complex gemm() has to refuse or to accept.
TEST_P(ComplexProperty, ConjugatedOutputsAreRefused) {
  const Case c = case_of(std::string(GetParam()) + " nn 3x4x5");
  with_part(c, [&]<class R>() {
    check::Operands<Complex<R>> x(c);
    const Status status =
        gemm<Complex<R>>(R{1}, std::as_const(x.a).view(), std::as_const(x.b).view(), R{0}, x.c.view().conjugated());
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_NE(status.reason().find("conjugated"), std::string::npos) << status.reason();
    EXPECT_TRUE(x.c.unchanged());
  });
}

}  // namespace
}  // namespace kizami::api_test
