// SPDX-License-Identifier: MIT
// equilibration_gain.hpp by all blocks of the second look, or by the warps of block_rungs that find rungs
// (device_gain_beside.cuh): the same integers.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "certify/device_second_look.hpp"
#include "certify/device_second_look_grid.cuh"
#include "certify/equilibration_gain.hpp"
#include "certify/second_look_buffers.hpp"
#include "certify/terms.hpp"
#include "num/exponent.hpp"
#include "num/line_stats.hpp"

namespace kizami::certify::second_look {

/// In place of the gain of a line that is zero.
inline constexpr std::int32_t kNoGain = INT32_MAX;

/// The largest exponent of the parts of an element, shifted; kNoExponent of zero.
template <class T>
[[nodiscard]] __device__ inline std::int32_t exponent_of(const T& x, std::int32_t shift) {
  if constexpr (kTerms<T> == 2) {
    return max(shifted_exponent(static_cast<double>(x.real()), shift),
               shifted_exponent(static_cast<double>(x.imag()), shift));
  } else {
    return shifted_exponent(static_cast<double>(x), shift);
  }
}

/// An operand, and where the relative exponents of its elements go.
template <class T>
struct Balanced {
  Lines<T> lines;
  const num::LineStats* stats;
  std::int32_t* exponents;  ///< [length]
};

/// The even sample of one operand that a lane has of every element. Little code: it runs once a call, and what is not
/// in the cache for instructions comes from as far as the elements.
template <class T>
class EvenSample {
 public:
  __device__ __forceinline__ explicit EvenSample(const Balanced<T>& of) {
    static_assert(kGainLines == 2 * 32);
    const std::int64_t line = gain_line(of.lines.num_lines, 2 * lane());
    elements_ = of.lines.data + line * of.lines.line_stride;
    inner_stride_ = of.lines.inner_stride;
    line_exponent_ = of.stats[line].exponent;
  }
  [[nodiscard]] __device__ __forceinline__ T load(std::int64_t h) const { return elements_[h * inner_stride_]; }
  /// The largest of all lanes' elements relative to their lines; kNoExponent of none.
  [[nodiscard]] __device__ __forceinline__ std::int32_t relative_exponent(const T& x) const {
    const std::int32_t exponent = exponent_of(x, 0);
    const bool is_live = line_exponent_ != num::kNoExponent && exponent != num::kNoExponent;
    return __reduce_max_sync(kFullWarp, is_live ? exponent - line_exponent_ : num::kNoExponent);
  }

 private:
  const T* elements_;
  std::int64_t inner_stride_;
  std::int32_t line_exponent_;
};

/// Gathers the relative exponents of the even samples of both operands, and the range of their differences, as one of
/// num_warps warps. Again and again gives the same. @param least, most hold the largest and the least integer before
/// the first of them begins
template <class T>
__device__ __forceinline__ void gather_relative_exponents(const Balanced<T>& a, const Balanced<T>& b, std::int64_t warp,
                                                          std::int64_t num_warps, std::int32_t* least,
                                                          std::int32_t* most) {
  const std::int64_t length = a.lines.length;
  const EvenSample<T> of_a(a);
  const EvenSample<T> of_b(b);
  std::int32_t least_here = INT32_MAX;
  std::int32_t most_here = INT32_MIN;
  constexpr int kAtOnce = 2;  // loads before the first use
  for (std::int64_t first = warp; first < length; first += kAtOnce * num_warps) {
    T x[kAtOnce];
    T y[kAtOnce];
#pragma unroll
    for (int u = 0; u < kAtOnce; ++u) {
      const std::int64_t h = min(first + u * num_warps, length - 1);
      x[u] = of_a.load(h);
      y[u] = of_b.load(h);
    }
#pragma unroll
    for (int u = 0; u < kAtOnce; ++u) {
      const std::int64_t h = min(first + u * num_warps, length - 1);
      const std::int32_t e = of_a.relative_exponent(x[u]);
      const std::int32_t f = of_b.relative_exponent(y[u]);
      if (lane() == 0) {
        a.exponents[h] = e;
        b.exponents[h] = f;
      }
      if (!is_live(e, f)) continue;
      least_here = min(least_here, e - f);
      most_here = max(most_here, e - f);
    }
  }
  if (lane() == 0 && least_here <= most_here) {
    atomicMin(least, least_here);
    atomicMax(most, most_here);
  }
}

/// The shifts of an operand that the exponents of both ask for.
struct InnerShifts {
  const std::int32_t* of_a;  ///< relative exponents
  const std::int32_t* of_b;
  std::int32_t least;  ///< of their differences
  std::int32_t most;
  std::int32_t sign;  ///< -1: those of A, 1: of B

