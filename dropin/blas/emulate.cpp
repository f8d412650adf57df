// SPDX-License-Identifier: MIT
#include "dropin/blas/emulate.hpp"

#include <algorithm>
#include <vector>

#include "dropin/level3/halves.hpp"

namespace kizami::dropin::blas {
namespace {

/// Rows of column j that lie in the triangle of an n x n matrix: [first, last).
struct Rows {
  std::int64_t first;
  std::int64_t last;
};
Rows rows_of(char uplo, std::int64_t j, std::int64_t n) { return uplo == 'U' ? Rows{0, j + 1} : Rows{j, n}; }

/// One triangle of C (n x n), in columns of blocks: the rectangle beside a diagonal block is a product into C, the
/// diagonal block one into `square`, of which the triangle is taken.
template <class T>
class TriangleUpdate {
 public:
  TriangleUpdate(const Call<T>& call, Products<T>& products)
      : call_(call),
        products_(products),
        block_(columns_of_triangle(call.n)),
        square_(static_cast<std::size_t>(block_ * block_)) {}

  /// The triangle <- alpha X Y + beta C, X n x k, Y k x n.
  void add(T alpha, const Operand<T>& x, const Operand<T>& y, T beta) {
    for_each_columns(call_.uplo, call_.n, [&](const TriangleColumns& part) {
      const auto [j, width, first, num_rows] = part;
      products_.multiply(level3::product_of(num_rows, width, call_.k, alpha, x.from(first, 0), y.from(0, j), beta,
                                            call_.c + first + j * call_.ldc, call_.ldc));
      if (beta != T{}) load(j, width);
      products_.multiply(
          level3::product_of(width, width, call_.k, alpha, x.from(j, 0), y.from(0, j), beta, square_.data(), width));
      store(j, width);
    });
  }

 private:
  /// The diagonal of a Hermitian matrix is real, whatever is stored.
  T diagonal(T x) const { return is_hermitian(call_.routine) ? T(real_part(x)) : x; }

  void load(std::int64_t j, std::int64_t width) {
    for (std::int64_t col = 0; col < width; ++col) {
      const T* c = call_.c + j + (j + col) * call_.ldc;
      const Rows rows = rows_of(call_.uplo, col, width);
      for (std::int64_t i = rows.first; i < rows.last; ++i)
        square_[static_cast<std::size_t>(i + col * width)] = i == col ? diagonal(c[i]) : c[i];
    }
  }
  void store(std::int64_t j, std::int64_t width) {
    for (std::int64_t col = 0; col < width; ++col) {
      T* c = call_.c + j + (j + col) * call_.ldc;
      const Rows rows = rows_of(call_.uplo, col, width);
      for (std::int64_t i = rows.first; i < rows.last; ++i) {
        const T x = square_[static_cast<std::size_t>(i + col * width)];
        c[i] = i == col ? diagonal(x) : x;
      }
    }
  }

  const Call<T>& call_;
  Products<T>& products_;
  std::int64_t block_;
  std::vector<T> square_;
};

/// gemmt, syrk, herk, syr2k, her2k.
template <class T>
void update_triangle(const Call<T>& call, Products<T>& products) {
  TriangleUpdate<T> triangle(call, products);
  level3::for_each_update(
      call, [&](T alpha, const Operand<T>& x, const Operand<T>& y, T beta) { triangle.add(alpha, x, y, beta); });
}

/// symm and hemm: A written out in full, exactly.
template <class T>
void multiply_symmetric(const Call<T>& x, Products<T>& products) {
  const std::int64_t n = level3::order_of(x);
  std::vector<T> full(static_cast<std::size_t>(n * n));
  const auto at = [&](std::int64_t i, std::int64_t j) -> T& { return full[static_cast<std::size_t>(i + j * n)]; };
  for (std::int64_t j = 0; j < n; ++j) {
    const Rows rows = rows_of(x.uplo, j, n);
    for (std::int64_t i = rows.first; i < rows.last; ++i) {
      const T value = x.a[i + j * x.lda];
      at(i, j) = value;
      at(j, i) = x.routine == Routine::kHemm ? conjugate(value) : value;
      if (i == j && x.routine == Routine::kHemm) at(i, i) = T(real_part(value));
    }
  }
  const Operand<T> a{'N', full.data(), n};
  const Operand<T> b{'N', x.b, x.ldb};
  const bool is_left = x.side == 'L';
  products.multiply(level3::product_of(x.m, x.n, n, x.alpha, is_left ? a : b, is_left ? b : a, x.beta, x.c, x.ldc));
}

/// trmm and trsm, by halves, with native diagonal blocks.
template <class T>
void emulate_triangular(const Call<T>& call, Products<T>& products) {
  TypedCall<T> x = call;
  x.b = x.c;  // BLAS multiplies in place
  x.ldb = x.ldc;
  const auto native = x.routine == Routine::kTrmm ? NativeLevel3<T>::trmm : NativeLevel3<T>::trsm;
  level3::by_halves(x, block_of_triangular(x), [&](const TypedCall<T>& part) {
    if (part.routine == Routine::kGemm) return products.multiply(part);
    native(part.side, part.uplo, part.op_a, part.diag, part.m, part.n, part.alpha, part.a, part.lda, part.c, part.ldc);
  });
}

}  // namespace

template <class T>
void emulate(const Call<T>& x, Products<T>& products) {
  if (has_triangle(x.routine)) return update_triangle(x, products);
  if (is_symmetric(x.routine)) return multiply_symmetric(x, products);
  if (is_triangular(x.routine)) return emulate_triangular(x, products);
  products.multiply(x);
}

template void emulate<float>(const Call<float>&, Products<float>&);
template void emulate<double>(const Call<double>&, Products<double>&);
template void emulate<std::complex<float>>(const Call<std::complex<float>>&, Products<std::complex<float>>&);
template void emulate<std::complex<double>>(const Call<std::complex<double>>&, Products<std::complex<double>>&);

}  // namespace kizami::dropin::blas
