// SPDX-License-Identifier: MIT
#include "matrix_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <limits>
#include <system_error>
#include <utility>

#include "failure.hpp"
#include "npy.hpp"

namespace kizami::cli {
namespace {

static_assert(std::endian::native == std::endian::little, "files are little-endian and are read in place");

constexpr std::size_t kBufferAlignment = 64;
constexpr std::size_t kMaxRead = 1U << 30;  // Linux moves at most 2^31 - 4096 bytes a call

/// An open file that closes itself.
struct Descriptor {
  explicit Descriptor(int number) : fd(number) {}
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int fd;
};

class InputFile {
 public:
  // Non-blocking, because the open of a FIFO would wait for a writer.
  explicit InputFile(const std::string& path)
      : path_(path), file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)) {
    if (file_.fd < 0) fail(errno);
    struct stat info {};
    if (::fstat(file_.fd, &info) != 0) fail(errno);
    if (S_ISDIR(info.st_mode)) fail(EISDIR);
    if (!S_ISREG(info.st_mode))
      throw Failure(ExitCode::kBadInput, path + ": not a regular file: pipes and devices have no size");
    size_ = static_cast<std::uint64_t>(info.st_size);
  }
  [[nodiscard]] std::uint64_t size() const { return size_; }

  void read(std::uint64_t offset, char* to, std::size_t num_bytes) const {
    while (num_bytes > 0) {
      const ssize_t done = ::pread(file_.fd, to, std::min(num_bytes, kMaxRead), static_cast<off_t>(offset));
      if (done < 0 && errno == EINTR) continue;
      if (done < 0) fail(errno);
      if (done == 0) throw Failure(ExitCode::kBadInput, path_ + ": truncated while it was being read");
      to += done;
      offset += static_cast<std::uint64_t>(done);
      num_bytes -= static_cast<std::size_t>(done);
    }
  }

 private:
  [[noreturn]] void fail(int error) const {
    throw Failure(ExitCode::kBadInput, fmt::format("{}: {}", path_, std::generic_category().message(error)));
  }

  std::string path_;
  Descriptor file_;
  std::uint64_t size_ = 0;
};

NpyHeader read_header(const InputFile& file, const std::string& path) {
  std::string start(std::min(file.size(), kMaxNpyStartBytes), '\0');
  file.read(0, start.data(), start.size());
  Result<NpyHeader> header = parse_npy_header(start, file.size());
  if (!header.ok()) throw Failure(ExitCode::kBadInput, fmt::format("{}: {}", path, header.status().reason()));
  return header.value();
}

void reverse_elements(std::byte* bytes, std::size_t num_bytes, std::size_t elem_bytes) {
  for (std::size_t at = 0; at < num_bytes; at += elem_bytes) std::reverse(bytes + at, bytes + at + elem_bytes);
}

std::uint64_t matrix_bytes(const std::string& name, Scalar scalar, std::int64_t rows, std::int64_t cols) {
  std::int64_t elems = 0;
  std::int64_t bytes = 0;
  if (!__builtin_mul_overflow(rows, cols, &elems) && !__builtin_mul_overflow(elems, size_bytes(scalar), &bytes)) {
    return static_cast<std::uint64_t>(bytes);
  }
  throw Failure(ExitCode::kOutOfMemory,
                fmt::format("{}: {} x {} elements are more than memory has addresses", name, rows, cols));
}

}  // namespace

Buffer::Buffer(std::uint64_t num_bytes, std::string_view what) : size_(num_bytes) {
  constexpr std::uint64_t kMax = std::numeric_limits<std::ptrdiff_t>::max() - kBufferAlignment;
  const std::uint64_t rounded = (std::min(num_bytes, kMax) + kBufferAlignment) / kBufferAlignment * kBufferAlignment;
  if (num_bytes <= kMax) bytes_.reset(static_cast<std::byte*>(std::aligned_alloc(kBufferAlignment, rounded)));
  if (!bytes_) throw Failure(ExitCode::kOutOfMemory, fmt::format("{}: no memory for {}", what, in_bytes(num_bytes)));
}

std::string_view dtype_name(Scalar scalar) noexcept { return scalar == Scalar::kF32 ? "float32" : "float64"; }

Matrix read_matrix(const std::string& path) {
  const InputFile file(path);
  const NpyHeader header = read_header(file, path);
  Matrix out{path, header.scalar, header.rows, header.cols, header.is_fortran_order, Buffer(header.data_bytes, path)};
  file.read(header.data_offset, reinterpret_cast<char*>(out.data.data()), out.data.size());
  if (header.is_big_endian)
    reverse_elements(out.data.data(), out.data.size(), static_cast<std::size_t>(size_bytes(header.scalar)));
  return out;
}

Matrix make_matrix(const std::string& name, Scalar scalar, std::int64_t rows, std::int64_t cols) {
  return {name, scalar, rows, cols, false, Buffer(matrix_bytes(name, scalar, rows, cols), name)};
}

std::string npy_header_of(const Matrix& x) { return make_npy_header(x.scalar, x.rows, x.cols); }

std::string_view data_bytes_of(const Matrix& x) noexcept {
  return {reinterpret_cast<const char*>(x.data.data()), x.data.size()};
}

std::uint64_t npy_file_bytes(Scalar scalar, std::int64_t rows, std::int64_t cols) {
  return matrix_bytes("C", scalar, rows, cols) + make_npy_header(scalar, rows, cols).size();
}

}  // namespace kizami::cli
