// SPDX-License-Identifier: MIT
// What SIGINT, SIGTERM and SIGHUP do: remove the temporary file, end the line of a progress bar, exit with 128 +
// signal. The handler runs on any thread and uses async-signal-safe calls only.
#pragma once

#include <string>

namespace kizami::cli {

/// Installs the handlers; a signal that the parent chose to ignore (nohup) stays ignored. A file beyond the size limit
/// of the shell and a pipe that nobody reads become errors of write() instead of signals. Call once, before any thread
/// starts.
void install_interrupt_handlers();

/// Gives those signals what they did before. For a child that becomes another program.
void uninstall_interrupt_handlers() noexcept;

/// Delays signals for its lifetime, so that a file and its registration change together. Only one at a time; not
/// nested.
class InterruptHold {
 public:
  InterruptHold() noexcept;
  ~InterruptHold();
  InterruptHold(const InterruptHold&) = delete;
  InterruptHold& operator=(const InterruptHold&) = delete;
};

/// Sets the file that an interruption removes; the empty path for none. @range under an InterruptHold only
/// Returns false, and sets errno, if the path is too long for any file.
[[nodiscard]] bool set_file_to_remove(const std::string& path) noexcept;

/// Says whether stderr shows an unfinished line that an interruption has to wipe.
void set_progress_visible(bool is_visible) noexcept;

}  // namespace kizami::cli
