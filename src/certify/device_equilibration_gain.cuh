// SPDX-License-Identifier: MIT
// equilibration_gain.hpp by all blocks of the second look: the same integers.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "certify/device_second_look_grid.cuh"
#include "certify/equilibration_gain.hpp"
#include "num/exponent.hpp"
#include "num/line_stats.hpp"
#include "split/terms.hpp"

namespace kizami::certify::second_look {

inline constexpr int kOddLines = kGainLines / 2;
/// In place of the gain of a line that is zero.
inline constexpr std::int32_t kNoGain = INT32_MAX;

/// exponents[h] = the largest of elements h of the even samples, relative to their lines.
template <class T>
__device__ __noinline__ void gather_relative_exponents(const Lines<T>& lines, const num::LineStats* stats,
                                                       std::int32_t* exponents) {
  for (std::int64_t h = grid_thread(); h < lines.length; h += grid_threads()) {
    std::int32_t most = num::kNoExponent;
#pragma unroll 8
    for (int s = 0; s < kGainLines; s += 2) {
      const std::int64_t line = gain_line(lines.num_lines, s);
      const std::int32_t line_exponent = stats[line].exponent;
#pragma unroll
      for (int part = 0; part < kTerms<T>; ++part) {
        const double x = lines.term(line, h * kTerms<T> + part);
        if (line_exponent != num::kNoExponent && x != 0.0)
          most = std::max(most, split::shifted_exponent(x, 0) - line_exponent);
      }
    }
    exponents[h] = most;
  }
}

/// What the block works on together while it measures a line.
struct LineShared {
  std::int32_t exponent;
  unsigned long long sum_squares;
};

/// gains[s] of odd sample 2 s + 1, by one block.
template <class T>
__device__ __noinline__ void measure_gain(const Lines<T>& lines, const num::LineStats* stats,
                                          const std::int32_t* inner_shift, int s, LineShared& shared,
                                          std::int32_t* gains) {
  const std::int64_t line = gain_line(lines.num_lines, 2 * s + 1);
  if (stats[line].is_zero()) {
    if (threadIdx.x == 0) gains[s] = kNoGain;
    return;
  }
  if (threadIdx.x == 0) {
    shared.exponent = num::kNoExponent;
    shared.sum_squares = 0;
  }
  __syncthreads();
  const auto for_terms = [&](const auto& visit) {
#pragma unroll 4
    for (std::int64_t h = threadIdx.x; h < lines.length; h += kThreads) {
#pragma unroll
      for (int part = 0; part < kTerms<T>; ++part) visit(lines.term(line, h * kTerms<T> + part), inner_shift[h]);
    }
  };
  std::int32_t exponent = num::kNoExponent;
  for_terms([&](double x, std::int32_t shift) {
    if (x != 0.0) exponent = std::max(exponent, split::shifted_exponent(x, shift));
  });
  exponent = __reduce_max_sync(kFullWarp, exponent);
  if (lane() == 0) atomicMax(&shared.exponent, exponent);
  __syncthreads();
  exponent = shared.exponent;
  std::uint64_t sum_squares = 0;
  for_terms([&](double x, std::int32_t shift) {
    sum_squares += split::magnitude_of(x, split::magnitude_factors(exponent, shift)).square;
  });
  sum_squares = sum_of_warp(sum_squares);
  if (lane() == 0) atomicAdd(&shared.sum_squares, static_cast<unsigned long long>(sum_squares));
  __syncthreads();
  if (threadIdx.x == 0) {
    num::LineStats shifted;
    shifted.exponent = exponent;
    shifted.sum_squares = shared.sum_squares;
    gains[s] = norm_half_bits(stats[line]) - norm_half_bits(shifted);
  }
  __syncthreads();
}

/// lower_median() of the gains that are there, one a lane of a warp.
[[nodiscard]] __device__ inline std::int32_t median_of_warp(std::int32_t gain) {
  const int count = __popc(__ballot_sync(kFullWarp, gain != kNoGain));
  int rank = 0;
  for (int other = 0; other < 32; ++other) {
    const std::int32_t x = __shfl_sync(kFullWarp, gain, other);
    rank += x < gain || (x == gain && other < lane()) ? 1 : 0;
  }
  const unsigned found = __ballot_sync(kFullWarp, count > 0 && rank == (count - 1) / 2);
  return found == 0 ? 0 : __shfl_sync(kFullWarp, gain, __ffs(static_cast<int>(found)) - 1);
}
static_assert(kOddLines == 32);

}  // namespace kizami::certify::second_look
