// SPDX-License-Identifier: MIT
#include "matrix_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <cerrno>
#include <fstream>
#include <limits>
#include <span>
#include <system_error>
#include <utility>

#include "failure.hpp"
#include "matrix_market.hpp"
#include "npy.hpp"

namespace kizami::cli {
namespace {

static_assert(std::endian::native == std::endian::little, "files are little-endian and are read in place");

constexpr std::size_t kBufferAlignment = 64;
constexpr std::size_t kWriteBytes = 1U << 16;         // of text at a time
constexpr std::uint64_t kLeastMarketNumberBytes = 2;  // a digit and what separates it from the next
constexpr std::streamsize kMaxMeminfoLine = 256;
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

void reverse_elements(std::byte* bytes, std::size_t num_bytes, std::size_t elem_bytes) {
  for (std::size_t at = 0; at < num_bytes; at += elem_bytes) std::reverse(bytes + at, bytes + at + elem_bytes);
}

std::uint64_t matrix_bytes(const std::string& name, Scalar scalar, const MatrixShape& shape) {
  std::int64_t bytes = 0;
  if (!__builtin_mul_overflow(shape.rows, shape.cols, &bytes) && !__builtin_mul_overflow(bytes, shape.batch, &bytes) &&
      !__builtin_mul_overflow(bytes, size_bytes(scalar), &bytes)) {
    return static_cast<std::uint64_t>(bytes);
  }
  throw Failure(ExitCode::kOutOfMemory,
                fmt::format("{}: {} elements are more than memory has addresses", name, to_string(shape)));
}

/// The value of `result`, or a Failure that names the file.
template <class T>
T checked(const std::string& path, const Result<T>& result) {
  if (!result.ok()) throw Failure(ExitCode::kBadInput, fmt::format("{}: {}", path, result.status().reason()));
  return result.value();
}

/// What may still be allocated without pushing others out; all memory where the kernel does not tell. @units bytes
std::uint64_t available_memory_bytes() {
  std::ifstream info("/proc/meminfo");
  std::string key;
  for (std::uint64_t kib = 0; info >> key >> kib; info.ignore(kMaxMeminfoLine, '\n')) {
    if (key == "MemAvailable:") return kib * 1024;
  }
  return static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

Matrix read_npy(const InputFile& file, const std::string& start, const std::string& path) {
  const NpyHeader header = checked(path, parse_npy_header(start, file.size()));
  Matrix out{path,
             header.scalar,
             {header.is_batch, header.batch, header.rows, header.cols},
             header.is_fortran_order,
             Buffer(header.data_bytes, path)};
  file.read(header.data_offset, reinterpret_cast<char*>(out.data.data()), out.data.size());
  if (header.is_big_endian)  // a complex number is two of its parts, each reversed
    reverse_elements(out.data.data(), out.data.size(), static_cast<std::size_t>(size_bytes(real_of(header.scalar))));
  return out;
}

/// A sparse matrix becomes a dense one, which may be far larger than the file.
void require_memory(const MarketHeader& header, std::uint64_t num_bytes, const std::string& path) {
  const std::uint64_t available = available_memory_bytes();
  if (num_bytes <= available) return;
  throw Failure(ExitCode::kOutOfMemory,
                fmt::format("{}: {} x {} take {} as the dense matrix that is multiplied, but {} are available", path,
                            header.rows, header.cols, in_bytes(num_bytes), in_bytes(available)));
}

Matrix read_market(const InputFile& file, const std::string& path) {
  const Buffer bytes(file.size(), path);
  file.read(0, reinterpret_cast<char*>(bytes.data()), bytes.size());
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const MarketHeader header = checked(path, parse_market_header(text));
  const Scalar scalar = header.is_complex() ? Scalar::kC128 : Scalar::kF64;
  const MatrixShape shape{false, 1, header.rows, header.cols};
  const std::uint64_t num_bytes = matrix_bytes(path, scalar, shape);
  require_memory(header, num_bytes, path);
  Matrix out{path, scalar, shape, true, Buffer(num_bytes, path)};
  const std::span<double> values(reinterpret_cast<double*>(out.data.data()), num_bytes / sizeof(double));
  std::fill(values.begin(), values.end(), 0.0);
  const Status status = read_market_values(text, header, values);
  if (!status.ok()) throw Failure(ExitCode::kBadInput, fmt::format("{}: {}", path, status.reason()));
  return out;
}

/// Writes one matrix column by column.
template <class T>
void write_market_values(OutputFile& file, MatrixView<const T> x) {
  std::string text;
  for (std::int64_t j = 0; j < x.cols; ++j) {
    for (std::int64_t i = 0; i < x.rows; ++i) {
      if constexpr (kIsComplex<T>) {
        append_market_value(text, x(i, j).real(), x(i, j).imag());
      } else {
        append_market_value(text, x(i, j));
      }
      if (text.size() >= kWriteBytes) {
        file.write(text);
        text.clear();
      }
    }
  }
  file.write(text);
}

void write_market(OutputFile& file, const Matrix& x) {
  file.write(make_market_header(is_complex(x.scalar), x.shape.rows, x.shape.cols));
  with_scalar(x.scalar, [&]<class T>() { write_market_values<T>(file, x.view<T>()); });
}

std::string npy_header_of(Scalar scalar, const MatrixShape& shape) {
  const std::array<std::int64_t, 3> dims{shape.batch, shape.rows, shape.cols};
  return make_npy_header(scalar, std::span(dims).subspan(shape.is_batch ? 0 : 1));
}

}  // namespace

Buffer::Buffer(std::uint64_t num_bytes, std::string_view what) : size_(num_bytes) {
  constexpr std::uint64_t kMax = std::numeric_limits<std::ptrdiff_t>::max() - kBufferAlignment;
  const std::uint64_t rounded = (std::min(num_bytes, kMax) + kBufferAlignment) / kBufferAlignment * kBufferAlignment;
  if (num_bytes <= kMax) bytes_.reset(static_cast<std::byte*>(std::aligned_alloc(kBufferAlignment, rounded)));
  if (!bytes_) throw Failure(ExitCode::kOutOfMemory, fmt::format("{}: no memory for {}", what, in_bytes(num_bytes)));
}

std::string to_string(const MatrixShape& shape) {
  return shape.is_batch ? fmt::format("{} x {} x {}", shape.batch, shape.rows, shape.cols)
                        : fmt::format("{} x {}", shape.rows, shape.cols);
}

Matrix read_matrix(const std::string& path) {
  const InputFile file(path);
  std::string start(std::min(file.size(), kMaxNpyStartBytes), '\0');
  file.read(0, start.data(), start.size());
  if (is_matrix_market(start)) return read_market(file, path);
  if (start.starts_with(kNpyMagic)) return read_npy(file, start, path);
  throw Failure(ExitCode::kBadInput,
                fmt::format("{}: not a .npy file and no Matrix Market file: it begins with neither \\x93NUMPY nor {}",
                            path, kMarketMagic));
}

Matrix make_matrix(const std::string& name, Scalar scalar, const MatrixShape& shape) {
  return {name, scalar, shape, false, Buffer(matrix_bytes(name, scalar, shape), name)};
}

std::string ending_of(std::string_view path) {
  const std::string_view name = path.substr(path.find_last_of('/') + 1);
  const std::size_t dot = name.find_last_of('.');
  std::string ending(dot == std::string_view::npos || dot == 0 ? "" : name.substr(dot));
  for (char& c : ending) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return ending;
}

FileFormat output_format(std::string_view path) {
  return ending_of(path) == ".mtx" ? FileFormat::kMatrixMarket : FileFormat::kNpy;
}

std::uint64_t file_bytes(FileFormat format, Scalar scalar, const MatrixShape& shape) {
  const std::uint64_t data_bytes = matrix_bytes("C", scalar, shape);
  if (format == FileFormat::kNpy) return npy_header_of(scalar, shape).size() + data_bytes;
  const std::uint64_t numbers = data_bytes / static_cast<std::uint64_t>(size_bytes(real_of(scalar)));
  return make_market_header(is_complex(scalar), shape.rows, shape.cols).size() + kLeastMarketNumberBytes * numbers;
}

void write_matrix(OutputFile& file, FileFormat format, const Matrix& x) {
  if (format == FileFormat::kMatrixMarket) return write_market(file, x);
  file.write(npy_header_of(x.scalar, x.shape));
  file.write({reinterpret_cast<const char*>(x.data.data()), x.data.size()});
}

}  // namespace kizami::cli
