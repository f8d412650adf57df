// SPDX-License-Identifier: MIT
// What a block of threads does between its barriers when it solves L X = alpha C for 32 columns of C (solve_block.hpp).
// X lies in shared memory, and each of 4 warps has 8 columns of it, for which it waits for nobody but for L. Eight rows of
// L after another come to shared memory, two ahead of where they are used. Of eight rows of X what stands left of the
// diagonal is subtracted, of FP64 by the tensor cores; then a lane solves with the eight rows on the diagonal. A warp is
// alone on its scheduler, or with one other, so that every instruction counts, and addresses are stepped, not computed.
// A host that does each step for all threads in turn makes the same sums by fma().
#pragma once

#include <cstdint>

#include "dropin/cublas/solve_block.hpp"
#include "kizami/host_device.hpp"

#if defined(__CUDA_ARCH__)
#define KIZAMI_UNROLL _Pragma("unroll")
#define KIZAMI_UNROLL_SOME _Pragma("unroll 4")
#else
#define KIZAMI_UNROLL
#define KIZAMI_UNROLL_SOME
#endif

namespace kizami::dropin::cublas {

inline constexpr int kSolveRows = 8;       ///< of a panel of L, and of X that are solved at a time
inline constexpr int kSolveColumns = 32;   ///< of a block of threads
inline constexpr int kSolveThreads = 128;  ///< 4 warps
inline constexpr int kSolveWarps = kSolveThreads / 32;
inline constexpr int kSolvePanels = 3;  ///< of L in shared memory: one in use, two on their way
/// Of rows of X, and of columns of L, in shared memory: what 16 lanes take for a tensor core does not meet in banks.
inline constexpr int kSolveStrideX = kSolveColumns + 4;
inline constexpr int kSolveStrideL = kSolveRows + 4;

/// In shared memory. Behind it X: [rows][kSolveStrideX], and panels: [kSolvePanels][rows][kSolveStrideL], transposed; rows are
/// those of the triangle, rounded up.
template <class T>
struct SolveShared {
  struct alignas(2 * sizeof(T)) Divisor {
    T diagonal;  ///< 1 beyond the edge
    T reciprocal;
  };
  Divisor divisors[kMostSolved];
  alignas(8) bool is_plain[kMostSolved];  ///< of rows: a reciprocal will do
};
template <class T>
[[nodiscard]] constexpr std::int64_t solve_shared_bytes(std::int64_t order) {
  const std::int64_t rows = (order + kSolveRows - 1) / kSolveRows * kSolveRows;
  const std::int64_t elements = rows * (kSolveStrideX + kSolvePanels * kSolveStrideL);
  return static_cast<std::int64_t>(sizeof(SolveShared<T>)) + elements * static_cast<std::int64_t>(sizeof(T));
}

/// The steps of one thread. Between two of them all threads of a block, or of a warp, wait for each other.
template <class T>
class SolveSteps {
 public:
  /// @param memory X and panels of L
  KIZAMI_HOST_DEVICE SolveSteps(const Forward<T>& system, SolveShared<T>& shared, T* memory, int thread,
                                std::int64_t block)
      : f_(system),
        shared_(shared),
        x_(memory),
        panels_(memory + std::int64_t{num_panels()} * kSolveRows * kSolveStrideX),
        thread_(thread),
        first_column_(block * kSolveColumns) {
    // A pass of all threads has 8 rows of L and 16 columns; neighbours are neighbours in memory.
    const bool is_along = f_.l_down == 1 || f_.l_down == -1;
    l_row_ = is_along ? thread % kSolveRows : thread / kColumnsOfPass;
    l_column_ = is_along ? thread / kSolveRows : thread % kColumnsOfPass;
    own_l_ = f_.l + l_row_ * f_.l_down + l_column_ * f_.l_across;
  }

  [[nodiscard]] KIZAMI_HOST_DEVICE int num_panels() const {
    return static_cast<int>((f_.order + kSolveRows - 1) / kSolveRows);
  }

  // ---- before a barrier of the block ----

