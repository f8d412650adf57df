// SPDX-License-Identifier: MIT
// What all threads of the second look do together: the barrier of the grid, and the phases of equilibration that read
// whole operands, for exponents and sums.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "base/int_math.hpp"
#include "certify/device_second_look.hpp"
#include "certify/terms.hpp"
#include "device/state.hpp"
#include "num/exponent.hpp"
#include "num/line_stats.hpp"
#include "problem/lines.hpp"

namespace kizami::certify::second_look {

using base::ceil_div;
using problem::kTerms;
using problem::Lines;

inline constexpr int kThreads = 384;
inline constexpr std::uint32_t kFullWarp = 0xFFFFFFFFu;

__device__ inline unsigned long long* as_counter(std::uint64_t* x) { return reinterpret_cast<unsigned long long*>(x); }
__device__ inline unsigned long long* as_counter(std::int64_t* x) { return reinterpret_cast<unsigned long long*>(x); }

__device__ inline std::uint64_t sum_of_warp(std::uint64_t x) {
  for (int distance = 16; distance > 0; distance /= 2) x += __shfl_xor_sync(kFullWarp, x, distance);
  return x;
}

/// Whether blocks must be looked at.
[[nodiscard]] __device__ inline bool is_wanted(const device::DeviceState& state) {
  const bool has_failures = state.sampled_failures != 0;
  const bool is_first = state.look != device::Look::kSample;
  const bool is_scaling_only = state.is_scaling_only != 0;
  return (has_failures | is_first) & !is_scaling_only;
}

/// The same for a launch with this task.
[[nodiscard]] __device__ inline bool is_wanted(const device::DeviceState& state, LookTask task) {
  if (task == LookTask::kDecide || task == LookTask::kCount) return is_wanted(state);
  if (state.is_scaling_only != 0) return false;
  return task != LookTask::kList || (state.selection.rung >= 0 && (state.selection.equilibrated || is_wanted(state)));
}

/// Waits for every block of the grid; what they wrote before is seen after. The launch is cooperative: all of them run.
__device__ inline void grid_barrier(device::DeviceState& state) {
  __syncthreads();
  if (threadIdx.x == 0) {
    volatile std::uint32_t& phase = state.barrier_phase;
    const std::uint32_t before = phase;
    __threadfence();  // the phase is read before this block counts
    if (atomicAdd(&state.barrier_count, 1u) == gridDim.x - 1) {
      static_cast<volatile std::uint32_t&>(state.barrier_count) = 0;
      __threadfence();
      atomicAdd(&state.barrier_phase, 1u);
    } else {
      while (phase == before) __nanosleep(64);
    }
    __threadfence();
  }
  __syncthreads();
}

// Work of a phase is a function that is not inlined: it has all registers, and is compiled once for both operands.

__device__ inline std::int64_t grid_thread() { return std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; }
__device__ inline std::int64_t grid_threads() { return std::int64_t{gridDim.x} * blockDim.x; }
__device__ inline std::int64_t grid_warp() { return grid_thread() / 32; }
__device__ inline std::int64_t grid_warps() { return grid_threads() / 32; }
__device__ inline int lane() { return static_cast<int>(threadIdx.x) % 32; }

/// Whether neighbours in memory are of one line, rather than neighbouring lines.
template <class T>
__device__ bool has_contiguous_lines(const Lines<T>& lines) {
  return lines.inner_stride <= lines.line_stride;
}

/// The same elements with lines and inner index exchanged.
template <class T>
__device__ Lines<T> across(const Lines<T>& lines) {
  return {lines.data, lines.length, lines.num_lines, lines.inner_stride, lines.line_stride, lines.is_conjugated};
}

/// Part of a line for one thread: elements first, first + step, ... below end. If is_shared, the lanes of the warp have
/// parts of one line, and all of them are there.
struct Piece {
  std::int64_t line;
  std::int64_t first;
  std::int64_t step;
  std::int64_t end;
  bool is_shared;
};

/// Calls visit(piece) until all elements of all lines were in a piece.
template <class T, class Visit>
__device__ void for_each_piece(const Lines<T>& lines, const Visit& visit) {
  if (has_contiguous_lines(lines)) {
    constexpr std::int64_t kLength = 4096;
    const std::int64_t pieces = ceil_div(lines.length, kLength);
    for (std::int64_t item = grid_warp(); item < lines.num_lines * pieces; item += grid_warps()) {
      const std::int64_t first = item % pieces * kLength;
      visit(Piece{item / pieces, first + lane(), 32, std::min(first + kLength, lines.length), true});
    }
    return;
  }
  constexpr std::int64_t kLength = 256;
  const std::int64_t groups = ceil_div(lines.num_lines, 32);
  const std::int64_t pieces = ceil_div(lines.length, kLength);
  for (std::int64_t item = grid_warp(); item < groups * pieces; item += grid_warps()) {
    const std::int64_t line = item % groups * 32 + lane();
    const std::int64_t first = item / groups * kLength;
    if (line < lines.num_lines) visit(Piece{line, first, 1, std::min(first + kLength, lines.length), false});
  }
}

/// certify::gather_inner_exponents(), into exponents that are kNoExponent.
template <class T>
__device__ __noinline__ void gather_inner_exponents(const Lines<T>& lines, std::int32_t* exponents) {
  const Lines<T> columns = across(lines);
  for_each_piece(columns, [&](const Piece& piece) {
    std::int32_t exponent = num::kNoExponent;
    for (std::int64_t i = piece.first; i < piece.end; i += piece.step) {
      for (int part = 0; part < kTerms<T>; ++part) {
        const double x = columns.term(piece.line, i * kTerms<T> + part);
        if (num::is_finite(x)) exponent = std::max(exponent, shifted_exponent(x, 0));
      }
    }
    if (piece.is_shared) exponent = __reduce_max_sync(kFullWarp, exponent);
    if (exponent != num::kNoExponent && (!piece.is_shared || lane() == 0)) {
      atomicMax(exponents + piece.line, exponent);
    }
  });
}

/// Exponent and lsb of the shifted lines; zero lines and those with NaN or Inf stay as they are.
template <class T>
__device__ __noinline__ void observe_exponents(const Lines<T>& lines, const num::LineStats* as_given,
                                               const std::int32_t* inner_shift, num::LineStats* stats) {
  for_each_piece(lines, [&](const Piece& piece) {
    if (as_given[piece.line].is_zero()) return;
    std::int32_t exponent = num::kNoExponent;
    std::int32_t lsb = num::kNoLsb;
    for (std::int64_t h = piece.first; h < piece.end; h += piece.step) {
      for (int part = 0; part < kTerms<T>; ++part) {
        const double x = lines.term(piece.line, h * kTerms<T> + part);
        if (x == 0.0) continue;
        exponent = std::max(exponent, shifted_exponent(x, inner_shift[h]));
        lsb = std::min(lsb, num::lowest_bit_exponent(x) + inner_shift[h]);
      }
    }
    if (piece.is_shared) {
      exponent = __reduce_max_sync(kFullWarp, exponent);
      lsb = __reduce_min_sync(kFullWarp, lsb);
    }
    if (exponent != num::kNoExponent && (!piece.is_shared || lane() == 0)) {
      atomicMax(&stats[piece.line].exponent, exponent);
      atomicMin(&stats[piece.line].lsb, lsb);
    }
  });
}

/// Sums of the shifted lines, whose exponents are known.
template <class T>
__device__ __noinline__ void add_magnitudes(const Lines<T>& lines, const std::int32_t* inner_shift,
                                            num::LineStats* stats) {
  for_each_piece(lines, [&](const Piece& piece) {
    num::LineStats& line = stats[piece.line];
    if (line.is_zero()) return;
    const std::int32_t exponent = line.exponent;
    std::uint64_t sum_abs = 0;
    std::uint64_t sum_squares = 0;
    for (std::int64_t h = piece.first; h < piece.end; h += piece.step) {
      for (int part = 0; part < kTerms<T>; ++part) {
        const Magnitude magnitude =
            magnitude_of(lines.term(piece.line, h * kTerms<T> + part), magnitude_factors(exponent, inner_shift[h]));
        sum_abs += magnitude.units;
        sum_squares += magnitude.square;
      }
    }
    if (piece.is_shared) {
      sum_abs = sum_of_warp(sum_abs);
      sum_squares = sum_of_warp(sum_squares);
    }
    if (sum_abs != 0 && (!piece.is_shared || lane() == 0)) {
      atomicAdd(as_counter(&line.sum_abs), sum_abs);
      atomicAdd(as_counter(&line.sum_squares), sum_squares);
    }
  });
}

}  // namespace kizami::certify::second_look
