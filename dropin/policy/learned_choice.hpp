// SPDX-License-Identifier: MIT
// Who answers the calls of one place, by how those before went: the planner knows sizes only, and elements may ask for
// more than it counts on. Two losses of Kizami in a row leave the calls to the native library; after 16 of them one is
// Kizami's again, then after 32, and so on up to 1024; a win makes all of them Kizami's. Pure: no clock, no device.
#pragma once

#include <cstdint>

namespace kizami::dropin {

inline constexpr int kLossesToNative = 2;              ///< in a row
inline constexpr std::int32_t kLeastNativeCalls = 16;  ///< before the first trial
inline constexpr std::int32_t kMostNativeCalls = 1024;
/// Kizami wins where it takes less than this share of the native time: predictions err.
inline constexpr double kWinningShare = 0.97;

/// Whether a call of Kizami was a loss. What the planner counted on is none: it has decided with that.
/// @param predicted what the call took, by what its elements asked for; planned: what the planner counted on; native:
///        of the native library. @units seconds
[[nodiscard]] constexpr bool is_loss(double predicted, double planned, double native) {
  return predicted > planned && !(predicted < kWinningShare * native);
}

class LearnedChoice {
 public:
  /// Whether the next call is Kizami's, which counts it.
  [[nodiscard]] bool takes_next();
  /// How a call that Kizami answered went; calls may be told of late, in any number.
  void tell(bool is_loss);

  friend bool operator==(const LearnedChoice&, const LearnedChoice&) = default;

 private:
  bool is_native_ = false;
  std::int32_t losses_ = 0;                       ///< in a row, while calls are Kizami's
  std::int32_t native_calls_ = 0;                 ///< since the last that was Kizami's
  std::int32_t until_trial_ = kLeastNativeCalls;  ///< native calls
};

}  // namespace kizami::dropin
