// SPDX-License-Identifier: MIT
// A matrix in memory, as it was read from a .npy file or is going to be written to one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "kizami/types.hpp"

namespace kizami::cli {

/// Bytes on a 64-byte boundary.
class Buffer {
 public:
  Buffer() = default;
  /// `what` names the contents. Throws Failure kOutOfMemory with the size. The bytes are not initialised.
  Buffer(std::uint64_t num_bytes, std::string_view what);
  [[nodiscard]] std::byte* data() const noexcept { return bytes_.get(); }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  struct Free {
    void operator()(std::byte* p) const noexcept { std::free(p); }
  };
  std::unique_ptr<std::byte, Free> bytes_;
  std::size_t size_ = 0;
};

struct Matrix {
  std::string name;  ///< of the file, for messages
  Scalar scalar = Scalar::kF64;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  bool is_fortran_order = false;
  Buffer data;

  /// @range T is the type that `scalar` names
  template <class T>
  [[nodiscard]] MatrixView<T> view() const {
    return blas_view(reinterpret_cast<T*>(data.data()), rows, cols,
                     is_fortran_order ? at_least_one(rows) : at_least_one(cols),
                     is_fortran_order ? Layout::kColMajor : Layout::kRowMajor);
  }

 private:
  static std::int64_t at_least_one(std::int64_t x) { return x < 1 ? 1 : x; }
};

/// "float32" or "float64": NumPy's names.
[[nodiscard]] std::string_view dtype_name(Scalar scalar) noexcept;

/// Reads a whole .npy file; big-endian data are swapped. Throws Failure kBadInput or kOutOfMemory.
[[nodiscard]] Matrix read_matrix(const std::string& path);

/// An uninitialised C-ordered matrix. Throws Failure kOutOfMemory.
[[nodiscard]] Matrix make_matrix(const std::string& name, Scalar scalar, std::int64_t rows, std::int64_t cols);

/// The bytes of a .npy file that holds a C-ordered matrix are npy_header_of(x), then data_bytes_of(x).
[[nodiscard]] std::string npy_header_of(const Matrix& x);
[[nodiscard]] std::string_view data_bytes_of(const Matrix& x) noexcept;
/// Size of that file. Throws Failure kOutOfMemory if the matrix cannot be addressed. @units bytes
[[nodiscard]] std::uint64_t npy_file_bytes(Scalar scalar, std::int64_t rows, std::int64_t cols);

}  // namespace kizami::cli
