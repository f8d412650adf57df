// SPDX-License-Identifier: MIT
#include "preloading.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "elf_file.hpp"
#include "failure.hpp"
#include "interrupt.hpp"
#include "kizami/dropin.h"
#include "kizami/text.hpp"
#include "kizami/variables.hpp"
#include "options.hpp"

namespace kizami::cli {
namespace {

namespace fs = std::filesystem;

/// Of env(1) and of shells.
constexpr int kNotExecutable = 126;
constexpr int kNotFound = 127;

/// Folders that may hold the libraries that belong to this program.
std::vector<fs::path> library_folders() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  std::vector<fs::path> folders;
  for (const char* const folder : {"../lib", KIZAMI_LIB_FROM_BIN}) {
    const fs::path found = fs::weakly_canonical(program.parent_path() / folder, error);
    if (std::ranges::find(folders, found) == folders.end()) folders.push_back(found);
  }
  return folders;
}

std::string find_library(const std::string& name) {
  for (const fs::path& folder : library_folders()) {
    if (fs::exists(folder / name)) return (folder / name).string();
  }
  return {};
}

[[noreturn]] void refuse_missing(const std::string& name) {
  std::string folders;
  for (const fs::path& folder : library_folders()) folders += (folders.empty() ? "" : ", ") + folder.string();
  throw Failure(ExitCode::kRefused, fmt::format("{} is missing, must be in one of {}", name, folders));
}

bool has_driver() { return fs::exists("/proc/driver/nvidia/version") || fs::exists("/dev/dxg"); }

/// Of a library that a file names as needed: in LD_LIBRARY_PATH, or where the loader looks; empty if not found.
std::string path_of_needed(const std::string& name) {
  std::vector<std::string> folders;
  const char* const path = std::getenv("LD_LIBRARY_PATH");
  for (std::string rest = path != nullptr ? path : ""; !rest.empty();) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    folders.push_back(rest.substr(0, end));
    rest.erase(0, std::min(end + 1, rest.size()));
  }
  for (const char* const folder : {"/usr/lib/x86_64-linux-gnu", "/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu",
                                   "/usr/lib64", "/lib64", "/usr/local/lib", "/usr/lib"})
    folders.emplace_back(folder);
  for (const std::string& folder : folders) {
    std::string file = folder;
    file.append("/").append(name);
    if (fs::exists(file)) return file;
  }
  return {};
}

pid_t child = 0;
void pass_on(int signal) {
  if (child > 0) kill(child, signal);
}

/// Of the keyboard. The kernel sends these to every process of the terminal, the program among them; kill(2) to this one.
void pass_on_if_sent(int signal, siginfo_t* info, void*) {
  if (info->si_code <= 0) pass_on(signal);
}

void set_handlers() {
  struct sigaction action {};
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  action.sa_handler = pass_on;
  for (const int signal : {SIGTERM, SIGHUP, SIGUSR1, SIGUSR2}) sigaction(signal, &action, nullptr);
  action.sa_flags = SA_RESTART | SA_SIGINFO;
  action.sa_sigaction = pass_on_if_sent;
  for (const int signal : {SIGINT, SIGQUIT}) sigaction(signal, &action, nullptr);
}

