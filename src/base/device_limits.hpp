// SPDX-License-Identifier: MIT
// What kernels must know of the current device to choose their shape: a kernel asks for no more shared memory than
// there is, and takes clusters, the early start of launches and the instructions of one architecture only where they
// are. Facts of the driver, asked once for each device and thread.
#pragma once

#include <cstddef>
#include <string>

#include "kizami/status.hpp"

namespace kizami::base {

struct DeviceLimits {
  int device = -1;             ///< its ordinal
  int compute_capability = 0;  ///< major * 10 + minor
  int code_capability = 0;     ///< what the code that runs there was compiled for, 90 meaning sm_90a
  int num_sms = 0;
  int shared_bytes = 0;  ///< that a block may have
  int l2_bytes = 0;
  double clock_hz = 0;      ///< the highest of a multiprocessor
  bool is_assumed = false;  ///< by a test

  /// Clusters of blocks with distributed shared memory, barriers that count bytes, and launches that start early.
  [[nodiscard]] constexpr bool has_clusters() const { return code_capability >= 90; }
  [[nodiscard]] constexpr bool has_early_launch() const { return code_capability >= 90; }
  /// Blocks of a cluster at most. Programs may count on 8; those of data centres have twice as many for who asks.
  [[nodiscard]] constexpr int most_cluster() const {
    if (!has_clusters()) return 1;
    return compute_capability / 10 == 9 || compute_capability / 10 == 10 ? 16 : 8;
  }
  /// Instructions of sm_90a, which no later device has.
  [[nodiscard]] constexpr bool has_wgmma() const { return compute_capability == 90 && code_capability == 90; }
};

/// Of the calling thread's current device.
/// @status kUnsupported: no code of this build runs there; kInternal with CUDA's words
[[nodiscard]] Status find_device_limits(DeviceLimits& limits);

/// Why the device takes no code with wgmma, of one for which has_wgmma() is false.
[[nodiscard]] inline std::string why_no_wgmma(const DeviceLimits& limits) {
  const bool is_other = limits.compute_capability != 90;
  return (is_other ? "compute_capability = " : "code_capability = ") +
         std::to_string(is_other ? limits.compute_capability : limits.code_capability) +
         ", must be 90, for the instructions of sm_90a are of no other";
}

/// For tests: from now on every device is taken for one with these limits, but for its ordinal, in all threads; null:
/// as it is. Kernels then have the shape that they have there, as far as the device can run them.
/// @range not while calls run
void assume_device_limits(const DeviceLimits* limits);

/// Whether a block may have so much dynamic shared memory, and with assumed limits that of the kernel's own beside it.
/// @status kInternal: a defect of the caller, which must have chosen by the limits
[[nodiscard]] Status check_shared_bytes(const char* what, const void* kernel, std::size_t bytes,
                                        const DeviceLimits& limits);

}  // namespace kizami::base
