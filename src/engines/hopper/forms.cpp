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
    {"ping_pong_192x128_permuted", HopperForm::kPingPong192x128Permuted, HopperSchedule::kPingPong,
     LineOrder::kPermuted, 192, 128, 2},
    {"cooperative_256x128", HopperForm::kCooperative256x128, HopperSchedule::kCooperative, LineOrder::kInOrder, 256,
     128, 2},
    {"cooperative_256x128_permuted", HopperForm::kCooperative256x128Permuted, HopperSchedule::kCooperative,
     LineOrder::kPermuted, 256, 128, 2},
    {"cooperative_192x256", HopperForm::kCooperative192x256, HopperSchedule::kCooperative, LineOrder::kInOrder, 192,
     256, 2},
    {"cooperative_192x256_permuted", HopperForm::kCooperative192x256Permuted, HopperSchedule::kCooperative,
     LineOrder::kPermuted, 192, 256, 2},
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
  if (traits.form == HopperForm::kCooperative192x256) return d.num_windows > 0;
  return true;
}

namespace {

/// Bytes of one plane of both operands.
[[nodiscard]] double line_bytes(const ProductDesc& d) {
  return static_cast<double>(d.m + d.n) * static_cast<double>(d.k);
}

// What tells the forms apart, in cycles at the clock of long products. Fitted to all of them on an H200, of bytes with and without
// sign and sixteen shapes (lab/results/h200/product.jsonl, records of folded residues), with 8 us for a launch between events; kOfLong
// to squares of 16384.
constexpr double kMultiplied = 0.985;     // of the operations of a cycle, where nothing else takes time
constexpr double kReadPerCycle = 142;     // bytes that a multiprocessor has from the L2 cache, likewise
constexpr double kCachedBytes = 64e6;     // of a plane's lines: beyond, the cache loses some before all have read them
constexpr double kBeyondCache = 0.44;     // of kReadPerCycle, then
constexpr double kLongBytes = 300e6;      // likewise: long products meet the power limit
constexpr double kOfLong = 1.09;          // times as many cycles
constexpr double kTurn = 1017;            // of a tile of kPingPong that is multiplied while the other one is stored
constexpr double kSquareStore = 2745;     // what a warpgroup takes for 128 x 128 elements meanwhile
constexpr double kWholeStore = 2286;      // of 256 x 128 elements of kCooperative, which nothing covers
constexpr double kPermutedStore = 0.726;  // of kTurn and kWholeStore: no shuffles
constexpr double kFewBytes = 4e6;         // of a plane's lines: so few are windows of squares

/// Cycles of a tile. Reads hide behind multiplications in part.
[[nodiscard]] double tile_cycles(const HopperFormTraits& traits, double k, double line_bytes) {
  const double area = static_cast<double>(traits.tile_i) * traits.tile_j;
  const double multiplied = area / (kMultiplied * model::h200::kInt8MacsPerSmCycle);
  const double bytes = static_cast<double>(traits.tile_i) / traits.cluster + traits.tile_j;
  const double read = bytes / (kReadPerCycle * (line_bytes < kCachedBytes ? 1.0 : kBeyondCache));
  const double product =
      k * std::sqrt(multiplied * multiplied + read * read) * (line_bytes < kLongBytes ? 1.0 : kOfLong);
  const double permuted = traits.line_order == LineOrder::kPermuted ? kPermutedStore : 1.0;
  if (traits.schedule == HopperSchedule::kCooperative) return product + permuted * kWholeStore * area / (256.0 * 128.0);
  // Two warpgroups multiply and store by turns.
  const double both = product + kSquareStore * area / (128.0 * 128.0);
  return std::max(product + permuted * kTurn, both / 2);
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
  const std::int64_t k = std::max<std::int64_t>(128, base::round_up(d.k, 128));
  const double cycles = tile_cycles(traits, static_cast<double>(k), line_bytes(d));
  const std::int64_t clusters =
      ceil_div(d.m, traits.tile_i) * ceil_div(d.n, std::int64_t{traits.tile_j} * traits.cluster) * d.num_products;
  const std::int64_t at_once = std::max(1, model::h200::sms_or_own(num_sms) / traits.cluster);
  return static_cast<double>(ceil_div(clusters, at_once)) * cycles / model::h200::kLongProductHz;
}

}  // namespace

HopperForm tile_for(const ProductDesc& d, int num_sms) {
  if (d.num_windows > 0) return windows_tile_for(d);
  const HopperFormTraits* best = nullptr;
  double least = 0;
  for (const HopperFormTraits& traits : kForms) {
    if (!form_accepts(traits, d)) continue;
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
  // Lines that few others share come from memory as fast as it goes.
  constexpr double kReadPerSecond = 3.5e12;
  const double read = line_bytes(d) * d.num_products / kReadPerSecond;
  return kStartSeconds + std::max(seconds_of_rounds(d, traits, num_sms), read);
}

}  // namespace kizami::engines
