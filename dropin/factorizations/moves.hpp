// SPDX-License-Identifier: MIT
// What panels do to the order of rows. Rows that a panel of W columns exchanges are its first W, whose places the rows that
// it chooses take, and as many elsewhere, whose places get rows of the first W. So two lists say all: by place what comes
// there, and by row where it goes. That holds for panels after one another, too: a row that has had to leave its place is
// among the rows whose places are not taken yet, until it is chosen. compose() makes the lists of several panels, so that
// columns are moved once for all of them. A host that does each step for all threads in turn makes the same lists.
#pragma once

#include <cstdint>

#include "dropin/factorizations/host_device.hpp"

namespace kizami::dropin::factorizations {

inline constexpr int kPanelWidth = 64;   ///< columns of a panel on a device
inline constexpr int kMovedPanels = 64;  ///< whose moves are composed

/// Of a panel whose rows are numbered from its first one on. Of lists of i all below the number of rows are set.
template <int W>
struct Moves {
  std::int32_t from[W];  ///< the row that comes to place i
  std::int32_t to[W];    ///< where row i goes, if that is W or more; else -1
};

/// The same of any number of rows, from row `first_row` of the matrix on.
struct MovedRows {
  std::int64_t first_row;
  std::int32_t count;
  const std::int32_t* from;
  const std::int32_t* to;
};

/// Of a panel of `rows` rows that has pivots as LAPACK has them: row c was exchanged with row pivots[c] - 1 for c = 0, 1,
/// ... cols - 1.
template <int W>
FACTORIZATIONS_BOTH void moves_of(const int* pivots, std::int32_t rows, std::int32_t cols, Moves<W>& moves) {
  const std::int32_t count = rows < W ? rows : W;
  for (std::int32_t i = 0; i < count; ++i) {
    moves.from[i] = i;
    moves.to[i] = -1;
  }
  for (std::int32_t c = 0; c < cols; ++c) {
    const std::int32_t place = pivots[c] - 1;
    const std::int32_t leaves = moves.from[c];
    if (place < count) {
      moves.from[c] = moves.from[place];
      moves.from[place] = leaves;
      continue;
    }
    std::int32_t comes = place;
    for (std::int32_t i = 0; i < count; ++i) {
      if (moves.to[i] == place) comes = i;
    }
    if (comes < count) moves.to[comes] = -1;
    moves.from[c] = comes;
    moves.to[leaves] = place;
  }
}

/// Pivots as LAPACK has them of the moves of such a panel: moves_of() undone.
/// @param put put(c, place): row c was exchanged with row `place`, for c = 0, 1, ...
template <int W, class Put>
FACTORIZATIONS_BOTH void pivots_of(const Moves<W>& moves, std::int32_t rows, std::int32_t cols, const Put& put) {
  std::int32_t row_at[W];    // of places that are not taken yet: only rows of the first W come there
  std::int32_t place_of[W];  // of rows of the first W
  for (std::int32_t i = 0; i < W; ++i) row_at[i] = place_of[i] = i;
  const std::int32_t count = rows < cols ? rows : cols;
  for (std::int32_t c = 0; c < count; ++c) {
    const std::int32_t comes = moves.from[c];
    const std::int32_t place = comes < W ? place_of[comes] : comes;  // a row behind moves once, when it is chosen
    const std::int32_t leaves = row_at[c];
    if (place < W) row_at[place] = leaves;
    place_of[leaves] = place;
    put(c, place);
  }
}

template <int W>
struct ComposeCall {
  const Moves<W>* moves;  ///< of all panels of a matrix
  std::int32_t first;     ///< panel
  std::int32_t last;      ///< behind the last one
  std::int32_t rows;      ///< of the matrix
  std::int32_t* row_at;   ///< [rows], row_at[i] == i before and after
  std::int32_t* from;     ///< [(last - first) * W]
  std::int32_t* to;

  [[nodiscard]] FACTORIZATIONS_BOTH std::int32_t first_row() const { return first * W; }
  [[nodiscard]] FACTORIZATIONS_BOTH std::int32_t count() const {
    return (last * W < rows ? last * W : rows) - first_row();
  }
};

/// A thread of at least W. Rows are moved in a column of their own numbers, panel by panel.
template <int W>
class ComposeSteps {
 public:
  FACTORIZATIONS_BOTH ComposeSteps(const ComposeCall<W>& call, int thread, int num_threads)
      : call_(call), thread_(thread), num_threads_(num_threads) {
    fetch(call_.first);
  }
  FACTORIZATIONS_BOTH void read(std::int32_t panel) {
    from_ = next_from_;
    to_ = next_to_;
    fetch(panel + 1);
    if (from_ >= 0) comes_ = call_.row_at[panel * W + from_];
    if (to_ >= 0) leaves_ = call_.row_at[panel * W + thread_];
  }
  FACTORIZATIONS_BOTH void write(std::int32_t panel) {
    if (from_ >= 0) call_.row_at[panel * W + thread_] = comes_;
    if (to_ >= 0) call_.row_at[panel * W + to_] = leaves_;
  }
  FACTORIZATIONS_BOTH void list_those_that_come() {
    const std::int32_t first_row = call_.first_row();
    for (std::int32_t i = thread_; i < call_.count(); i += num_threads_) {
      call_.from[i] = call_.row_at[first_row + i] - first_row;
      call_.to[i] = -1;
      call_.row_at[first_row + i] = first_row + i;
    }
  }
  /// @param exchange exchange(x, y) sets x to y and returns what it was, at once for all threads: of threads that know of the
  /// same place the first finds a row there
  template <class Exchange>
  FACTORIZATIONS_BOTH void list_those_that_go(const Exchange& exchange) {
    const std::int32_t first_row = call_.first_row();
    for (std::int32_t i = thread_; i < call_.count(); i += num_threads_) {
      const std::int32_t panel = call_.first + i / W;
      const std::int32_t to = call_.moves[panel].to[i % W];
      const std::int32_t place = panel * W + to;
      if (to < 0 || place < first_row + call_.count()) continue;
      const std::int32_t row = exchange(call_.row_at[place], place);
      if (row != place) call_.to[row - first_row] = place - first_row;
    }
  }

 private:
  FACTORIZATIONS_BOTH void fetch(std::int32_t panel) {
    const bool has_row = panel < call_.last && thread_ < W && panel * W + thread_ < call_.rows;
    next_from_ = has_row ? call_.moves[panel].from[thread_] : -1;
    next_to_ = has_row ? call_.moves[panel].to[thread_] : -1;
  }

  const ComposeCall<W>& call_;
  int thread_;
  int num_threads_;
  std::int32_t from_ = -1, to_ = -1;
  std::int32_t next_from_ = -1, next_to_ = -1;
  std::int32_t comes_ = 0, leaves_ = 0;
};

/// each(f) does f(thread) for all threads of one block; sync() waits for all of them.
template <int W, class Each, class Sync, class Exchange>
FACTORIZATIONS_BOTH void compose(const ComposeCall<W>& call, const Each& each, const Sync& sync,
                                 const Exchange& exchange) {
  for (std::int32_t panel = call.first; panel < call.last; ++panel) {
    each([&](auto& thread) { thread.read(panel); });
    sync();
    each([&](auto& thread) { thread.write(panel); });
    sync();
  }
  each([](auto& thread) { thread.list_those_that_come(); });
  sync();
  each([&](auto& thread) { thread.list_those_that_go(exchange); });
}

}  // namespace kizami::dropin::factorizations
