// SPDX-License-Identifier: MIT
// kizami bench: how long products take here, native BLAS beside them in the same run.
//   Candidates of one size are timed in turn, round by round, so that drift of the machine hits all alike; medians and
//   extremes are over rounds. The floor of an emulated product is the time of its INT8 products alone, measured in the
//   same rounds. On elements other than randn, calls are timed too that name as many moduli as others came to need:
//   they have no certificate, so the difference is what it takes, with the repairs that it asks for.
//   With --device products are those of the current CUDA device, native cuBLAS beside them, by the device's clock.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <ctime>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench_candidates.hpp"
#include "bench_table.hpp"
#include "check/case.hpp"
#include "check/text.hpp"
#include "commands.hpp"
#include "device.hpp"
#include "device_option.hpp"
#include "failure.hpp"
#include "kizami/kizami.hpp"
#include "machine.hpp"
#include "options.hpp"

namespace kizami::cli {
namespace {

/// Of the figures in the documents.
constexpr std::string_view kPlainElements = "randn";

struct BenchOptions {
  std::string sizes = "256,512,1024,2048";
  std::string dtype = "all";
  std::string rounds = "7";
  std::string threads = "0";
  std::string elements{kPlainElements};
  DeviceOption device;
  std::string json_path;
};

std::vector<std::int64_t> sizes_of(const std::string& text) {
  std::vector<std::int64_t> sizes;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    sizes.push_back(integer_option("--sizes", std::string_view(text).substr(begin, end - begin), 1, 131072));
    begin = end + 1;
  }
  return sizes;
}

/// The product of one size and type.
check::Case case_of(Scalar scalar, std::int64_t n, const std::string& elements) {
  Result<check::Case> parsed =
      check::parse_case(fmt::format("{} nn {}x{}x{} A={} B={}", check::letter_of(scalar), n, n, n, elements, elements));
  if (!parsed.ok())
    throw Failure(ExitCode::kUsage, fmt::format("--elements = {}: {}", in_quotes(elements), parsed.status().reason()));
  return std::move(parsed).value();
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

ExitCode run_bench(const BenchOptions& options) {
  const std::vector<std::int64_t> sizes = sizes_of(options.sizes);
  const auto rounds = static_cast<int>(integer_option("--rounds", options.rounds, 1, 1000));
  auto threads = static_cast<int>(integer_option("--threads", options.threads, 0, kMaxThreads));
  if (options.device.is_given() && threads != 0)
    throw Failure(ExitCode::kUsage, "--threads is of the processor: it goes without --device");
  if (threads == 0) threads = default_threads();
  const std::vector<std::pair<std::string, Scalar>> types = {{"f64", Scalar::kF64},
                                                             {"f32", Scalar::kF32},
                                                             {"c128", Scalar::kC128},
                                                             {"c64", Scalar::kC64},
                                                             {"dd", Scalar::kF64}};
  if (options.dtype != "all" &&
      std::none_of(types.begin(), types.end(), [&](const auto& type) { return type.first == options.dtype; })) {
    refuse_name("--dtype", options.dtype, "f64, f32, c128, c64, dd, all");
  }
  if (options.device.is_given() && options.dtype == "dd")
    throw Failure(ExitCode::kUsage, "--dtype = dd is of the processor: it goes without --device");
  static_cast<void>(case_of(Scalar::kF64, 1, options.elements));
  if (options.device.is_given()) use_device(options.device);
  const std::optional<DeviceNames> device =
      options.device.is_given() ? std::optional<DeviceNames>(device_names()) : std::nullopt;
  for (const auto& [dtype, scalar] : types) {
    if (!device || (options.dtype != "all" && options.dtype != dtype)) continue;
    for (const std::int64_t n : sizes) require_room(product_bytes(scalar, n, n, n, 1, 0), device_room());
  }
  std::ofstream json;
  if (!options.json_path.empty()) {
    json.open(options.json_path, std::ios::app);
    if (!json)
      throw Failure(ExitCode::kOutputFailed,
                    fmt::format("--json = {} cannot be opened for appending", in_quotes(options.json_path)));
  }
  const std::string processor = processor_name();
  write_stdout(fmt::format("kizami {}, {}, {} rounds, inputs {}\n", version(),
                           device ? fmt::format("{}, driver {}", device->device, device->driver)
                                  : fmt::format("{}, {} threads", processor, threads),
                           rounds, options.elements));
  for (const auto& [dtype, scalar] : types) {
    if (options.dtype != "all" && options.dtype != dtype) continue;
    if (device && dtype == "dd") continue;
    for (const std::int64_t n : sizes) {
      const check::Case spec = case_of(scalar, n, options.elements);
      const std::vector<Candidate> candidates =
          device ? device_candidates(spec, threads) : host_candidates(dtype, spec, threads);
      const std::vector<Timing> timings = time_interleaved(candidates, rounds);
      write_stdout(table_of(fmt::format("{}  n = {}", dtype, n), candidates, timings));
      if (!json.is_open()) continue;
      for (std::size_t i = 0; i < candidates.size(); ++i) {
        nlohmann::ordered_json line = json_of(candidates, timings, i);
        line["dtype"] = dtype;
        line["case"] = check::print(spec);
        line["date"] = utc_now();
        line["version"] = version();
        if (device) {
          line["device"] = device->device;
          line["driver"] = device->driver;
        } else {
          line["processor"] = processor;
          line["threads"] = threads;
        }
        line["rounds"] = rounds;
        json << line.dump() << '\n';
      }
    }
  }
  if (json.is_open() && !json.flush())
    throw Failure(ExitCode::kOutputFailed,
                  fmt::format("--json = {} could not be written", in_quotes(options.json_path)));
  return ExitCode::kOk;
}

}  // namespace

Command add_bench(CLI::App& program) {
  CLI::App* const app =
      program.add_subcommand("bench", "time products of square random matrices, native BLAS beside them");
  const auto options = std::make_shared<BenchOptions>();
  app->add_option("--sizes", options->sizes, "sizes n, separated by commas [256,512,1024,2048]")->type_name("N,...");
  app->add_option("--dtype", options->dtype, "type of the elements of C [all]")->type_name("f64|f32|c128|c64|dd|all");
  app->add_option("--rounds", options->rounds, "rounds that medians are taken over [7]")->type_name("N");
  app->add_option("--threads", options->threads, "threads of the processor; 0: as many as kizami gemm takes [0]")
      ->type_name("N");
  app->add_option("--elements", options->elements, "class of both matrices, as in kizami check --grammar [randn]")
      ->type_name("CLASS");
  add_device_option(*app, options->device,
                    "calls one behind the other, of 5 ms, native cuBLAS beside them, on the current CUDA device");
  app->add_option("--json", options->json_path, "append one JSON object a row to this file")->type_name("FILE");
  app->footer(
      "\nExamples:\n  kizami bench --sizes 512,1024 --dtype f64\n"
      "  kizami bench --sizes 256 --elements exprand:phi=4 --json bench.jsonl\n");
  return {app, [options] { return run_bench(*options); }};
}

}  // namespace kizami::cli
