// SPDX-License-Identifier: MIT
// What measurements say they were made on.
#pragma once

#include <string>

namespace kizami::cli {

/// The model of the processor, "unknown" where the system does not tell.
[[nodiscard]] std::string processor_name();

}  // namespace kizami::cli
