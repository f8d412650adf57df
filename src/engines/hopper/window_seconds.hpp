// SPDX-License-Identifier: MIT
// Predicted seconds of windows: clusters end together, or when the longest tile does.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/int_math.hpp"
#include "model/h200.hpp"
#include "product/product.hpp"

namespace kizami::engines::hopper {

/// Blocks of `block_elems` elements of k, of all planes and of the longest.
struct KBlocks {
  double all = 0;
  double longest = 0;
};
[[nodiscard]] inline KBlocks k_blocks_of(const product::ProductDesc& d, int block_elems) {
  const auto blocks = [&](std::int64_t k) {
    return static_cast<double>(std::max<std::int64_t>(1, base::ceil_div(k, block_elems)));
  };
  if (d.num_windows == 0) return {blocks(d.k) * d.num_products, blocks(d.k)};
  KBlocks sum;
  double of_plane = 0;
  for (int l = 0; l < d.num_windows; ++l) {
    const product::Window& w = d.windows[static_cast<std::size_t>(l)];
    of_plane = blocks(w.k) + (w.is_added ? of_plane : 0.0);
    sum.all += blocks(w.k);
    sum.longest = std::max(sum.longest, of_plane);
  }
  return sum;
}

/// A kernel's tile, and the cycles that a block of k of one tile takes a multiprocessor at best.
struct WindowRates {
  int tile_i = 0;
  int tile_j = 0;
  int cluster = 1;
  int block_elems = 128;
  double block_cycles = 0;
  double share_reached = 0.8;
};
[[nodiscard]] inline double windows_seconds(const product::ProductDesc& d, const WindowRates& rates, int num_sms) {
  constexpr double kCyclesPerSecond = model::h200::kLongProductHz;
  constexpr double kStartSeconds = 4e-6;
  constexpr double kStoredBytesPerSecond = 3e12;  // of sums, which no multiplication covers
  const KBlocks blocks = k_blocks_of(d, rates.block_elems);
  const double tiles = static_cast<double>(base::ceil_div(d.m, rates.tile_i)) *
                       static_cast<double>(base::ceil_div(d.n, std::int64_t{rates.tile_j} * rates.cluster));
  const int at_once = std::max(1, model::h200::sms_or_own(num_sms) / rates.cluster);
  const double block_cycles = rates.block_cycles / rates.share_reached;
  const double stored = 4.0 * static_cast<double>(d.m) * static_cast<double>(d.n) * d.num_products;
  return kStartSeconds + std::max(blocks.longest, tiles * blocks.all / at_once) * block_cycles / kCyclesPerSecond +
         stored / kStoredBytesPerSecond;
}

}  // namespace kizami::engines::hopper
