// SPDX-License-Identifier: MIT
// LU of a tall panel of W columns in one kernel: what its threads do between barriers. A thread has a row in registers for
// as long as the kernel runs, and knows its place; that a row is exchanged with another changes their places, and nothing
// moves before the end. In step c
//   each block offers its largest |A(row, c)| of places not yet taken, with that row;      [barrier of all blocks]
//   all choose the largest offer, at the place first in order where several are equal: that row gets place c, the row at
//   place c its place; rows behind get l = A(row, c) / pivot, and lose l times the row that was chosen.
// Elements of a row turn by one at each step, so that all indices of registers are constants: l comes in at the end, and
// after W steps a row is in order again. A host that does each step for all threads of all blocks makes the same bits.
#pragma once

#include <cstdint>

#include "host_device.hpp"

namespace factorizations {

inline constexpr int kPanelThreads = 256;  ///< rows of a block
inline constexpr int kPanelRun = 16;       ///< how many of 256 one thread compares
inline constexpr int kMostPanelBlocks = kPanelThreads;

/// Rows that lie elsewhere after a panel, from its first row on: the row at `from` belongs to `to`.
template <int W>
struct Moves {
  std::int32_t count;
  std::int32_t from[2 * W];
  std::int32_t to[2 * W];
};

/// In the memory of the device, for all blocks; both halves in turn, so that one barrier a step is enough.
template <int W>
struct PanelOffers {
  double size[2][kMostPanelBlocks];
  std::int32_t place[2][kMostPanelBlocks];
  double row[2][kMostPanelBlocks][W];
};

template <int W>
struct PanelShared {
  double size[kPanelThreads];
  std::int32_t place[kPanelThreads];
  std::int32_t block[kPanelThreads];
  double run_size[kPanelRun];
  std::int32_t run_place[kPanelRun];
  std::int32_t run_block[kPanelRun];
  double chosen[W];
};

template <int W>
struct PanelCall {
  double* a;
  std::int64_t ld;
  std::int32_t rows;
  std::int32_t cols;  ///< at most W
  std::int32_t num_blocks;
  PanelOffers<W>* offers;
  Moves<W>* moves;  ///< count is 0 before
};

template <int W>
class PanelSteps {
 public:
  FACTORIZATIONS_BOTH PanelSteps(const PanelCall<W>& call, PanelShared<W>& shared, int thread, int block)
      : call_(call),
        shared_(shared),
        thread_(thread),
        block_(block),
        first_(block * kPanelThreads + thread),
        place_(first_) {}

  FACTORIZATIONS_BOTH void load() {
    FACTORIZATIONS_UNROLL
    for (int j = 0; j < W; ++j) row_[j] = has_row() && j < call_.cols ? call_.a[first_ + j * call_.ld] : 0.0;
  }

  // ---- one step: nine pieces, with a barrier of the block behind each, and of all blocks behind publish() ----

  FACTORIZATIONS_BOTH void offer(int step) {
    const double value = row_[0] < 0 ? -row_[0] : row_[0];
    const bool is_open = has_row() && place_ >= step;
    // A NaN is chosen at once, so that it is seen.
    shared_.size[thread_] = !is_open ? -1.0 : value == value ? value : kNan;
    shared_.place[thread_] = place_;
    shared_.block[thread_] = block_;
  }
  FACTORIZATIONS_BOTH void compare_runs() {
    if (thread_ >= kPanelRun) return;
    int best = thread_ * kPanelRun;
    FACTORIZATIONS_UNROLL
    for (int i = 1; i < kPanelRun; ++i) {
      const int other = thread_ * kPanelRun + i;
      if (is_before(shared_.size[other], shared_.place[other], shared_.size[best], shared_.place[best])) best = other;
    }
    shared_.run_size[thread_] = shared_.size[best];
    shared_.run_place[thread_] = shared_.place[best];
    shared_.run_block[thread_] = shared_.block[best];
  }
  /// The thread whose row is the block's offer.
  FACTORIZATIONS_BOTH void publish(int step) {
    const int best = best_run();
    const double size = shared_.run_size[best];
    const bool is_owner = size >= 0 ? has_row() && place_ == shared_.run_place[best] : thread_ == 0;
    if (!is_owner) return;
    PanelOffers<W>& offers = *call_.offers;
    const int half = step % 2;
    offers.size[half][block_] = size;
    offers.place[half][block_] = shared_.run_place[best];
    FACTORIZATIONS_UNROLL
    for (int j = 0; j < W; ++j) offers.row[half][block_][j] = row_[j];
  }
  FACTORIZATIONS_BOTH void read_offers(int step) {
    const bool is_one = thread_ < call_.num_blocks;
    const int half = step % 2;
    shared_.size[thread_] = is_one ? fresh(call_.offers->size[half][thread_]) : -1.0;
    shared_.place[thread_] = is_one ? fresh(call_.offers->place[half][thread_]) : 0;
    shared_.block[thread_] = thread_;
  }
  FACTORIZATIONS_BOTH void read_chosen(int step) {
    if (thread_ >= W) return;
    // Behind its last column come the row's own l.
    const double value = fresh(call_.offers->row[step % 2][shared_.run_block[best_run()]][thread_]);
    shared_.chosen[thread_] = thread_ < W - step ? value : 0.0;
  }
  FACTORIZATIONS_BOTH void eliminate(int step) {
    const int chosen_place = shared_.run_place[best_run()];
    if (place_ == chosen_place) {
      place_ = step;
    } else if (place_ == step) {
      place_ = chosen_place;
    }
    const bool is_done = place_ <= step;
    const double pivot = shared_.chosen[0];
    const double l = is_done || pivot == 0 ? row_[0] : row_[0] / pivot;  // of a column of zeros nothing is divided
    const double factor = is_done ? 0.0 : -l;
    FACTORIZATIONS_UNROLL
    for (int j = 1; j < W; ++j) row_[j - 1] = is_done ? row_[j] : __builtin_fma(factor, shared_.chosen[j], row_[j]);
    row_[W - 1] = l;
  }

