// SPDX-License-Identifier: MIT
// The BLAS contract before any arithmetic: messages, quick returns, overlap.
#include "problem/problem.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <vector>

namespace kizami::problem {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

void expect_invalid(const Status& status, const std::string& reason) {
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(status.reason(), reason);
}

TEST(ValidateShape, NamesArgumentValueAndLimit) {
  EXPECT_TRUE(validate_shape(0, 0, 0).ok());
  EXPECT_TRUE(validate_shape(kMaxDimension, 1, 1).ok());
  expect_invalid(validate_shape(-1, 0, 0), "m = -1, must be >= 0");
  expect_invalid(validate_shape(0, -7, 0), "n = -7, must be >= 0");
  expect_invalid(validate_shape(0, 0, -2), "k = -2, must be >= 0");
  expect_invalid(validate_shape(kMaxDimension + 1, 0, 0), "m = 17179869184, must be <= 17179869183");
  EXPECT_NE(validate_shape(kMaxDimension, kMaxDimension, 1).reason().find("m * n = 17179869183 x 17179869183"),
            std::string::npos);
}

TEST(ValidateLeadingDimensions, FollowsBlas) {
  const auto check = [](Layout layout, Op a, Op b, std::int64_t lda, std::int64_t ldb, std::int64_t ldc) {
    return validate_leading_dimensions(layout, a, b, 4, 5, 6, lda, ldb, ldc);  // A 4 x 6, B 6 x 5, C 4 x 5
  };
  const Op n = Op::kNone;
  const Op t = Op::kTranspose;
  const Layout col = Layout::kColMajor;
  const Layout row = Layout::kRowMajor;
  EXPECT_TRUE(check(col, n, n, 4, 6, 4).ok());
  EXPECT_TRUE(check(col, t, t, 6, 5, 4).ok());
  EXPECT_TRUE(check(row, n, n, 6, 5, 5).ok());
  EXPECT_TRUE(check(row, t, t, 4, 6, 5).ok());
  expect_invalid(check(col, n, n, 3, 6, 4), "lda = 3, must be >= max(1, m) = 4");
  expect_invalid(check(col, t, n, 5, 6, 4), "lda = 5, must be >= max(1, k) = 6");
  expect_invalid(check(col, n, n, 4, 5, 4), "ldb = 5, must be >= max(1, k) = 6");
  expect_invalid(check(col, n, t, 4, 4, 4), "ldb = 4, must be >= max(1, n) = 5");
  expect_invalid(check(col, n, n, 4, 6, 3), "ldc = 3, must be >= max(1, m) = 4");
  expect_invalid(check(row, n, n, 5, 5, 5), "lda = 5, must be >= max(1, k) = 6");
  expect_invalid(check(row, n, n, 6, 5, 4), "ldc = 4, must be >= max(1, n) = 5");
  expect_invalid(validate_leading_dimensions(col, n, n, 0, 0, 0, 0, 1, 1), "lda = 0, must be >= max(1, m) = 1");
}

TEST(QuickReturn, CoversEveryCaseOfBlas) {
  EXPECT_EQ(quick_return(0, 5, 5, 1.0, 0.0), QuickReturn::kNothing);
  EXPECT_EQ(quick_return(5, 0, 5, 1.0, 0.0), QuickReturn::kNothing);
  EXPECT_EQ(quick_return(5, 5, 0, 1.0, 1.0), QuickReturn::kNothing);
  EXPECT_EQ(quick_return(5, 5, 0, 1.0, 0.0), QuickReturn::kScale);
  EXPECT_EQ(quick_return(5, 5, 5, 0.0, 2.0), QuickReturn::kScale);
  EXPECT_EQ(quick_return(5, 5, 5, 0.0, 1.0), QuickReturn::kNothing);
  EXPECT_EQ(quick_return(5, 5, 5, -0.0, 0.5), QuickReturn::kScale);
  EXPECT_EQ(quick_return(5, 5, 5, kNan, 1.0), QuickReturn::kNone);
  EXPECT_EQ(quick_return(1, 1, 1, 1.0, 0.0), QuickReturn::kNone);
}

TEST(ScaleMatrix, ZeroNeverReadsC) {
  std::vector<double> c(6, kNan);
  scale_matrix(0.0, blas_view(c.data(), 2, 2, 3));
  EXPECT_EQ(c[0], 0.0);
  EXPECT_EQ(c[1], 0.0);
  EXPECT_TRUE(std::isnan(c[2])) << "padding";
  EXPECT_EQ(c[3], 0.0);
  EXPECT_EQ(c[4], 0.0);
  EXPECT_TRUE(std::isnan(c[5])) << "padding";
  std::vector<double> d{1, 2, 3, 4};
  scale_matrix(-0.5, blas_view(d.data(), 2, 2, 2, Layout::kRowMajor));
  EXPECT_EQ(d, (std::vector<double>{-0.5, -1, -1.5, -2}));
}

TEST(ValidateOperand, NamesTheOperand) {
  std::vector<double> x(12);
  EXPECT_TRUE(validate_operand<double>("A", blas_view<const double>(x.data(), 3, 4, 3), 3, 4).ok());
  EXPECT_TRUE(validate_operand<double>("A", {nullptr, 0, 4, 1, 1}, 0, 4).ok());
  expect_invalid(validate_operand<double>("A", blas_view<const double>(x.data(), 3, 4, 3), 4, 3),
                 "A is 3 x 4, must be 4 x 3");
  expect_invalid(validate_operand<double>("B", {nullptr, 3, 4, 1, 3}, 3, 4), "B is null, must point to 3 x 4 elements");
  expect_invalid(validate_operand<double>("B", {x.data(), 3, 4, -1, 3}, 3, 4), "B has strides -1 and 3, must be >= 0");
  expect_invalid(validate_output<double>({x.data(), 3, 4, 1, 2}, 3, 4),
                 "C has strides 1 and 2, elements of a 3 x 4 matrix must not overlap");
  EXPECT_TRUE(validate_output<double>({x.data(), 3, 4, 4, 1}, 3, 4).ok());
  EXPECT_TRUE(validate_output<double>({x.data(), 1, 4, 0, 1}, 1, 4).ok()) << "the stride of one row does not matter";
}

std::set<const double*> elements(const MatrixView<const double>& v) {
  std::set<const double*> out;
  for (std::int64_t i = 0; i < v.rows; ++i) {
    for (std::int64_t j = 0; j < v.cols; ++j) out.insert(&v(i, j));
  }
  return out;
}

/// For blocks of one stored matrix the answer is exact: compared with the sets of elements, all blocks of a 5 x 6
/// matrix.
TEST(Overlaps, IsExactForBlocksOfOneMatrix) {
  std::vector<double> memory(30);
  const MatrixView<const double> whole = blas_view<const double>(memory.data(), 5, 6, 5);
  std::vector<MatrixView<const double>> blocks;
  for (std::int64_t i = 0; i < 5; i += 2) {
    for (std::int64_t j = 0; j < 6; j += 2) {
      for (std::int64_t rows = 1; rows <= 5 - i; ++rows) {
        for (std::int64_t cols = 1; cols <= 6 - j; ++cols) {
          blocks.push_back(whole.block(i, j, rows, cols));
          blocks.push_back(whole.block(i, j, rows, cols).transposed());
        }
      }
    }
  }
  for (const auto& x : blocks) {
    const std::set<const double*> of_x = elements(x);
    for (const auto& y : blocks) {
      bool shares = false;
      for (const double* p : elements(y)) shares = shares || of_x.count(p) != 0;
      ASSERT_EQ(overlaps(x, y), shares) << x.data - memory.data() << " " << x.rows << "x" << x.cols << " and "
                                        << y.data - memory.data() << " " << y.rows << "x" << y.cols;
    }
  }
}

TEST(Overlaps, EmptyAndDistantViewsDoNot) {
  std::vector<double> memory(40);
  const MatrixView<const double> x = blas_view<const double>(memory.data(), 3, 4, 3);
  EXPECT_FALSE(overlaps(x, blas_view<const double>(memory.data(), 0, 4, 3)));
  EXPECT_FALSE(overlaps(x, blas_view<const double>(memory.data() + 12, 3, 4, 3)));
  EXPECT_TRUE(overlaps(x, blas_view<const double>(memory.data() + 11, 3, 4, 3)));
  EXPECT_TRUE(overlaps(x, x));
}

}  // namespace
}  // namespace kizami::problem
