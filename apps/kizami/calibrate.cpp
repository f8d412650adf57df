// SPDX-License-Identifier: MIT
// kizami calibrate: measures a device or the processor once, for the planner and kizami predict.
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

/// Where the library looks for the file of the processor, or of the current device.
std::string path_of_library(bool is_processor) {
  std::string path;
  if (is_processor) {
    path = processor_calibration().path;
    if (path.empty())
      throw Failure(ExitCode::kRefused, "neither XDG_CACHE_HOME nor HOME names a folder; --output names a file");
  } else {
    const Result<std::string> found = cuda::calibration_path();
    throw_if_error(found.status());
    path = found.value();
  }
  make_folder(path);
  return path;
}

ExitCode run_calibrate(const CalibrateOptions& options) {
  const bool is_processor = options.device == kProcessor;
  if (!is_processor) use_device(static_cast<int>(integer_option("--device", options.device, 0, 1023)));
  const std::string path = options.output.empty() ? path_of_library(is_processor) : options.output;
  const auto tell = [](std::string_view number) { fmt::print(stderr, "{}\n", number); };
  const Result<std::string> text = is_processor ? calibrate_processor(tell) : cuda::calibrate(tell);
  throw_if_error(text.status());
  OutputFile file(path, text.value().size());
  file.write(text.value());
  file.commit();
  fmt::print("{}\n", path);
  return ExitCode::kOk;
}

}  // namespace

Command add_calibrate(CLI::App& program) {
  CLI::App* const app = program.add_subcommand("calibrate",
                                               "measure a device or the processor once, in at most 25 seconds: the "
                                               "planner and predict then go by what it reaches");
  auto options = std::make_shared<CalibrateOptions>();
  app->add_option("--device", options->device, "the number of a CUDA device, or cpu: this processor [0]")
      ->type_name("N|cpu");
  app->add_option("--output", options->output, "write the description there, not where the library looks for it")
      ->type_name("FILE");
  app->footer(
      "\nExamples:\n  kizami calibrate --device cpu\n  OMP_NUM_THREADS=4 kizami calibrate --device cpu     for "
      "processes "
      "with as many threads\n  kizami calibrate --device 0 --output card.json\n");
  return {app, [options] { return run_calibrate(*options); }};
}

}  // namespace kizami::cli
