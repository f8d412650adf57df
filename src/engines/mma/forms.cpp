// SPDX-License-Identifier: MIT
#include "engines/mma/forms.hpp"

#include <algorithm>
#include <cmath>

#include "base/int_math.hpp"

namespace kizami::engines {
namespace {

using base::ceil_div;
using product::ProductDesc;

constexpr bool is_indexed_by_form() {
  for (int f = 0; f < kNumMmaForms; ++f) {
    if (static_cast<int>(kMmaForms[f].form) != f) return false;
  }
  return true;
}
static_assert(is_indexed_by_form());

[[nodiscard]] std::int64_t tiles_of(const ProductDesc& d, const MmaFormTraits& traits) {
  return ceil_div(d.m, traits.tile_i) * ceil_div(d.n, traits.tile_j) * std::max(d.num_products, 1);
}

/// Products of bytes that mma.sync makes in a cycle of a multiprocessor, as published: of 9.0 63 % of what wgmma does
/// (arXiv 2501.12084, section 6.2), of 10.x unknown.
[[nodiscard]] double macs_per_cycle(int compute_capability) {
  switch (compute_capability) {
    case 80:
      return 2048;
    case 90:
      return 0.63 * 4096;
    case 100:
    case 103:
      return 2048;
    default:
      return 1024;
  }
}

/// Of that rate, what the loop of a tile reaches: by 963 TOPS of calls back to back at n = 4096, docs/perf/mma_product.md.
constexpr double kShareReached = 0.77;
constexpr double kStoreCycles = 4000;  // of a tile of 256 x 128, that no multiplication covers

}  // namespace

MmaForm mma_form_for(const ProductDesc& d, const base::DeviceLimits& device) {
  // Tiles that leave multiprocessors idle, or one long tile where two short ones would overlap.
  if (d.m <= 128 || tiles_of(d, traits_of(MmaForm::k256x128)) < 2 * std::int64_t{device.num_sms})
    return MmaForm::k128x128;
  constexpr std::int64_t kLongK = 512;
  const bool fits = device.shared_bytes >= traits_of(MmaForm::k256x128Long).shared_bytes();
  return fits && d.k >= kLongK ? MmaForm::k256x128Long : MmaForm::k256x128;
}

double predicted_seconds(const ProductDesc& d, const MmaFormTraits& traits, const base::DeviceLimits& device) {
  constexpr double kStartSeconds = 6e-6;
  const double hz = device.clock_hz > 0 ? device.clock_hz : 1.7e9;
  const double at_once = std::max(device.num_sms, 1) * traits.blocks_per_sm;
  const double tile_elems = static_cast<double>(traits.tile_i) * traits.tile_j;
  const double cycles_per_k =
      tile_elems * traits.blocks_per_sm / (macs_per_cycle(device.compute_capability) * kShareReached);
  const double store = kStoreCycles * tile_elems / (256.0 * 128.0);
  const auto tiles = static_cast<double>(tiles_of(d, traits));
  double k = static_cast<double>(d.k);  // of a tile, on average
  if (d.num_windows > 0) {
    double all = 0;
    for (int l = 0; l < d.num_windows; ++l) all += static_cast<double>(d.windows[static_cast<std::size_t>(l)].k);
    k = all / std::max(d.num_products, 1);
  }
  return kStartSeconds + std::ceil(tiles / at_once) * (k * cycles_per_k + store) / hz;
}

}  // namespace kizami::engines