/// What the library says of its environment; empty: it understands all. In a process of its own, whose environment this
/// one is, and whose report nobody reads.
std::string complaint_of(const std::string& library, const Variables& variables) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return {};
  const pid_t asked = fork();
  if (asked == 0) {
    for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
    unsetenv("KIZAMI_REPORT");
    unsetenv("KIZAMI_AUDIT");  // which needs a folder for reports
    void* const loaded = dlopen(library.c_str(), RTLD_LAZY | RTLD_LOCAL);
    const auto set = loaded == nullptr
                         ? nullptr
                         : reinterpret_cast<decltype(&kizami_dropin_set)>(dlsym(loaded, "kizami_dropin_set"));
    const auto error = loaded == nullptr
                           ? nullptr
                           : reinterpret_cast<decltype(&kizami_dropin_error)>(dlsym(loaded, "kizami_dropin_error"));
    if (set != nullptr && error != nullptr && set(KIZAMI_DROPIN_THREAD, "log", "0") != 0) {
      const std::string_view text = error();
      static_cast<void>(!write(ends[1], text.data(), text.size()));
    }
    _exit(0);
  }
  close(ends[1]);
  std::string text(4096, '\0');
  const ssize_t length = asked > 0 ? read(ends[0], text.data(), text.size()) : 0;
  close(ends[0]);
  if (asked > 0) {
    while (waitpid(asked, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  text.resize(length > 0 ? static_cast<std::size_t>(length) : 0);
  return text;
}

std::string base_name(std::string_view path) { return std::string(path.substr(path.find_last_of('/') + 1)); }

bool is_blas_name(const std::string& name) {
  for (const char* const part : {"blas", "mkl_", "blis", "atlas", "nvpl", "armpl"}) {
    if (name.find(part) != std::string::npos && !name.starts_with("libkizami")) return true;
  }
  return false;
}

/// Products by names that drop-in libraries do not have: "dgemm_ilp64", "dgemm64_".
std::string foreign_product(const std::vector<std::string>& names) {
  static const std::set<std::string> kTaken{"", "_", "_64_", "64_", "_64"};
  for (const std::string& name : names) {
    for (const char letter : {'s', 'd', 'c', 'z'}) {
      const std::string stem = std::string(1, letter) + "gemm";
      const std::size_t at = name.find(stem);
      if (at == std::string::npos) continue;
      const std::string before = name.substr(0, at);
      const std::string after = name.substr(at + stem.size());
      const bool is_cblas = before == "cblas_";
      if (!is_cblas && !before.empty()) continue;
      if (after.empty() && !is_cblas) continue;  // a method of some class
      const bool is_taken =
          is_cblas ? kTaken.contains(after) && after != "_" && after != "_64_" : after == "_" || after == "_64_";
      if (!is_taken && (after.starts_with("_") || after.starts_with("64"))) return name;
    }
  }
  return {};
}

bool defines_product(const ElfFile& file) {
  return std::ranges::any_of(file.defined, [](const std::string& name) {
    return name == "dgemm_" || name == "sgemm_" || name == "cblas_dgemm" || name == "cblas_sgemm";
  });
}

}  // namespace

DropinLibraries find_dropin_libraries(Before before, bool is_wide) {
  DropinLibraries out;
  if (before != Before::kCublas) {
    const std::string name = is_wide ? "libkizami_blas64.so" : "libkizami_blas.so";
    out.blas = find_library(name);
    if (out.blas.empty()) refuse_missing(name);
  }
  if (before == Before::kBlas) return out;
  const std::string cublas = find_library("libkizami_cublas.so");
  if (before == Before::kCublas && cublas.empty()) refuse_missing("libkizami_cublas.so");
  if (before == Before::kAll && (cublas.empty() || !has_driver())) {
    out.note = cublas.empty() ? "libkizami_cublas.so is not there" : "no driver of NVIDIA, so cuBLAS is not watched";
    return out;
  }
  out.cublas = cublas;
  for (const char* const folder : {"proxy", "kizami"}) {
    const std::string path = fs::path(cublas).parent_path() / folder;
    if (fs::exists(path + "/libcublas.so.13")) out.proxies = path;
  }
  return out;
}

std::string find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) return fs::exists(name) ? name : "";
  const char* const path = std::getenv("PATH");
  for (std::string rest = path != nullptr ? path : "/usr/bin:/bin"; !rest.empty();) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    const std::string folder = end == 0 ? "." : rest.substr(0, end);
    rest.erase(0, std::min(end + 1, rest.size()));
    std::string file = folder;
    file.append("/").append(name);
    if (access(file.c_str(), X_OK) == 0 && !fs::is_directory(file)) return file;
  }
  return {};
}

std::string binary_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string line;
  if (!std::getline(file, line) || !line.starts_with("#!")) return path;
  line.erase(0, 2);
  std::vector<std::string> words;
  for (std::string rest = line + " "; !rest.empty();) {
    const std::size_t end = rest.find(' ');
    if (end > 0) words.push_back(rest.substr(0, end));
    rest.erase(0, end + 1);
  }
  if (words.empty()) return path;
  if (base_name(words[0]) == "env" && words.size() > 1) return find_program(words.back());
  return words[0];
}

bool needs_wide_integers(const std::string& binary) {
  std::set<std::string> seen;
  std::vector<std::string> files{binary};
  while (!files.empty() && seen.size() < 64) {
    const std::optional<ElfFile> elf = read_elf(files.back());
    files.pop_back();
    if (!elf) continue;
    for (const std::string& name : elf->needed) {
      if (name.starts_with("libblas64.so") || name.starts_with("libopenblas64.so") ||
          name.starts_with("libmkl_intel_ilp64"))
        return true;
      if (seen.insert(name).second) files.push_back(path_of_needed(name));
    }
  }
  return false;
}

