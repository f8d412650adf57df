// SPDX-License-Identifier: MIT
// A file that appears whole or not at all. The bytes go to a temporary file beside the target, which is synced to the
// disk and renamed over the target at commit(); without commit, or when interrupted, the temporary is removed and the
// target is as it was.
//   symbolic link   the file it points to is replaced, the link stays (also when it dangles)
//   permissions     an existing target passes its own on, and must be writable; a new one gets 0666 less umask
//   device, FIFO    written in place, since there is nothing to protect; /dev/null is for timing
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace kizami::cli {

/// The file that this process writes for `path`: the same, but where an MPI launcher has started several, which would replace each other's, with the rank
/// before the ending (calls.3.jsonl). - stays, and what is no regular file, as /dev/null.
[[nodiscard]] std::string path_of_rank(const std::string& path);

/// Throws Failure kOutputFailed where a file cannot be written there, before the work whose report it is to hold. What is
/// no regular file is not opened: somebody may wait at a pipe. Empty and - pass.
void require_writable(const std::string& path);

class OutputFile {
 public:
  /// Creates the temporary and reserves num_bytes on the disk, so that what cannot be written is known before the work
  /// begins. Throws Failure kOutputFailed.
  OutputFile(const std::string& path, std::uint64_t num_bytes);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  /// Appends. Throws Failure kOutputFailed.
  void write(std::string_view bytes);
  /// Makes what was written the target. Throws Failure kOutputFailed; the target is then as it was.
  void commit();

 private:
  void create_temporary(const struct stat* replaced, std::uint64_t num_bytes);
  void open_temporary(unsigned mode);
  void discard() noexcept;
  [[noreturn]] void fail(std::string_view action, int error) const;

  std::string path_;       ///< as the user wrote it
  std::string target_;     ///< links resolved
  std::string temporary_;  ///< empty: written in place, or already committed
  int fd_ = -1;
};

/// Follows symbolic links, the last of which may dangle, but not to what is no regular file: the link /proc/self/fd/1
/// leads to a pipe whose name, pipe:[123], is no path. Throws Failure kOutputFailed for a loop.
[[nodiscard]] std::string resolve_links(const std::string& path);

}  // namespace kizami::cli
