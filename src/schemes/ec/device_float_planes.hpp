// SPDX-License-Identifier: MIT
// float_planes.hpp on a CUDA device, bit for bit: elements become parts in a narrow format, one plane a part.
#pragma once

#include <cstddef>
#include <cstdint>

#include "device/state.hpp"
#include "kizami/status.hpp"
#include "num/line_stats.hpp"
#include "problem/lines.hpp"
#include "product/product.hpp"
#include "schemes/ec/recipe.hpp"

namespace kizami::ec {

/// One operand. Pointers are device memory.
/// @shape  as make_float_planes(); planes begin on kPadBytes
template <class T>
struct DeviceFloatPlanes {
  problem::Lines<T> lines;
  problem::RealForm form = problem::RealForm::kPlain;
  const num::LineStats* stats = nullptr;  ///< [lines]
  std::int32_t* scales = nullptr;         ///< [lines], written: ec_line_scale()
  std::byte* planes = nullptr;
  std::int64_t row_stride = 0;  ///< elements
  std::int64_t plane_stride = 0;
};

/// Writes scales and planes of a recipe: the bits of make_float_planes().
/// @range  T: float or its complex type
/// @queue  asynchronous, one kernel, capturable; ends at once if state->is_scaling_only
template <class T>
Status device_float_planes(const DeviceFloatPlanes<T>& operand, const EcRecipe& recipe,
                           const device::DeviceState* state, product::Queue queue);

}  // namespace kizami::ec
