// SPDX-License-Identifier: MIT
#pragma once

#include "gpu_soak/soak.hpp"

namespace gpu_soak {

/// Appends one line of JSON to the file options.json, if it has a name.
/// @throws std::runtime_error the file cannot be written
void append_record(const Options& options, const Report& report);

}  // namespace gpu_soak
