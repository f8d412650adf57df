// SPDX-License-Identifier: MIT
// kizami info: what the library found on this machine.
#include <CLI/CLI.hpp>
#include <string>

#include "commands.hpp"
#include "failure.hpp"
#include "kizami/kizami.hpp"

namespace kizami::cli {

Command add_info(CLI::App& program) {
  CLI::App* const app = program.add_subcommand("info", "print what the library found on this machine");
  return {app, [] {
            std::string report = machine_report();
            if (!report.ends_with('\n')) report += '\n';
            write_stdout(report);
            return ExitCode::kOk;
          }};
}

}  // namespace kizami::cli
