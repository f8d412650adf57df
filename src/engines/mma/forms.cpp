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

/// Of that rate, what the loop of a tile of form 256x128_long reaches: predicted, docs/perf/mma_product.md.
constexpr double kShareReached = 0.85;

// What tells the forms apart, fitted to all of them on an H200 before residues were folded (lab/results/h200/mma_product.jsonl). The
// records since, of product.jsonl, hold the choice to 5 %.
constexpr double kBarrierCycles = 62;        // of a stage; of two blocks on a multiprocessor one multiplies meanwhile
constexpr double kUsualBarrier = 1 / 128.0;  // of an element of k, which kShareReached has
constexpr double kUsualBytes = 384;          // likewise: read for an element of k of 256 x 128 sums
constexpr double kReadPerCycle = 61;         // what more is read takes as long
constexpr double kFilledPerCycle = 37;       // bytes of the first stage, as the L2 cache gives them
constexpr double kStoreCycles = 2700;  // of a tile of 256 x 128; of two blocks one stores while the other multiplies

/// Cycles that a multiprocessor takes for an element of k of its blocks.
[[nodiscard]] double cycles_per_k(const MmaFormTraits& traits, double macs_per_cycle) {
  const double blocks = traits.blocks_per_sm;
  const double multiplied = blocks * traits.tile_i * traits.tile_j / (macs_per_cycle * kShareReached);
  const double barrier = (blocks == 1 ? 1.0 / traits.block_k : 0.0) - kUsualBarrier;
  const double read = (blocks * (traits.tile_i + traits.tile_j) - kUsualBytes) / kReadPerCycle;
  return multiplied + kBarrierCycles * barrier + read;
}
/// What no multiplication covers.
[[nodiscard]] double uncovered_cycles(const MmaFormTraits& traits) {
  const double first_stage = traits.blocks_per_sm * (traits.tile_i + traits.tile_j) * traits.block_k / kFilledPerCycle;
  return first_stage + (traits.blocks_per_sm == 1 ? kStoreCycles : 0.0);
}

/// Of these the law has others quicker, which took 6 and 9 % longer at 8192 x 8192 x 512 and 1024 (product.jsonl, 624b0fbe).
[[nodiscard]] bool has_many_long_tiles(const ProductDesc& d, const base::DeviceLimits& device) {
  constexpr std::int64_t kLongK = 512;
  constexpr std::int64_t kFewBytes = 4'000'000;  // of a plane of both operands
  return d.num_windows == 0 && d.k >= kLongK && (d.m + d.n) * d.k >= kFewBytes && d.m > 128 &&
         tiles_of(d, traits_of(MmaForm::k256x128)) >= 2 * std::int64_t{device.num_sms};
}

}  // namespace

MmaForm mma_form_for(const ProductDesc& d, const base::DeviceLimits& device) {
  const MmaFormTraits& longest = traits_of(MmaForm::k256x128Long);
  if (device.shared_bytes >= longest.shared_bytes() && has_many_long_tiles(d, device)) return longest.form;
  const MmaFormTraits* best = nullptr;
  double least = 0;
  for (const MmaFormTraits& traits : kMmaForms) {
    if (traits.blocks_per_sm * traits.shared_bytes() > device.shared_bytes) continue;
    const double seconds = predicted_seconds(d, traits, device);
    if (best != nullptr && seconds >= least) continue;
    best = &traits;
    least = seconds;
  }
  return best == nullptr ? MmaForm::k128x128 : best->form;
}

double predicted_seconds(const ProductDesc& d, const MmaFormTraits& traits, const base::DeviceLimits& device) {
  constexpr double kStartSeconds = 6e-6;
  const double hz = device.clock_hz > 0 ? device.clock_hz : 1.7e9;
  const double at_once = std::max(device.num_sms, 1) * traits.blocks_per_sm;
  const auto tiles = static_cast<double>(tiles_of(d, traits));
  double k = static_cast<double>(d.k);  // of a tile, on average
  if (d.num_windows > 0) {
    double all = 0;
    for (int l = 0; l < d.num_windows; ++l) all += static_cast<double>(d.windows[static_cast<std::size_t>(l)].k);
    k = all / std::max(d.num_products, 1);
  }
  const double staged = std::ceil(k / traits.block_k) * traits.block_k;
  const double cycles = staged * cycles_per_k(traits, macs_per_cycle(device.compute_capability));
  return kStartSeconds + std::ceil(tiles / at_once) * (cycles + uncovered_cycles(traits)) / hz;
}

}  // namespace kizami::engines