Variables preloading_variables(const DropinLibraries& libraries, const std::string& report_folder) {
  const auto before = [](const std::string& first, const char* variable) {
    const char* const rest = std::getenv(variable);
    return rest == nullptr || *rest == '\0' ? first : first + ":" + rest;
  };
  std::string preload = libraries.blas;
  if (!libraries.cublas.empty()) preload += (preload.empty() ? "" : ":") + libraries.cublas;
  Variables out{{"LD_PRELOAD", before(preload, "LD_PRELOAD")}, {"KIZAMI_REPORT", report_folder}};
  if (!libraries.proxies.empty()) out.emplace_back("LD_LIBRARY_PATH", before(libraries.proxies, "LD_LIBRARY_PATH"));
  return out;
}

void require_understood(const DropinLibraries& libraries, const Variables& variables) {
  std::string complaint = complaint_of(libraries.blas.empty() ? libraries.cublas : libraries.blas, variables);
  if (complaint.empty()) return;
  for (const auto& [name, value] : variables) {
    if (!complaint.starts_with(name + " = ")) continue;
    complaint.replace(0, name.size(), option_of_variable(name));
    if (name == "KIZAMI_ACCURACY")
      complaint +=
          "; beyond: kizami gemm has --accuracy correct, the exact product rounded once, and --dd, double-double up to "
          "bits=100";
    break;
  }
  throw Failure(ExitCode::kUsage, complaint);
}

Started start_and_wait(const std::vector<std::string>& command, const std::string& path, const Variables& variables) {
  std::array<int, 2> pipe_ends{};
  if (pipe2(pipe_ends.data(), O_CLOEXEC) != 0)
    throw Failure(ExitCode::kInternal, fmt::format("no pipe: {}", std::strerror(errno)));
  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const auto begin = std::chrono::steady_clock::now();
  // A signal before set_handlers() would end this process without its program, or the child as if it were this command.
  sigset_t all{};
  sigset_t before{};
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, &before);
  child = fork();
  if (child == 0) {
    uninstall_interrupt_handlers();
    sigprocmask(SIG_SETMASK, &before, nullptr);
    for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
    execv(path.c_str(), arguments.data());
    const int error = errno;
    const bool is_told = write(pipe_ends[1], &error, sizeof error) == sizeof error;
    _exit(is_told ? kNotExecutable : kNotFound);
  }
  const int fork_error = errno;
  if (child > 0) set_handlers();
  sigprocmask(SIG_SETMASK, &before, nullptr);
  if (child < 0) throw Failure(ExitCode::kInternal, fmt::format("no process: {}", std::strerror(fork_error)));
  close(pipe_ends[1]);
  int error = 0;
  const bool has_failed = read(pipe_ends[0], &error, sizeof error) == sizeof error;
  close(pipe_ends[0]);
  Started out;
  while (waitpid(child, &out.status, 0) < 0 && errno == EINTR) {
  }
  child = 0;
  if (has_failed)
    throw Failure(static_cast<ExitCode>(error == ENOENT ? kNotFound : kNotExecutable),
                  fmt::format("{} cannot be started: {}", in_quotes(path), std::strerror(error)));
  out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return out;
}

int end_like(int status) {
  if (!WIFSIGNALED(status)) return WEXITSTATUS(status);
  const rlimit no_core{};
  setrlimit(RLIMIT_CORE, &no_core);
  std::signal(WTERMSIG(status), SIG_DFL);
  std::raise(WTERMSIG(status));
  return 128 + WTERMSIG(status);
}

ReportFolder::ReportFolder() {
  const char* const wished = std::getenv("TMPDIR");
  const std::string folder = wished != nullptr && *wished != '\0' ? wished : "/tmp";
  path_ = folder + "/kizami-report-XXXXXX";
  if (mkdtemp(path_.data()) == nullptr)
    throw Failure(ExitCode::kOutputFailed, fmt::format("TMPDIR = {}: no folder for the report can be made there: {}",
                                                       in_quotes(folder), std::strerror(errno)));
  std::ofstream(fs::path(path_) / kUnknownAreSaid);  // by this command
}

void ReportFolder::remove() noexcept {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::int64_t ReportFolder::num_running() const {
  std::int64_t count = 0;
  const std::string entry = "KIZAMI_REPORT=" + path_;
  std::error_code error;
  for (const auto& process : fs::directory_iterator("/proc", error)) {
    if (process.path().filename().string().find_first_not_of("0123456789") != std::string::npos) continue;
    std::ifstream environment(process.path() / "environ", std::ios::binary);
    for (std::string one; std::getline(environment, one, '\0');) {
      if (one != entry) continue;
      ++count;
      break;
    }
  }
  return count;
}

std::vector<nlohmann::json> ReportFolder::lines() const {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(path_)) {
    if (entry.path().extension() == ".jsonl") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  std::vector<nlohmann::json> out;
  for (const fs::path& path : files) {
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
      nlohmann::json parsed = nlohmann::json::parse(line, nullptr, false);
      if (parsed.is_object() && parsed.contains("event")) out.push_back(std::move(parsed));
    }
  }
  return out;
}

