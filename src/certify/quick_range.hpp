// SPDX-License-Identifier: MIT
// The largest magnitude and the lowest bit of ordinary numbers in half the instructions that all numbers take.
#pragma once

#include <bit>
#include <cstdint>

#include "kizami/host_device.hpp"

namespace kizami::certify {

/// Of numbers whose exponents are not near the ends of the range, of FP64 those whose low words are not zero, so that the
/// lowest bit is in there: a lowest bit is then of 2^(exponent field + place - 1075), of FP32 - 150. What other numbers there
/// are is found too.
/// @param R  double or float
template <class R>
class QuickRange {
 public:
  KIZAMI_HOST_DEVICE void observe(R x) {
    std::uint32_t high = 0;  // without the sign
    std::int32_t place = 0;
    if constexpr (kIsDouble) {
      const auto bits = bit_cast<std::uint64_t>(x);
      high = static_cast<std::uint32_t>(bits >> (32 - 1));  // one instruction
      place = place_of_lowest(static_cast<std::uint32_t>(bits));
    } else {
      const auto bits = bit_cast<std::uint32_t>(x);
      high = bits << 1;
      place = place_of_lowest(bits | 1u << kPlaceOfHidden);
    }
    const std::uint32_t lowest = high + (static_cast<std::uint32_t>(place) << kFieldAt);
    max_high_ = high > max_high_ ? high : max_high_;
    least_ = lowest < least_ ? lowest : least_;
    places_ |= place;
  }

  /// Whether there were numbers, all of them such; zeros, subnormal numbers, Inf and NaN are not.
  [[nodiscard]] KIZAMI_HOST_DEVICE bool is_known() const {
    return places_ >= 0 && least_ >= kPlaces << kFieldAt  // an exponent field of zero is less, whatever its place
           && max_high_ != 0 && max_high_ < (kFields - kPlaces) << kFieldAt;  // no sum overflowed
  }
  // @range is_known()
  /// The high word of the largest magnitude as an FP64 number.
  [[nodiscard]] KIZAMI_HOST_DEVICE std::uint32_t max_high() const {
    if constexpr (kIsDouble) {
      return max_high_ / 2;
    } else {
      return static_cast<std::uint32_t>(bit_cast<std::uint64_t>(double{bit_cast<float>(max_high_ / 2)}) >> 32);
    }
  }
  [[nodiscard]] KIZAMI_HOST_DEVICE std::int32_t lsb() const {
    return static_cast<std::int32_t>(least_ >> kFieldAt) - (kIsDouble ? 1075 : 150);
  }

 private:
  static constexpr bool kIsDouble = sizeof(R) == 8;
  static constexpr int kPlaceOfHidden = 23;             ///< of FP32
  static constexpr int kFieldAt = kIsDouble ? 21 : 24;  ///< of the exponent in a high word that is a bit to the left
  static constexpr std::uint32_t kFields = kIsDouble ? 2048 : 256;
  static constexpr std::uint32_t kPlaces = kIsDouble ? 32 : kPlaceOfHidden + 1;

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
