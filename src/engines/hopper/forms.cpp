// SPDX-License-Identifier: MIT
#include "engines/hopper/forms.hpp"

#include <algorithm>
#include <array>
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

/// Bytes of one plane of both operands: beyond the L2 cache, what a tile reads decides.
[[nodiscard]] double line_bytes(const ProductDesc& d) {
  return static_cast<double>(d.m + d.n) * static_cast<double>(d.k);
}
constexpr double kFewBytes = 4e6;
constexpr double kCachedBytes = 64e6;

}  // namespace

HopperForm tile_for(const ProductDesc& d) {
  // Measured: docs/perf/h200_product.md.
  if (d.n <= 128) return HopperForm::kPingPong128x128Alone;  // the second CTA of a cluster would multiply zeros
  const auto first_accepted = [&](HopperForm wanted, HopperForm other) {
    return form_accepts(traits_of(wanted), d) ? wanted : other;
  };
  if (line_bytes(d) < kFewBytes || d.m <= 128)
    return first_accepted(HopperForm::kPingPong128x128Permuted, HopperForm::kPingPong128x128);
  if (line_bytes(d) < kCachedBytes || d.n <= 256)  // likewise of 192x256
    return first_accepted(HopperForm::kCooperative256x128Permuted, HopperForm::kCooperative256x128);
  return first_accepted(HopperForm::kCooperative192x256, HopperForm::kCooperative256x128);
}

namespace {

[[nodiscard]] double predicted_windows_seconds(const ProductDesc& d, const HopperFormTraits& traits, int num_sms) {
  constexpr double kMacsPerCycle = model::h200::kInt8MacsPerSmCycle;
  const hopper::WindowRates rates{.tile_i = traits.tile_i,
                                  .tile_j = traits.tile_j,
                                  .cluster = traits.cluster,
                                  .block_cycles = traits.tile_i * traits.tile_j * 128 / kMacsPerCycle};
  return hopper::windows_seconds(d, rates, num_sms);
}

}  // namespace

double predicted_seconds(const ProductDesc& d, const HopperFormTraits& traits, int num_sms) {
  if (d.num_windows > 0) return predicted_windows_seconds(d, traits, num_sms);
  constexpr double kMacsPerCycle = model::h200::kInt8MacsPerSmCycle;
  constexpr double kCyclesPerSecond = model::h200::kLongProductHz;
  // Long products meet the power limit.
  constexpr double kLongBytes = 300e6;
  const double share_reached = line_bytes(d) < kCachedBytes ? 0.87 : line_bytes(d) < kLongBytes ? 0.84 : 0.77;
  constexpr double kStartSeconds = 4e-6;
  const bool is_ping_pong = traits.schedule == HopperSchedule::kPingPong;
  const double store_cycles = is_ping_pong ? 1600 : 1000;  // that no multiplication covers
  const auto k_blocks = static_cast<double>(std::max<std::int64_t>(1, ceil_div(d.k, 128)));
  const double tile_cycles =
      k_blocks * traits.tile_i * traits.tile_j * 128 / kMacsPerCycle / share_reached + store_cycles;
  const std::int64_t clusters =
      ceil_div(d.m, traits.tile_i) * ceil_div(d.n, std::int64_t{traits.tile_j} * traits.cluster) * d.num_products;
  const std::int64_t at_once = std::max(1, model::h200::sms_or_own(num_sms) / traits.cluster);
  // Results on their way to memory cost what the multiplications do not hide.
  constexpr double kStoredPerSecond = 6e12;
  const double stored = static_cast<double>(d.m) * static_cast<double>(d.n) * d.num_products;
  const double multiplied = static_cast<double>(ceil_div(clusters, at_once)) * tile_cycles / kCyclesPerSecond;
  // Lines that few others share come from memory as fast as it goes.
  constexpr double kReadPerSecond = 3.5e12;
  const double read = line_bytes(d) * d.num_products / kReadPerSecond;
  return kStartSeconds + std::max(multiplied, read) + stored / kStoredPerSecond;
}

}  // namespace kizami::engines
