// SPDX-License-Identifier: MIT
// The commands, one file each. add_X() describes command X to CLI11 and returns what runs it; a new command is one
// function here and one line in cli.cpp.
#pragma once

#include <functional>

#include "failure.hpp"

namespace CLI {
class App;
}

namespace kizami::cli {

struct Command {
  CLI::App* app = nullptr;
  std::function<ExitCode()> run;  ///< owns the options that the parse fills; throws Failure
};

[[nodiscard]] Command add_gemm(CLI::App& program);
[[nodiscard]] Command add_plan(CLI::App& program);
[[nodiscard]] Command add_check(CLI::App& program);
[[nodiscard]] Command add_bench(CLI::App& program);
[[nodiscard]] Command add_predict(CLI::App& program);
[[nodiscard]] Command add_calibrate(CLI::App& program);
[[nodiscard]] Command add_info(CLI::App& program);
[[nodiscard]] Command add_run(CLI::App& program);
[[nodiscard]] Command add_audit(CLI::App& program);
[[nodiscard]] Command add_help(CLI::App& program);

/// The whole program: parses and runs one command.
[[nodiscard]] int run_kizami(int argc, char** argv) noexcept;

}  // namespace kizami::cli
