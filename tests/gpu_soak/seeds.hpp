// SPDX-License-Identifier: MIT
// Which cases a soak has, by their seeds: each thread its own, one after another, always others or the same again and
// again. Pure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace gpu_soak {

[[nodiscard]] constexpr std::uint64_t mixed(std::uint64_t x) {
  x ^= x >> 33;
  x *= 0xff51afd7ed558ccdULL;
  x ^= x >> 33;
  x *= 0xc4ceb9fe1a85ec53ULL;
  return x ^ (x >> 33);
}

struct Seeds {
  std::uint64_t seed = 1;
  int threads = 1;
  std::int64_t cases = 0;                  ///< so many come again and again; 0: always others
  bool has_shared = false;                 ///< now and then one that all threads come back to
  std::optional<std::uint64_t> only_case;  ///< the only one

  static constexpr std::uint64_t kNumShared = 64;
  [[nodiscard]] std::uint64_t shared(std::uint64_t i) const { return mixed(mixed(seed) + 1 + i); }
  /// After which they come again; 0: never.
  [[nodiscard]] std::uint64_t cases_of_thread() const {
    return static_cast<std::uint64_t>((cases + threads - 1) / threads);
  }
  [[nodiscard]] std::uint64_t of_thread(std::size_t thread, std::uint64_t count) const {
    if (only_case) return *only_case;
    if (cases > 0) count %= cases_of_thread();
    const std::uint64_t base = mixed(seed * 0x9e3779b97f4a7c15ULL + 1);
    const std::uint64_t own = mixed(base ^ mixed((thread + 1) << 40 | count));
    return has_shared && own % 8 == 0 ? shared(own / 8 % kNumShared) : own;
  }
  /// All that come; where always others do, so many of the first as `most`, or a few more.
  [[nodiscard]] std::vector<std::uint64_t> population(std::uint64_t most) const {
    const auto num_threads = static_cast<std::uint64_t>(threads);
    const std::uint64_t each = cases > 0 ? cases_of_thread() : (most + num_threads - 1) / num_threads;
    std::vector<std::uint64_t> all;
    for (std::size_t thread = 0; thread < num_threads; ++thread) {
      for (std::uint64_t count = 0; count < each; ++count) all.push_back(of_thread(thread, count));
    }
    return all;
  }
};

}  // namespace gpu_soak
