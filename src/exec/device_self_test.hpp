// SPDX-License-Identifier: MIT
// Before a device of a kind that nobody has run is trusted: small products by each of its engines, which must have the
// processor's bits (exec/self_test_cases.hpp).
#pragma once

#include <span>

#include "exec/self_test_cases.hpp"
#include "kizami/status.hpp"
#include "plan/plan.hpp"

namespace kizami::exec {

/// @param environment of the calling thread's current device
/// @status kUnsupported: a product differs, or CUDA refuses it; says which
/// @queue  waits for a stream of its own; allocates
Status self_test(const plan::Environment& environment, std::span<const SelfTestCase> cases = kSelfTestCases);

}  // namespace kizami::exec
