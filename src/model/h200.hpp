// SPDX-License-Identifier: MIT
// What devices/h200.json says, as constants for the cost functions of engines. A test compares both, so that the file is
// the one place where a number of this card is settled. Numbers of kernels stay beside the kernels.
#pragma once

namespace kizami::model::h200 {

inline constexpr int kSms = 132;
inline constexpr double kInt8MacsPerSmCycle = 4096;
inline constexpr double kLongProductHz = 1.7e9;  ///< the clock of products of some milliseconds

/// The multiprocessors of a device, those of an H200 where they are not known.
[[nodiscard]] constexpr int sms_or_own(int num_sms) { return num_sms > 0 ? num_sms : kSms; }

}  // namespace kizami::model::h200
