// SPDX-License-Identifier: MIT
// Cholesky and LU factorizations as sequences of operations on blocks, in an order that makes the inner sizes of the
// products large: a matrix is halved, not peeled block by block.
//   A = [A11    ]  L11 <- factor A11; L21 <- A21 L11^-T; A22 <- A22 - L21 L21^T (inner size: half of A); factor A22
//       [A21 A22]
// What multiplies and where the matrix lies is a backend's: a device's (device.cuh), or plain loops of a test.
#pragma once

#include <algorithm>
#include <cstdint>

namespace kizami::dropin::factorizations {

/// Column-major.
struct Matrix {
  double* data = nullptr;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t ld = 0;
  [[nodiscard]] Matrix block(std::int64_t i, std::int64_t j, std::int64_t m, std::int64_t n) const {
    return {data + i + j * ld, m, n, ld};
  }
};

/// The first half of `size`, a multiple of `base`, which is less than `size`.
[[nodiscard]] inline std::int64_t first_half(std::int64_t size, std::int64_t base) {
  const std::int64_t blocks = (size + base - 1) / base;
  return blocks / 2 * base;
}

/// B <- B L^-T, by halves of L down to `base`.
/// Backend: solve_transposed(l, b): that, for one block of L; multiply(alpha, a, b, is_transposed, c): C += alpha A B
template <class Backend>
void solve_transposed(Backend& backend, const Matrix& l, const Matrix& b, std::int64_t base) {
  if (l.rows <= base) return backend.solve_transposed(l, b);
  const std::int64_t half = first_half(l.rows, base);
  const std::int64_t rest = l.rows - half;
  const Matrix first = b.block(0, 0, b.rows, half);
  const Matrix second = b.block(0, half, b.rows, rest);
  solve_transposed(backend, l.block(0, 0, half, half), first, base);
  backend.multiply(-1.0, first, l.block(half, 0, rest, half), true, second);
  solve_transposed(backend, l.block(half, half, rest, rest), second, base);
}

/// B <- L^-1 B with a unit diagonal. Backend: solve(l, b), multiply()
template <class Backend>
void solve(Backend& backend, const Matrix& l, const Matrix& b, std::int64_t base) {
  if (l.rows <= base) return backend.solve(l, b);
  const std::int64_t half = first_half(l.rows, base);
  const std::int64_t rest = l.rows - half;
  const Matrix first = b.block(0, 0, half, b.cols);
  const Matrix second = b.block(half, 0, rest, b.cols);
  solve(backend, l.block(0, 0, half, half), first, base);
  backend.multiply(-1.0, l.block(half, 0, rest, half), first, false, second);
  solve(backend, l.block(half, half, rest, rest), second, base);
}

struct CholeskyBlocks {
  std::int64_t factored = 2048;    ///< the largest block that the backend factors
  std::int64_t solved = 256;       ///< that it solves with; divides `factored`
  std::int64_t updated = 1 << 30;  ///< the largest triangle that is one product; larger ones are halved
};

/// The lower triangle of C <- C - A A^T. Backend: update(a, c), multiply()
template <class Backend>
void update_triangle(Backend& backend, const Matrix& a, const Matrix& c, const CholeskyBlocks& blocks) {
  if (c.rows <= blocks.updated) return backend.update(a, c);
  const std::int64_t half = first_half(c.rows, blocks.factored);
  const std::int64_t rest = c.rows - half;
  const Matrix upper = a.block(0, 0, half, a.cols);
  const Matrix lower = a.block(half, 0, rest, a.cols);
  update_triangle(backend, upper, c.block(0, 0, half, half), blocks);
  backend.multiply(-1.0, lower, upper, true, c.block(half, 0, rest, half));
  update_triangle(backend, lower, c.block(half, half, rest, rest), blocks);
}

/// A = L L^T, L in the place of the lower triangle of A; the upper one is not touched.
/// Backend: factor(a), and what the functions above want, and
///   ready(l)  a triangle from the diagonal on is factored, and will be solved with by blocks of `solved`
template <class Backend>
void cholesky(Backend& backend, const Matrix& a, const CholeskyBlocks& blocks) {
  if (a.rows <= blocks.factored) return backend.factor(a);
  const std::int64_t half = first_half(a.rows, blocks.factored);
  const std::int64_t rest = a.rows - half;
  const Matrix first = a.block(0, 0, half, half);
  const Matrix beside = a.block(half, 0, rest, half);
  const Matrix second = a.block(half, half, rest, rest);
  cholesky(backend, first, blocks);
  backend.ready(first);
  solve_transposed(backend, first, beside, blocks.solved);
  update_triangle(backend, beside, second, blocks);
  cholesky(backend, second, blocks);
}

struct LuBlocks {
  std::int64_t outer = 4096;  ///< columns that are factored while the update before goes on; a multiple of `solved`
  std::int64_t panel = 64;    ///< columns that the backend factors
  std::int64_t solved = 256;  ///< order of a triangle that it solves with; a multiple of `panel`
};

/// Two queues of operations; what was enqueued in one follows itself alone.
enum class Queue : std::uint8_t { kUpdate, kPanel };

/// P A = L U by columns with partial pivoting, L (unit diagonal) and U in the place of A. Backend, beside solve() and
/// multiply():
///   ready(l, cols)         a triangle from the diagonal on is factored, and will be solved with by blocks of
///                          `solved`, for `cols` right-hand sides
///   panel(a, index)        factors columns index * panel ... of A, from their diagonal on, and notes the order of rows
///   move(c, first, last)   brings the rows of C, all of A's, into the order of those panels, one after the other
///   update(l, u, c, keeps) C -= L U; what is made of L may be kept for the next update with the same L, if `keeps`
///   use(queue)             operations from here on are of that queue
///   signal(queue), await(queue): notes how far that queue has come; the queue in use waits for what was noted
template <class Backend>
class Lu {
 public:
  Lu(Backend& backend, const Matrix& a, const LuBlocks& blocks, bool looks_ahead)
      : backend_(backend), a_(a), blocks_(blocks), looks_ahead_(looks_ahead) {}

