// SPDX-License-Identifier: MIT
#include <optional>
#include <span>

#include "device/effort_words.hpp"
#include "kizami/cuda.hpp"
#include "plan/plan.hpp"

namespace kizami::cuda {

Result<std::span<std::uint64_t>> make_effort_words(std::size_t count) { return device::make_effort_words(count); }

std::optional<ToldEffort> read_effort(std::uint64_t* word) noexcept { return device::read_effort(word); }

double predicted_seconds(const Plan& plan, const Effort& effort) { return plan::device_seconds(plan.impl(), effort); }

}  // namespace kizami::cuda
