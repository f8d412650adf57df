// SPDX-License-Identifier: MIT
#include "failure.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <exception>
#include <system_error>

namespace kizami::cli {
namespace {

const char* program_name = "kizami";

void print_line(std::string_view kind, std::string_view message) noexcept {
  try {
    const std::string line = fmt::format("{}: {}: {}\n", program_name, kind, one_line(message));
    std::fwrite(line.data(), 1, line.size(), stderr);
  } catch (const std::exception&) {
    std::fprintf(stderr, "%s: error: out of memory\n", program_name);
  }
}

}  // namespace

ExitCode exit_code_of(StatusCode code) noexcept {
  switch (code) {
    case StatusCode::kOk:
      return ExitCode::kOk;
    case StatusCode::kInvalidArgument:
      return ExitCode::kUsage;
    case StatusCode::kUnsupported:
    case StatusCode::kAccuracyUnreachable:
      return ExitCode::kRefused;
    case StatusCode::kWorkspaceTooSmall:
    case StatusCode::kOutOfMemory:
      return ExitCode::kOutOfMemory;
    case StatusCode::kNonFinite:
      return ExitCode::kNonFinite;
    case StatusCode::kInternal:
      return ExitCode::kInternal;
  }
  return ExitCode::kInternal;
}

void throw_if_error(const Status& status) {
  if (status.ok()) return;
  const char* const advice = status.code() == StatusCode::kWorkspaceTooSmall ? "; --workspace sets the limit" : "";
  throw Failure(exit_code_of(status.code()), status.reason() + advice);
}

std::string one_line(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte != 0x7f) {
      out += c;
    } else {
      out += fmt::format("\\x{:02x}", byte);
    }
  }
  return out;
}

void name_program(const char* name) noexcept { program_name = name; }
void print_error(std::string_view message) noexcept { print_line("error", message); }
void print_note(std::string_view message) noexcept { print_line("note", message); }

void write_stdout(std::string_view text) {
  const bool is_written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (!is_written || std::fflush(stdout) != 0) {
    throw Failure(ExitCode::kReportFailed, fmt::format("standard output: {}", std::generic_category().message(errno)));
  }
}

std::string plural(std::int64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : noun.ends_with('s') ? "es" : "s");
}

std::string in_bytes(std::uint64_t bytes) {
  static constexpr std::array<std::string_view, 6> kUnits{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return fmt::format("{} bytes", bytes);
  double value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  return fmt::format("{:.1f} {}", value, kUnits[unit]);
}

}  // namespace kizami::cli
