// SPDX-License-Identifier: MIT
// What a block of threads does between its barriers when it solves L X = alpha C for 32 columns of C (solve_block.hpp):
// X lies in shared memory; for 32 rows after another what stands left of the diagonal is subtracted, tile of L by tile,
// then one warp solves with the tile of the diagonal, a column in each lane. A host that does each step for all
// threads in turn makes the same bits.
#pragma once

#include <cstdint>

#include "dropin/cublas/solve_block.hpp"
#include "kizami/host_device.hpp"

#if defined(__CUDA_ARCH__)
#define KIZAMI_UNROLL _Pragma("unroll")
#else
#define KIZAMI_UNROLL
#endif

namespace kizami::dropin::cublas {

inline constexpr int kSolveTile = 32;      ///< rows at a time, and columns of a block of threads
inline constexpr int kSolveThreads = 128;  ///< 4 warps
inline constexpr int kSolveStride =
    kSolveTile + 2;  ///< of rows in shared memory: pairs stay aligned, rows do not meet in banks

/// In shared memory. x: [rows of the triangle, rounded up to kSolveTile][kSolveStride] behind it.
template <class T>
struct SolveShared {
  T tile[kSolveTile][kSolveStride];  ///< of L, transposed: [column][row]
  T reciprocal[kSolveTile];          ///< of the diagonal, where is_plain says that it will do
  std::uint32_t is_plain[kSolveTile];
};
template <class T>
[[nodiscard]] constexpr std::int64_t solve_shared_bytes(std::int64_t order) {
  const std::int64_t rows = (order + kSolveTile - 1) / kSolveTile * kSolveTile;
  return static_cast<std::int64_t>(sizeof(SolveShared<T>)) + rows * kSolveStride * static_cast<std::int64_t>(sizeof(T));
}

/// The steps of one thread. Between two of them all threads wait for each other.
template <class T>
class SolveSteps {
 public:
  KIZAMI_HOST_DEVICE SolveSteps(const Forward<T>& system, SolveShared<T>& shared, T* x, int thread, std::int64_t block)
      : f_(system), shared_(shared), x_(x), thread_(thread), first_column_(block * kSolveTile) {}

  [[nodiscard]] KIZAMI_HOST_DEVICE int num_tiles() const {
    return static_cast<int>((f_.order + kSolveTile - 1) / kSolveTile);
  }

  /// alpha C to shared memory, and zeros beyond its edges.
  KIZAMI_HOST_DEVICE void load() {
    for_each_of_x([&](T& x, std::int64_t row, std::int64_t column) {
      x = row < f_.order && column < f_.width ? multiplied(f_.alpha, f_.c[row * f_.c_down + column * f_.c_across])
                                              : T{};
    });
  }

  /// A tile of L on its way to this thread's registers.
  KIZAMI_HOST_DEVICE void fetch(int tile_row, int tile_column) {
    KIZAMI_UNROLL
    for (int i = 0; i < kOwn; ++i) {
      const Place at = place(i, f_.l_down == 1 || f_.l_down == -1);
      const std::int64_t row = std::int64_t{tile_row} * kSolveTile + at.along;
      const std::int64_t column = std::int64_t{tile_column} * kSolveTile + at.across;
      const bool is_inside = row < f_.order && column < f_.order && row >= column;
      fetched_[i] = is_inside ? f_.l[row * f_.l_down + column * f_.l_across] : T{};
    }
  }
  KIZAMI_HOST_DEVICE void store_tile() {
    KIZAMI_UNROLL
    for (int i = 0; i < kOwn; ++i) {
      const Place at = place(i, f_.l_down == 1 || f_.l_down == -1);
      shared_.tile[at.across][at.along] = fetched_[i];
    }
  }

  /// This thread's sums of the rows of a tile, 2 x 2 in its upper and in its lower half.
  KIZAMI_HOST_DEVICE void begin_sums(int tile_row) {
    for_each_sum([&](T& sum, int row, int column) { sum = x_at(tile_row * kSolveTile + row, column); });
  }
  KIZAMI_HOST_DEVICE void subtract(int tile_column) {
    const int row = own_row();
    const int column = own_column();
    const T* const solved = x_ + std::int64_t{tile_column} * kSolveTile * kSolveStride + column;
    KIZAMI_UNROLL
    for (int k = 0; k < kSolveTile; ++k) {
      const T upper[2] = {shared_.tile[k][row], shared_.tile[k][row + 1]};
      const T lower[2] = {shared_.tile[k][kHalf + row], shared_.tile[k][kHalf + row + 1]};
      const T right[2] = {solved[k * kSolveStride], solved[k * kSolveStride + 1]};
      KIZAMI_UNROLL
      for (int j = 0; j < 2; ++j) {
        KIZAMI_UNROLL
        for (int i = 0; i < 2; ++i) {
          sums_[i][j] = fused(-upper[i], right[j], sums_[i][j]);
          sums_[2 + i][j] = fused(-lower[i], right[j], sums_[2 + i][j]);
        }
      }
    }
  }
  KIZAMI_HOST_DEVICE void end_sums(int tile_row) {
    for_each_sum([&](T& sum, int row, int column) { x_at(tile_row * kSolveTile + row, column) = sum; });
  }

