// SPDX-License-Identifier: MIT
// What a process holds of a device, in parts that sum to the whole, so that a record says which of them grew:
//   whole = workspaces + graphs + default pool + rest
// The rest is what CUDA does not count: contexts, modules, what local memory and handles take. Pure.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "gpu_soak/level.hpp"

namespace gpu_soak {

enum class Part : std::uint8_t { kWhole, kWorkspaces, kGraphs, kDefaultPool, kRest };
inline constexpr std::size_t kNumParts = 5;
[[nodiscard]] constexpr const char* name_of(Part part) {
  constexpr std::array<const char*, kNumParts> kNames{"device", "workspaces", "graphs", "default pool", "rest"};
  return kNames[static_cast<std::size_t>(part)];
}

/// Bytes at one time.
struct Parts {
  std::int64_t whole = 0;
  std::int64_t workspaces = 0, graphs = 0, default_pool = 0;  ///< as held
  std::int64_t used_workspaces = 0;                           ///< by calls that are not done
  bool is_at_once = true;  ///< false: pools changed while they were read, and the rest is not known

  [[nodiscard]] std::int64_t of(Part part) const {
    const std::array<std::int64_t, kNumParts> bytes{whole, workspaces, graphs, default_pool,
                                                    whole - workspaces - graphs - default_pool};
    return bytes[static_cast<std::size_t>(part)];
  }
};

/// Parts over time.
class PartLevels {
 public:
  /// @range seconds: rising
  void add(double seconds, const Parts& parts) {
    for (std::size_t i = 0; i < kNumParts; ++i) {
      const auto part = static_cast<Part>(i);
      if (part != Part::kRest || parts.is_at_once) levels_[i].add(seconds, parts.of(part));
    }
  }
  [[nodiscard]] const Level& of(Part part) const { return levels_[static_cast<std::size_t>(part)]; }

  /// Which peaks rose after `settled_after`, the largest first: "graphs by 64.0 MiB, workspaces by 32.0 MiB", or
  /// "nothing".
  [[nodiscard]] std::string grown_after(double settled_after) const {
    struct Grown {
      Part part;
      std::int64_t bytes;
    };
    std::vector<Grown> grown;
    for (std::size_t i = 1; i < kNumParts; ++i) {
      const Growth growth = levels_[i].after(settled_after);
      if (growth.peak > growth.settled_peak) grown.push_back({static_cast<Part>(i), growth.peak - growth.settled_peak});
    }
    std::stable_sort(grown.begin(), grown.end(), [](const Grown& x, const Grown& y) { return x.bytes > y.bytes; });
    std::string text;
    for (const Grown& x : grown) {
      char bytes[32];
      std::snprintf(bytes, sizeof bytes, " by %.1f MiB", static_cast<double>(x.bytes) / (1 << 20));
      text += (text.empty() ? "" : ", ") + std::string(name_of(x.part)) + bytes;
    }
    return text.empty() ? "nothing" : text;
  }

 private:
  std::array<Level, kNumParts> levels_;
};

}  // namespace gpu_soak
