// SPDX-License-Identifier: MIT
// Words of host memory in which kernels of calls tell what these took (device/effort_word.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "kizami/effort.hpp"
#include "kizami/status.hpp"

namespace kizami::device {

/// Page-locked, in which nothing is told yet; every device can write them.
/// @status kOutOfMemory, kInternal with CUDA's words
[[nodiscard]] Result<std::span<std::uint64_t>> make_effort_words(std::size_t count);

/// What the last call that was given the word has told; nothing: none has. Waits for nobody.
[[nodiscard]] std::optional<ToldEffort> read_effort(std::uint64_t* word) noexcept;

}  // namespace kizami::device
