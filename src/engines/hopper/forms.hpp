// SPDX-License-Identifier: MIT
// The compiled forms of the sm_90a product kernel, and the choice among them. A form changes speed, never a bit of C.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "engines/tile_order.hpp"
#include "product/product.hpp"

namespace kizami::engines {

/// How a CTA works. kPingPong: each of two consumer warpgroups has a tile of its own, and one stores its tile while the
/// other multiplies. kCooperative: both share one tile, cut along j.
enum class HopperSchedule : std::uint8_t { kPingPong, kCooperative };

/// Names of the compiled forms: schedule, then tile i x j.
enum class HopperForm : std::uint8_t {
  kPingPong128x128,  ///< clusters of 2, as all others but one
  kPingPong128x128Permuted,
  kPingPong128x128Alone,  ///< no clusters: for n of one tile
  kPingPong192x128Permuted,
  kCooperative256x128,
  kCooperative256x128Permuted,
  kCooperative192x256,  ///< windows alone
  kCooperative192x256Permuted,
};
inline constexpr int kNumHopperForms = 8;

/// What the host must know of a form.
struct HopperFormTraits {
  std::string_view name;
  HopperForm form;
  HopperSchedule schedule;
  LineOrder line_order;
  int tile_i;   ///< lines of A in a tile
  int tile_j;   ///< lines of B in a tile
  int cluster;  ///< CTAs of a cluster: they share the lines of A, each has lines of B of its own
};

[[nodiscard]] std::span<const HopperFormTraits, kNumHopperForms> hopper_forms();
[[nodiscard]] const HopperFormTraits& traits_of(HopperForm form);

/// Whether the form is compiled for the description.
[[nodiscard]] bool form_accepts(const HopperFormTraits& traits, const product::ProductDesc& desc);

/// The form that the engine runs for a description on `num_sms` multiprocessors: of those that accept it the one whose
/// tiles are predicted to end first; of windows, which no record has by several forms, the recorded one.
[[nodiscard]] HopperForm tile_for(const product::ProductDesc& desc, int num_sms);

/// Predicted seconds of a form on `num_sms` multiprocessors, launch included.
[[nodiscard]] double predicted_seconds(const product::ProductDesc& desc, const HopperFormTraits& traits, int num_sms);

/// What Engine::run() does, with the form forced; for tests and measurements.
/// @range  raster_tiles: tiles along i that are walked before the next j; 0 for the engine's choice
/// @status as Engine::run(); kUnsupported when the form does not accept the description
/// @queue  as Engine::run()
[[nodiscard]] Status run_hopper_product(const product::ProductDesc& desc, const product::Pointers& pointers,
                                        HopperForm form, product::Queue queue, int raster_tiles = 0);

}  // namespace kizami::engines
