// SPDX-License-Identifier: MIT
// The effort of a batch, told by a kernel of its own.
#pragma once

#include <cstdint>

#include "device/effort_word.hpp"
#include "kizami/status.hpp"
#include "product/product.hpp"

namespace kizami::device {

/// What the last kernel of a call tells (device/effort_word.cuh), where products have ended side by side and none is the
/// last. C of each is m x n.
/// @range report.note.word is not null  @status kInternal with CUDA's words  @queue asynchronous, one kernel
[[nodiscard]] Status tell_effort_of_all(const EffortReport& report, std::int64_t m, std::int64_t n,
                                        product::Queue queue);

}  // namespace kizami::device
