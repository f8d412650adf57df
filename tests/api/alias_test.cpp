// SPDX-License-Identifier: MIT
// T5: what may share memory. A and B may be the same, C must share no element with either, and blocks of one array are
// different memory.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "api_case.hpp"
#include "check/matrix_classes.hpp"

namespace kizami::api_test {
namespace {

constexpr std::int64_t kN = 13;

std::vector<double> filled(std::int64_t rows, std::int64_t cols, std::uint64_t seed = 5) {
  std::vector<double> x(static_cast<std::size_t>(rows * cols));
  check::fill(check::default_spec(check::MatrixClass::kRandn), seed, check::Which::kA, dense(x, rows, cols));
  return x;
}

TEST(Alias, AAndBMayBeTheSameMemory) {
  const std::vector<double> a = filled(kN, kN);
  const std::vector<double> copy = a;
  for (const Op op_a : {Op::kNone, Op::kTranspose}) {
    for (const Op op_b : {Op::kNone, Op::kTranspose}) {
      std::vector<double> c(a.size()), want(a.size());
      ASSERT_TRUE(
          gemm<double>(Layout::kColMajor, op_a, op_b, kN, kN, kN, 1.0, a.data(), kN, a.data(), kN, 0.0, c.data(), kN)
              .ok());
      ASSERT_TRUE(gemm<double>(Layout::kColMajor, op_a, op_b, kN, kN, kN, 1.0, a.data(), kN, copy.data(), kN, 0.0,
                               want.data(), kN)
                      .ok());
      expect_same_bits(c, want, kN, kN, "A = B");
    }
  }
  EXPECT_EQ(a, copy);
}

// X X^T is symmetric bit for bit: both lines of a pair are the same numbers, and products commute.
TEST(Alias, SymmetricProductsAreSymmetric) {
  const std::vector<double> a = filled(kN, 70);
  std::vector<double> c(static_cast<std::size_t>(kN * kN));
  ASSERT_TRUE(gemm<double>(Layout::kColMajor, Op::kNone, Op::kTranspose, kN, kN, 70, 1.0, a.data(), kN, a.data(), kN,
                           0.0, c.data(), kN)
                  .ok());
  const MatrixView<const double> view = dense(std::as_const(c), kN, kN);
  const check::Verdict verdict = check::bits_equal<double>(view, view.transposed());
  EXPECT_TRUE(verdict) << verdict.message;
}

TEST(Alias, OverlappingCIsRefused) {
  std::vector<double> x = filled(40, 40);
  const std::vector<double> before = x;
  const std::vector<double> other = filled(10, 10, 6);
  const MatrixView<double> whole = dense(x, 40, 40);
  const auto expect_refused = [&](MatrixView<const double> a, MatrixView<const double> b, MatrixView<double> c,
                                  const char* what) {
    Outcome outcome;
    const Status status = gemm<double>(1.0, a, b, 0.0, c, {}, &outcome);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << what;
    EXPECT_EQ(status.reason(), "C overlaps an operand in memory, must be disjoint from A and B") << what;
    EXPECT_EQ(x, before) << what;
  };
  const MatrixView<const double> b = dense(other, 10, 10);
  expect_refused(whole.block(0, 0, 10, 10), b, whole.block(0, 0, 10, 10), "C = A");
  expect_refused(whole.block(0, 0, 10, 10), b, whole.block(9, 9, 10, 10), "one corner");
  expect_refused(whole.block(9, 0, 10, 10), b, whole.block(0, 9, 10, 10), "the other corner");
  expect_refused(b, whole.block(0, 0, 10, 10), whole.block(5, 0, 10, 10), "B");
  expect_refused(whole.block(0, 0, 10, 10).transposed(), b, whole.block(3, 3, 10, 10), "A transposed");
  expect_refused(whole.block(0, 0, 10, 10), b, MatrixView<double>{x.data() + 3, 10, 10, 41, 1}, "other strides");
}

// Blocks of one array with a common leading dimension: C beside, below or diagonal to A, elements interleaved in
// memory.
TEST(Alias, CBesideAInTheSameArray) {
  const std::vector<double> other = filled(10, 10, 6);
  const MatrixView<const double> b = dense(other, 10, 10);
  const struct {
    std::int64_t i, j;
    bool is_transposed;
  } places[] = {{10, 0, false}, {0, 10, false}, {10, 10, false}, {20, 5, true}, {30, 3, false}, {10, 0, true}};
  for (const auto& place : places) {
    std::vector<double> x = filled(40, 40);
    const std::vector<double> before = x;
    const MatrixView<double> whole = dense(x, 40, 40);
    MatrixView<const double> a = whole.block(0, 0, 10, 10);
    if (place.is_transposed) a = a.transposed();
    const MatrixView<double> c = whole.block(place.i, place.j, 10, 10);
    std::vector<double> want(100);
    ASSERT_TRUE(gemm<double>(1.0, a, b, 0.0, dense(want, 10, 10)).ok());
    const Status status = gemm<double>(1.0, a, b, 0.0, c);
    ASSERT_TRUE(status.ok()) << status.reason();
    const check::Verdict verdict = check::bits_equal<double>(c, dense(std::as_const(want), 10, 10));
    EXPECT_TRUE(verdict) << verdict.message;
    std::int64_t changed = 0;
    for (std::size_t t = 0; t < x.size(); ++t) changed += x[t] != before[t] ? 1 : 0;
    EXPECT_LE(changed, 100) << "elements outside C were written";
  }
}

}  // namespace
}  // namespace kizami::api_test