  /// alpha C to shared memory, and zeros beyond its edges.
  KIZAMI_HOST_DEVICE void load() {
    each_line([&](T* x, const T* c, std::int64_t step, int row, int row_step) {
      const int stride = row_step * kSolveStrideX;
      constexpr int kAtOnce = 8;  // elements on their way
      for (; row < num_rows(); row += kAtOnce * row_step) {
        T loaded[kAtOnce];
        KIZAMI_UNROLL
        for (int i = 0; i < kAtOnce; ++i) {
          loaded[i] = c != nullptr && row + i * row_step < f_.order ? c[i * step] : T{};
        }
        KIZAMI_UNROLL
        for (int i = 0; i < kAtOnce; ++i) {
          if (row + i * row_step < num_rows()) x[i * stride] = multiplied(f_.alpha, loaded[i]);
        }
        x += kAtOnce * stride;
        if (c != nullptr) c += kAtOnce * step;
      }
    });
  }
  /// The diagonal and its reciprocals.
  KIZAMI_HOST_DEVICE void load_diagonal() {
    for (int i = thread_; i < num_rows(); i += kSolveThreads) {
      const bool is_one = f_.has_unit_diagonal || i >= f_.order;
      const T diagonal = is_one ? T{1} : f_.l[i * (f_.l_down + f_.l_across)];
      const T size = diagonal < T{} ? -diagonal : diagonal;
      shared_.divisors[i] = {diagonal, T{1} / diagonal};
      shared_.is_plain[i] = size > kLeast && size < T{1} / kLeast;
    }
  }
  /// Eight rows of L up to the diagonal, which is left out, on their way; zeros beyond its edges.
  KIZAMI_HOST_DEVICE void fetch(int panel) {
    if (panel < num_panels()) {
      const int first_row = panel * kSolveRows;
      const int columns = first_row + l_row_ < f_.order ? first_row + l_row_ : 0;  // of this thread's row
      const T* from = own_l_ + first_row * f_.l_down;
      T* to = panel_at(panel) + l_column_ * kSolveStrideL + l_row_;
      KIZAMI_UNROLL_SOME
      for (int column = l_column_; column < first_row + kSolveRows; column += kColumnsOfPass) {
        copy(*to, from, column < columns);
        from += kColumnsOfPass * f_.l_across;
        to += kColumnsOfPass * kSolveStrideL;
      }
    }
    end_copies();
  }
  /// Until the panel that was fetched before the last one is there.
  KIZAMI_HOST_DEVICE void await_panel() {
#if defined(__CUDA_ARCH__)
    asm volatile("cp.async.wait_group 1;" ::: "memory");
#endif
  }
  KIZAMI_HOST_DEVICE void store() {
    each_line([&](const T* x, T* c, std::int64_t step, int row, int row_step) {
      if (c == nullptr) return;
      KIZAMI_UNROLL_SOME
      for (; row < f_.order; row += row_step) {
        *c = *x;
        x += row_step * kSolveStrideX;
        c += step;
      }
    });
  }

  // ---- before a barrier of the warp ----

  /// Of eight rows of X what stands left of the diagonal.
  KIZAMI_HOST_DEVICE void subtract(int panel) {
    const T* const l = panel_at(panel);
    const int first_row = panel * kSolveRows;
    T* const own = x_ + (first_row + own_row()) * kSolveStrideX + first_of_warp() + own_pair();
    T sums[2][2] = {{own[0], own[1]}, {}};  // by turns, so that a sum waits for the last but one
    if constexpr (kHasTensorCore) {
      const T* left = l + own_k() * kSolveStrideL + own_row();
      const T* right = x_ + own_k() * kSolveStrideX + first_of_warp() + own_row();
      KIZAMI_UNROLL_SOME
      for (int k = 0; k < first_row; k += 8) {
        subtract_by_warp(left[0], right[0], sums[0]);
        subtract_by_warp(left[4 * kSolveStrideL], right[4 * kSolveStrideX], sums[1]);
        left += 8 * kSolveStrideL;
        right += 8 * kSolveStrideX;
      }
    } else {
      const T* left = l + own_row();
      const T* right = x_ + first_of_warp() + own_pair();
      KIZAMI_UNROLL_SOME
      for (int k = 0; k < first_row; ++k) {
        for (int j = 0; j < 2; ++j) sums[0][j] = fused(-left[0], right[j], sums[0][j]);
        left += kSolveStrideL;
        right += kSolveStrideX;
      }
    }
    own[0] = sums[0][0] + sums[1][0];
    own[1] = sums[0][1] + sums[1][1];
  }
  /// Eight rows of X, a column in each of eight lanes.
  KIZAMI_HOST_DEVICE void solve(int panel) {
    if (lane() >= 8) return;
    if (f_.has_unit_diagonal) {
      solve_rows<true>(panel * kSolveRows);
    } else {
      solve_rows<false>(panel * kSolveRows);
    }
  }

