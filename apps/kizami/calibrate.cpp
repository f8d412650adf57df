// SPDX-License-Identifier: MIT
// kizami calibrate: measures a device once, for the planner and kizami predict.
#include "kizami/calibrate.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>

#include "commands.hpp"
#include "device.hpp"
#include "failure.hpp"
#include "options.hpp"
#include "output_file.hpp"

namespace kizami::cli {
namespace {

struct CalibrateOptions {
  std::string device = "0";
  std::string output;
};

/// Of the library's file.
void make_folder(const std::string& path) {
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::filesystem::create_directories(folder, error);
  if (error) throw Failure(ExitCode::kOutputFailed, fmt::format("{}: {}", folder.string(), error.message()));
}

ExitCode run(const CalibrateOptions& options) {
  use_device(static_cast<int>(integer_option("--device", options.device, 0, 1023)));
  std::string path = options.output;
  if (path.empty()) {
    const Result<std::string> found = cuda::calibration_path();
    throw_if_error(found.status());
    path = found.value();
    make_folder(path);
  }
  const Result<std::string> text = cuda::calibrate([](std::string_view number) { fmt::print(stderr, "{}\n", number); });
  throw_if_error(text.status());
  OutputFile file(path, text.value().size());
  file.write(text.value());
  file.commit();
  fmt::print("{}\n", path);
  return ExitCode::kOk;
}

}  // namespace

Command add_calibrate(CLI::App& program) {
  CLI::App* const app = program.add_subcommand(
      "calibrate", "measure a device once, in at most 25 seconds: the planner and predict then go by what it reaches");
  auto options = std::make_shared<CalibrateOptions>();
  app->add_option("--device", options->device, "the number of a CUDA device [0]")->type_name("N");
  app->add_option("--output", options->output, "write the description there, not where the library looks for it")
      ->type_name("FILE");
  return {app, [options] { return run(*options); }};
}

}  // namespace kizami::cli
