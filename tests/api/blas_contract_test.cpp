// SPDX-License-Identifier: MIT
// T5: BLAS semantics. Transposition, storage order, leading dimensions and alignment change no bit of C; padding and
// operands stay as they were; beta = 0 does not read C, alpha = 0 does not read A and B; empty shapes are legal.
#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "api_case.hpp"

namespace kizami::api_test {
namespace {

using check::Case;

constexpr Op kOps[] = {Op::kNone, Op::kTranspose, Op::kConjTranspose, Op::kConjugate};

class Contract : public ::testing::TestWithParam<Scalar> {
 protected:
  [[nodiscard]] Case parse(const std::string& tail) const {
    return case_of(fmt::format("{} {}", check::letter_of(GetParam()), tail));
  }
};
INSTANTIATE_TEST_SUITE_P(All, Contract, ::testing::Values(Scalar::kF64, Scalar::kF32, Scalar::kC128, Scalar::kC64),
                         [](const auto& test) { return std::string(to_string(test.param)); });

// product_of() checks the canaries in the padding and around the buffers, and that A and B are unchanged.
TEST_P(Contract, OpsLayoutsAndPaddingChangeNoBit) {
  int turn = 0;
  const std::string tails[] = {"a=1 b=0 A=randn B=exprand:phi=4",
                               "a=-0.5 b=0.3 A=grade:inner,span=60 B=grade:inner,span=60",
                               "a=2.7 b=1 A=evil:span=100 B=randn,nan@3:2"};
  with_scalar(GetParam(), [&]<class T>() {
    for (const char* shape : {"1x1x1", "5x3x9", "17x33x65"}) {
      for (const std::string& tail : tails) {
        if (shape[0] == '1' && shape[1] == 'x' && tail.find("nan@") != std::string::npos) continue;
        const Case base = parse(std::string("nn ") + shape + " " + tail);
        const std::vector<T> want = product_of<T>(base);
        for (const Op op_a : kOps) {
          for (const Op op_b : kOps) {
            for (const Layout layout : {Layout::kColMajor, Layout::kRowMajor}) {
              for (const std::int64_t pad : {0, 3}) {
                if (is_left_out(turn++, 5)) continue;
                Case c = base;
                c.op_a = op_a;
                c.op_b = op_b;
                c.layout = layout;
                c.ld_pad = pad;
                c.offset = pad == 0 ? 0 : 1;
                expect_same_bits(product_of<T>(c), want, c.m, c.n, check::print(c));
              }
            }
          }
        }
      }
    }
  });
}

TEST_P(Contract, BetaZeroDoesNotReadC) {
  with_scalar(GetParam(), [&]<class T>() {
    for (const char* operands : {"A=randn B=randn", "A=evil:span=240 B=evil:span=240", "A=randn,inf@corner B=randn"}) {
      for (const char* alpha : {"1", "-2.5", "0"}) {
        const std::string head = std::string("nt 7x5x33 b=0 a=") + alpha + " " + operands;
        const std::vector<T> want = product_of<T>(parse(head + " C=zeros"));
        for (const char* fill : {" C=randn,nan@all", " C=randn,inf@all", " C=randn,-inf@all"}) {
          const Case c = parse(head + fill);
          expect_same_bits(product_of<T>(c), want, c.m, c.n, check::print(c));
        }
      }
    }
  });
}

TEST_P(Contract, AlphaZeroDoesNotReadAAndB) {
  with_scalar(GetParam(), [&]<class T>() {
    for (const char* beta : {"0", "1", "-1", "0.3", "nan", "inf"}) {
      const Case c = parse(std::string("nn 6x5x4 a=0 A=randn,nan@all B=randn,inf@all C=negzero ld+2 b=") + beta);
      check::Operands<T> x(c);
      std::vector<T> want(static_cast<std::size_t>(c.m * c.n));
      for (std::int64_t j = 0; j < c.n; ++j) {
        for (std::int64_t i = 0; i < c.m; ++i) {
          const auto factor = static_cast<RealOf<T>>(c.beta);
          want[static_cast<std::size_t>(j * c.m + i)] =
              c.beta == 0 ? T{0} : map_parts(x.c.view()(i, j), [&](RealOf<T> part) { return factor * part; });
        }
      }
      const std::vector<T> got = product_of<T>(c);
      const check::Verdict verdict = check::same_placement<T>(dense(got, c.m, c.n), dense(want, c.m, c.n));
      EXPECT_TRUE(verdict) << check::print(c) << ": " << verdict.message;
      if (std::isfinite(c.beta)) expect_same_bits(got, want, c.m, c.n, check::print(c));
      // Null operands, and leading dimensions that would not do for NaN either.
      Outcome outcome;
      const Status status = gemm<T>(c.layout, c.op_a, c.op_b, c.m, c.n, c.k, T{0}, nullptr, c.m, nullptr, c.k,
                                    check::beta_of<T>(c), x.c.data(), x.c.ld(), {}, &outcome);
      EXPECT_TRUE(status.ok()) << status.reason();
      EXPECT_EQ(outcome.engine, "none");
      for (std::int64_t j = 0; j < c.n; ++j) {
        for (std::int64_t i = 0; i < c.m; ++i) {
          const T expected = want[static_cast<std::size_t>(j * c.m + i)];
          EXPECT_TRUE(x.c.view()(i, j) == expected || is_nan(expected));
        }
      }
      EXPECT_TRUE(x.c.canaries_intact());
    }
  });
}

// alpha = 0, beta = 1: not even the payload of a NaN changes.
TEST_P(Contract, BetaOneWithoutProductLeavesC) {
  with_scalar(GetParam(), [&]<class T>() {
    for (const char* head : {"nn 6x5x4 a=0 b=1", "nn 6x5x0 a=3 b=1", "nn 0x5x4 a=3 b=0", "nn 6x0x4 a=3 b=0"}) {
      const Case c = parse(std::string(head) + " A=randn,nan@all B=randn C=negzero,nan@all");
      check::Operands<T> x(c);
      Outcome outcome;
      EXPECT_TRUE(call(c, x, outcome).ok());
      const check::Verdict verdict = x.c.unchanged();
      EXPECT_TRUE(verdict) << check::print(c) << ": " << verdict.message;
      EXPECT_TRUE(x.inputs_intact());
      EXPECT_EQ(outcome.engine, "none");
      EXPECT_EQ(outcome.bound, 0);
    }
  });
}

TEST_P(Contract, TinyShapes) {
  Tally tally;
  int turn = 0;
  for (const char* ops : {"nn", "tn", "nt", "tt"}) {
    for (const std::int64_t m : {0, 1, 2}) {
      for (const std::int64_t n : {0, 1, 3}) {
        for (const std::int64_t k : {0, 1, 2}) {
          for (const char* scalars : {"a=1 b=0", "a=-0.7 b=0.3", "a=0 b=2", "a=1 b=1", "a=2 b=-1"}) {
            if (is_left_out(turn++, 7)) continue;
            Case c = parse(std::string(ops) + " 1x1x1 ld+1 A=randn B=randn " + scalars);
            c.m = m;
            c.n = n;
            c.k = k;
            if (m > 0 && n > 0) {
              expect_guaranteed(c, &tally);
            } else {
              with_scalar(GetParam(), [&]<class T>() { static_cast<void>(product_of<T>(c)); });
            }
          }
        }
      }
    }
  }
  report("tiny shapes", tally);
}

// With k = 0 or alpha = 0 the null pointers of BLAS are legal for A and B, with m = 0 or n = 0 for C too.
TEST_P(Contract, NullPointersOfEmptyOperands) {
  with_scalar(GetParam(), [&]<class T>() {
    std::vector<T> c(6, T{3});
    EXPECT_TRUE(
        gemm<T>(Layout::kColMajor, Op::kNone, Op::kNone, 2, 3, 0, T{1}, nullptr, 2, nullptr, 1, T{2}, c.data(), 2)
            .ok());
    for (const T& x : c) EXPECT_EQ(x, T{6});
    EXPECT_TRUE(
        gemm<T>(Layout::kColMajor, Op::kNone, Op::kNone, 0, 3, 4, T{1}, nullptr, 1, nullptr, 4, T{2}, nullptr, 1).ok());
    EXPECT_TRUE(
        gemm<T>(Layout::kRowMajor, Op::kNone, Op::kNone, 3, 0, 4, T{1}, nullptr, 4, nullptr, 1, T{2}, nullptr, 1).ok());
  });
}

// Views may have any strides: every second row of a wider matrix, and B read backwards in neither direction.
TEST_P(Contract, StridedViews) {
  with_scalar(GetParam(), [&]<class T>() {
    const Case dense_case = parse("nn 5x4x9 A=randn B=randn");
    const std::vector<T> want = product_of<T>(dense_case);
    check::Operands<T> x(dense_case);
    const std::int64_t m = 5, n = 4, k = 9;
    std::vector<T> a(static_cast<std::size_t>(3 * m * k * 2)), b(static_cast<std::size_t>(2 * k * n * 3)),
        c(static_cast<std::size_t>(2 * m * 7 * n), T{9});
    const MatrixView<T> view_a{a.data(), m, k, 3, 3 * m * 2};
    const MatrixView<T> view_b{b.data(), k, n, 3 * n, 2};
    const MatrixView<T> view_c{c.data(), m, n, 2, 2 * m + 5};
    for (std::int64_t l = 0; l < k; ++l) {
      for (std::int64_t i = 0; i < m; ++i) view_a(i, l) = x.a.view()(i, l);
      for (std::int64_t j = 0; j < n; ++j) view_b(l, j) = x.b.view()(l, j);
    }
    const Status status = gemm<T>(T{1}, view_a, view_b, T{0}, view_c);
    ASSERT_TRUE(status.ok()) << status.reason();
    const check::Verdict verdict = check::bits_equal<T>(view_c, dense(want, m, n));
    EXPECT_TRUE(verdict) << verdict.message;
    std::int64_t untouched = 0;
    for (const T& value : c) untouched += value == T{9} ? 1 : 0;
    EXPECT_EQ(untouched, static_cast<std::int64_t>(c.size()) - m * n);
  });
}

}  // namespace
}  // namespace kizami::api_test
