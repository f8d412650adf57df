// SPDX-License-Identifier: MIT
// Plans scheme ec on the host: scheme ozaki2 behind it, rungs, engine, lines of one pass; and what a call carves.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/carver.hpp"
#include "plan/plan.hpp"
#include "schemes/ec/stage.hpp"
#include "schemes/ozaki2/buffers.hpp"

namespace kizami::ec {

/// On the host and, by device_plan.hpp, on a device.
extern const plan::SchemePlanner kEcPlanner;

/// Planes and sums of one chunk of lines over all of k.
struct EcBuffers {
  /// Of scheme ozaki2, whose lines and certificate serve scheme ec too; the rest is in the memory of its main pass.
  ozaki2::Buffers behind;
  std::byte* a_planes = nullptr;  ///< [parts][mc][row], row = ec_row_elems()
  std::byte* b_planes = nullptr;  ///< [parts][nc][row]
  float* sums = nullptr;          ///< [ec_products()][nc][mc]
  std::byte* engine = nullptr;
  std::size_t engine_bytes = 0;
};
[[nodiscard]] EcBuffers carve_ec(base::Carver& carver, const plan::Plan& plan);

/// The product of one chunk of lines at a rung.
[[nodiscard]] product::FloatProductDesc ec_product(const plan::Plan& plan, int rung);
/// Elements of a row of planes: the terms of a line, padded. @units elements of the rung's format
[[nodiscard]] std::int64_t ec_row_elems(const plan::Plan& plan, num::FloatType type);

}  // namespace kizami::ec
