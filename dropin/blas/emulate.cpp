// SPDX-License-Identifier: MIT
#include "dropin/blas/emulate.hpp"

#include <algorithm>
#include <vector>

namespace kizami::dropin::blas {
namespace {

template <class T>
T real_part(T x) {
  if constexpr (kIsComplex<T>) {
    return T(x.real());
  } else {
    return x;
  }
}

/// Rows of column j that lie in the triangle of an n x n matrix: [first, last).
struct Rows {
  std::int64_t first;
  std::int64_t last;
};
Rows rows_of(char uplo, std::int64_t j, std::int64_t n) { return uplo == 'U' ? Rows{0, j + 1} : Rows{j, n}; }

/// One triangle of C (n x n), in columns of blocks: the rectangle beside a diagonal block is a product into C, the diagonal
/// block one into `square`, of which the triangle is taken.
template <class T>
class TriangleUpdate {
 public:
  TriangleUpdate(const Call<T>& call, Products<T>& products)
      : call_(call),
        products_(products),
        block_(std::clamp<std::int64_t>(call.n / 4, 1, kMaxColumns)),
        square_(static_cast<std::size_t>(block_ * block_)) {}

  /// The triangle <- alpha X Y + beta C, X n x k, Y k x n.
  void add(T alpha, const Operand<T>& x, const Operand<T>& y, T beta) {
    const std::int64_t n = call_.n;
    for (std::int64_t j = 0; j < n; j += block_) {
      const std::int64_t width = std::min(block_, n - j);
      const std::int64_t first = call_.uplo == 'U' ? 0 : j + width;
      const std::int64_t last = call_.uplo == 'U' ? j : n;
      products_.multiply(x.op, y.op, last - first, width, call_.k, alpha, x.at(first, 0), x.ld, y.at(0, j), y.ld, beta,
                         call_.c + first + j * call_.ldc, call_.ldc);
      if (beta != T{}) load(j, width);
      products_.multiply(x.op, y.op, width, width, call_.k, alpha, x.at(j, 0), x.ld, y.at(0, j), y.ld, beta,
                         square_.data(), width);
      store(j, width);
    }
  }

 private:
  static constexpr std::int64_t kMaxColumns = 1024;  // unmeasured

  /// The diagonal of a Hermitian matrix is real, whatever is stored.
  T diagonal(T x) const { return is_hermitian(call_.routine) ? real_part(x) : x; }

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
void update_triangle(const Call<T>& x, Products<T>& products) {
  TriangleUpdate<T> triangle(x, products);
  if (x.routine == Routine::kGemmt) return triangle.add(x.alpha, {x.op_a, x.a, x.lda}, {x.op_b, x.b, x.ldb}, x.beta);
  const char transposed = is_hermitian(x.routine) ? 'C' : 'T';
  const bool is_plain = x.op_a == 'N';  // op(A) op(B)' = A B', else A' B
  const char left = is_plain ? 'N' : transposed;
  const char right = is_plain ? transposed : 'N';
  if (is_rank_k(x.routine)) return triangle.add(x.alpha, {left, x.a, x.lda}, {right, x.a, x.lda}, x.beta);
  triangle.add(x.alpha, {left, x.a, x.lda}, {right, x.b, x.ldb}, x.beta);
  triangle.add(is_hermitian(x.routine) ? conjugate(x.alpha) : x.alpha, {left, x.b, x.ldb}, {right, x.a, x.lda}, T{1});
}

/// symm and hemm: A written out in full, exactly.
template <class T>
void multiply_symmetric(const Call<T>& x, Products<T>& products) {
  const std::int64_t n = x.side == 'L' ? x.m : x.n;
  std::vector<T> full(static_cast<std::size_t>(n * n));
  const auto at = [&](std::int64_t i, std::int64_t j) -> T& { return full[static_cast<std::size_t>(i + j * n)]; };
  for (std::int64_t j = 0; j < n; ++j) {
    const Rows rows = rows_of(x.uplo, j, n);
    for (std::int64_t i = rows.first; i < rows.last; ++i) {
      const T value = x.a[i + j * x.lda];
      at(i, j) = value;
      at(j, i) = x.routine == Routine::kHemm ? conjugate(value) : value;
      if (i == j && x.routine == Routine::kHemm) at(i, i) = real_part(value);
    }
  }
  if (x.side == 'L') {
    products.multiply('N', 'N', x.m, x.n, n, x.alpha, full.data(), n, x.b, x.ldb, x.beta, x.c, x.ldc);
  } else {
    products.multiply('N', 'N', x.m, x.n, n, x.alpha, x.b, x.ldb, full.data(), n, x.beta, x.c, x.ldc);
  }
}

/// trmm and trsm, by halves: of C = [C1; C2] (left) or [C1 C2] (right) and the triangle's halves, one half of C takes from the
/// other one a product with the block beside the diagonal.
template <class T>
class Triangular {
 public:
  Triangular(const Call<T>& call, Products<T>& products)
      : call_(call),
        products_(products),
        is_left_(call.side == 'L'),
        is_lower_((call.uplo == 'L') == (call.op_a == 'N')),
        triangle_{call.op_a, call.a, call.lda},
        block_(std::clamp<std::int64_t>(size() / 4, 1, kMaxBlock)) {}

