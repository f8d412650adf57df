// SPDX-License-Identifier: MIT
// Programs that are started under the drop-in libraries (docs/dropin.md): kizami run, kizami audit. What is set for a
// program, how it is waited for, and what its processes reported.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

namespace kizami::cli {

/// Where libraries stand before the program's own.
enum class Before { kBlas, kCublas, kAll };

struct DropinLibraries {
  std::string blas;     ///< libkizami_blas.so, or libkizami_blas64.so
  std::string cublas;   ///< libkizami_cublas.so; empty: there is none, or no device
  std::string proxies;  ///< the folder of libcublas.so.13; empty as well
  std::string note;     ///< why one is left out that was not asked for by name
};

/// Looks in the folder of libraries that belongs to this program: of the build tree, an installation, or the wheel.
/// @param is_wide  the program's dgemm_ has 64-bit integers. Throws Failure kRefused: which file is missing, and where
[[nodiscard]] DropinLibraries find_dropin_libraries(Before before, bool is_wide);

/// The file that execvp() would start, as PATH has it; empty: there is none.
[[nodiscard]] std::string find_program(const std::string& name);

/// The program itself, or the interpreter that the first line of a script names.
[[nodiscard]] std::string binary_of(const std::string& path);

/// Whether a library that the file needs, itself or by another one, has plain names with 64-bit integers.
[[nodiscard]] bool needs_wide_integers(const std::string& binary);

struct Started {
  int status = 0;  ///< as waitpid() gives it
  double seconds = 0;
};

using Variables = std::vector<std::pair<std::string, std::string>>;

/// Throws Failure kUsage where the library would not understand these variables beside the environment, or the rules file
/// that they name: in its words, but what was an option of this command (`variables`) under the option's name.
void require_understood(const DropinLibraries& libraries, const Variables& variables);

/// Starts the program with these variables beside the environment, and waits for it. Signals that end programs are
/// passed on to it, those of the keyboard where a process has sent them: a terminal sends them to the program, too.
/// Throws Failure: it cannot be started.
[[nodiscard]] Started start_and_wait(const std::vector<std::string>& command, const std::string& path,
                                     const Variables& variables);

/// Ends as the program did: with its exit status, or by its signal. Does not return where that ends this process.
[[nodiscard]] int end_like(int status);

/// LD_PRELOAD, LD_LIBRARY_PATH and KIZAMI_REPORT.
[[nodiscard]] Variables preloading_variables(const DropinLibraries& libraries, const std::string& report_folder);

/// A folder of its own, which goes with this.
class ReportFolder {
 public:
  ReportFolder();
  ~ReportFolder() { remove(); }
  ReportFolder(const ReportFolder&) = delete;
  ReportFolder& operator=(const ReportFolder&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }
  void remove() noexcept;
  /// Processes whose environment names this folder: those of the program that go on when it has ended.
  [[nodiscard]] std::int64_t num_running() const;
  /// All lines of all processes, those of one behind each other. Lines that are damaged are left out.
  [[nodiscard]] std::vector<nlohmann::json> lines() const;

 private:
  std::string path_;
};

struct Processes {
  std::int64_t count = 0;
  std::int64_t cut = 0;  ///< whose report was not whole
};
/// Of the lines of a report. Both libraries tell of a process, and each program that it has become by exec() does: what
/// called nothing before that has missed nothing.
[[nodiscard]] Processes processes_of(const std::vector<nlohmann::json>& lines);

/// Why no call was seen, in a sentence: found in the program's file, and in what its processes had loaded.
/// @param num_running  processes that go on though the program has ended
[[nodiscard]] std::string why_no_calls(const std::string& path, const std::vector<nlohmann::json>& lines, int status,
                                       std::int64_t num_running);

/// A line for a report whose program has left processes behind; empty: none.
[[nodiscard]] std::string running_line(std::int64_t num_running);

/// "exit status 3", "signal 11 (Segmentation fault)"
[[nodiscard]] std::string status_text(int status);

}  // namespace kizami::cli
