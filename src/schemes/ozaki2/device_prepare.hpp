// SPDX-License-Identifier: MIT
// Operands that a device splits once, for many products by scheme ozaki2: residues of the lowest rung, and what its
// certificate reads. All pointers are device memory; every function enqueues kernels and waits for nothing.
#pragma once

#include <cstdint>
#include <span>

#include "device/state.hpp"
#include "kizami/status.hpp"
#include "kizami/types.hpp"
#include "plan/plan.hpp"
#include "problem/lines.hpp"
#include "product/product.hpp"
#include "schemes/ozaki2/device_buffers.hpp"

namespace kizami::ozaki2 {

/// Fills the memory of a prepared operand.
/// @range  a plan with rungs; memory as carve_device_prepared() counts it
/// @queue  two kernels where lines fit on the chip; else three and a clearing of memory
template <class T>
Status prepare_device_ozaki2(const plan::Plan& plan, Side side, const problem::Lines<T>& lines, std::byte* memory,
                             product::Queue queue);

/// What a call takes over from a prepared operand before anything else is known, for later kernels may write it.
struct Adoption {
  const DevicePreparedBuffers* kept = nullptr;  ///< null: that operand is not prepared
  std::int64_t num_lines = 0;
  std::int32_t* scales = nullptr;      ///< of the call
  std::uint64_t* nonfinite = nullptr;  ///< likewise: the lines with NaN or Inf are added
};
/// Lines that the preparation leaves open are added to state->open_lines.
/// @queue one kernel behind begin_state(), which ends at once if state->is_scaling_only
Status adopt_prepared(const Adoption& a, const Adoption& b, device::DeviceState* state, product::Queue queue);

/// Kept planes of lines [line, line + num_lines) over elements [first, first + length), copied to where a call makes
/// its own: for engines that cannot be told by the device where to read.
/// @shape  num_lines and length are multiples of 16
/// @queue  one kernel, which ends at once unless the call stays at the lowest rung, of lines as given
Status copy_kept_planes(const DevicePlanes& kept, std::int64_t line, std::int64_t num_lines, std::int64_t first,
                        std::int64_t length, int num_planes, const DevicePlanes& to, const device::DeviceState* state,
                        int num_sms, product::Queue queue);

}  // namespace kizami::ozaki2