 private:
#if defined(__CUDA_ARCH__)
  static constexpr bool kHasTensorCore = sizeof(T) == 8;
#else
  static constexpr bool kHasTensorCore = false;
#endif
  static constexpr T kLeast = sizeof(T) == 8 ? static_cast<T>(0x1p-1000) : static_cast<T>(0x1p-120);

  static constexpr int kColumnsOfPass = kSolveThreads / kSolveRows;

  [[nodiscard]] KIZAMI_HOST_DEVICE int num_rows() const { return num_panels() * kSolveRows; }
  /// f(x, c, step, row, row_step) for the lines that this thread moves between shared memory and C: from row `row` on each
  /// row_step-th, `step` from one to the next in C, null beyond its edge. Neighbours are neighbours in memory.
  template <class Function>
  KIZAMI_HOST_DEVICE void each_line(const Function& function) const {
    const bool is_down = f_.c_down == 1 || f_.c_down == -1;
    const int row_step = is_down ? kSolveRows : kSolveWarps;
    const int row = is_down ? thread_ % kSolveRows : warp();
    for (int column = is_down ? thread_ / kSolveRows : lane(); column < kSolveColumns; column += kColumnsOfPass) {
      const bool is_inside = first_column_ + column < f_.width;
      function(x_ + row * kSolveStrideX + column,
               is_inside ? f_.c + row * f_.c_down + (first_column_ + column) * f_.c_across : nullptr,
               row_step * f_.c_down, row, row_step);
      if (!is_down) break;
    }
  }
  [[nodiscard]] KIZAMI_HOST_DEVICE T* panel_at(int panel) const {
    return panels_ + std::int64_t{panel % kSolvePanels} * num_panels() * kSolveRows * kSolveStrideL;
  }

  // Lanes of a warp, and in the order of mma.m8n8k4 the row, the pair of columns and the inner index that one has.
  [[nodiscard]] KIZAMI_HOST_DEVICE int lane() const { return thread_ % 32; }
  [[nodiscard]] KIZAMI_HOST_DEVICE int warp() const { return thread_ / 32; }
  [[nodiscard]] KIZAMI_HOST_DEVICE int first_of_warp() const { return warp() * 8; }
  [[nodiscard]] KIZAMI_HOST_DEVICE int own_row() const { return lane() / 4; }
  [[nodiscard]] KIZAMI_HOST_DEVICE int own_pair() const { return lane() % 4 * 2; }
  [[nodiscard]] KIZAMI_HOST_DEVICE int own_k() const { return lane() % 4; }

  /// 8 x 8 sums less a product of 8 x 4 and 4 x 8 elements, of which each lane has its own.
  static KIZAMI_HOST_DEVICE void subtract_by_warp(T left, T right, T (&sums)[2]) {
#if defined(__CUDA_ARCH__)
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
        : "+d"(sums[0]), "+d"(sums[1])
        : "d"(-left), "d"(right));
#endif
  }
  static KIZAMI_HOST_DEVICE void copy(T& to, const T* from, bool is_there) {
#if defined(__CUDA_ARCH__)
    const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(&to));
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(address), "l"(from), "n"(sizeof(T)),
                 "r"(is_there ? static_cast<std::uint32_t>(sizeof(T)) : 0U)
                 : "memory");
#else
    to = is_there ? *from : T{};
