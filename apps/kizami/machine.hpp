// SPDX-License-Identifier: MIT
// What measurements say they were made on.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace kizami::cli {

/// The model of the processor, "unknown" where the system does not tell.
[[nodiscard]] std::string processor_name();

/// What machine_report() says, line by line: a name and its value. Names may come again.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> machine_facts();

/// The most threads that a product takes where nobody says: what this process may use, KIZAMI_THREADS, OMP_NUM_THREADS.
[[nodiscard]] int default_threads();

}  // namespace kizami::cli