  void run() const {
    const std::int64_t n = a_.cols;
    backend_.use(queue_of_panels());
    factor(0, std::min(blocks_.outer, n));
    for (std::int64_t begin = 0; begin < n; begin += blocks_.outer) {
      const std::int64_t end = std::min(begin + blocks_.outer, n);
      const std::int64_t next = std::min(end + blocks_.outer, n);
      backend_.signal(queue_of_panels());
      backend_.use(Queue::kUpdate);
      backend_.await(queue_of_panels());
      if (end < n) {
        update(begin, end, end, next, next < n);
        backend_.signal(Queue::kUpdate);
        backend_.use(queue_of_panels());
        backend_.await(Queue::kUpdate);
        factor(end, next);
        backend_.use(Queue::kUpdate);
        if (next < n) update(begin, end, next, n, false);
      }
      if (begin > 0) move(0, begin, begin, end);  // rows of L, for which nobody waits
      backend_.use(queue_of_panels());
    }
    backend_.use(Queue::kUpdate);
  }

 private:
  [[nodiscard]] Queue queue_of_panels() const { return looks_ahead_ ? Queue::kPanel : Queue::kUpdate; }
  [[nodiscard]] std::int64_t panel_of(std::int64_t column) const {
    return (column + blocks_.panel - 1) / blocks_.panel;
  }

  /// Columns [first, last) come into the order of the panels of [begin, end).
  void move(std::int64_t first, std::int64_t last, std::int64_t begin, std::int64_t end) const {
    backend_.move(a_.block(0, first, a_.rows, last - first), panel_of(begin), panel_of(end));
  }

  /// Columns [first, last) take part in what [begin, end) eliminate.
  void update(std::int64_t begin, std::int64_t end, std::int64_t first, std::int64_t last, bool keeps) const {
    move(first, last, begin, end);
    const std::int64_t width = last - first;
    const Matrix u = a_.block(begin, first, end - begin, width);
    const Matrix l = a_.block(begin, begin, end - begin, end - begin);
    backend_.ready(l, width);
    solve(backend_, l, u, blocks_.solved);
    if (end == a_.rows) return;
    backend_.update(a_.block(end, begin, a_.rows - end, end - begin), u, a_.block(end, first, a_.rows - end, width),
                    keeps);
  }

  /// Columns [begin, end), which know of all before, by halves.
  void factor(std::int64_t begin, std::int64_t end) const {
    const std::int64_t width = end - begin;
    if (width <= blocks_.panel)
      return backend_.panel(a_.block(begin, begin, a_.rows - begin, width), begin / blocks_.panel);
    // Triangles that many solve with begin at multiples of blocks_.solved, so that what is made of one serves all.
    const std::int64_t middle = begin + first_half(width, width > blocks_.solved ? blocks_.solved : blocks_.panel);
    factor(begin, middle);
    update(begin, middle, middle, end, false);
    factor(middle, end);
    move(begin, middle, middle, end);
  }

  Backend& backend_;
  Matrix a_;
  LuBlocks blocks_;
  bool looks_ahead_;
};

/// @range a.rows == a.cols
template <class Backend>
void lu(Backend& backend, const Matrix& a, const LuBlocks& blocks, bool looks_ahead) {
  Lu<Backend>(backend, a, blocks, looks_ahead).run();
}

}  // namespace kizami::dropin::factorizations
