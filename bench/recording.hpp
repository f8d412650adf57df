// SPDX-License-Identifier: MIT
// What every record of a device says beside its figures: the date, the driver, and what clock and power were.
#pragma once

#include <dlfcn.h>

#include <ctime>
#include <string>

namespace bench {

/// In UTC, as 2026-11-23.
[[nodiscard]] inline std::string today() {
  const std::time_t now = std::time(nullptr);
  char text[16];
  std::strftime(text, sizeof text, "%Y-%m-%d", std::gmtime(&now));
  return text;
}

/// Of the first device, by the driver's library; "unknown" and 0 where that does not tell.
struct Gauges {
  void* device = nullptr;
  int (*clock)(void*, int, unsigned*) = nullptr;
  int (*power)(void*, unsigned*) = nullptr;
  std::string driver = "unknown";

  Gauges() {
    void* const library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
    if (library == nullptr) return;
    const auto init = reinterpret_cast<int (*)()>(dlsym(library, "nvmlInit_v2"));
    const auto get = reinterpret_cast<int (*)(unsigned, void**)>(dlsym(library, "nvmlDeviceGetHandleByIndex_v2"));
    const auto version = reinterpret_cast<int (*)(char*, unsigned)>(dlsym(library, "nvmlSystemGetDriverVersion"));
    if (init == nullptr || get == nullptr || init() != 0 || get(0, &device) != 0) return;
    clock = reinterpret_cast<int (*)(void*, int, unsigned*)>(dlsym(library, "nvmlDeviceGetClockInfo"));
    power = reinterpret_cast<int (*)(void*, unsigned*)>(dlsym(library, "nvmlDeviceGetPowerUsage"));
    char text[96] = "unknown";
    if (version != nullptr && version(text, sizeof text) == 0) driver = text;
  }
  [[nodiscard]] unsigned sm_mhz() const {
    unsigned value = 0;
    constexpr int kSmClock = 1;
    return clock != nullptr && clock(device, kSmClock, &value) == 0 ? value : 0;
  }
  [[nodiscard]] unsigned watts() const {
    unsigned value = 0;
    return power != nullptr && power(device, &value) == 0 ? value / 1000 : 0;
  }
};

}  // namespace bench
