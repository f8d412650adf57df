// SPDX-License-Identifier: MIT
// What records say of the machine beside their figures: driver, clock and power of a device, processor, the library
// that answers and what it was told. Needs no CUDA.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace bench {

/// Of the first device, by the driver's library; "unknown" and 0 where that does not tell.
struct Gauges {
  void* device = nullptr;
  int (*clock)(void*, int, unsigned*) = nullptr;
  int (*power)(void*, unsigned*) = nullptr;
  std::string driver = "unknown";

  Gauges();
  [[nodiscard]] unsigned sm_mhz() const;
  [[nodiscard]] unsigned watts() const;
};

/// The file that answers cublasSgemm: cuBLAS' own, or a preloaded one.
[[nodiscard]] std::string answering_library();

/// KIZAMI_* of the environment, but for what tests are told.
[[nodiscard]] nlohmann::json settings();

/// As Linux names the processor; "unknown" where it does not.
[[nodiscard]] std::string processor_name();

}  // namespace bench