  /// A step of columns that the panel does not have.
  FACTORIZATIONS_BOTH void turn() {
    const double first = row_[0];
    FACTORIZATIONS_UNROLL
    for (int j = 1; j < W; ++j) row_[j - 1] = row_[j];
    row_[W - 1] = first;
  }

  /// @param next next(counter): what it held, one more now, for all threads
  template <class Next>
  FACTORIZATIONS_BOTH void store(const Next& next) {
    if (!has_row()) return;
    FACTORIZATIONS_UNROLL
    for (int j = 0; j < W; ++j) {
      if (j < call_.cols) call_.a[place_ + j * call_.ld] = row_[j];
    }
    if (place_ == first_) return;
    const std::int32_t at = next(call_.moves->count);
    call_.moves->from[at] = first_;
    call_.moves->to[at] = place_;
  }

 private:
  static constexpr double kNan = __builtin_huge_val();  // larger than all

  [[nodiscard]] FACTORIZATIONS_BOTH bool has_row() const { return first_ < call_.rows; }
  [[nodiscard]] static FACTORIZATIONS_BOTH bool is_before(double size, int place, double other, int other_place) {
    return size > other || (size == other && place < other_place);
  }
  [[nodiscard]] FACTORIZATIONS_BOTH int best_run() const {
    int best = 0;
    FACTORIZATIONS_UNROLL
    for (int i = 1; i < kPanelRun; ++i) {
      if (is_before(shared_.run_size[i], shared_.run_place[i], shared_.run_size[best], shared_.run_place[best]))
        best = i;
    }
    return best;
  }
  /// As other blocks have just written it.
  template <class T>
  [[nodiscard]] static FACTORIZATIONS_BOTH T fresh(const T& value) {
    return *const_cast<const volatile T*>(&value);
  }

  const PanelCall<W>& call_;
  PanelShared<W>& shared_;
  int thread_;
  int block_;
  std::int32_t first_;
  std::int32_t place_;
  double row_[W];
};

/// All steps: each(f) does f(thread) for all threads of all blocks, with a barrier of each block behind it; all(f)
/// likewise with a barrier of all blocks.
template <int W, class Each, class All, class Next>
FACTORIZATIONS_BOTH void factor_panel(const PanelCall<W>& call, const Each& each, const All& all, const Next& next) {
  each([](auto& thread) { thread.load(); });
  const int num_steps = call.cols < call.rows ? call.cols : call.rows;
  for (int step = 0; step < num_steps; ++step) {
    each([&](auto& thread) { thread.offer(step); });
    each([](auto& thread) { thread.compare_runs(); });
    all([&](auto& thread) { thread.publish(step); });
    each([&](auto& thread) { thread.read_offers(step); });
    each([](auto& thread) { thread.compare_runs(); });
    each([&](auto& thread) { thread.read_chosen(step); });
    each([&](auto& thread) { thread.eliminate(step); });
  }
  for (int step = num_steps; step < W; ++step) each([](auto& thread) { thread.turn(); });
  each([&](auto& thread) { thread.store(next); });
}

/// The same of a panel that is factored in another way: pivots as LAPACK has them, row c was exchanged with row
/// pivots[c] - 1 for c = 0, 1, ... cols - 1.
template <int W>
FACTORIZATIONS_BOTH void moves_of(const int* pivots, std::int32_t cols, Moves<W>& moves) {
  std::int32_t count = 0;
  for (std::int32_t c = 0; c < cols; ++c) {  // places whose row is another one, and that row
    const std::int32_t places[2] = {c, pivots[c] - 1};
    if (places[0] == places[1]) continue;
    std::int32_t at[2];
    for (int i = 0; i < 2; ++i) {
      at[i] = 0;
      while (at[i] < count && moves.to[at[i]] != places[i]) ++at[i];
      if (at[i] < count) continue;
      moves.to[count] = places[i];
      moves.from[count] = places[i];
      ++count;
    }
    const std::int32_t row = moves.from[at[0]];
    moves.from[at[0]] = moves.from[at[1]];
    moves.from[at[1]] = row;
  }
  moves.count = count;
}

}  // namespace factorizations
