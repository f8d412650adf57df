// SPDX-License-Identifier: MIT
// Random products of scheme ozaki2 that make the certificate choose: wide and graded exponents, outliers, lines of
// zeros, NaN and Inf.
#pragma once

#include <cstdint>

#include "check/case.hpp"

namespace kizami::gpu_test {

/// Case number `index`: one product of any type, ops and layout, m and n mostly small and at most 400, k at most 3000,
/// at accuracy native or bits=N, by engine hopper, or cublaslt that waits; workspaces that make chunks, ladders cut
/// short, factors in device memory.
/// @exact print() of it parses to the same case on every machine
[[nodiscard]] check::Case random_selection_case(std::uint64_t seed, std::int64_t index);

}  // namespace kizami::gpu_test
