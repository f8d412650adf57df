// SPDX-License-Identifier: MIT
// A call taken apart by halves, each part done by the routine's definition, is the call done by it: on small integers,
// with which every sum is exact, so by ==. And which parts these are, in which order, for that decides bits.
#include "dropin/level3/halves.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <complex>
#include <random>
#include <sstream>
#include <string>
#include <vector>

namespace kizami::dropin::level3 {
namespace {

using Complex = std::complex<double>;

bool is_in_triangle(const Shape& x, std::int64_t i, std::int64_t j) { return x.uplo == 'L' ? i >= j : i <= j; }

template <class T>
T element(const Operand<T>& x, std::int64_t i, std::int64_t j) {
  return x.op == 'C' ? conjugate(*x.at(i, j)) : *x.at(i, j);
}

/// What op(A) of trmm or trsm is, of whose A one triangle is read.
template <class T>
T element_of_a(const TypedCall<T>& x, std::int64_t i, std::int64_t j) {
  if (i == j && x.diag == 'U') return T{1};
  const bool is_stored = x.op_a == 'N' ? is_in_triangle(x, i, j) : is_in_triangle(x, j, i);
  return is_stored ? element(Operand<T>{x.op_a, x.a, x.lda}, i, j) : T{};
}

/// Element (i, j) of op(A) op(B)'; all leading dimensions are the same.
template <class T>
T rank_k_at(const TypedCall<T>& x, const T* a, const T* b, std::int64_t i, std::int64_t j) {
  T sum{};
  for (std::int64_t p = 0; p < x.k; ++p) {
    const T right = element(Operand<T>{x.op_a, b, x.lda}, j, p);
    sum += element(Operand<T>{x.op_a, a, x.lda}, i, p) * (is_hermitian(x.routine) ? conjugate(right) : right);
  }
  return sum;
}

/// Element (i, j) of the products of the call, times alpha.
template <class T>
T products_at(const TypedCall<T>& x, std::int64_t i, std::int64_t j) {
  if (is_rank_k(x.routine)) return x.alpha * rank_k_at(x, x.a, x.a, i, j);
  if (is_rank_kx(x.routine)) return x.alpha * rank_k_at(x, x.a, x.b, i, j);
  if (is_rank_2k(x.routine)) {
    const T second = is_hermitian(x.routine) ? conjugate(x.alpha) : x.alpha;
    return x.alpha * rank_k_at(x, x.a, x.b, i, j) + second * rank_k_at(x, x.b, x.a, i, j);
  }
  const Operand<T> a{x.op_a, x.a, x.lda};
  const Operand<T> b{x.op_b, x.b, x.ldb};
  T sum{};
  for (std::int64_t p = 0; p < x.k; ++p) {
    sum += x.routine == Routine::kGemm ? element(a, i, p) * element(b, p, j)
           : x.side == 'L'             ? element_of_a(x, i, p) * element(b, p, j)
                                       : element(b, i, p) * element_of_a(x, p, j);
  }
  return x.alpha * sum;
}

/// C <- X with op(A) X = alpha C, or X op(A) = alpha C. @range ones on the diagonal of A
template <class T>
void substitute(const TypedCall<T>& x) {
  const bool is_left = x.side == 'L';
  const bool is_forward = ((x.uplo == 'L') == (x.op_a == 'N')) == is_left;
  for (std::int64_t line = 0; line < (is_left ? x.n : x.m); ++line) {
    const auto at = [&](std::int64_t i) -> T& { return is_left ? x.c[i + line * x.ldc] : x.c[line + i * x.ldc]; };
    for (std::int64_t step = 0; step < x.k; ++step) {
      const std::int64_t i = is_forward ? step : x.k - 1 - step;
      at(i) *= x.alpha;
      for (std::int64_t p = 0; p < x.k; ++p)
        if (p != i) at(i) -= (is_left ? element_of_a(x, i, p) : element_of_a(x, p, i)) * at(p);
    }
  }
}

/// The call by the definition of its routine, element by element.
template <class T>
void compute(const TypedCall<T>& x) {
  if (x.routine == Routine::kTrsm) return substitute(x);
  std::vector<T> products;
  for (std::int64_t j = 0; j < x.n; ++j)
    for (std::int64_t i = 0; i < x.m; ++i) products.push_back(products_at(x, i, j));
  for (std::int64_t j = 0; j < x.n; ++j) {
    for (std::int64_t i = 0; i < x.m; ++i) {
      if (has_triangle(x.routine) && !is_in_triangle(x, i, j)) continue;
      T& c = x.c[i + j * x.ldc];
      c = products[static_cast<std::size_t>(i + j * x.m)] + (x.beta == T{} ? T{} : x.beta * c);
    }
  }
}

/// Small integers. @shape order and other side of A, B and C as the shape says, in leading dimensions larger than that
template <class T>
class Problem {
 public:
  explicit Problem(const Shape& shape) : source_(5) {
    static_cast<Shape&>(call) = shape;
    const std::int64_t size = std::max({shape.m, shape.n, shape.k}) + 3;
    for (std::vector<T>* matrix : {&a_, &b_, &c_}) {
      for (std::int64_t i = 0; i < size * size; ++i) matrix->push_back(number());
    }
    if (shape.routine == Routine::kTrsm)
      for (std::int64_t i = 0; i < shape.k; ++i) a_[static_cast<std::size_t>(i * (size + 1))] = T{1};
    call.alpha = shape.routine == Routine::kHerk ? T{2} : T{2} + number();
    call.beta = is_hermitian(shape.routine) ? T{-1} : is_triangular(shape.routine) ? T{} : number();
    call.a = a_.data();
    call.b = is_rank_k(shape.routine) || shape.routine == Routine::kTrsm ? nullptr : b_.data();
    call.c = c_.data();
    call.lda = call.ldb = call.ldc = size;
  }
  Problem(const Problem&) = delete;
  Problem& operator=(const Problem&) = delete;

