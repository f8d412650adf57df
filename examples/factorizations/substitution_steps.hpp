// SPDX-License-Identifier: MIT
// X <- L^-1 X for a lower triangle L of at most 256 rows, or X = L^-1: what the threads of a block do between barriers. A
// block has 8 columns of X, a thread one row of them, in registers. In step k thread k has its row of X, and tells it; all
// behind it subtract their L(row, k) times that row, which they fetched from memory eight steps ahead. So a step takes a
// barrier and a look at shared memory, and 256 of them some 20 us, for one triangle or for as many as the device holds.
// A host that does each step for all threads in turn makes the same bits.
#pragma once

#include <cstdint>

#include "dropin/factorizations/host_device.hpp"

namespace factorizations {

inline constexpr int kSubstitutionThreads = 256;  ///< rows of L at most
inline constexpr int kSubstitutionColumns = 8;    ///< of X, for a block of threads
inline constexpr int kSubstitutionAhead = 8;      ///< elements of L that a thread has in registers
static_assert(kSubstitutionColumns % kSubstitutionAhead == 0, "an inverse begins at its block's first column");

struct SubstitutionCall {
  const double* l;
  std::int64_t ld;
  std::int32_t rows;
  bool has_unit_diagonal;
  double* x;
  std::int64_t x_ld;
  std::int64_t cols;
  bool is_inverse;  ///< X is written only: the inverse of L, zeros above the diagonal
};

struct SubstitutionShared {
  double x[kSubstitutionThreads][kSubstitutionColumns];
};

class SubstitutionSteps {
 public:
  FACTORIZATIONS_BOTH SubstitutionSteps(const SubstitutionCall& call, SubstitutionShared& shared, int thread,
                                        std::int64_t block)
      : call_(call), shared_(shared), thread_(thread), first_column_(block * kSubstitutionColumns) {}

  FACTORIZATIONS_BOTH void load(int first_step) {
    FACTORIZATIONS_UNROLL
    for (int c = 0; c < kSubstitutionColumns; ++c) {
      const std::int64_t column = first_column_ + c;
      if (call_.is_inverse) {
        x_[c] = thread_ == column ? 1.0 : 0.0;
      } else {
        x_[c] = has(column) ? call_.x[thread_ + column * call_.x_ld] : 0.0;
      }
    }
    reciprocal_ = call_.has_unit_diagonal || thread_ >= call_.rows ? 1.0 : 1.0 / call_.l[thread_ * (call_.ld + 1)];
    fetch(first_step);
  }
  /// Elements of L for steps from `step` on, which were fetched before, while those behind them are on their way.
  FACTORIZATIONS_BOTH void take(int step) {
    FACTORIZATIONS_UNROLL
    for (int i = 0; i < kSubstitutionAhead; ++i) l_[i] = next_[i];
    fetch(step + kSubstitutionAhead);
  }
  FACTORIZATIONS_BOTH void tell(int step) {
    if (thread_ != step) return;
    FACTORIZATIONS_UNROLL
    for (int c = 0; c < kSubstitutionColumns; ++c) {
      x_[c] *= reciprocal_;
      shared_.x[step][c] = x_[c];  // no step writes where another does: one barrier is enough
    }
  }
  /// @param ahead of the step that was taken last
  FACTORIZATIONS_BOTH void eliminate(int step, int ahead) {
    if (thread_ <= step) return;
    FACTORIZATIONS_UNROLL
    for (int c = 0; c < kSubstitutionColumns; ++c) x_[c] = __builtin_fma(-l_[ahead], shared_.x[step][c], x_[c]);
  }
  FACTORIZATIONS_BOTH void store() {
    FACTORIZATIONS_UNROLL
    for (int c = 0; c < kSubstitutionColumns; ++c) {
      if (has(first_column_ + c)) call_.x[thread_ + (first_column_ + c) * call_.x_ld] = x_[c];
    }
  }

 private:
  [[nodiscard]] FACTORIZATIONS_BOTH bool has(std::int64_t column) const {
    return thread_ < call_.rows && column < call_.cols;
  }
  FACTORIZATIONS_BOTH void fetch(int step) {
    FACTORIZATIONS_UNROLL
    for (int i = 0; i < kSubstitutionAhead; ++i)
      next_[i] = step + i < thread_ && thread_ < call_.rows ? call_.l[thread_ + (step + i) * call_.ld] : 0.0;
  }

  const SubstitutionCall& call_;
  SubstitutionShared& shared_;
  int thread_;
  std::int64_t first_column_;
  double x_[kSubstitutionColumns];
  double l_[kSubstitutionAhead];
  double next_[kSubstitutionAhead];
  double reciprocal_;
};

/// All steps of a block of threads: each(f) does f(thread) for all its threads; sync() waits for all of them.
template <class Each, class Sync>
FACTORIZATIONS_BOTH void substitute(const SubstitutionCall& call, std::int64_t block, const Each& each,
                                    const Sync& sync) {
  // Rows of an inverse above its block's columns are zeros.
  const int first_step = call.is_inverse ? static_cast<int>(block) * kSubstitutionColumns : 0;
  each([&](auto& thread) { thread.load(first_step); });
  for (int step = first_step; step < call.rows; step += kSubstitutionAhead) {
    each([&](auto& thread) { thread.take(step); });
    FACTORIZATIONS_UNROLL
    for (int i = 0; i < kSubstitutionAhead; ++i) {
      each([&](auto& thread) { thread.tell(step + i); });
      sync();
      each([&](auto& thread) { thread.eliminate(step + i, i); });
    }
  }
  each([](auto& thread) { thread.store(); });
}

}  // namespace factorizations
