// SPDX-License-Identifier: MIT
// Plans scheme ec on the host: scheme ozaki2 behind it, stages, engine, lines of one pass.
#pragma once

#include "kizami/status.hpp"
#include "plan/plan.hpp"

namespace kizami::plan {

/// @status kUnsupported: no engine, with the reason of each; kAccuracyUnreachable: no variant guarantees the accuracy;
///         kWorkspaceTooSmall
[[nodiscard]] Status plan_ec(Plan& plan, const Environment& environment);

}  // namespace kizami::plan
