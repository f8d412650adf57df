// SPDX-License-Identifier: MIT
// Memory of the device and of the process: taken away at times, and watched.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "gpu_soak/slot.hpp"

namespace gpu_soak {

/// Takes most of the device's free memory, and gives it back.
class Pressure {
 public:
  Pressure(Surroundings& surroundings, std::int64_t least_left)
      : surroundings_(surroundings), least_left_(least_left) {}
  Pressure(const Pressure&) = delete;
  Pressure& operator=(const Pressure&) = delete;
  ~Pressure() { give_back(); }

  /// Leaves `left` bytes, at least `least_left`.
  void take(std::int64_t left);
  void give_back();
  [[nodiscard]] std::int64_t num_times() const { return num_times_; }

  /// Bytes in use on the device, without those that are taken here.
  [[nodiscard]] std::int64_t used_by_others();

 private:
  Surroundings& surroundings_;
  const std::int64_t least_left_;
  std::mutex mutex_;
  std::vector<void*> blocks_;
  std::int64_t bytes_ = 0;
  std::int64_t num_times_ = 0;
};

/// Resident memory of the process in bytes; 0: not known.
[[nodiscard]] std::int64_t resident_bytes();

/// A quantity over time: its peak until the run has settled, its overall peak, its last value.
struct Level {
  std::int64_t settled_peak = 0, peak = 0, last = 0;

  void add(std::int64_t value, bool has_settled) {
    last = value;
    peak = peak < value ? value : peak;
    if (!has_settled) settled_peak = peak;
  }
  /// By how much the peak has grown since then.
  [[nodiscard]] double growth_percent() const {
    return settled_peak > 0 ? 100.0 * static_cast<double>(peak - settled_peak) / static_cast<double>(settled_peak) : 0;
  }
};

}  // namespace gpu_soak
