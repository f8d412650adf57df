// SPDX-License-Identifier: MIT
// Routines of level 3 but gemm, gemmt, symm and hemm, by halves: a call comes apart into products, of what lies beside the
// diagonal, and calls of its own routine, with the diagonal blocks. For halves 1 and 2, a lower triangle, and A on the
// left:
//   syrk and its kin  C11; C21 <- its products + beta C21; C22
//   trmm              C2 <- alpha A22 B2; C2 += alpha A21 B1; C1 <- alpha A11 B1, last, for C may be B
//   trsm              A11 C1 <- alpha C1; C2 <- alpha C2 - A21 C1; A22 C2 <- C2
// What has a diagonal block is halved again, until its order is at most `block`. Where a call is split, and the order
// of its parts, decide the bits of C; how large `block` is, too, and that each library decides for itself.
#pragma once

#include <cstdint>
#include <type_traits>

#include "dropin/level3/products.hpp"

namespace kizami::dropin::level3 {

/// Rows or columns [first, first + size).
struct Lines {
  std::int64_t first = 0;
  std::int64_t size = 0;
};
struct Halves {
  Lines first;
  Lines second;  ///< not the smaller one
};
[[nodiscard]] constexpr Halves halves_of(const Lines& all) {
  const std::int64_t half = all.size / 2;
  return {{all.first, half}, {all.first + half, all.size - half}};
}

/// Whether C(i, j), of an n x n triangle, lies in a diagonal block. @range i, j in [0, n)
[[nodiscard]] constexpr bool is_in_diagonal_block(std::int64_t n, std::int64_t block, std::int64_t i, std::int64_t j) {
  Lines lines{0, n};
  while (lines.size > block) {
    const Halves halves = halves_of(lines);
    const bool is_second = i >= halves.second.first;
    if (is_second != (j >= halves.second.first)) return false;
    lines = is_second ? halves.second : halves.first;
  }
  return true;
}

/// What by_halves() does.
template <class T, class Part>
class ByHalves {
 public:
  ByHalves(const TypedCall<T>& call, std::int64_t block, Part& part) : x_(call), block_(block), part_(part) {}

  void run() const {
    const Lines all{0, order_of(x_)};
    if (has_triangle(x_.routine)) return update(all);
    if (x_.routine == Routine::kTrmm) return multiply_triangular(all);
    solve(all, x_.alpha);
  }

 private:
  [[nodiscard]] bool is_left() const { return x_.side == 'L'; }
  [[nodiscard]] bool is_lower() const { return x_.uplo == 'L'; }
  [[nodiscard]] Operand<T> op_a() const { return {x_.op_a, x_.a, x_.lda}; }

  /// The triangle of C: two of half the order, and the rectangle beside them.
  void update(const Lines& lines) const {
    if (lines.size <= block_) return update_block(lines);
    const Halves halves = halves_of(lines);
    const Lines& rows = is_lower() ? halves.second : halves.first;
    const Lines& cols = is_lower() ? halves.first : halves.second;
    update(halves.first);
    for_each_update(x_, [&](T alpha, const Operand<T>& x, const Operand<T>& y, T beta) {
      part_(product_of(rows.size, cols.size, x_.k, alpha, x.from(rows.first, 0), y.from(0, cols.first), beta,
                       x_.c + rows.first + cols.first * x_.ldc, x_.ldc));
    });
    update(halves.second);
  }
  void update_block(const Lines& lines) const {
    TypedCall<T> block = x_;
    block.m = block.n = lines.size;
    block.a = op_a().at(lines.first, 0);
    if (x_.b != nullptr) block.b = Operand<T>{x_.op_a, x_.b, x_.ldb}.at(lines.first, 0);  // with A's operation
    block.c = x_.c + lines.first + lines.first * x_.ldc;
    part_(block);
  }

  /// From row (left) or column (right) i of B and C on.
  [[nodiscard]] Operand<T> part_of_b(std::int64_t i) const {
    return Operand<T>{'N', x_.b, x_.ldb}.from(is_left() ? i : 0, is_left() ? 0 : i);
  }
  [[nodiscard]] T* part_of_c(std::int64_t i) const { return is_left() ? x_.c + i : x_.c + i * x_.ldc; }

  /// C_to <- alpha (block of op(A)) F + beta C_to, or F (block): F is the lines `from` of B or of C.
  void add(const Lines& to, const Lines& from, T alpha, const Operand<T>& f, T beta) const {
    if (is_left()) {
      part_(product_of(to.size, x_.n, from.size, alpha, op_a().from(to.first, from.first), f, beta, part_of_c(to.first),
                       x_.ldc));
    } else {
      part_(product_of(x_.m, to.size, from.size, alpha, f, op_a().from(from.first, to.first), beta, part_of_c(to.first),
                       x_.ldc));
    }
  }

  /// The same routine with a diagonal block of A.
  void multiply_block(const Lines& lines, T alpha) const {
    TypedCall<T> block = x_;
    (is_left() ? block.m : block.n) = lines.size;
    block.k = lines.size;
    block.alpha = alpha;
    block.a = x_.a + lines.first + lines.first * x_.lda;
    if (x_.b != nullptr) block.b = part_of_b(lines.first).data;
    block.c = part_of_c(lines.first);
    part_(block);
  }

  /// One half of C takes a product of the other half: the second one with a lower op(A) on the left, or an upper one on
  /// the right.
  [[nodiscard]] bool second_takes() const { return (is_lower() == (x_.op_a == 'N')) == is_left(); }
  struct Roles {
    Lines giver;
    Lines taker;
  };
  [[nodiscard]] Roles roles_of(const Lines& lines) const {
    const auto [first, second] = halves_of(lines);
    return second_takes() ? Roles{first, second} : Roles{second, first};
  }

  /// The half that takes is multiplied first, then takes the other one as it was (C may be B), which comes last.
  void multiply_triangular(const Lines& lines) const {
    if (lines.size <= block_) return multiply_block(lines, x_.alpha);
    const auto [giver, taker] = roles_of(lines);
    multiply_triangular(taker);
    add(taker, giver, x_.alpha, part_of_b(giver.first), T{1});
    multiply_triangular(giver);
  }

  /// The half that gives is solved first.
  void solve(const Lines& lines, T alpha) const {
    if (lines.size <= block_) return multiply_block(lines, alpha);
    const auto [giver, taker] = roles_of(lines);
    solve(giver, alpha);
    add(taker, giver, T{-1}, {'N', part_of_c(giver.first), x_.ldc}, alpha);
    solve(taker, T{1});
  }

  const TypedCall<T>& x_;
  std::int64_t block_;
  Part& part_;
};

/// Calls part(TypedCall<T>) for each part of the call, in the order in which they are to be done: a product
/// (Routine::kGemm), or the call's own routine with a diagonal block of an order of at most `block`.
/// @range  not gemm, gemm3m, gemmt, symm, hemm; sizes >= 1; trmm has a B, which may be C; block >= 1
template <class T, class Part>
void by_halves(const TypedCall<T>& call, std::int64_t block, Part&& part) {
  ByHalves<T, std::remove_reference_t<Part>>(call, block, part).run();
}

}  // namespace kizami::dropin::level3
