// SPDX-License-Identifier: MIT
// What the two looks at a line find, and the statistics that they make: exponents are maxima and the sums need them.
#pragma once

#include <cstdint>

#include "certify/device_statistics.hpp"
#include "device/line.cuh"
#include "device/padding.hpp"
#include "num/line_stats.hpp"

namespace kizami::certify::kernels {

/// What the first look finds: the largest magnitude as its high word (Inf and NaN are the largest of all), all bits of
/// low words, and the lowest bit.
struct Range {
  std::uint32_t max_high = 0;
  std::uint32_t low_bits = 0;
  std::int32_t lsb = num::kNoLsb;

  __device__ void observe(double x) {
    const std::uint64_t bits = device::magnitude_bits(x);
    const auto high = static_cast<std::uint32_t>(bits >> 32);
    const auto low = static_cast<std::uint32_t>(bits);
    max_high = max(max_high, high);
    low_bits |= low;
    lsb = min(lsb, device::lsb_of_words(high, low));
  }
  __device__ void merge(const Range& other) {
    max_high = max(max_high, other.max_high);
    low_bits |= other.low_bits;
    lsb = min(lsb, other.lsb);
  }
  [[nodiscard]] __device__ Range shuffled(int lane_mask) const {
    Range other;
    other.max_high = __shfl_xor_sync(~0u, max_high, lane_mask);
    other.low_bits = __shfl_xor_sync(~0u, low_bits, lane_mask);
    other.lsb = __shfl_xor_sync(~0u, lsb, lane_mask);
    return other;
  }
  [[nodiscard]] __device__ bool is_nonfinite() const { return max_high >= 0x7FF00000u; }
  [[nodiscard]] __device__ bool is_zero() const { return (max_high | low_bits) == 0; }
  /// No normal number, but not all zeros: the high word does not tell the exponent.
  [[nodiscard]] __device__ bool is_subnormal() const { return max_high < 0x00100000u && !is_zero(); }
};

/// The largest magnitude of a line of subnormal numbers. Seldom needed.
struct MaxBits {
  std::uint64_t bits = 0;
  __device__ void merge(const MaxBits& other) { bits = bits > other.bits ? bits : other.bits; }
  [[nodiscard]] __device__ MaxBits shuffled(int lane_mask) const { return {__shfl_xor_sync(~0u, bits, lane_mask)}; }
};

struct Sums {
  std::uint64_t abs = 0;  ///< below 2^kClippedAt in one pass; above it what take_clipped() takes
  std::uint64_t squares = 0;

  static constexpr int kClippedAt = 38;
  static_assert((std::uint64_t{1} << kClippedAt) > 2 * device::kMaxSinglePassLength << (num::kAbsBits + 1));
  __device__ void put_clipped(std::uint32_t sum) { abs |= static_cast<std::uint64_t>(sum) << kClippedAt; }
  __device__ std::uint32_t take_clipped() {
    const auto sum = static_cast<std::uint32_t>(abs >> kClippedAt);
    abs &= (std::uint64_t{1} << kClippedAt) - 1;
    return sum;
  }

  __device__ void merge(const Sums& other) {
    abs += other.abs;
    squares += other.squares;
  }
  [[nodiscard]] __device__ Sums shuffled(int lane_mask) const {
    return {__shfl_xor_sync(~0u, abs, lane_mask), __shfl_xor_sync(~0u, squares, lane_mask)};
  }
};

/// The exponent of a line, or kNoExponent. `largest` counts for subnormal lines only.
[[nodiscard]] __device__ inline int line_exponent(const Range& r, const MaxBits& largest) {
  if (r.is_nonfinite() || r.is_zero()) return num::kNoExponent;
  if (r.is_subnormal()) return device::exponent_of(largest.bits);
  return static_cast<int>(r.max_high >> 20) - 1023;
}

[[nodiscard]] __device__ inline num::LineStats line_stats(const Range& r, int exponent, const Sums& sums) {
  num::LineStats stats;
  stats.is_finite = !r.is_nonfinite();
  stats.exponent = exponent;
  if (exponent != num::kNoExponent) {
    stats.lsb = r.lsb;
    stats.sum_squares = sums.squares;
    stats.sum_abs = sums.abs;
  }
  return stats;
}

/// The digits of kCount neighbouring elements from element h of a line on, of which some are sampled.
template <class T, int kCount>
__device__ void write_digits(const device::Element<T> (&elements)[kCount], const device::LineUnits& units,
                             const DeviceDigits& digits, std::int64_t line, std::int64_t h) {
  constexpr int kTerms = device::Element<T>::kTerms;
  const int mask = (1 << digits.log_stride) - 1;
  std::int64_t at = line * digits.row_stride + (h + mask >> digits.log_stride) * kTerms;
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    if ((static_cast<int>(h) + i & mask) != 0) continue;
#pragma unroll
    for (int t = 0; t < kTerms; ++t) {
      const auto digit = static_cast<std::int8_t>(device::digit_of(elements[i].term[t], units));
      digits.digits[at + t] = digit;
      if (kTerms == 2 && digits.swapped != nullptr) digits.swapped[at + 1 - t] = digit;
    }
    at += kTerms;
  }
}

}  // namespace kizami::certify::kernels