  [[nodiscard]] __device__ __forceinline__ std::int32_t at(std::int64_t h) const {
    return sign * equilibration_shift(of_a[h], of_b[h], least, most);
  }
};

/// What the block works on together while it measures a line.
struct LineShared {
  std::int32_t exponent;
  unsigned long long sum_squares;
};

/// gains[s] of odd sample 2 s + 1, by kTeam threads of a block, of which this is one. @param sync  a barrier of theirs
/// @param kAtOnce  loads before the first use
template <int kTeam, int kAtOnce, class T, class Sync>
__device__ __forceinline__ void measure_gain(const Lines<T>& lines, const num::LineStats* stats,
                                             const InnerShifts& shifts, int s, LineShared& shared, std::int32_t* gains,
                                             int thread, const Sync& sync) {
  const std::int64_t line = gain_line(lines.num_lines, 2 * s + 1);
  if (stats[line].is_zero()) {
    if (thread == 0) gains[s] = kNoGain;
    return;
  }
  if (thread == 0) {
    shared.exponent = num::kNoExponent;
    shared.sum_squares = 0;
  }
  sync();
  const T* const elements = lines.data + line * lines.line_stride;
  const auto for_elements = [&](const auto& visit) {
    for (std::int64_t begin = thread; begin < lines.length; begin += kAtOnce * kTeam) {
      T x[kAtOnce];
      std::int32_t shift[kAtOnce];
#pragma unroll
      for (int e = 0; e < kAtOnce; ++e) {
        const std::int64_t h = min(begin + e * kTeam, lines.length - 1);
        x[e] = elements[h * lines.inner_stride];
        shift[e] = shifts.at(h);
      }
#pragma unroll
      for (int e = 0; e < kAtOnce; ++e) {
        if (begin + e * kTeam < lines.length) visit(x[e], shift[e]);
      }
    }
  };
  std::int32_t exponent = num::kNoExponent;
  for_elements([&](const T& x, std::int32_t shift) { exponent = max(exponent, exponent_of(x, shift)); });
  exponent = __reduce_max_sync(kFullWarp, exponent);
  if (lane() == 0) atomicMax(&shared.exponent, exponent);
  sync();
  exponent = shared.exponent;
  std::uint64_t sum_squares = 0;
  for_elements([&](const T& x, std::int32_t shift) {
    const num::ScaleFactors factors = magnitude_factors(exponent, shift);
    if constexpr (kTerms<T> == 2) {
      sum_squares += magnitude_of(static_cast<double>(x.real()), factors).square;
      sum_squares += magnitude_of(static_cast<double>(x.imag()), factors).square;
    } else {
      sum_squares += magnitude_of(static_cast<double>(x), factors).square;
    }
  });
  sum_squares = sum_of_warp(sum_squares);
  if (lane() == 0) atomicAdd(&shared.sum_squares, static_cast<unsigned long long>(sum_squares));
  sync();
  if (thread == 0) {
    num::LineStats shifted;
    shifted.exponent = exponent;
    shifted.sum_squares = shared.sum_squares;
    gains[s] = norm_half_bits(stats[line]) - norm_half_bits(shifted);
  }
  sync();
}

/// The same of line s of all that are measured, first those of A. The exponents are in the place of both operands'
/// shifts, the range of their differences in the state.
template <int kTeam, int kAtOnce, class T, class Sync>
__device__ __forceinline__ void measure_gain(const SecondLook<T>& look, int s, LineShared& shared, int thread,
                                             const Sync& sync) {
  const bool is_a = s < kOddLines;
  const InnerShifts shifts{look.a_lines.inner_shift, look.b_lines.inner_shift, __ldcg(&look.state->least_difference),
                           __ldcg(&look.state->most_difference), is_a ? -1 : 1};
  measure_gain<kTeam, kAtOnce, T>(is_a ? look.a : look.b, is_a ? look.a_lines.stats : look.b_lines.stats, shifts,
                                  is_a ? s : s - kOddLines, shared, look.buffers.gains + (is_a ? 0 : kOddLines), thread,
                                  sync);
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
static_assert(kOddLines == 32 && kNumGains == 2 * kOddLines);

}  // namespace kizami::certify::second_look
