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
  T tile[2][kSolveTile][kSolveStride];  ///< of L, transposed: [column][row]; they take turns, so that one barrier is enough
  T diagonal[kMostSolved];              ///< 1 beyond the edge
  T reciprocal[kMostSolved];
  std::uint32_t is_plain[kMostSolved / kSolveTile];  ///< of a tile: reciprocals of its diagonal will do
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
    constexpr int kAtOnce = 4;  // tiles on their way
    const bool is_down = f_.c_down == 1 || f_.c_down == -1;
    for (int tile = 0; tile < num_tiles(); tile += kAtOnce) {
      T loaded[kAtOnce][kOwn];
      KIZAMI_UNROLL
      for (int t = 0; t < kAtOnce; ++t) {
        KIZAMI_UNROLL
        for (int i = 0; i < kOwn; ++i) {
          const Place at = place(i, is_down);
          const std::int64_t row = std::int64_t{tile + t} * kSolveTile + at.along;
          const std::int64_t column = first_column_ + at.across;
          loaded[t][i] = row < f_.order && column < f_.width ? f_.c[row * f_.c_down + column * f_.c_across] : T{};
        }
      }
      KIZAMI_UNROLL
      for (int t = 0; t < kAtOnce; ++t) {
        if (tile + t == num_tiles()) break;
        KIZAMI_UNROLL
        for (int i = 0; i < kOwn; ++i) {
          const Place at = place(i, is_down);
          x_at((tile + t) * kSolveTile + at.along, at.across) = multiplied(f_.alpha, loaded[t][i]);
        }
      }
    }
  }
  /// The diagonal and its reciprocals; then, of all rows, which tiles can do with these.
  KIZAMI_HOST_DEVICE void load_diagonal() {
    for (int i = thread_; i < num_tiles() * kSolveTile; i += kSolveThreads) {
      const bool is_one = f_.has_unit_diagonal || i >= f_.order;
      const T diagonal = is_one ? T{1} : f_.l[i * (f_.l_down + f_.l_across)];
      shared_.diagonal[i] = diagonal;
      shared_.reciprocal[i] = T{1} / diagonal;
    }
  }
  KIZAMI_HOST_DEVICE void judge_diagonal() {
    if (thread_ >= num_tiles()) return;
    bool is_plain = true;
    for (int i = thread_ * kSolveTile; i < (thread_ + 1) * kSolveTile; ++i) {
      const T size = shared_.diagonal[i] < T{} ? -shared_.diagonal[i] : shared_.diagonal[i];
      is_plain = is_plain && size > kLeast && size < T{1} / kLeast;
    }
    shared_.is_plain[thread_] = is_plain ? 1 : 0;
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
  /// In the other place than the tile before, which some may still read.
  KIZAMI_HOST_DEVICE void store_tile() {
    turn_ ^= 1;
    KIZAMI_UNROLL
    for (int i = 0; i < kOwn; ++i) {
      const Place at = place(i, f_.l_down == 1 || f_.l_down == -1);
      shared_.tile[turn_][at.across][at.along] = fetched_[i];
    }
  }

  /// This thread's sums of the rows of a tile, 2 x 2 in its upper and in its lower half.
  KIZAMI_HOST_DEVICE void begin_sums(int tile_row) {
    for_each_sum([&](T& sum, int row, int column) { sum = x_at(tile_row * kSolveTile + row, column); });
  }
  KIZAMI_HOST_DEVICE void subtract(int tile_column) {
    const int row = own_row();
    const int column = own_column();
    const auto& tile = shared_.tile[turn_];
    const T* const solved = x_ + std::int64_t{tile_column} * kSolveTile * kSolveStride + column;
    KIZAMI_UNROLL
    for (int k = 0; k < kSolveTile; ++k) {
      const T upper[2] = {tile[k][row], tile[k][row + 1]};
      const T lower[2] = {tile[k][kHalf + row], tile[k][kHalf + row + 1]};
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

  /// With the tile of the diagonal, by the first warp: a column in each lane.
  KIZAMI_HOST_DEVICE void solve_tile(int tile_row) {
    if (thread_ >= kSolveTile) return;
    const int first_row = tile_row * kSolveTile;
    const auto& tile = shared_.tile[turn_];
    if (shared_.is_plain[tile_row] == 0) {  // seldom
      for (int k = 0; k < kSolveTile; ++k) {
        const T x = x_at(first_row + k, thread_) / shared_.diagonal[first_row + k];
        x_at(first_row + k, thread_) = x;
        for (int i = k + 1; i < kSolveTile; ++i) {
          T& below = x_at(first_row + i, thread_);
          below = fused(-tile[k][i], x, below);
        }
      }
      return;
    }
    T column[kSolveTile];
    KIZAMI_UNROLL
    for (int i = 0; i < kSolveTile; ++i) column[i] = x_at(first_row + i, thread_);
    KIZAMI_UNROLL
    for (int k = 0; k < kSolveTile; ++k) {
      column[k] = divided(column[k], shared_.diagonal[first_row + k], shared_.reciprocal[first_row + k]);
      KIZAMI_UNROLL
      for (int i = k + 1; i < kSolveTile; ++i) column[i] = fused(-tile[k][i], column[k], column[i]);
    }
    KIZAMI_UNROLL
    for (int i = 0; i < kSolveTile; ++i) x_at(first_row + i, thread_) = column[i];
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

  /// b / diagonal, correctly rounded where the reciprocal is: one step of Newton's from it.
  [[nodiscard]] static KIZAMI_HOST_DEVICE T divided(T b, T diagonal, T reciprocal) {
    const T near = multiplied(b, reciprocal);
    const T nearer = fused(fused(-diagonal, near, b), reciprocal, near);
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
  int turn_ = 0;  ///< the tile that was stored last
  T fetched_[kOwn];
  T sums_[4][2];
};

/// All steps, in order: next(step) does step(thread) for all threads, with a barrier behind it.
template <class T, class Next>
KIZAMI_HOST_DEVICE void solve_in_steps(int num_tiles, const Next& next) {
  next([](auto& thread) {
    thread.fetch(0, 0);
    thread.load_diagonal();
    thread.load();
  });
  next([](auto& thread) { thread.judge_diagonal(); });
  for (int row = 0; row < num_tiles; ++row) {
    for (int column = 0; column <= row; ++column) {
      next([&](auto& thread) {
        if (column == 0) thread.begin_sums(row);
        if (column > 0) thread.subtract(column - 1);
        if (column == row) thread.end_sums(row);
        thread.store_tile();
        // The last tile of a row is that of the diagonal.
        if (column < row) {
          thread.fetch(row, column + 1);
        } else if (row + 1 < num_tiles) {
          thread.fetch(row + 1, 0);
        }
      });
    }
    next([&](auto& thread) { thread.solve_tile(row); });
  }
  next([](auto& thread) { thread.store(); });
}

}  // namespace kizami::dropin::cublas
