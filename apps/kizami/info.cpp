// SPDX-License-Identifier: MIT
// kizami info: what the library found on this machine.
#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "commands.hpp"
#include "device.hpp"
#include "failure.hpp"
#include "kizami/kizami.hpp"

namespace kizami::cli {
namespace {

/// "key   value" of each line; a key that comes again has a list.
nlohmann::json machine_json() {
  nlohmann::json out = nlohmann::json::object();
  std::istringstream report(machine_report());
  for (std::string line; std::getline(report, line);) {
    const std::size_t blank = line.find("  ");
    if (blank == std::string::npos) continue;
    const std::size_t value = line.find_first_not_of(' ', blank);
    nlohmann::json& entry = out[line.substr(0, blank)];
    const std::string text = value == std::string::npos ? "" : line.substr(value);
    if (entry.is_null()) {
      entry = text;
    } else if (entry.is_array()) {
      entry.push_back(text);
    } else {
      entry = nlohmann::json::array({entry, text});
    }
  }
  return out;
}

std::string info_json() {
  nlohmann::json out{{"version", version()},
                     {"cuda", nullptr},
                     {"machine", machine_json()},
                     {"device", nullptr},
                     {"devices", nlohmann::json::array()}};
  if (const std::string cuda = cuda_version(); !cuda.empty()) out["cuda"] = cuda;
  try {
    for (int number = 0; number < device_count(); ++number) out["devices"].push_back(device_name(number));
    const DeviceNames names = device_names();
    out["device"] = {{"name", names.device}, {"driver", names.driver}};
  } catch (const Failure& failure) {
    out["why_no_device"] = failure.what();
  }
  return out.dump(2, ' ', true, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace

Command add_info(CLI::App& program) {
  CLI::App* const app = program.add_subcommand("info", "print what the library found on this machine");
  const auto is_json = std::make_shared<bool>(false);
  app->add_flag("--json", *is_json,
                "print one JSON object: version, toolkit of CUDA, processor, devices and the current one");
  app->footer("\nExamples:\n  kizami info\n  kizami info --json | python3 -m json.tool\n");
  return {app, [is_json] {
            std::string report = *is_json ? info_json() : machine_report();
            if (!report.ends_with('\n')) report += '\n';
            write_stdout(report);
            return ExitCode::kOk;
          }};
}

}  // namespace kizami::cli
