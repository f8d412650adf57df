// SPDX-License-Identifier: MIT
// What a card's description says, as the planner takes it; and what its attributes say where nobody has described it.
#pragma once

#include <string_view>

#include <string>

#include "base/device_limits.hpp"
#include "kizami/predict.hpp"
#include "product/product.hpp"

namespace kizami::exec {

/// Of a description: what was measured before what its sheet says. A library is taken to reach 65 % of the sheet's INT8
/// products where nobody has measured it.
[[nodiscard]] product::RelativeRates rates_of(const model::Device& device);

/// A card without a description, by its attributes: multiprocessors times clock times what one of its compute capability
/// does in a cycle.
/// @param bytes_per_second of its memory, by clock and width  @param title what its driver calls it
[[nodiscard]] model::Device description_by_attributes(const base::DeviceLimits& limits, double bytes_per_second,
                                                      const std::string& title);

/// Shared memory that a block of a compute capability may have.
[[nodiscard]] int shared_bytes_of(int compute_capability);

/// The limits of a described card, with code of its own compute capability.
[[nodiscard]] base::DeviceLimits limits_of(const model::Device& device);

}  // namespace kizami::exec
