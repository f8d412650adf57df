// SPDX-License-Identifier: MIT
// What all threads of the second look do together: the barrier of the grid, and the phases that read whole operands,
// for exponents, sums and digits.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "base/int_math.hpp"
#include "num/exponent.hpp"
#include "num/line_stats.hpp"
#include "plan/device_state.hpp"
#include "problem/lines.hpp"
#include "split/digits.hpp"
#include "split/terms.hpp"

namespace kizami::exec::second_look {

using base::ceil_div;
using base::round_up;
using problem::kTerms;
using problem::Lines;
using split::kDigitBlock;

inline constexpr int kThreads = 384;
inline constexpr std::uint32_t kFullWarp = 0xFFFFFFFFu;

__device__ inline unsigned long long* as_counter(std::uint64_t* x) { return reinterpret_cast<unsigned long long*>(x); }
__device__ inline unsigned long long* as_counter(std::int64_t* x) { return reinterpret_cast<unsigned long long*>(x); }

__device__ inline std::uint64_t sum_of_warp(std::uint64_t x) {
  for (int distance = 16; distance > 0; distance /= 2) x += __shfl_xor_sync(kFullWarp, x, distance);
  return x;
}

/// Waits for every block of the grid; what they wrote before is seen after. The launch is cooperative: all of them run.
__device__ inline void grid_barrier(plan::DeviceState& state) {
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

__device__ inline std::int64_t grid_thread() { return std::int64_t{blockIdx.x} * kThreads + threadIdx.x; }
__device__ inline std::int64_t grid_threads() { return std::int64_t{gridDim.x} * kThreads; }
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

/// split::gather_inner_exponents(), into exponents that are kNoExponent.
template <class T>
__device__ __noinline__ void gather_inner_exponents(const Lines<T>& lines, std::int32_t* exponents) {
  const Lines<T> columns = across(lines);
  for_each_piece(columns, [&](const Piece& piece) {
    std::int32_t exponent = num::kNoExponent;
    for (std::int64_t i = piece.first; i < piece.end; i += piece.step) {
      for (int part = 0; part < kTerms<T>; ++part) {
        const double x = columns.term(piece.line, i * kTerms<T> + part);
        if (num::is_finite(x)) exponent = std::max(exponent, split::shifted_exponent(x, 0));
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
        exponent = std::max(exponent, split::shifted_exponent(x, inner_shift[h]));
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
        const split::Magnitude magnitude = split::magnitude_of(lines.term(piece.line, h * kTerms<T> + part),
                                                               split::magnitude_factors(exponent, inner_shift[h]));
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

/// Where the digits of some lines go.
struct DigitRows {
  std::int8_t* digits;
  std::uint8_t* deficits;
  std::uint64_t* nonzero;
  std::int64_t deficit_stride;
};

/// split::make_block_digits(), and the bits of the terms that are not zero, of lines [first, first + count).
template <class T>
__device__ __noinline__ void make_digits(const Lines<T>& lines, const num::LineStats* stats,
                                         const std::int32_t* inner_shift, std::int64_t first, std::int64_t count,
                                         const DigitRows& out) {
  constexpr int kBlock = static_cast<int>(kDigitBlock);
  const std::int64_t num_terms = lines.num_terms();
  const std::int64_t num_blocks = ceil_div(num_terms, kDigitBlock);
  const std::int64_t words = round_up(num_blocks, 2);
  const auto shift_at = [&](std::int64_t t) { return inner_shift == nullptr ? 0 : inner_shift[t / kTerms<T>]; };
  // What pads: words to an even number, lines to a multiple of 16.
  if (words > num_blocks) {
    for (std::int64_t i = grid_thread(); i < count; i += grid_threads()) out.nonzero[i * words + num_blocks] = 0;
  }
  const std::int64_t padding = round_up(count, 16) - count;
  for (std::int64_t item = grid_thread(); item < padding * num_blocks; item += grid_threads()) {
    out.deficits[item / padding * out.deficit_stride + count + item % padding] = 0;
  }

  if (has_contiguous_lines(lines)) {  // a warp takes some blocks of a line; a lane terms `lane` and 32 + lane of each
    constexpr int kAtOnce = 4;
    const std::int64_t pieces = ceil_div(num_blocks, kAtOnce);
    for (std::int64_t item = grid_warp(); item < count * pieces; item += grid_warps()) {
      const std::int64_t i = item / pieces;
      const std::int64_t first_block = item % pieces * kAtOnce;
      const std::int32_t line_exponent = stats[first + i].exponent;
      const bool is_live = line_exponent != num::kNoExponent;
      double x[kAtOnce][2];
#pragma unroll
      for (int b = 0; b < kAtOnce; ++b) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const std::int64_t t = (first_block + b) * kDigitBlock + 32 * half + lane();
          x[b][half] = is_live && t < num_terms ? lines.term(first + i, t) : 0.0;
        }
      }
#pragma unroll
      for (int b = 0; b < kAtOnce; ++b) {
        const std::int64_t block = first_block + b;
        if (block >= num_blocks) break;
        std::int32_t shift[2];
        std::int32_t exponent = num::kNoExponent;
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          shift[half] = x[b][half] == 0.0 ? 0 : shift_at(block * kDigitBlock + 32 * half + lane());
          exponent = std::max(exponent, split::shifted_exponent(x[b][half], shift[half]));
        }
        exponent = __reduce_max_sync(kFullWarp, exponent);
        std::uint64_t bits = 0;
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          out.digits[(i * num_blocks + block) * kDigitBlock + 32 * half + lane()] =
              static_cast<std::int8_t>(split::block_digit(x[b][half], shift[half], exponent));
          bits |= std::uint64_t{__ballot_sync(kFullWarp, x[b][half] != 0.0)} << 32 * half;
        }
        if (lane() == 0) {
          out.deficits[block * out.deficit_stride + i] = split::block_deficit(line_exponent, exponent);
          out.nonzero[i * words + block] = bits;
        }
      }
    }
    return;
  }

  // A lane takes a block of its line, and reads it twice.
  const std::int64_t groups = ceil_div(count, 32);
  for (std::int64_t item = grid_warp(); item < groups * num_blocks; item += grid_warps()) {
    const std::int64_t i = item % groups * 32 + lane();
    const std::int64_t block = item / groups;
    if (i >= count) continue;
    const std::int32_t line_exponent = stats[first + i].exponent;
    const std::int64_t begin = block * kDigitBlock;
    const int length = line_exponent == num::kNoExponent
                           ? 0
                           : static_cast<int>(std::min(num_terms - begin, std::int64_t{kDigitBlock}));
    std::int32_t exponent = num::kNoExponent;
    std::uint64_t bits = 0;
#pragma unroll 16
    for (int t = 0; t < kBlock; ++t) {
      const double x = t < length ? lines.term(first + i, begin + t) : 0.0;
      if (x == 0.0) continue;
      exponent = std::max(exponent, split::shifted_exponent(x, shift_at(begin + t)));
      bits |= std::uint64_t{1} << t;
    }
    auto* const row = reinterpret_cast<uint4*>(out.digits + (i * num_blocks + block) * kDigitBlock);
#pragma unroll 1
    for (int quarter = 0; quarter < 4; ++quarter) {
      std::uint32_t packed[4] = {0, 0, 0, 0};
#pragma unroll
      for (int b = 0; b < 16; ++b) {
        const int t = 16 * quarter + b;
        const double x = t < length ? lines.term(first + i, begin + t) : 0.0;
        const std::int32_t shift = x == 0.0 ? 0 : shift_at(begin + t);
        packed[b / 4] |= static_cast<std::uint32_t>(split::block_digit(x, shift, exponent)) << 8 * (b % 4);
      }
      row[quarter] = make_uint4(packed[0], packed[1], packed[2], packed[3]);
    }
    out.deficits[block * out.deficit_stride + i] = split::block_deficit(line_exponent, exponent);
    out.nonzero[i * words + block] = bits;
  }
}

}  // namespace kizami::exec::second_look
