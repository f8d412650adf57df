// SPDX-License-Identifier: MIT
// The largest magnitude and the lowest bit of ordinary FP64 numbers in half the instructions that all numbers take.
#pragma once

#include <bit>
#include <cstdint>

#include "kizami/host_device.hpp"

namespace kizami::certify {

/// Of numbers whose low words are not zero, so that the lowest bit is in there, and whose exponents are not near the ends of
/// the range: a lowest bit is then of 2^(exponent field + place - 1075). What other numbers there are is found too.
class QuickRange {
 public:
  KIZAMI_HOST_DEVICE void observe(double x) {
    const auto bits = bit_cast<std::uint64_t>(x);
    const auto high = static_cast<std::uint32_t>(bits >> (32 - 1));  // without the sign; one instruction
    const auto low = static_cast<std::uint32_t>(bits);
    const std::int32_t place = place_of_lowest(low);
    const std::uint32_t lowest = high + (static_cast<std::uint32_t>(place) << kFieldAt);
    max_high_ = high > max_high_ ? high : max_high_;
    least_ = lowest < least_ ? lowest : least_;
    places_ |= place;
  }

  /// Whether there were numbers, all of them such; zeros, subnormal numbers, Inf and NaN are not.
  [[nodiscard]] KIZAMI_HOST_DEVICE bool is_known() const {
    return places_ >= 0 && least_ >= kPlaces << kFieldAt  // an exponent field of zero is less, whatever its place
           && max_high_ != 0 && max_high_ < (2048 - kPlaces) << kFieldAt;  // no sum overflowed
  }
  // @range is_known()
  [[nodiscard]] KIZAMI_HOST_DEVICE std::uint32_t max_high() const { return max_high_ / 2; }
  [[nodiscard]] KIZAMI_HOST_DEVICE std::int32_t lsb() const {
    return static_cast<std::int32_t>(least_ >> kFieldAt) - 1075;
  }

 private:
  static constexpr int kFieldAt = 21;  ///< of the exponent in a high word that is a bit to the left
  static constexpr std::uint32_t kPlaces = 32;

  /// -1 of zero.
  [[nodiscard]] KIZAMI_HOST_DEVICE static std::int32_t place_of_lowest(std::uint32_t word) {
    const std::uint32_t bit = word & (0u - word);
#if defined(__CUDA_ARCH__)
    return 31 - __clz(static_cast<int>(bit));
#else
    return 31 - std::countl_zero(bit);
#endif
  }

  std::uint32_t max_high_ = 0;
  std::uint32_t least_ = ~0u;
  std::int32_t places_ = 0;  ///< all in one: negative if one was
};

}  // namespace kizami::certify