Processes processes_of(const std::vector<nlohmann::json>& lines) {
  std::map<std::int64_t, bool> is_cut;
  std::map<std::pair<std::int64_t, std::string>, bool> is_last_cut;
  for (const nlohmann::json& line : lines) {
    if (line["event"] != "process") continue;
    const auto pid = line.value("pid", std::int64_t{0});
    const bool is_whole = line.value("complete", false);
    const bool has_calls = line.value("emulated", std::int64_t{0}) + line.value("native", std::int64_t{0}) > 0;
    is_cut[pid] |= !is_whole && has_calls;
    is_last_cut[{pid, line.value("library", "")}] = !is_whole;  // files come in the order of their times
  }
  for (const auto& [of, is_last] : is_last_cut) is_cut[of.first] |= is_last;
  return {static_cast<std::int64_t>(is_cut.size()),
          std::ranges::count_if(is_cut, [](const auto& process) { return process.second; })};
}

std::string status_text(int status) {
  if (WIFSIGNALED(status)) return fmt::format("signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
  return fmt::format("exit status {}", WEXITSTATUS(status));
}

std::string running_line(std::int64_t num_running) {
  if (num_running == 0) return {};
  return fmt::format("  the program has ended, but {} of it still run{}: their calls from now on are not seen\n",
                     plural(num_running, "process"), num_running == 1 ? "s" : "");
}

std::string why_no_calls(const std::string& path, const std::vector<nlohmann::json>& lines, int status,
                         std::int64_t num_running) {
  const std::string binary = binary_of(path);
  const std::string name = base_name(binary);
  const std::optional<ElfFile> elf = read_elf(binary);
  if (lines.empty()) {
    struct stat info {};
    if (elf && !elf->is_native)
      return fmt::format("{} is of another architecture, and loads none of these libraries", name);
    if (elf && !elf->is_dynamic)
      return fmt::format("{} is linked statically, so that nothing can stand before its BLAS", name);
    if (stat(binary.c_str(), &info) == 0 && (info.st_mode & (S_ISUID | S_ISGID)) != 0 && info.st_uid != getuid())
      return fmt::format("{} starts with privileges, and the loader then ignores LD_PRELOAD", name);
    return fmt::format(
        "no process loaded the library: the program ended before ({}), or took LD_PRELOAD out of the environment",
        status_text(status));
  }
  std::set<std::string> blas;
  std::string foreign;
  for (const nlohmann::json& line : lines) {
    if (line["event"] != "process" || !line.contains("objects")) continue;
    for (const auto& object : line["objects"]) {
      const std::string file = object.get<std::string>();
      if (is_blas_name(base_name(file))) blas.insert(base_name(file));
      if (!foreign.empty() || base_name(file).starts_with("libkizami")) continue;
      const std::optional<ElfFile> loaded = read_elf(file);
      const std::string product = loaded ? foreign_product(loaded->undefined) : "";
      if (!product.empty()) foreign = fmt::format("{} calls {}", base_name(file), product);
    }
  }
  if (elf && foreign.empty()) {
    const std::string product = foreign_product(elf->undefined);
    if (!product.empty()) foreign = fmt::format("{} calls {}", name, product);
  }
  if (elf && defines_product(*elf))
    return fmt::format("{} has a BLAS linked into it, which nothing can stand before", name);
  if (!foreign.empty()) return foreign + ", a name that no drop-in library has";
  std::string names;
  for (const std::string& one : blas) names += (names.empty() ? "" : ", ") + one;
  if (num_running > 0)
    return fmt::format("the program ended ({}) before {} of it, which still run{}", status_text(status),
                       plural(num_running, "process"), num_running == 1 ? "s" : "");
  const std::int64_t cut = processes_of(lines).cut;
  std::string ended;
  if (cut > 0)
    ended = fmt::format(", but the end of {} was not seen ({})", plural(cut, "process"), status_text(status));
  if (cut > 0 && WIFEXITED(status))
    ended +=
        ": it may have become a program without LD_PRELOAD in its environment, as by env -i, or left by _exit, as some "
        "shells do";
  if (names.empty()) return "no process had loaded a BLAS" + ended;
  return fmt::format(
      "{} was loaded, but no product of it was called by name: its LAPACK calls its own kernels, it was "
      "opened and asked by dlsym, or nothing was multiplied{}",
      names, ended);
}

}  // namespace kizami::cli
