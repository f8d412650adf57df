// SPDX-License-Identifier: MIT
// Pointers of the host in device memory.
#pragma once

#include <span>

#include "kizami/status.hpp"
#include "product/product.hpp"

namespace kizami::device {

/// Copies pointers to device memory with the launches themselves: nothing of the host is read later.
/// @status kInternal with CUDA's words  @queue asynchronous, a kernel for each 480 pointers, capturable
[[nodiscard]] Status upload_pointers(std::span<void* const> pointers, void** out, product::Queue queue);

}  // namespace kizami::device
