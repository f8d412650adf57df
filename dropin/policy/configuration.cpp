// SPDX-License-Identifier: MIT
#include "dropin/policy/configuration.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>

#include "base/fork_safe.hpp"
#include "kizami/variables.hpp"

namespace kizami::dropin {
namespace {

/// The variable's value; empty if it is unset.
std::string_view value_of(ReadVariable read_variable, const char* variable) {
  const char* value = read_variable(variable);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

/// 0, 1 or a path.
void read_output(std::string_view value, bool& is_wanted, std::string& path) {
  is_wanted = !value.empty() && value != "0";
  if (is_wanted && value != "1") path = value;
}

Result<std::string> read_file(const std::string& path) {
  constexpr std::size_t kMaxBytes = std::size_t{1} << 20;
  const auto refused = [&](const std::string& reason) {
    return Status(StatusCode::kInvalidArgument, "KIZAMI_RULES = " + in_quotes(path) + ": " + reason);
  };
  // Without O_NONBLOCK a FIFO that nobody writes to would be waited for, by a program that has not begun.
  const int descriptor = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
  if (descriptor < 0) return refused(std::strerror(errno));
  struct stat info {};
  if (fstat(descriptor, &info) != 0 || !S_ISREG(info.st_mode)) {
    close(descriptor);
    return refused("is not a regular file");
  }
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(fdopen(descriptor, "r"), std::fclose);
  if (file == nullptr) {
    close(descriptor);
    return refused("cannot be read");
  }
  std::string text(kMaxBytes + 1, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file.get()));
  if (std::ferror(file.get()) != 0) return refused("cannot be read");
  if (text.size() > kMaxBytes) return refused("has more than 1 MiB");
  return text;
}

Status read_integer(ReadVariable read_variable, const char* variable, std::int64_t hi, std::int64_t& out) {
  const std::string_view value = value_of(read_variable, variable);
  if (value.empty() || parse_integer<std::int64_t>(value, 0, hi, out) == IntegerFault::kNone) return {};
  return {StatusCode::kInvalidArgument,
          std::string(variable) + " = " + in_quotes(value) + ", must be an integer of 0.." + std::to_string(hi)};
}

Configuration read_process_configuration() {
  const auto variable = [](const char* name) -> const char* { return std::getenv(name); };
  Result<Configuration> read = read_configuration(variable);
  Configuration out;
  if (read.ok()) {
    out = std::move(read).value();
  } else {
    out.why_off = "the configuration is not understood";
    out.complaint = read.status().reason();
    out.report_folder = value_of(variable, "KIZAMI_REPORT");  // calls are native, and counted
  }
  out.unknown = unknown_variables(environ);
  return out;
}

/// Whether no other process of the run has said what variables are unknown, and none will.
bool is_first_to_say(const std::string& report_folder) {
  if (report_folder.empty()) return true;
  const std::string path = report_folder + "/" + kUnknownAreSaid;
  const int descriptor = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (descriptor >= 0) close(descriptor);
  return descriptor >= 0 || errno != EEXIST;
}

}  // namespace

Result<Configuration> read_configuration(ReadVariable read_variable) {
  Configuration out;
  for (const std::string_view setting : setting_names()) {
    if (setting == "log") continue;
    const std::string variable = variable_of(setting);
    const std::string_view value = value_of(read_variable, variable.c_str());
    if (!value.empty()) KIZAMI_RETURN_IF_ERROR(assign(out.settings, setting, value, variable));
  }
  KIZAMI_RETURN_IF_ERROR(require_consistent(out.settings));
  read_output(value_of(read_variable, "KIZAMI_LOG"), out.settings.is_logged, out.log_path);
  read_output(value_of(read_variable, "KIZAMI_SUMMARY"), out.is_summary_wanted, out.summary_path);
  out.report_folder = value_of(read_variable, "KIZAMI_REPORT");
  std::int64_t is_dry_run = 0;
  std::int64_t is_audit = 0;
  KIZAMI_RETURN_IF_ERROR(read_integer(read_variable, "KIZAMI_AUDIT", 1, is_audit));
  out.is_audit = is_audit == 1;
  if (out.is_audit && out.report_folder.empty())
    return Status(StatusCode::kInvalidArgument, "KIZAMI_AUDIT = '1' needs a folder in KIZAMI_REPORT");
  KIZAMI_RETURN_IF_ERROR(read_integer(read_variable, "KIZAMI_DRY_RUN", 1, is_dry_run));
  KIZAMI_RETURN_IF_ERROR(read_integer(read_variable, "KIZAMI_MONITOR", INT32_MAX, out.monitor_period));
  out.is_dry_run = is_dry_run == 1;
  constexpr const char* kTotal = "KIZAMI_WORKSPACE_TOTAL";
  const std::string_view total = value_of(read_variable, kTotal);
  if (!total.empty()) KIZAMI_RETURN_IF_ERROR(parse_bytes(kTotal, total, out.workspace_total));
  constexpr const char* kKept = "KIZAMI_KEPT";
  const std::string_view kept = value_of(read_variable, kKept);
  if (!kept.empty()) KIZAMI_RETURN_IF_ERROR(parse_bytes(kKept, kept, out.kept_bytes));
  out.native_path = value_of(read_variable, "KIZAMI_NATIVE");
  const std::string path(value_of(read_variable, "KIZAMI_RULES"));
  if (!path.empty()) {
    const Result<std::string> text = read_file(path);
    if (!text.ok()) return text.status();
    Result<std::vector<Rule>> rules = parse_rules(text.value(), path, out.settings);
    if (!rules.ok()) return rules.status();
    out.rules = std::move(rules).value();
  }
  return out;
}

const Configuration& process_configuration() {
  static constinit base::MadeOnce<Configuration> configuration;
  return configuration.get(read_process_configuration);
}

void report_complaint(const Configuration& configuration) {
  static std::atomic<bool> is_reported{false};
  if (!has_complaint(configuration) || is_reported.exchange(true)) return;
  std::string text;
  if (!configuration.complaint.empty())
    text += "kizami: " + configuration.complaint + "; every call is left to the native library\n";
  if (!configuration.unknown.empty() && is_first_to_say(configuration.report_folder))
    for (const std::string& sentence : configuration.unknown) text += "kizami: " + sentence + "\n";
  std::fputs(text.c_str(), stderr);
}

}  // namespace kizami::dropin
