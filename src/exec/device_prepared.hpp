// SPDX-License-Identifier: MIT
// Operands in device memory that are split once for many products: what is refused, and to whom the split is left.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "device/prepared.hpp"
#include "kizami/status.hpp"
#include "kizami/types.hpp"
#include "plan/plan.hpp"
#include "product/product.hpp"

namespace kizami::exec {

/// Whether a plan prepares operands of a side, and in how much memory. Asks no device.
/// @status kInvalidArgument: a plan for the host, or for a batch; kUnsupported: its scheme keeps nothing
Status prepared_device_bytes(const plan::Plan& plan, Side side, std::size_t& bytes);

/// Whether a call by the plan may use the operand for that side. Asks no device.
/// @status kInvalidArgument names what differs, and what it must be
Status validate_device_prepared(const plan::Plan& plan, Side side, const device::Prepared& prepared);

/// What it is of, and what is kept; one fact a line.
[[nodiscard]] std::string explain_prepared(const device::Prepared& prepared);

/// Enqueues the preparation of a matrix in `memory`, and says what it is.
/// @status as prepared_device_bytes(); kInvalidArgument: the matrix, the memory, or another device than the plan's;
///         kInternal with CUDA's words
/// @queue  asynchronous, capturable
template <class T>
Status prepare_device(const plan::Plan& plan, Side side, MatrixView<const T> matrix, std::span<std::byte> memory,
                      product::Queue queue, device::Prepared& prepared);

}  // namespace kizami::exec
