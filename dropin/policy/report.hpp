// SPDX-License-Identifier: MIT
// What a process says of its calls for other programs to read: lines of JSON.
//   {"event": "process", ...}  of the process: who it is, how many calls, whether it has ended
//   {"event": "calls", ...}    of calls of one routine, shape and place that were answered alike
//   {"event": "audited", ...}  with KIZAMI_AUDIT (audit.hpp), instead
// With KIZAMI_REPORT each process, and each child of a fork, has a file PID-TIME.jsonl in that folder, which is replaced
// as a whole: when the library is loaded, at the first call, while calls go on at least once a second, and at the end.
// So a process that is killed, or ends by _exit, leaves what was known of it then.
#pragma once

#include <string>

#include "dropin/policy/configuration.hpp"

namespace kizami::dropin {

/// @param is_complete  whether the process ends with this
[[nodiscard]] std::string report_text(bool is_complete);

/// Writes the file of the process if there is one and that is due. What it does not take is said on stderr, once in a process.
/// @param calls  that this thread has made since it asked last
void renew_report(const Configuration& configuration, unsigned calls = 1) noexcept;

/// Where a summary goes that is to be lines of JSON.
[[nodiscard]] bool is_json_path(const std::string& path);

}  // namespace kizami::dropin
