// SPDX-License-Identifier: MIT
// Panels of LU (panel_steps.hpp) and the order of rows that they ask for (moves.hpp), on a device.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "dropin/factorizations/moves.hpp"
#include "dropin/factorizations/panel_steps.hpp"

namespace kizami::dropin::factorizations {

inline constexpr int kMoveThreads = 1024;  ///< a block of them moves kMovedPanels * kPanelWidth rows at most
inline constexpr int kMovedByThread = kMovedPanels * kPanelWidth / kMoveThreads;

/// A thread's view of its block.
template <int W>
struct PanelBlock {
  PanelSteps<W>& thread;

  template <class Step>
  __device__ void each(const Step& step) {
    step(thread);
  }
  template <class Make, class Take>
  __device__ void compare(const Make& make, const Take& take) {
    constexpr unsigned kAll = 0xffffffff;
    const Offer own = make(thread);
    const auto high = static_cast<unsigned>(own.key >> 32);
    const auto low = static_cast<unsigned>(own.key);
    const unsigned best_high = __reduce_max_sync(kAll, high);
    const unsigned best_low = __reduce_max_sync(kAll, high == best_high ? low : 0);
    const bool is_best = high == best_high && low == best_low;
    const unsigned order = __reduce_min_sync(kAll, is_best ? own.order : kAll);
    take(thread, Offer{std::uint64_t{best_high} << 32 | best_low, order});
  }
  __device__ void sync() { __syncthreads(); }
  __device__ void sync_warp() { __syncwarp(); }
  template <class IsThere>
  __device__ void wait(const IsThere& is_there) {
    while (!is_there()) {
    }
  }
};

/// @range all blocks at a time on the device: they wait for each other
template <int W>
__global__ void __launch_bounds__(kPanelThreads, 1) factor_panel_kernel(PanelCall<W> call) {
  __shared__ PanelShared<W> shared;
  PanelSteps<W> thread(call, shared, static_cast<int>(threadIdx.x), static_cast<int>(blockIdx.x));
  PanelBlock<W> block{thread};
  factor_panel<W>(call, block);
}

static __global__ void set_row_numbers(std::int32_t* row_at, std::int64_t rows) {
  const std::int64_t i = blockIdx.x * std::int64_t{blockDim.x} + threadIdx.x;
  if (i < rows) row_at[i] = static_cast<std::int32_t>(i);
}

/// One block of threads.
template <int W>
__global__ void compose_moves(ComposeCall<W> call) {
  ComposeSteps<W> thread(call, static_cast<int>(threadIdx.x), static_cast<int>(blockDim.x));
  compose<W>(
      call, [&](const auto& step) { step(thread); }, [] { __syncthreads(); },
      [](std::int32_t& x, std::int32_t y) { return atomicExch(&x, y); });
}

/// All elements of a column that move are read before one is written, those of as many columns as fit in the registers of
/// a block of threads. Neighbours in a list are neighbours in the matrix on one of their two ways.
static __global__ void __launch_bounds__(kMoveThreads)
    move_rows(double* c, std::int64_t ld, std::int64_t cols, MovedRows moved) {
  const int num_columns = kMoveThreads * kMovedByThread / moved.count;
  const std::int64_t first_column = std::int64_t{blockIdx.x} * num_columns;
  double comes[kMovedByThread];
  double goes[kMovedByThread];
  double* place[kMovedByThread];  // null: none
  std::int32_t distance[kMovedByThread];
#pragma unroll
  for (int i = 0; i < kMovedByThread; ++i) {
    const int at = static_cast<int>(threadIdx.x) + i * kMoveThreads;
    const int j = at / moved.count;
    const int row = at % moved.count;
    place[i] = nullptr;
    distance[i] = 0;
    if (j >= num_columns || first_column + j >= cols) continue;
    double* const column = c + moved.first_row + (first_column + j) * ld;
    const std::int32_t to = moved.to[row];
    place[i] = column + row;
    distance[i] = to < 0 ? 0 : to - row;
    comes[i] = column[moved.from[row]];
    if (distance[i] != 0) goes[i] = *place[i];
  }
  __syncthreads();
#pragma unroll
  for (int i = 0; i < kMovedByThread; ++i) {
    if (place[i] == nullptr) continue;
    if (distance[i] != 0) place[i][distance[i]] = goes[i];
    *place[i] = comes[i];
  }
}

}  // namespace kizami::dropin::factorizations
