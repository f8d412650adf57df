// SPDX-License-Identifier: MIT
// The CRT constants in the memory of devices.
#pragma once

#include "kizami/status.hpp"
#include "num/moduli.hpp"
#include "schemes/ozaki2/device_crt.hpp"

namespace kizami::ozaki2 {

/// Puts them there, where they are not yet: before anything is captured. All of them or, where a full card has no room
/// for some, none: another call will come. @param device the current one
Status prepare_crt_tables(int device);

/// The constants of a ring; null if the device is not prepared.
[[nodiscard]] const DeviceCrtTable* device_crt_tables(int device, num::Ring ring);

}  // namespace kizami::ozaki2