  [[nodiscard]] std::int64_t size() const { return is_left_ ? call_.m : call_.n; }

  void run() { call_.routine == Routine::kTrmm ? multiply(0, size()) : solve(0, size(), call_.alpha); }

 private:
  /// A lower triangle on the left, or an upper one on the right: the second half takes from the first.
  [[nodiscard]] bool second_takes() const { return is_lower_ == is_left_; }

  /// Rows (left) or columns (right) of C.
  [[nodiscard]] T* part(std::int64_t i) const { return is_left_ ? call_.c + i : call_.c + i * call_.ldc; }

  /// C_to <- alpha (block of op(A)) C_from + beta C_to, or C_from (block): the parts have `to_size` and `from_size`.
  void take(std::int64_t to, std::int64_t to_size, std::int64_t from, std::int64_t from_size, T alpha, T beta) {
    if (is_left_) {
      products_.multiply(call_.op_a, 'N', to_size, call_.n, from_size, alpha, triangle_.at(to, from), call_.lda,
                         part(from), call_.ldc, beta, part(to), call_.ldc);
    } else {
      products_.multiply('N', call_.op_a, call_.m, to_size, from_size, alpha, part(from), call_.ldc,
                         triangle_.at(from, to), call_.lda, beta, part(to), call_.ldc);
    }
  }

  /// The half that takes is multiplied first, then takes the other one as it was, which is multiplied last.
  void multiply(std::int64_t first, std::int64_t size) {
    if (size <= block_) return native(first, size, call_.alpha);
    const std::int64_t half = size / 2;
    const std::int64_t middle = first + half;
    if (second_takes()) {
      multiply(middle, size - half);
      take(middle, size - half, first, half, call_.alpha, T{1});
      multiply(first, half);
    } else {
      multiply(first, half);
      take(first, half, middle, size - half, call_.alpha, T{1});
      multiply(middle, size - half);
    }
  }

  /// The half that gives is solved first.
  void solve(std::int64_t first, std::int64_t size, T alpha) {
    if (size <= block_) return native(first, size, alpha);
    const std::int64_t half = size / 2;
    const std::int64_t middle = first + half;
    if (second_takes()) {
      solve(first, half, alpha);
      take(middle, size - half, first, half, T{-1}, alpha);
      solve(middle, size - half, T{1});
    } else {
      solve(middle, size - half, alpha);
      take(first, half, middle, size - half, T{-1}, alpha);
      solve(first, half, T{1});
    }
  }

  void native(std::int64_t first, std::int64_t size, T alpha) {
    const auto function = call_.routine == Routine::kTrmm ? NativeLevel3<T>::trmm : NativeLevel3<T>::trsm;
    function(call_.side, call_.uplo, call_.op_a, call_.diag, is_left_ ? size : call_.m, is_left_ ? call_.n : size,
             alpha, triangle_.at(first, first), call_.lda, part(first), call_.ldc);
  }

  const Call<T>& call_;
  Products<T>& products_;
  bool is_left_;
  bool is_lower_;
  Operand<T> triangle_;
  std::int64_t block_;
};

}  // namespace

template <class T>
void emulate(const Call<T>& x, Products<T>& products) {
  if (has_triangle(x.routine)) return update_triangle(x, products);
  if (is_symmetric(x.routine)) return multiply_symmetric(x, products);
  if (is_triangular(x.routine)) return Triangular<T>(x, products).run();
  products.multiply(x.op_a, x.op_b, x.m, x.n, x.k, x.alpha, x.a, x.lda, x.b, x.ldb, x.beta, x.c, x.ldc);
}

template void emulate<float>(const Call<float>&, Products<float>&);
template void emulate<double>(const Call<double>&, Products<double>&);
template void emulate<std::complex<float>>(const Call<std::complex<float>>&, Products<std::complex<float>>&);
template void emulate<std::complex<double>>(const Call<std::complex<double>>&, Products<std::complex<double>>&);

}  // namespace kizami::dropin::blas
