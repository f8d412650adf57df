// SPDX-License-Identifier: MIT
// A matrix or a batch of matrices in memory, as it was read from a file or is going to be written to one: .npy, or
// Matrix Market for one matrix.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>

#include "kizami/types.hpp"
#include "output_file.hpp"

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

/// One matrix, or a batch of equal shapes.
struct MatrixShape {
  bool is_batch = false;   ///< the file has three dimensions, (batch, rows, cols)
  std::int64_t batch = 1;  ///< 1 if is_batch is false
  std::int64_t rows = 0;
  std::int64_t cols = 0;

  friend bool operator==(const MatrixShape&, const MatrixShape&) = default;
};
/// "3 x 4", or "10 x 3 x 4" for a batch.
[[nodiscard]] std::string to_string(const MatrixShape& shape);

struct Matrix {
  std::string name;  ///< of the file, for messages
  Scalar scalar = Scalar::kF64;
  MatrixShape shape;
  bool is_fortran_order = false;  ///< of all dimensions: the batch is then the fastest
  Buffer data;

  /// Matrix number `index` of the batch. @range T is the type that `scalar` names; 0 <= index < shape.batch
  template <class T>
  [[nodiscard]] MatrixView<T> view(std::int64_t index = 0) const {
    T* const first = reinterpret_cast<T*>(data.data());
    // Strides of empty arrays could overflow: a file of no bytes may claim any batch.
    if (is_fortran_order && data.size() > 0)
      return {first + index, shape.rows, shape.cols, shape.batch, shape.batch * shape.rows};
    return {first + index * shape.rows * shape.cols, shape.rows, shape.cols, shape.cols, 1};
  }
};

/// Reads a whole file, whose format its first bytes tell; big-endian data are swapped. Matrix Market files become FP64
/// or complex FP64. Throws Failure kBadInput or kOutOfMemory.
[[nodiscard]] Matrix read_matrix(const std::string& path);

/// An uninitialised C-ordered matrix or batch. Throws Failure kOutOfMemory.
[[nodiscard]] Matrix make_matrix(const std::string& name, Scalar scalar, const MatrixShape& shape);

enum class FileFormat : std::uint8_t { kNpy, kMatrixMarket };
/// ".npy" of "dir/C.NPY": what comes behind the last dot of a name, in lower case; empty where there is none.
[[nodiscard]] std::string ending_of(std::string_view path);
/// Matrix Market for names that end in .mtx, else .npy.
[[nodiscard]] FileFormat output_format(std::string_view path);

/// What a file with this matrix takes: all of a .npy file, and the least that a Matrix Market file can take, for its
/// decimals are as long as they must be. Throws Failure kOutOfMemory if the matrix cannot be addressed. @units bytes
[[nodiscard]] std::uint64_t file_bytes(FileFormat format, Scalar scalar, const MatrixShape& shape);
/// Writes the bytes of the file. @range x is C-ordered; one matrix for Matrix Market
void write_matrix(OutputFile& file, FileFormat format, const Matrix& x);

}  // namespace kizami::cli
