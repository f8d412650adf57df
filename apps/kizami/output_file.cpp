// SPDX-License-Identifier: MIT
#include "output_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <random>
#include <system_error>
#include <utility>

#include "failure.hpp"
#include "interrupt.hpp"
#include "mpi_rank.hpp"

namespace kizami::cli {
namespace {

namespace fs = std::filesystem;
constexpr int kMaxLinks = 40;                // as the kernel
constexpr std::size_t kMaxWrite = 1U << 30;  // Linux moves at most 2^31 - 4096 bytes a call
constexpr unsigned kModeOfNewFiles = 0666;   // less umask, by the kernel
constexpr unsigned kPermissions = 0777;
constexpr int kMaxNameTries = 16;

std::string folder_of(const std::string& path) {
  const std::string parent = fs::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

/// The temporary's name does not contain the target's, which may be as long as the file system allows.
std::string temporary_name(const std::string& target) {
  static std::random_device device;
  return fmt::format("{}/.kizami-{}-{:08x}.tmp", folder_of(target), ::getpid(), device());
}

/// Pipes and devices, also behind links.
bool is_in_place(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
}

/// Errors that say the bytes do not fit; others mean that the file system cannot reserve, which is no error.
bool is_out_of_space(int error) { return error == ENOSPC || error == EFBIG || error == EDQUOT; }

/// Makes the rename durable. Some file systems cannot sync a folder; the data are safe by then.
void sync_folder(const std::string& folder) noexcept {
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  ::fsync(fd);
  ::close(fd);
}

}  // namespace

std::string resolve_links(const std::string& path) {
  if (is_in_place(path)) return path;
  fs::path out = path;
  for (int i = 0; i < kMaxLinks; ++i) {
    std::error_code error;
    const fs::path next = fs::read_symlink(out, error);
    if (error) return out.string();  // no link, or nothing there
    out = next.is_absolute() ? next : out.parent_path() / next;
  }
  throw Failure(ExitCode::kOutputFailed,
                fmt::format("output {}: more than {} symbolic links follow each other", path, kMaxLinks));
}

std::string path_of_rank(const std::string& path) {
  const char* const rank = mpi_rank_of_several();
  if (path.empty() || path == "-" || rank == nullptr) return path;
  std::error_code error;
  if (fs::exists(path, error) && !fs::is_regular_file(path, error)) return path;
  const fs::path file(path);
  return (file.parent_path() / fmt::format("{}.{}{}", file.stem().string(), rank, file.extension().string())).string();
}

void require_writable(const std::string& path) {
  if (path.empty() || path == "-") return;
  if (!is_in_place(path)) {
    const OutputFile probe(path, 0);
  } else if (::access(path.c_str(), W_OK) != 0) {
    throw Failure(ExitCode::kOutputFailed,
                  fmt::format("output {} cannot be written: {}", path, std::generic_category().message(errno)));
  }
}

OutputFile::OutputFile(const std::string& path, std::uint64_t num_bytes) : path_(path), target_(resolve_links(path)) {
  struct stat info {};
  if (::stat(target_.c_str(), &info) != 0) {
    if (errno != ENOENT || target_.empty() || target_.back() == '/') fail("cannot be written", errno);
    create_temporary(nullptr, num_bytes);
  } else if (S_ISDIR(info.st_mode)) {
    fail("cannot be written", EISDIR);
  } else if (S_ISREG(info.st_mode)) {
    if (::access(target_.c_str(), W_OK) != 0) fail("cannot be replaced", errno);
    create_temporary(&info, num_bytes);
  } else {
    fd_ = ::open(target_.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
    if (fd_ < 0) fail("cannot be written", errno);
  }
}

OutputFile::~OutputFile() { discard(); }

void OutputFile::create_temporary(const struct stat* replaced, std::uint64_t num_bytes) {
  open_temporary(replaced == nullptr ? kModeOfNewFiles : replaced->st_mode & kModeOfNewFiles);
  try {
    if (replaced != nullptr) {
      [[maybe_unused]] const int ignored =
          ::fchown(fd_, replaced->st_uid, replaced->st_gid);  // as far as this user may
      if (::fchmod(fd_, replaced->st_mode & kPermissions) != 0) fail("cannot pass its permissions on", errno);
    }
    const int error = num_bytes == 0 ? 0 : ::posix_fallocate(fd_, 0, static_cast<off_t>(num_bytes));
    if (is_out_of_space(error)) fail(fmt::format("cannot be written: no room for {}", in_bytes(num_bytes)), error);
  } catch (...) {
    discard();
    throw;
  }
}

void OutputFile::open_temporary(unsigned mode) {
  const InterruptHold hold;
  int error = EEXIST;
  for (int i = 0; i < kMaxNameTries && error == EEXIST; ++i) {
    temporary_ = temporary_name(target_);
    fd_ =
        set_file_to_remove(temporary_) ? ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode) : -1;
    if (fd_ >= 0) return;
    error = errno;
  }
  temporary_.clear();
  (void)set_file_to_remove("");
  fail("cannot be written: no temporary file can be made beside it", error);
}

void OutputFile::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t done = ::write(fd_, bytes.data(), std::min(bytes.size(), kMaxWrite));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) fail("cannot be written", errno);
    bytes.remove_prefix(static_cast<std::size_t>(done));
  }
}

void OutputFile::commit() {
  if (!temporary_.empty() && ::fsync(fd_) != 0) fail("cannot be written to the disk", errno);
  const int fd = std::exchange(fd_, -1);
  if (::close(fd) != 0 && errno != EINTR) fail("cannot be written", errno);
  if (temporary_.empty()) return;
  {
    const InterruptHold hold;
    if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail("cannot be replaced", errno);
    temporary_.clear();
    (void)set_file_to_remove("");
  }
  sync_folder(folder_of(target_));
}

void OutputFile::discard() noexcept {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  if (temporary_.empty()) return;
  const InterruptHold hold;
  ::unlink(temporary_.c_str());
  temporary_.clear();
  (void)set_file_to_remove("");
}

void OutputFile::fail(std::string_view action, int error) const {
  throw Failure(ExitCode::kOutputFailed,
                fmt::format("output {} {}: {}", path_, action, std::generic_category().message(error)));
}

}  // namespace kizami::cli