#endif
  }
  static KIZAMI_HOST_DEVICE void end_copies() {
#if defined(__CUDA_ARCH__)
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
  }

  template <bool kHasUnitDiagonal>
  KIZAMI_HOST_DEVICE void solve_rows(int first_row) {
    const T* const l = panel_at(first_row / kSolveRows) + first_row * kSolveStrideL;
    T* const x = x_ + first_row * kSolveStrideX + first_of_warp() + lane();
    T column[kSolveRows];
    KIZAMI_UNROLL
    for (int i = 0; i < kSolveRows; ++i) column[i] = x[i * kSolveStrideX];
    bool is_finite = true;
    KIZAMI_UNROLL
    for (int k = 0; k < kSolveRows; ++k) {
      if constexpr (!kHasUnitDiagonal) {
        column[k] = divided(column[k], shared_.divisors[first_row + k]);
        is_finite = is_finite && column[k] - column[k] == T{};
      }
      KIZAMI_UNROLL
      for (int i = k + 1; i < kSolveRows; ++i) column[i] = fused(-l[k * kSolveStrideL + i], column[k], column[i]);
    }
    if constexpr (!kHasUnitDiagonal) {
      if (!is_finite || !are_plain(first_row)) return solve_by_divisions(first_row, l, x);
    }
    KIZAMI_UNROLL
    for (int i = 0; i < kSolveRows; ++i) x[i * kSolveStrideX] = column[i];
  }
  /// Of all rows of a panel.
  [[nodiscard]] KIZAMI_HOST_DEVICE bool are_plain(int first_row) const {
    static_assert(kSolveRows == sizeof(std::uint64_t) && sizeof(bool) == 1);
    std::uint64_t all = 0;
    __builtin_memcpy(&all, shared_.is_plain + first_row, sizeof all);
    return all == 0x0101010101010101U;
  }
  /// Where reciprocals will not do, or an Inf or a NaN comes out: seldom.
  KIZAMI_HOST_DEVICE void solve_by_divisions(int first_row, const T* l, T* x) {
    for (int k = 0; k < kSolveRows; ++k) {
      x[k * kSolveStrideX] = x[k * kSolveStrideX] / shared_.divisors[first_row + k].diagonal;
      for (int i = k + 1; i < kSolveRows; ++i)
        x[i * kSolveStrideX] = fused(-l[k * kSolveStrideL + i], x[k * kSolveStrideX], x[i * kSolveStrideX]);
    }
  }
  /// b / diagonal, correctly rounded where the reciprocal is, by one step of Newton's; NaN of an Inf.
  [[nodiscard]] static KIZAMI_HOST_DEVICE T divided(T b, const typename SolveShared<T>::Divisor& divisor) {
    const T near = multiplied(b, divisor.reciprocal);
    return fused(fused(-divisor.diagonal, near, b), divisor.reciprocal, near);
  }
  [[nodiscard]] static KIZAMI_HOST_DEVICE T multiplied(T a, T b) { return a * b; }
  [[nodiscard]] static KIZAMI_HOST_DEVICE T fused(T a, T b, T c) {
    if constexpr (sizeof(T) == 8) {
      return __builtin_fma(a, b, c);
    } else {
      return __builtin_fmaf(a, b, c);
    }
  }

  const Forward<T>& f_;
  SolveShared<T>& shared_;
  T* x_;
  T* panels_;
  int thread_;
  std::int64_t first_column_;
  int l_row_, l_column_;  ///< that this thread fetches in the first pass of a panel
  const T* own_l_;        ///< in the first panel
};

/// All steps, in order: of_block(step) does step(thread) for all threads, with a barrier of the block behind it, of_warp(step)
/// with one of each warp.
template <class T, class OfBlock, class OfWarp>
KIZAMI_HOST_DEVICE void solve_in_steps(int num_panels, const OfBlock& of_block, const OfWarp& of_warp) {
  of_block([](auto& thread) {
    thread.fetch(0);
    thread.fetch(1);
    thread.load_diagonal();
    thread.load();
  });
  for (int panel = 0; panel < num_panels; ++panel) {
    of_block([](auto& thread) { thread.await_panel(); });
    of_warp([&](auto& thread) {
      thread.fetch(panel + 2);  // where the panel before was
      thread.subtract(panel);
    });
    of_warp([&](auto& thread) { thread.solve(panel); });
  }
  of_block([](auto&) {});
  of_block([](auto& thread) { thread.store(); });
}

}  // namespace kizami::dropin::cublas
