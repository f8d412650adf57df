// SPDX-License-Identifier: MIT
// kizami info: what the library found on this machine.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "commands.hpp"
#include "device.hpp"
#include "failure.hpp"
#include "kizami/kizami.hpp"
#include "kizami/text.hpp"

namespace kizami::cli {
namespace {

/// "yes" and "no" are booleans, digits a number.
nlohmann::json typed(const std::string& value) {
  std::int64_t number = 0;
  if (value == "yes" || value == "no") return value == "yes";
  if (parse_integer<std::int64_t>(value, 0, INT64_MAX, number) == IntegerFault::kNone) return number;
  return value;
}

/// The lines of machine_report(), each a name and its value. A name that comes again has a list.
nlohmann::json machine_json() {
  nlohmann::json out = nlohmann::json::object();
  std::istringstream report(machine_report());
  for (std::string line; std::getline(report, line);) {
    const std::size_t blank = line.find("  ");
    if (blank == std::string::npos) continue;
    const std::size_t start = line.find_first_not_of(' ', blank);
    const std::string value = start == std::string::npos ? "" : line.substr(start);
    nlohmann::json& entry = out[line.substr(0, blank)];
    if (entry.is_null()) {
      entry = typed(value);
    } else if (entry.is_array()) {
      entry.push_back(typed(value));
    } else {
      entry = nlohmann::json::array({entry, typed(value)});
    }
  }
  return out;
}

struct DevicesFound {
  std::vector<std::string> names;
  std::optional<DeviceNames> current;
  std::string why_none;  ///< empty: there is one
};

DevicesFound devices_found() {
  DevicesFound out;
  try {
    for (int number = 0; number < device_count(); ++number) out.names.push_back(device_name(number));
    out.current = device_names();
  } catch (const Failure& failure) {
    out.why_none = failure.what();
    constexpr std::string_view kPrefix = "--device: ";  // which this command has not
    if (out.why_none.starts_with(kPrefix)) out.why_none.erase(0, kPrefix.size());
  }
  return out;
}

std::string info_json() {
  const DevicesFound devices = devices_found();
  nlohmann::json out{{"version", version()},
                     {"cuda", nullptr},
                     {"machine", machine_json()},
                     {"device", nullptr},
                     {"devices", devices.names}};
  if (const std::string cuda = cuda_version(); !cuda.empty()) out["cuda"] = cuda;
  if (devices.current) out["device"] = {{"name", devices.current->device}, {"driver", devices.current->driver}};
  if (!devices.why_none.empty()) out["why_no_device"] = devices.why_none;
  return out.dump(2, ' ', true, nlohmann::json::error_handler_t::replace) + "\n";
}

std::string info_text() {
  const DevicesFound devices = devices_found();
  const std::string cuda = cuda_version();
  std::string out = fmt::format("version        {}\ncuda           {}\n", version(), cuda.empty() ? "none" : cuda);
  for (std::size_t number = 0; number < devices.names.size(); ++number)
    out += fmt::format("device {:<8}{}\n", number, devices.names[number]);
  if (devices.current) out += fmt::format("driver         {}\n", devices.current->driver);
  if (!devices.why_none.empty()) out += fmt::format("devices        none: {}\n", devices.why_none);
  return out + machine_report();
}

}  // namespace

Command add_info(CLI::App& program) {
  CLI::App* const app = program.add_subcommand("info", "print what the library found on this machine");
  const auto is_json = std::make_shared<bool>(false);
  app->add_flag("--json", *is_json,
                "print one JSON object: version, toolkit of CUDA, processor, devices and the current one");
  app->footer("\nExamples:\n  kizami info\n  kizami info --json | python3 -m json.tool\n");
  return {app, [is_json] {
            std::string report = *is_json ? info_json() : info_text();
            if (!report.ends_with('\n')) report += '\n';
            write_stdout(report);
            return ExitCode::kOk;
          }};
}

}  // namespace kizami::cli
