// SPDX-License-Identifier: MIT
// What no plan can do, whatever the machine: settings out of range and wishes that exclude each other.
#pragma once

#include "kizami/policy.hpp"
#include "kizami/status.hpp"
#include "problem/problem.hpp"

namespace kizami::plan {

/// @status kInvalidArgument: a number out of range, or more real terms than num::kMaxLineLength; kUnsupported,
///         kAccuracyUnreachable: wishes that exclude each other
[[nodiscard]] Status validate_policy(const problem::Shape& shape, const Policy& policy);

/// What a device call cannot do: it returns before anything is known of the elements, unless it may wait.
/// @status kUnsupported
[[nodiscard]] Status validate_device_policy(const problem::Shape& shape, const Policy& policy);

}  // namespace kizami::plan
