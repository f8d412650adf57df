// SPDX-License-Identifier: MIT
// The BLAS call as data: every refusal names argument, value and limit; quick returns by the rules of BLAS; overlap by
// sets of elements.
#include "problem/problem.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "problem/lines.hpp"
#include "tests/num/exact_numbers.hpp"

namespace kizami::problem {
namespace {

using tests::Rng;

void expect_refused(const Status& status, const std::vector<std::string>& parts) {
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << status.reason();
  for (const std::string& part : parts)
    EXPECT_NE(status.reason().find(part), std::string::npos) << '"' << status.reason() << "\" lacks " << part;
}

// ---- shapes and leading dimensions ----------------------------------------------------------------------------------

TEST(ValidateShape, NamesArgumentValueAndLimit) {
  EXPECT_TRUE(validate_shape(0, 0, 0).ok());
  EXPECT_TRUE(validate_shape(1, 1, kMaxDimension).ok());
  EXPECT_TRUE(validate_shape(kMaxDimension, 1, 1).ok());
  expect_refused(validate_shape(-1, 2, 3), {"m = -1", ">= 0"});
  expect_refused(validate_shape(2, -7, 3), {"n = -7", ">= 0"});
  expect_refused(validate_shape(2, 3, std::numeric_limits<std::int64_t>::min()), {"k = -9223372036854775808", ">= 0"});
  const std::int64_t large = kMaxDimension + 1;
  expect_refused(validate_shape(large, 1, 1), {"m = " + std::to_string(large), "<= " + std::to_string(kMaxDimension)});
  expect_refused(validate_shape(1, large, 1), {"n = " + std::to_string(large), "<= " + std::to_string(kMaxDimension)});
  expect_refused(validate_shape(1, 1, large), {"k = " + std::to_string(large), "<= " + std::to_string(kMaxDimension)});
  expect_refused(validate_shape(std::numeric_limits<std::int64_t>::max(), 1, 1), {"m = 9223372036854775807"});
}

TEST(ValidateShape, ElementCountsFit62Bits) {
  const std::int64_t max = kMaxDimension;  // 2^34 - 1
  const std::int64_t fits = std::int64_t{1} << 28;
  EXPECT_TRUE(validate_shape(max, 1, fits).ok());                                     // m k just below 2^62
  EXPECT_TRUE(validate_shape(std::int64_t{1} << 31, 0, std::int64_t{1} << 31).ok());  // exactly 2^62
  expect_refused(validate_shape(max, 1, fits + 1),
                 {"m * k = " + std::to_string(max) + " x " + std::to_string(fits + 1), "<= 2^62"});
  expect_refused(validate_shape(1, max, max),
                 {"k * n = " + std::to_string(max) + " x " + std::to_string(max), "<= 2^62"});
  expect_refused(validate_shape(max, max, 1),
                 {"m * n = " + std::to_string(max) + " x " + std::to_string(max), "<= 2^62"});
  EXPECT_TRUE(validate_shape(max, max, 0).code() == StatusCode::kInvalidArgument) << "C alone is too large";
}

TEST(ValidateLeadingDimensions, EveryLayoutAndOp) {
  const std::int64_t m = 5;
  const std::int64_t n = 7;
  const std::int64_t k = 11;
  struct Row {
    Layout layout;
    Op op_a, op_b;
    const char *name_a, *name_b, *name_c;
    std::int64_t lda, ldb, ldc;
  };
  const Row rows[] = {
      {Layout::kColMajor, Op::kNone, Op::kNone, "m", "k", "m", m, k, m},
      {Layout::kColMajor, Op::kTranspose, Op::kNone, "k", "k", "m", k, k, m},
      {Layout::kColMajor, Op::kNone, Op::kTranspose, "m", "n", "m", m, n, m},
      {Layout::kColMajor, Op::kTranspose, Op::kTranspose, "k", "n", "m", k, n, m},
      {Layout::kRowMajor, Op::kNone, Op::kNone, "k", "n", "n", k, n, n},
      {Layout::kRowMajor, Op::kTranspose, Op::kNone, "m", "n", "n", m, n, n},
      {Layout::kRowMajor, Op::kNone, Op::kTranspose, "k", "k", "n", k, k, n},
      {Layout::kRowMajor, Op::kTranspose, Op::kTranspose, "m", "k", "n", m, k, n},
  };
  for (const Row& r : rows) {
    const auto check = [&](std::int64_t lda, std::int64_t ldb, std::int64_t ldc) {
      return validate_leading_dimensions(r.layout, r.op_a, r.op_b, m, n, k, lda, ldb, ldc);
    };
    EXPECT_TRUE(check(r.lda, r.ldb, r.ldc).ok());
    EXPECT_TRUE(check(r.lda + 3, r.ldb + 1, r.ldc + 100).ok());
    const auto limit = [](const char* name, std::int64_t value) {
      return "max(1, " + std::string(name) + ") = " + std::to_string(value);
    };
    expect_refused(check(r.lda - 1, r.ldb, r.ldc), {"lda = " + std::to_string(r.lda - 1), limit(r.name_a, r.lda)});
    expect_refused(check(r.lda, r.ldb - 1, r.ldc), {"ldb = " + std::to_string(r.ldb - 1), limit(r.name_b, r.ldb)});
    expect_refused(check(r.lda, r.ldb, r.ldc - 1), {"ldc = " + std::to_string(r.ldc - 1), limit(r.name_c, r.ldc)});
    expect_refused(check(-5, -6, -7), {"lda = -5"});  // the first of several, as in BLAS
  }
  for (const Layout layout : {Layout::kColMajor, Layout::kRowMajor}) {
    EXPECT_TRUE(validate_leading_dimensions(layout, Op::kNone, Op::kNone, 0, 0, 0, 1, 1, 1).ok());
    expect_refused(validate_leading_dimensions(layout, Op::kNone, Op::kNone, 0, 0, 0, 0, 1, 1), {"lda = 0", "= 1"});
    expect_refused(validate_leading_dimensions(layout, Op::kNone, Op::kNone, 0, 0, 0, 1, 0, 1), {"ldb = 0", "= 1"});
    expect_refused(validate_leading_dimensions(layout, Op::kNone, Op::kNone, 0, 0, 0, 1, 1, 0), {"ldc = 0", "= 1"});
  }
}

// ---- quick returns --------------------------------------------------------------------------------------------------

template <class T>
void expect_quick_returns() {
  const T nan = std::numeric_limits<T>::quiet_NaN();
  for (const std::int64_t m : {0, 1, 5}) {
    for (const std::int64_t n : {0, 1, 5}) {
      for (const std::int64_t k : {0, 1, 5}) {
        for (const T alpha : {T{0}, -T{0}, T{1}, T{2}, nan}) {
          for (const T beta : {T{0}, -T{0}, T{1}, T{3}, nan}) {
            const QuickReturn got = quick_return(m, n, k, alpha, beta);
            const bool has_product = alpha != 0 && k > 0;
            const QuickReturn want = m * n == 0    ? QuickReturn::kNothing
                                     : has_product ? QuickReturn::kNone
                                     : beta == 1   ? QuickReturn::kNothing
                                                   : QuickReturn::kScale;
            ASSERT_EQ(static_cast<int>(got), static_cast<int>(want))
                << m << ' ' << n << ' ' << k << ' ' << alpha << ' ' << beta;
          }
        }
      }
    }
  }
}
TEST(QuickReturn, ByTheRulesOfBlas) {
  expect_quick_returns<float>();
  expect_quick_returns<double>();
}

template <class T>
void expect_scaled() {
  const T nan = std::numeric_limits<T>::quiet_NaN();
  const T inf = std::numeric_limits<T>::infinity();
  for (const bool by_cols : {true, false}) {
    for (const T beta : {T{0}, -T{0}, T{-1}, T(0.3), inf, nan}) {
      std::vector<T> memory(40, T{77});
      const MatrixView<T> c =
          by_cols ? MatrixView<T>{memory.data() + 2, 3, 5, 1, 6} : MatrixView<T>{memory.data() + 2, 5, 3, 6, 1};
      const T values[] = {
          T{1}, T{0}, -T{2}, nan, inf, -inf, std::numeric_limits<T>::max(), std::numeric_limits<T>::denorm_min()};
      std::vector<T> want = memory;
      for (std::int64_t i = 0; i < c.rows; ++i) {
        for (std::int64_t j = 0; j < c.cols; ++j) {
          c(i, j) = values[static_cast<std::size_t>(3 * i + j) % 8];
          want[static_cast<std::size_t>(&c(i, j) - memory.data())] = beta == 0 ? T{0} : beta * c(i, j);
        }
      }
      scale_matrix(beta, c);
      for (std::size_t at = 0; at < memory.size(); ++at) {
        ASSERT_TRUE(memory[at] == want[at] || (std::isnan(memory[at]) && std::isnan(want[at])))
            << at << ", beta = " << beta;
        ASSERT_TRUE(beta != 0 || !std::signbit(memory[at])) << "beta = 0 writes +0";
      }
    }
  }
}
TEST(ScaleMatrix, EveryElementAndNoOther) {
  expect_scaled<float>();
  expect_scaled<double>();
}

// ---- views ----------------------------------------------------------------------------------------------------------

TEST(ValidateOperand, NamesOperandValueAndLimit) {
  std::vector<double> memory(100);
  const auto view = [&](std::int64_t rows, std::int64_t cols, std::int64_t rs, std::int64_t cs) {
    return MatrixView<const double>{memory.data(), rows, cols, rs, cs};
  };
  EXPECT_TRUE(validate_operand<double>("A", view(3, 4, 1, 3), 3, 4).ok());
  EXPECT_TRUE(validate_operand<double>("A", view(3, 4, 0, 0), 3, 4).ok()) << "an operand may repeat one element";
  expect_refused(validate_operand<double>("A", view(3, 4, 1, 3), 4, 3), {"A is 3 x 4", "must be 4 x 3"});
  expect_refused(validate_operand<double>("B", view(3, 4, 1, 3), 3, 5), {"B is 3 x 4", "must be 3 x 5"});
  expect_refused(validate_operand<double>("B", view(-1, 4, 1, 3), 0, 4), {"B is -1 x 4", "must be 0 x 4"});
  expect_refused(validate_operand<double>("A", MatrixView<const double>{nullptr, 3, 4, 1, 3}, 3, 4),
                 {"A is null", "3 x 4 elements"});
  EXPECT_TRUE(validate_operand<double>("A", MatrixView<const double>{nullptr, 0, 4, 1, 3}, 0, 4).ok());
  EXPECT_TRUE(validate_operand<double>("A", MatrixView<const double>{nullptr, 4, 0, 1, 3}, 4, 0).ok());
  expect_refused(validate_operand<double>("A", view(3, 4, -1, 3), 3, 4), {"A has strides -1 and 3", ">= 0"});
  expect_refused(validate_operand<double>("A", view(3, 4, 1, -3), 3, 4), {"A has strides 1 and -3", ">= 0"});
  const std::int64_t far = std::int64_t{1} << 58;  // beyond it bytes leave 64 bits: 16 for an element
  EXPECT_TRUE(validate_operand<double>("A", view(1, 4, INT64_MAX, 3), 1, 4).ok()) << "one row has no next row";
  EXPECT_TRUE(validate_operand<double>("A", view(2, 2, 1, far - 1), 2, 2).ok());
  expect_refused(validate_operand<double>("A", view(2, 2, 1, far), 2, 2), {"strides 1 and 288230376151711744", "2^58"});
  expect_refused(validate_operand<double>("B", view(3, 4, INT64_MAX, INT64_MAX), 3, 4),
                 {"B has strides 9223372036854775807", "3 x 4", "2^58"});
}

template <class T>
std::vector<std::int64_t> offsets_of(const MatrixView<T>& v) {
  std::vector<std::int64_t> offsets;
  for (std::int64_t i = 0; i < v.rows; ++i) {
    for (std::int64_t j = 0; j < v.cols; ++j) offsets.push_back(i * v.row_stride + j * v.col_stride);
  }
  return offsets;
}

/// Accepted views have distinct elements; every view of BLAS is accepted, and every refusal of a view whose elements do
/// coincide says so.
TEST(ValidateOutput, AcceptedMeansDistinct) {
  std::vector<double> memory(400);
  for (std::int64_t rows = 1; rows <= 5; ++rows) {
    for (std::int64_t cols = 1; cols <= 5; ++cols) {
      for (std::int64_t rs = 0; rs <= 12; ++rs) {
        for (std::int64_t cs = 0; cs <= 12; ++cs) {
          const MatrixView<double> c{memory.data(), rows, cols, rs, cs};
          const auto offsets = offsets_of(c);
          const bool is_distinct = std::set<std::int64_t>(offsets.begin(), offsets.end()).size() == offsets.size();
          const Status status = validate_output(c, rows, cols);
          if (status.ok()) {
            ASSERT_TRUE(is_distinct) << rows << " x " << cols << ", strides " << rs << ", " << cs;
          } else {
            expect_refused(status, {"C has strides " + std::to_string(rs) + " and " + std::to_string(cs),
                                    std::to_string(rows) + " x " + std::to_string(cols)});
          }
          const bool is_blas = (rs == 1 && cs >= rows) || (cs == 1 && rs >= cols);
          ASSERT_TRUE(!is_blas || status.ok());
        }
      }
    }
  }
  expect_refused(validate_output(MatrixView<double>{memory.data(), 3, 4, 1, 3}, 3, 5), {"C is 3 x 4", "must be 3 x 5"});
  expect_refused(validate_output(MatrixView<double>{nullptr, 3, 4, 1, 3}, 3, 4), {"C is null"});
}

// ---- overlap --------------------------------------------------------------------------------------------------------

/// overlaps() against sets of elements: never misses an overlap, and is exact for blocks of one stored matrix.
template <class T>
void expect_overlap(const std::vector<T>& memory, MatrixView<const T> x, std::int64_t x_at, MatrixView<const T> y,
                    std::int64_t y_at, bool is_exact) {
  x.data = memory.data() + x_at;
  y.data = memory.data() + y_at;
  std::set<std::int64_t> elements;
  for (const std::int64_t o : offsets_of(x)) elements.insert(x_at + o);
  bool shares = false;
  for (const std::int64_t o : offsets_of(y)) shares = shares || elements.contains(y_at + o);
  const bool got = overlaps(x, y);
  const auto text = [](const MatrixView<const T>& v, std::int64_t at) {
    return std::to_string(v.rows) + " x " + std::to_string(v.cols) + " strides " + std::to_string(v.row_stride) + ", " +
           std::to_string(v.col_stride) + " at " + std::to_string(at);
  };
  ASSERT_TRUE(!shares || got) << "missed: " << text(x, x_at) << " and " << text(y, y_at);
  if (is_exact) {
    ASSERT_EQ(got, shares) << text(x, x_at) << " and " << text(y, y_at);
  }
  ASSERT_EQ(overlaps(y, x), got) << "symmetric";
}

TEST(Overlaps, ExactForBlocksOfOneStoredMatrix) {
  const std::vector<double> memory(400);
  for (const std::int64_t ld : {1, 2, 3, 5, 7}) {
    for (std::int64_t rows = 1; rows <= std::min<std::int64_t>(ld, 4); ++rows) {
      for (std::int64_t cols = 1; cols <= 4; ++cols) {
        for (std::int64_t other_rows = 1; other_rows <= std::min<std::int64_t>(ld, 3); ++other_rows) {
          for (std::int64_t other_cols = 1; other_cols <= 3; ++other_cols) {
            for (std::int64_t at = 60 - 5 * ld; at <= 60 + 5 * ld; ++at) {
              for (int transposed = 0; transposed < 4; ++transposed) {
                MatrixView<const double> x{nullptr, rows, cols, 1, ld};
                MatrixView<const double> y{nullptr, other_rows, other_cols, 1, ld};
                if ((transposed & 1) != 0) x = x.transposed();
                if ((transposed & 2) != 0) y = y.transposed();
                expect_overlap(memory, x, 60, y, at, true);
                if (HasFatalFailure()) return;
              }
            }
          }
        }
      }
    }
  }
}

/// Any strides, zero included, any one-row and one-column views with whatever stride they carry: no overlap is missed.
TEST(Overlaps, NeverMissesOne) {
  Rng rng(1);
  const std::vector<float> memory(1000);
  for (int i = 0; i < tests::cases(200000); ++i) {
    const auto random_view = [&] {
      MatrixView<const float> v{nullptr, tests::random_int(rng, 1, 6), tests::random_int(rng, 1, 6),
                                tests::random_int(rng, 0, 8), tests::random_int(rng, 0, 8)};
      if (rng() % 2 == 0) v.row_stride = 1;
      if (rng() % 4 == 0) v.cols = 1;
      if (rng() % 8 == 0) v.rows = 1;
      return v;
    };
    const MatrixView<const float> x = random_view();
    MatrixView<const float> y = random_view();
    if (rng() % 2 == 0) {
      y.row_stride = x.row_stride;
      y.col_stride = x.col_stride;
    }
    expect_overlap(memory, x, 200, y, 200 + tests::random_int(rng, -60, 60), false);
    if (HasFatalFailure()) return;
  }
}

TEST(Overlaps, EmptyViewsOverlapNothing) {
  const std::vector<double> memory(10);
  const MatrixView<const double> x{memory.data(), 2, 2, 1, 2};
  for (const auto& empty : {MatrixView<const double>{memory.data(), 0, 2, 1, 2},
                            MatrixView<const double>{memory.data(), 2, 0, 1, 2}, MatrixView<const double>{}}) {
    EXPECT_FALSE(overlaps(x, empty));
    EXPECT_FALSE(overlaps(empty, x));
  }
  EXPECT_TRUE(overlaps(x, x));
}

// ---- lines ----------------------------------------------------------------------------------------------------------

TEST(Lines, RowsOfAAndColumnsOfB) {
  std::vector<double> memory(60);
  for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<double>(i);
  const MatrixView<const double> op{memory.data(), 3, 5, 2, 7};
  const Lines<double> a = lines_of(Side::kA, op);
  const Lines<double> b = lines_of(Side::kB, op);
  EXPECT_EQ(a.num_lines, 3);
  EXPECT_EQ(a.length, 5);
  EXPECT_EQ(b.num_lines, 5);
  EXPECT_EQ(b.length, 3);
  for (std::int64_t i = 0; i < 3; ++i) {
    for (std::int64_t j = 0; j < 5; ++j) {
      EXPECT_EQ(a.term(i, j), op(i, j));
      EXPECT_EQ(b.term(j, i), op(i, j));
      EXPECT_EQ(a.subset(i, 3 - i).term(0, j), op(i, j));
    }
  }
}

template <class T>
void expect_tiles() {
  for (const bool is_inner_contiguous : {true, false}) {
    const std::int64_t num_lines = 20;
    const std::int64_t length = 700;
    std::vector<T> memory(static_cast<std::size_t>(num_lines * (length + 1)));
    for (std::size_t at = 0; at < memory.size(); ++at) memory[at] = static_cast<T>(at % 9973) / 8;
    const Lines<T> lines = is_inner_contiguous ? Lines<T>{memory.data(), num_lines, length, length + 1, 1}
                                               : Lines<T>{memory.data(), num_lines, length, 1, num_lines + 1};
    for (const std::int64_t count : {1, 7, 16}) {
      for (const std::int64_t part : {1, 100, 512}) {
        std::vector<double> tile(kTileLines * kTileLength, -1);
        load_tile(lines, 3, count, 50, part, tile.data());
        for (std::int64_t a = 0; a < kTileLines; ++a) {
          for (std::int64_t b = 0; b < kTileLength; ++b) {
            const double want = a < count && b < part ? lines.term(3 + a, 50 + b) : -1;
            ASSERT_EQ(tile[static_cast<std::size_t>(a * kTileLength + b)], want);
          }
        }
      }
    }
  }
}
TEST(Lines, TilesHoldTheElementsAndNothingElseIsTouched) {
  expect_tiles<float>();
  expect_tiles<double>();
}

}  // namespace
}  // namespace kizami::problem
