// SPDX-License-Identifier: MIT
// How a program ends: documented exit codes, and the one exception that carries a code and a sentence to main(),
// which prints it as the only line on stderr. What a command owns (temporary files, threads) is released on the way by
// destructors.
#pragma once

#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include "kizami/status.hpp"

namespace kizami::cli {

enum class ExitCode : int {
  kOk = 0,
  kInternal = 1,
  kUsage = 2,
  kBadInput = 3,
  kShapeMismatch = 4,
  kRefused = 5,
  kOutputFailed = 6,
  kOutOfMemory = 7,
  kNonFinite = 8,
  kCheckFailed = 9,
  kReportFailed = 10,
};

struct ExitCodeInfo {
  ExitCode code;
  std::string_view meaning;
};

/// The documented exit codes, in the words of --help. Interruption by signal S exits with 128 + S.
inline constexpr std::array<ExitCodeInfo, 11> kExitCodes{{
    {ExitCode::kOk, "done"},
    {ExitCode::kInternal, "internal error: please report it"},
    {ExitCode::kUsage, "the command line is wrong, or a name or value in it is not allowed"},
    {ExitCode::kBadInput, "an input file is missing, unreadable, damaged, or holds no matrix of one of the types"},
    {ExitCode::kShapeMismatch, "the shapes of the operands do not fit together"},
    {ExitCode::kRefused, "the accuracy is unreachable, or scheme, engine and request do not go together"},
    {ExitCode::kOutputFailed, "the output cannot be written; an existing file is unchanged"},
    {ExitCode::kOutOfMemory, "not enough memory, or --workspace is below the least possible"},
    {ExitCode::kNonFinite, "--nonfinite reject, and an operand holds NaN or Inf"},
    {ExitCode::kCheckFailed, "a check failed: the error exceeds the guaranteed bound; nothing was written"},
    {ExitCode::kReportFailed, "standard output is full or closed; files that the command writes are complete"},
}};

/// Ends the command with a code and one sentence that names argument, value and limit.
class Failure : public std::runtime_error {
 public:
  Failure(ExitCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  [[nodiscard]] ExitCode code() const noexcept { return code_; }

 private:
  ExitCode code_;
};

/// The exit code that a Status of the library means.
[[nodiscard]] ExitCode exit_code_of(StatusCode code) noexcept;

/// Throws the Failure that a Status means, unless it is ok.
void throw_if_error(const Status& status);

/// `text` fit for one line: control characters as \xNN.
[[nodiscard]] std::string one_line(std::string_view text);

/// What the lines on stderr begin with; "kizami" without. @range a literal; before any other thread
void name_program(const char* name) noexcept;
/// Prints "kizami: error: MESSAGE" or "kizami: note: MESSAGE" as one line on stderr. Never throws.
void print_error(std::string_view message) noexcept;
void print_note(std::string_view message) noexcept;

/// Writes to standard output. Throws Failure kReportFailed when that fails, for instance on a full disk or a pipe that
/// nobody reads: call it when files are in place.
void write_stdout(std::string_view text);

/// "1 call", "2 calls", "3 processes"
[[nodiscard]] std::string plural(std::int64_t count, std::string_view noun);

/// "4.0 GiB", "12 bytes"
[[nodiscard]] std::string in_bytes(std::uint64_t bytes);

}  // namespace kizami::cli
