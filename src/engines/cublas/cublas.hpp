// SPDX-License-Identifier: MIT
// libcublas, opened at run time, with one handle for each device that callers take turns with.
#pragma once

#include "product/native_engine.hpp"

namespace kizami::engines {

/// Its first call on a device makes the handle, which a captured queue cannot.
[[nodiscard]] const product::NativeDeviceEngine& cublas_engine();

}  // namespace kizami::engines