  TypedCall<T> call;

  [[nodiscard]] const std::vector<T>& c() const { return c_; }
  [[nodiscard]] std::vector<T> expected() const {
    std::vector<T> c = c_;
    TypedCall<T> x = call;
    x.c = c.data();
    compute(x);
    return c;
  }

 private:
  T number() {
    const auto draw = [&] { return static_cast<double>(static_cast<int>(source_() % 5) - 2); };
    if constexpr (kIsComplex<T>) {
      const double re = draw();
      return {re, draw()};
    } else {
      return draw();
    }
  }
  std::mt19937 source_;
  std::vector<T> a_, b_, c_;
};

std::int64_t num_blocks(std::int64_t order, std::int64_t block) {
  return order <= block ? 1 : num_blocks(order / 2, block) + num_blocks(order - order / 2, block);
}

/// Does the parts, and counts them.
template <class T>
void check(Problem<T>& problem, std::int64_t block) {
  const TypedCall<T>& x = problem.call;
  SCOPED_TRACE(std::string(to_string(x.routine)) + " " + options_of(x) + ", block " + std::to_string(block));
  const std::vector<T> expected = problem.expected();
  std::int64_t products = 0;
  std::int64_t blocks = 0;
  by_halves(x, block, [&](const TypedCall<T>& part) {
    (part.routine == Routine::kGemm ? products : blocks) += 1;
    if (part.routine != Routine::kGemm) {
      EXPECT_EQ(part.routine, x.routine);
      EXPECT_LE(order_of(part), block);
    }
    compute(part);
  });
  EXPECT_EQ(problem.c(), expected);
  EXPECT_EQ(blocks, num_blocks(order_of(x), block));
  EXPECT_EQ(products, (blocks - 1) * (is_rank_2k(x.routine) ? 2 : 1));
}

/// Orders from 1 on, and blocks from one row to more than all.
template <class T>
void check_sizes(Shape shape) {
  for (const std::int64_t order : {1, 2, 5, 11}) {
    shape.m = shape.n = 4;
    shape.k = order;
    if (has_triangle(shape.routine)) {
      shape.m = shape.n = order;
      shape.k = 3;
    } else {
      (shape.side == 'L' ? shape.m : shape.n) = order;
    }
    for (const std::int64_t block : {1, 3, 12}) {
      Problem<T> problem(shape);
      check(problem, block);
      if (shape.routine != Routine::kTrmm) continue;
      Problem<T> in_place(shape);
      in_place.call.b = in_place.call.c;
      in_place.call.ldb = in_place.call.ldc;
      // The definition reads all of B before it writes C, so B may be C there, too: expected() has B as it was.
      check(in_place, block);
    }
  }
}

template <class T>
void check_options(Routine routine, const std::string& ops) {
  const bool has_side = is_triangular(routine);
  for (const char side : std::string(has_side ? "LR" : "L")) {
    for (const char uplo : {'L', 'U'}) {
      for (const char op : ops) {
        for (const char diag : std::string(has_side ? "NU" : "N")) {
          Shape shape;
          shape.routine = routine;
          shape.side = side;
          shape.uplo = uplo;
          shape.op_a = op;
          shape.op_b = has_side ? 'N' : op;
          shape.diag = diag;
          check_sizes<T>(shape);
        }
      }
    }
  }
}

TEST(Halves, RankUpdates) {
  for (const Routine routine : {Routine::kSyrk, Routine::kSyrkx, Routine::kSyr2k}) {
    check_options<double>(routine, "NTC");
    check_options<Complex>(routine, "NT");
  }
  for (const Routine routine : {Routine::kHerk, Routine::kHerkx, Routine::kHer2k})
    check_options<Complex>(routine, "NC");
}

TEST(Halves, TriangularProductsAlsoInPlace) {
  check_options<double>(Routine::kTrmm, "NTC");
  check_options<Complex>(Routine::kTrmm, "NTC");
}

TEST(Halves, Solutions) {
  check_options<double>(Routine::kTrsm, "NTC");
  check_options<Complex>(Routine::kTrsm, "NTC");
}

/// "trsm 2x9 at 1,0; gemm 4x9x3 at 3,0": m x n, of products m x n x k, and where it begins in C.
std::string parts_of(const Shape& shape, std::int64_t block) {
  const Problem<double> problem(shape);
  std::ostringstream text;
  by_halves(problem.call, block, [&](const TypedCall<double>& part) {
    const std::int64_t offset = part.c - problem.call.c;
    if (text.tellp() > 0) text << "; ";
    text << to_string(part.routine) << " " << part.m << "x" << part.n;
    if (part.routine == Routine::kGemm) text << "x" << part.k;
    text << " at " << offset % part.ldc << "," << offset / part.ldc;
  });
  return text.str();
}

TEST(Halves, ThePartsAndTheirOrder) {
  // The first half is the smaller one of an odd order: 7 = 3 + 4, 3 = 1 + 2.
  Shape shape;
  shape.uplo = 'L';
  shape.m = shape.k = 7;
  shape.n = 9;
  shape.routine = Routine::kTrsm;
  EXPECT_EQ(parts_of(shape, 2),
            "trsm 1x9 at 0,0; gemm 2x9x1 at 1,0; trsm 2x9 at 1,0; gemm 4x9x3 at 3,0; "
            "trsm 2x9 at 3,0; gemm 2x9x2 at 5,0; trsm 2x9 at 5,0");
  shape.routine = Routine::kTrmm;
  EXPECT_EQ(parts_of(shape, 2),
            "trmm 2x9 at 5,0; gemm 2x9x2 at 5,0; trmm 2x9 at 3,0; gemm 4x9x3 at 3,0; "
            "trmm 2x9 at 1,0; gemm 2x9x1 at 1,0; trmm 1x9 at 0,0");
  shape.op_a = 'T';
  EXPECT_EQ(parts_of(shape, 4), "trmm 3x9 at 0,0; gemm 3x9x4 at 0,0; trmm 4x9 at 3,0");
  shape.op_a = 'N';
  shape.routine = Routine::kSyr2k;
  shape.m = shape.n = 7;
  shape.k = 5;
  EXPECT_EQ(parts_of(shape, 4), "syr2k 3x3 at 0,0; gemm 4x3x5 at 3,0; gemm 4x3x5 at 3,0; syr2k 4x4 at 3,3");
  shape.uplo = 'U';
  EXPECT_EQ(parts_of(shape, 4), "syr2k 3x3 at 0,0; gemm 3x4x5 at 0,3; gemm 3x4x5 at 0,3; syr2k 4x4 at 3,3");
}

TEST(Halves, ElementsOfDiagonalBlocks) {
  Shape shape;
  shape.routine = Routine::kSyrk;
  shape.uplo = 'L';
  shape.m = shape.n = 13;
  shape.k = 1;
  for (const std::int64_t block : {1, 3, 4, 20}) {
    const Problem<double> problem(shape);
    by_halves(problem.call, block, [&](const TypedCall<double>& part) {
      const std::int64_t offset = part.c - problem.call.c;
      for (std::int64_t j = offset / part.ldc; j < offset / part.ldc + part.n; ++j) {
        for (std::int64_t i = offset % part.ldc; i < offset % part.ldc + part.m; ++i)
          EXPECT_EQ(is_in_diagonal_block(shape.n, block, i, j), part.routine == Routine::kSyrk) << i << " " << j;
      }
    });
  }
}

}  // namespace
}  // namespace kizami::dropin::level3
