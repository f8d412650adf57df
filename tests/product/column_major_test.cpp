// SPDX-License-Identifier: MIT
// Views as cuBLAS takes them: the product in its terms is the product of the views, element by element.
#include "product/column_major.hpp"

#include <gtest/gtest.h>

#include <complex>
#include <cstdint>
#include <string>
#include <vector>

namespace kizami::product {
namespace {

using C = std::complex<double>;

/// C = left right as a column-major BLAS would compute it.
void multiply(const ColumnMajorForm& f, const C* left, const C* right, C* c) {
  const auto element = [](const C* x, Op op, std::int64_t ld, std::int64_t i, std::int64_t j) {
    if (op == Op::kNone) return x[i + j * ld];
    return op == Op::kTranspose ? x[j + i * ld] : std::conj(x[j + i * ld]);
  };
  for (std::int64_t j = 0; j < f.n; ++j) {
    for (std::int64_t i = 0; i < f.m; ++i) {
      C sum = 0;
      for (std::int64_t h = 0; h < f.k; ++h)
        sum += element(left, f.op_left, f.ld_left, i, h) * element(right, f.op_right, f.ld_right, h, j);
      c[i + j * f.ld_c] = sum;
    }
  }
}

/// rows x cols of memory, by columns or rows, `gap` more than the least leading dimension.
template <class T>
MatrixView<T> view_of(T* data, std::int64_t rows, std::int64_t cols, bool by_columns, std::int64_t gap) {
  return by_columns ? MatrixView<T>{data, rows, cols, 1, rows + gap} : MatrixView<T>{data, rows, cols, cols + gap, 1};
}

TEST(ColumnMajorForm, IsTheProductOfTheViews) {
  std::vector<C> a_memory(200), b_memory(200);
  for (std::size_t i = 0; i < 200; ++i) {  // integers: sums are exact
    a_memory[i] = {static_cast<double>(i * 7 % 23), static_cast<double>(i * 5 % 19) - 9};
    b_memory[i] = {static_cast<double>(i * 3 % 17) - 8, static_cast<double>(i * 11 % 29)};
  }
  int num_forms = 0, num_refused = 0;
  for (const std::int64_t m : {1, 4}) {
    for (const std::int64_t n : {1, 5}) {
      for (const std::int64_t k : {1, 3}) {
        for (int bits = 0; bits < 64; ++bits) {
          const std::int64_t gap = bits / 32 * 2;
          MatrixView<const C> a = view_of<const C>(a_memory.data(), m, k, bits % 2 == 0, gap);
          MatrixView<const C> b = view_of<const C>(b_memory.data(), k, n, bits / 2 % 2 == 0, gap);
          a.is_conjugated = bits / 8 % 2 == 1;
          b.is_conjugated = bits / 16 % 2 == 1;
          std::vector<C> want(200), got(200);
          const MatrixView<C> c = view_of(got.data(), m, n, bits / 4 % 2 == 0, gap);
          const MatrixView<C> c_want = view_of(want.data(), m, n, bits / 4 % 2 == 0, gap);
          const auto form = column_major_form<C>(a, b, c);
          if (!form.ok()) {
            EXPECT_EQ(form.status().code(), StatusCode::kUnsupported);
            EXPECT_NE(form.status().reason().find("conjugated and not transposed"), std::string::npos);
            EXPECT_TRUE(a.is_conjugated || b.is_conjugated);
            ++num_refused;
            continue;
          }
          ++num_forms;
          const bool is_exchanged = form.value().is_exchanged;
          multiply(form.value(), is_exchanged ? b.data : a.data, is_exchanged ? a.data : b.data, got.data());
          const auto element = [](const MatrixView<const C>& v, std::int64_t i, std::int64_t j) {
            return v.is_conjugated ? std::conj(v(i, j)) : v(i, j);
          };
          for (std::int64_t i = 0; i < m; ++i) {
            for (std::int64_t j = 0; j < n; ++j) {
              for (std::int64_t h = 0; h < k; ++h) c_want(i, j) += element(a, i, h) * element(b, h, j);
            }
          }
          EXPECT_EQ(got, want) << m << " x " << n << " x " << k << ", bits " << bits;
          // What BLAS demands of leading dimensions.
          const ColumnMajorForm& f = form.value();
          EXPECT_GE(f.ld_left, f.op_left == Op::kNone ? f.m : f.k);
          EXPECT_GE(f.ld_right, f.op_right == Op::kNone ? f.k : f.n);
          EXPECT_GE(f.ld_c, f.m);
        }
      }
    }
  }
  EXPECT_GT(num_forms, 100);
  EXPECT_GT(num_refused, 50);
}

/// A row of C is stored by columns and by rows, and only as the latter lets cuBLAS conjugate A.
TEST(ColumnMajorForm, TakesEitherOrientationOfARow) {
  std::vector<C> x(400);
  const MatrixView<const C> a{x.data(), 1, 7, 1, 4, true};
  const MatrixView<const C> b{x.data(), 7, 29, 32, 1};
  const auto form = column_major_form<C>(a, b, {x.data(), 1, 29, 32, 1});
  ASSERT_TRUE(form.ok()) << form.status().reason();
  EXPECT_TRUE(form.value().is_exchanged);
  EXPECT_EQ(form.value().op_right, Op::kConjTranspose);
  EXPECT_EQ(form.value().op_left, Op::kNone);
  EXPECT_EQ(form.value().ld_right, 4);
}

TEST(ColumnMajorForm, RefusesOtherStrides) {
  std::vector<double> x(100);
  const MatrixView<const double> good{x.data(), 3, 3, 1, 3};
  for (const MatrixView<const double>& bad :
       {MatrixView<const double>{x.data(), 3, 3, 2, 6}, MatrixView<const double>{x.data(), 3, 3, 1, 2},
        MatrixView<const double>{x.data(), 3, 3, 0, 1}}) {
    for (int which = 0; which < 3; ++which) {
      const auto form =
          column_major_form<double>(which == 0 ? bad : good, which == 1 ? bad : good, which == 2 ? bad : good);
      ASSERT_FALSE(form.ok());
      EXPECT_EQ(form.status().code(), StatusCode::kUnsupported);
      const std::string name(1, "ABC"[which]);
      EXPECT_NE(form.status().reason().find(name + " has strides"), std::string::npos) << form.status().reason();
    }
  }
}

TEST(ColumnMajorForm, OfRealTypesIgnoresConjugation) {
  std::vector<float> x(9);
  MatrixView<const float> v{x.data(), 3, 3, 1, 3};
  v.is_conjugated = true;
  const auto form = column_major_form<float>(v, v, {x.data(), 3, 3, 1, 3});
  ASSERT_TRUE(form.ok()) << form.status().reason();
  EXPECT_EQ(form.value(), (ColumnMajorForm{false, Op::kNone, Op::kNone, 3, 3, 3, 3, 3, 3}));
}

}  // namespace
}  // namespace kizami::product
