// SPDX-License-Identifier: MIT
// What the environment of a process asks of a drop-in library. Besides one variable for each setting (settings.hpp),
// its name in upper case behind KIZAMI_:
//   KIZAMI_RULES     a rules file (rules.hpp)
//   KIZAMI_LOG       0, 1 (one line for each call on stderr), or a file that lines are appended to
//   KIZAMI_SUMMARY   0, 1 (at the end of the process, on stderr), or a file that it is appended to, in lines of JSON
//                    where its name ends in .json or .jsonl
//   KIZAMI_REPORT    a folder: each process keeps its record there, in lines of JSON (report.hpp)
//   KIZAMI_AUDIT     1: nothing is emulated, and calls are audited (audit.hpp); with KIZAMI_REPORT
//   KIZAMI_MONITOR   N: of each N-th emulated call a sample is computed again and compared with its bound; 0: none
//   KIZAMI_DRY_RUN   1: calls are planned, logged and counted, and left to the native library
//   KIZAMI_WORKSPACE_TOTAL  the most device memory that the workspaces of all calls hold together, as KIZAMI_WORKSPACE; 0: no limit
//   KIZAMI_KEPT      the most memory of operands that are kept under names (kizami/dropin.h), of the host and of each
//                    device, as KIZAMI_WORKSPACE
//   KIZAMI_NATIVE    the library that calls are left to, where the program itself brings none
// A variable that is unset or empty is at its default. The table of them is kizami/variables.hpp; what begins with
// KIZAMI_ and is not there is said on stderr.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "dropin/policy/rules.hpp"
#include "dropin/policy/settings.hpp"
#include "kizami/status.hpp"

namespace kizami::dropin {

struct Configuration {
  Settings settings;
  std::vector<Rule> rules;
  std::string log_path;  ///< empty: stderr
  bool is_summary_wanted = false;
  std::string summary_path;   ///< empty: stderr
  std::string report_folder;  ///< empty: none
  bool is_audit = false;
  std::int64_t monitor_period = 0;
  bool is_dry_run = false;
  std::size_t workspace_total = 0;                ///< bytes of each device; 0: no limit
  std::size_t kept_bytes = std::size_t{1} << 30;  ///< of operands that are kept under names: of the host, of a device
  std::string native_path;
  const char* why_off = nullptr;     ///< why every call is left to the native library, or null
  std::string complaint;             ///< of what was not understood, to be printed once; empty: all was
  std::vector<std::string> unknown;  ///< a sentence for each variable that is none, to be printed once
};

/// Whether calls are counted: for a summary or a report.
[[nodiscard]] inline bool keeps_record(const Configuration& configuration) {
  return configuration.is_summary_wanted || !configuration.report_folder.empty();
}

/// How getenv() is seen: the value of a variable, or null.
using ReadVariable = const char* (*)(const char* name);

/// @status kInvalidArgument: names the variable, or the file and line, the value and what is allowed
[[nodiscard]] Result<Configuration> read_configuration(ReadVariable read_variable);

/// The configuration of this process, read from its environment by the first call. What is not understood turns
/// emulation off; the first report_complaint() prints it.
[[nodiscard]] const Configuration& process_configuration();

/// Whether report_complaint() has something to say.
[[nodiscard]] inline bool has_complaint(const Configuration& configuration) {
  return !configuration.complaint.empty() || !configuration.unknown.empty();
}

/// Prints the complaint on stderr, in one line, and one for each unknown variable; once in a process.
void report_complaint(const Configuration& configuration);

}  // namespace kizami::dropin
