// SPDX-License-Identifier: MIT
// Plans scheme native: the platform BLAS with the largest block of k whose bound meets the target; on a device one call of
// cuBLAS.
#pragma once

#include "kizami/status.hpp"
#include "plan/plan.hpp"

namespace kizami::plan {

/// @status kUnsupported; kAccuracyUnreachable: no block of k guarantees the accuracy
[[nodiscard]] Status plan_native(Plan& plan);

}  // namespace kizami::plan