  /// Reciprocals of the diagonal, by the last warp, when a tile of the diagonal is in shared memory.
  KIZAMI_HOST_DEVICE void invert_diagonal(int tile_row) {
    const int i = thread_ - (kSolveThreads - kSolveTile);
    if (i < 0) return;
    const bool is_beyond = std::int64_t{tile_row} * kSolveTile + i >= f_.order;
    if (f_.has_unit_diagonal || is_beyond) shared_.tile[i][i] = T{1};
    const T diagonal = shared_.tile[i][i];
    const T size = diagonal < T{} ? -diagonal : diagonal;
    shared_.is_plain[i] = size > kLeast && size < T{1} / kLeast ? 1 : 0;
    shared_.reciprocal[i] = T{1} / diagonal;
  }
  /// With the tile of the diagonal, by the first warp: a column in each lane.
  KIZAMI_HOST_DEVICE void solve_tile(int tile_row) {
    if (thread_ >= kSolveTile) return;
    T column[kSolveTile];
    KIZAMI_UNROLL
    for (int i = 0; i < kSolveTile; ++i) column[i] = x_at(tile_row * kSolveTile + i, thread_);
    KIZAMI_UNROLL
    for (int k = 0; k < kSolveTile; ++k) {
      column[k] = divided(column[k], k);
      KIZAMI_UNROLL
      for (int i = k + 1; i < kSolveTile; ++i) column[i] = fused(-shared_.tile[k][i], column[k], column[i]);
    }
    KIZAMI_UNROLL
    for (int i = 0; i < kSolveTile; ++i) x_at(tile_row * kSolveTile + i, thread_) = column[i];
  }

  KIZAMI_HOST_DEVICE void store() {
    for_each_of_x([&](T& x, std::int64_t row, std::int64_t column) {
      if (row < f_.order && column < f_.width) f_.c[row * f_.c_down + column * f_.c_across] = x;
    });
  }

 private:
  static constexpr int kOwn = kSolveTile * kSolveTile / kSolveThreads;  // elements of a tile for each thread
  static constexpr int kHalf = kSolveTile / 2;
  static constexpr T kLeast = sizeof(T) == 8 ? static_cast<T>(0x1p-1000) : static_cast<T>(0x1p-120);

  struct Place {
    int along, across;
  };
  /// The i-th element of a tile that this thread has: threads next to each other lie next to each other in memory.
  [[nodiscard]] KIZAMI_HOST_DEVICE Place place(int i, bool is_along) const {
    const int at = thread_ + i * kSolveThreads;
    return is_along ? Place{at % kSolveTile, at / kSolveTile} : Place{at / kSolveTile, at % kSolveTile};
  }
  [[nodiscard]] KIZAMI_HOST_DEVICE T& x_at(int row, int column) const { return x_[row * kSolveStride + column]; }

  template <class Function>
  KIZAMI_HOST_DEVICE void for_each_of_x(const Function& function) const {
    const bool is_down = f_.c_down == 1 || f_.c_down == -1;
    for (int tile = 0; tile < num_tiles(); ++tile) {
      KIZAMI_UNROLL
      for (int i = 0; i < kOwn; ++i) {
        const Place at = place(i, is_down);
        const int row = tile * kSolveTile + at.along;
        function(x_at(row, at.across), std::int64_t{row}, first_column_ + at.across);
      }
    }
  }

  // A warp has 8 columns and all rows of a tile: 8 lanes along, 4 across.
  [[nodiscard]] KIZAMI_HOST_DEVICE int own_row() const { return thread_ % kSolveTile / 4 * 2; }
  [[nodiscard]] KIZAMI_HOST_DEVICE int own_column() const { return thread_ / kSolveTile * 8 + thread_ % 4 * 2; }
  template <class Function>
  KIZAMI_HOST_DEVICE void for_each_sum(const Function& function) {
    KIZAMI_UNROLL
    for (int i = 0; i < 4; ++i) {
      KIZAMI_UNROLL
      for (int j = 0; j < 2; ++j) function(sums_[i][j], own_row() + (i < 2 ? i : kHalf + i - 2), own_column() + j);
    }
  }

  /// b / L(k, k), correctly rounded where the reciprocal is: one step of Newton's from it.
  [[nodiscard]] KIZAMI_HOST_DEVICE T divided(T b, int k) const {
    const T diagonal = shared_.tile[k][k];
    if (shared_.is_plain[k] == 0) return b / diagonal;
    const T near = multiplied(b, shared_.reciprocal[k]);
    const T nearer = fused(fused(-diagonal, near, b), shared_.reciprocal[k], near);
    return near - near == T{} && near != T{} ? nearer : near;  // Inf, NaN and the sign of zero stay what they are
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
  int thread_;
  std::int64_t first_column_;
  T fetched_[kOwn];
  T sums_[4][2];
};

/// All steps, in order: next(step) does step(thread) for all threads, with a barrier behind it.
template <class T, class Next>
KIZAMI_HOST_DEVICE void solve_in_steps(int num_tiles, const Next& next) {
  next([](auto& thread) {
    thread.load();
    thread.fetch(0, 0);
  });
  for (int row = 0; row < num_tiles; ++row) {
    if (row > 0) next([&](auto& thread) { thread.begin_sums(row); });
    for (int column = 0; column < row; ++column) {
      next([&](auto& thread) {
        thread.store_tile();
        thread.fetch(row, column + 1);  // the last one is of the diagonal
      });
      next([&](auto& thread) { thread.subtract(column); });
    }
    next([&](auto& thread) {
      if (row > 0) thread.end_sums(row);
      thread.store_tile();
      if (row + 1 < num_tiles) thread.fetch(row + 1, 0);
    });
    next([&](auto& thread) { thread.invert_diagonal(row); });
    next([&](auto& thread) { thread.solve_tile(row); });
  }
  next([](auto& thread) { thread.store(); });
}

}  // namespace kizami::dropin::cublas
