// SPDX-License-Identifier: MIT
// A description as a file has it.
#pragma once

#include <string>

#include "kizami/predict.hpp"

namespace kizami::model {

/// What parse_device() reads as the same device.
[[nodiscard]] std::string print_device(const Device& device);

}  // namespace kizami::model
