// SPDX-License-Identifier: MIT
// Plans scheme native: the platform BLAS with the largest block of k whose bound meets the target; on a device one call
// of cuBLAS.
#pragma once

#include "plan/plan.hpp"
#include "schemes/native/stage.hpp"

namespace kizami::native {

/// Whether the caller named scheme native, or its engine: it is then taken whatever the elements.
[[nodiscard]] constexpr bool is_native_by_name(const Policy& policy) {
  return policy.scheme == Scheme::kNative ||
         (policy.scheme == Scheme::kAuto && policy.engine == EngineName::kNativeBlas);
}

extern const plan::SchemePlanner kNativePlanner;

}  // namespace kizami::native
