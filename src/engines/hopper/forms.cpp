// SPDX-License-Identifier: MIT
#include "engines/hopper/forms.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "base/int_math.hpp"
#include "engines/hopper/window_seconds.hpp"
#include "model/h200.hpp"

namespace kizami::engines {
namespace {

using base::ceil_div;
using product::Epilogue;
using product::ProductDesc;

constexpr std::array<HopperFormTraits, kNumHopperForms> kForms = {{
    {"ping_pong_128x128", HopperForm::kPingPong128x128, HopperSchedule::kPingPong, LineOrder::kInOrder, 128, 128, 2},
    {"ping_pong_128x128_permuted", HopperForm::kPingPong128x128Permuted, HopperSchedule::kPingPong,
     LineOrder::kPermuted, 128, 128, 2},
    {"ping_pong_128x128_alone", HopperForm::kPingPong128x128Alone, HopperSchedule::kPingPong, LineOrder::kInOrder, 128,
     128, 1},
    {"cooperative_256x128", HopperForm::kCooperative256x128, HopperSchedule::kCooperative, LineOrder::kInOrder, 256,
     128, 2},
    {"cooperative_256x128_permuted", HopperForm::kCooperative256x128Permuted, HopperSchedule::kCooperative,
     LineOrder::kPermuted, 256, 128, 2},
    {"cooperative_192x256", HopperForm::kCooperative192x256, HopperSchedule::kCooperative, LineOrder::kInOrder, 192,
     256, 2},
}};

constexpr bool is_indexed_by_form() {
  for (std::size_t f = 0; f < kForms.size(); ++f) {
    if (static_cast<std::size_t>(kForms[f].form) != f) return false;
  }
  return true;
}
static_assert(is_indexed_by_form());

}  // namespace

std::span<const HopperFormTraits, kNumHopperForms> hopper_forms() { return kForms; }

const HopperFormTraits& traits_of(HopperForm form) { return kForms[static_cast<std::size_t>(form)]; }

bool form_accepts(const HopperFormTraits& traits, const ProductDesc& d) {
  if (d.format != SliceFormat::kInt8) return false;
  if (traits.line_order == LineOrder::kPermuted) return d.epilogue == Epilogue::kReduce && d.m % 16 == 0;
  if (traits.form == HopperForm::kCooperative192x256) return d.epilogue == Epilogue::kReduce || d.num_windows > 0;
  return true;
}

namespace {

/// Bytes of one plane of both operands.
[[nodiscard]] double line_bytes(const ProductDesc& d) {
  return static_cast<double>(d.m + d.n) * static_cast<double>(d.k);
}

// What tells the forms apart. Fitted to all of them on an H200, of squares, in three runs (lab/results/h200/product.jsonl,
// mma_product.jsonl), and to whole calls of shapes of small k; in cycles at the clock of long products.
constexpr double kMultiplied = 0.985;   // of the operations of a cycle, where nothing else takes time
constexpr double kReadPerCycle = 71;    // bytes that a multiprocessor has from the L2 cache, likewise
constexpr double kCachedBytes = 64e6;   // of a plane's lines: beyond, the cache loses some before all have read them
constexpr double kBeyondCache = 0.69;   // of kReadPerCycle, then
constexpr double kFewBytes = 4e6;       // likewise: so few, or few tiles, are multiplied in squares
constexpr double kLongBytes = 300e6;    // likewise: long products meet the power limit
constexpr double kOfLong = 1.09;        // times as many cycles
constexpr double kPingPongStore = 400;  // cycles of a tile of 128 x 128: the other one is multiplied meanwhile
constexpr double kCooperativeStore = 2000;  // of 256 x 128, which nothing covers
constexpr double kPermutedStore = 0.6;      // of these: no shuffles

/// Cycles of an element of k of one tile. Reads hide behind multiplications in part.
[[nodiscard]] double cycles_per_k(const HopperFormTraits& traits, double line_bytes) {
  const double multiplied = traits.tile_i * traits.tile_j / (kMultiplied * model::h200::kInt8MacsPerSmCycle);
  const double bytes = static_cast<double>(traits.tile_i) / traits.cluster + traits.tile_j;
  const double read = bytes / (line_bytes < kCachedBytes ? kReadPerCycle : kBeyondCache * kReadPerCycle);
  return std::sqrt(multiplied * multiplied + read * read) * (line_bytes < kLongBytes ? 1.0 : kOfLong);
}
[[nodiscard]] double store_cycles(const HopperFormTraits& traits) {
  const double cycles = traits.schedule == HopperSchedule::kPingPong
                            ? kPingPongStore
                            : kCooperativeStore * traits.tile_i * traits.tile_j / (256.0 * 128.0);
  return traits.line_order == LineOrder::kPermuted ? kPermutedStore * cycles : cycles;
}

/// Windows were recorded by one form each, which tells nothing of the others: they keep to it.
[[nodiscard]] HopperForm windows_tile_for(const ProductDesc& d) {
  if (d.n <= 128) return HopperForm::kPingPong128x128Alone;  // the second CTA of a cluster would multiply zeros
  if (line_bytes(d) < kFewBytes || d.m <= 128) return HopperForm::kPingPong128x128;
  if (line_bytes(d) < kCachedBytes || d.n <= 256) return HopperForm::kCooperative256x128;
  return HopperForm::kCooperative192x256;
}
[[nodiscard]] double windows_seconds_of(const ProductDesc& d, const HopperFormTraits& traits, int num_sms) {
  constexpr double kMacsPerCycle = model::h200::kInt8MacsPerSmCycle;
  const hopper::WindowRates rates{.tile_i = traits.tile_i,
                                  .tile_j = traits.tile_j,
                                  .cluster = traits.cluster,
                                  .block_cycles = traits.tile_i * traits.tile_j * 128 / kMacsPerCycle};
  return hopper::windows_seconds(d, rates, num_sms);
}

/// Tiles in rounds, one after another on each cluster.
[[nodiscard]] double seconds_of_rounds(const ProductDesc& d, const HopperFormTraits& traits, int num_sms) {
  const auto k_blocks = static_cast<double>(std::max<std::int64_t>(1, ceil_div(d.k, 128)));
  const double tile_cycles = 128 * k_blocks * cycles_per_k(traits, line_bytes(d)) + store_cycles(traits);
  const std::int64_t clusters =
      ceil_div(d.m, traits.tile_i) * ceil_div(d.n, std::int64_t{traits.tile_j} * traits.cluster) * d.num_products;
  const std::int64_t at_once = std::max(1, model::h200::sms_or_own(num_sms) / traits.cluster);
  return static_cast<double>(ceil_div(clusters, at_once)) * tile_cycles / model::h200::kLongProductHz;
}

/// Squares of 128 store while others of them are multiplied, as long as these are long or few: 8192 x 8192 x 256 and 512 took
/// 11 and 6 % longer by them than by 256 x 128 (product.jsonl, b83483de), where the law has them quicker.
[[nodiscard]] bool has_many_short_tiles(const ProductDesc& d, int num_sms) {
  const std::int64_t tiles = ceil_div(d.m, 256) * ceil_div(d.n, 128) * d.num_products;
  return line_bytes(d) >= kFewBytes && tiles >= 2 * std::int64_t{model::h200::sms_or_own(num_sms)};
}

}  // namespace

HopperForm tile_for(const ProductDesc& d, int num_sms) {
  if (d.num_windows > 0) return windows_tile_for(d);
  const HopperFormTraits* best = nullptr;
  double least = 0;
  for (const HopperFormTraits& traits : kForms) {
    if (!form_accepts(traits, d)) continue;
    if (traits.schedule == HopperSchedule::kPingPong && d.m > 128 && has_many_short_tiles(d, num_sms)) continue;
    const double seconds = seconds_of_rounds(d, traits, num_sms);
    if (best != nullptr && seconds >= least) continue;
    best = &traits;
    least = seconds;
  }
  return best == nullptr ? HopperForm::kPingPong128x128 : best->form;
}

double predicted_seconds(const ProductDesc& d, const HopperFormTraits& traits, int num_sms) {
  if (d.num_windows > 0) return windows_seconds_of(d, traits, num_sms);
  constexpr double kStartSeconds = 5e-6;
  // Results on their way to memory cost what the multiplications do not hide.
  constexpr double kStoredPerSecond = 6e12;
  const double stored = static_cast<double>(d.m) * static_cast<double>(d.n) * d.num_products;
  // Lines that few others share come from memory as fast as it goes.
  constexpr double kReadPerSecond = 3.5e12;
  const double read = line_bytes(d) * d.num_products / kReadPerSecond;
  return kStartSeconds + std::max(seconds_of_rounds(d, traits, num_sms), read) + stored / kStoredPerSecond;
}

}  // namespace kizami::engines
