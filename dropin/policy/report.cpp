// SPDX-License-Identifier: MIT
#include "dropin/policy/report.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string_view>
#include <vector>

#include "base/fork_safe.hpp"
#include "base/process_begin.hpp"
#include "dropin/policy/audit.hpp"
#include "dropin/policy/json_line.hpp"
#include "dropin/policy/record.hpp"

namespace kizami::dropin {
namespace {

using Clock = std::chrono::steady_clock;

std::string path_of_this_library() {
  Dl_info info{};
  static const char here = 0;
  return dladdr(&here, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : "";
}

std::string path_of_program() {
  std::string path(4096, '\0');
  const ssize_t length = readlink("/proc/self/exe", path.data(), path.size());
  path.resize(length > 0 ? static_cast<std::size_t>(length) : 0);
  return path;
}

int add_path(dl_phdr_info* info, std::size_t, void* paths) {
  if (info->dlpi_name != nullptr && *info->dlpi_name != '\0')
    static_cast<std::vector<std::string>*>(paths)->emplace_back(info->dlpi_name);
  return 0;
}

/// Of the process. What it has loaded is told where nothing was called, for somebody to find out why.
std::string process_line(bool is_complete, const Totals& totals) {
  const std::string library = path_of_this_library();
  JsonLine line;
  line.field("event", "process")
      .field("pid", getpid())
      .field("parent", getppid())
      .field("library", std::string_view(library).substr(library.find_last_of('/') + 1))
      .field("program", path_of_program())
      .field("complete", is_complete)
      .field("elapsed", std::chrono::duration<double>(Clock::now() - base::process_begin()).count())
      .field("emulated", totals.emulated)
      .field("native", totals.native)
      .field("seconds", totals.seconds)
      .field("predicted_native_seconds", totals.native_seconds)
      .field("is_predicted", totals.is_predicted);
  for (const char* const rank : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"}) {
    const char* const value = std::getenv(rank);
    if (value == nullptr) continue;
    line.field("rank", value);
    break;
  }
  if (totals.emulated + totals.native == 0) {
    std::vector<std::string> objects;
    dl_iterate_phdr(add_path, &objects);
    line.field("objects", objects);
  }
  return line.line();
}

/// The file of the process, and when it was written.
struct File {
  std::mutex mutex;
  std::string path;
  Clock::time_point written;
  std::int64_t calls = -1;  ///< that it tells of
  double cost = 0;          ///< seconds of the last writing
};
constinit base::PerProcess<File> report_file;

/// @return 0, or the errno of what went wrong
int replace_file(const std::string& path, const std::string& text) {
  const std::string fresh = path + ".tmp";
  std::remove(fresh.c_str());
  int error = write_text(fresh, text);
  if (error == 0 && std::rename(fresh.c_str(), path.c_str()) != 0) error = errno;
  return error;
}

void write_report(const Configuration& configuration, bool is_complete) {
  static std::atomic<bool> is_said{false};
  File& file = report_file.get();
  const std::lock_guard lock(file.mutex);
  const Clock::time_point start = Clock::now();
  if (file.path.empty())
    file.path = configuration.report_folder + "/" + std::to_string(getpid()) + "-" +
                std::to_string(start.time_since_epoch().count()) + ".jsonl";
  const int error = replace_file(file.path, report_text(is_complete));
  if (error != 0 && !is_said.exchange(true))
    (void)write_text("",
                     "kizami: KIZAMI_REPORT = " + in_quotes(configuration.report_folder) + ": " + std::strerror(error) +
                         "; there is no report" +
                         (error == ENOENT ? " (kizami run and audit take theirs away when the program ends)\n" : "\n"));
  file.written = Clock::now();
  file.cost = std::chrono::duration<double>(file.written - start).count();
}

/// When the library is loaded: atexit() takes a lock of the C library, which no fork waits for.
[[gnu::constructor]] void prepare_report() {
  const Configuration& configuration = process_configuration();
  if (configuration.report_folder.empty()) return;
  write_report(configuration, false);
  std::atexit([] {
    if (process_record().totals().calls() + audited_calls() > 0 || report_file.known() != nullptr)
      write_report(process_configuration(), true);
  });
}

}  // namespace

std::string report_text(bool is_complete) {
  settle();
  const Totals totals = process_record().totals() + audit_totals();
  return process_line(is_complete, totals) + process_record().json() + audit_json();
}

bool is_json_path(const std::string& path) { return path.ends_with(".json") || path.ends_with(".jsonl"); }

void renew_report(const Configuration& configuration, unsigned calls_since) noexcept {
  constexpr double kShare = 0.02;  // of the time
  constexpr unsigned kLooks = 64;  // calls of a thread between looks at the clock, where calls are many
  thread_local unsigned looks = 0;
  if (configuration.report_folder.empty()) return;
  looks += calls_since;
  if (looks > kLooks && looks % kLooks >= calls_since) return;
  try {
    const std::int64_t calls = process_record().totals().calls() + audited_calls();
    File& file = report_file.get();
    {
      const std::unique_lock lock(file.mutex, std::try_to_lock);
      if (!lock.owns_lock()) return;  // another thread is at it
      const double since = std::chrono::duration<double>(Clock::now() - file.written).count();
      const bool is_due = file.calls < 1 || since > 1 || (calls > 2 * file.calls && since > 0.05);
      if (!is_due || since * kShare < file.cost) return;
      file.calls = calls;
      file.written = Clock::now();
    }
    write_report(configuration, false);
  } catch (...) {  // no memory for a report
  }
}

}  // namespace kizami::dropin
