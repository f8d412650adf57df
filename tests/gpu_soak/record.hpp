// SPDX-License-Identifier: MIT
#pragma once

#include "gpu_soak/soak.hpp"

namespace gpu_soak {

/// The file that answers cublasSgemm: cuBLAS' own, or a preloaded one.
[[nodiscard]] std::string answering_library();

/// Appends one line of JSON to the file options.json, if it has a name.
/// @throws std::runtime_error the file cannot be written
void append_record(const Options& options, const Report& report);

}  // namespace gpu_soak
