// SPDX-License-Identifier: MIT
// The device's memory, most of which is taken away at times.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "gpu_soak/process_memory.hpp"
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

  /// What this process holds of the device, without what is taken here.
  [[nodiscard]] Parts parts_of_others(const DeviceMemory& memory);

 private:
  Surroundings& surroundings_;
  const std::int64_t least_left_;
  std::mutex mutex_;
  std::vector<void*> blocks_;
  std::int64_t bytes_ = 0;
  std::int64_t num_times_ = 0;
};

}  // namespace gpu_soak
