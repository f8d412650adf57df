// SPDX-License-Identifier: MIT
// The .npy format of NumPy, as far as matrices and batches of them need it: header bytes <-> type, order and shape.
//   file   := "\x93NUMPY" major minor length header data   length: 2 bytes (version 1) or 4 (2, 3), little-endian
//   header := {'descr': '<f8', 'fortran_order': False, 'shape': (rows, cols), } and blanks up to a newline
// A shape of three dimensions is (batch, rows, cols).
// Input is hostile: whatever the bytes say, nothing is read beyond them and nothing is allocated before the shape has
// been compared with the size of the file. Format: numpy.lib.format, NEP 1.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "kizami/status.hpp"
#include "kizami/types.hpp"

namespace kizami::cli {

/// What every .npy file begins with.
inline constexpr std::string_view kNpyMagic = "\x93NUMPY";

/// What the header of a matrix, or of a batch of matrices, says.
struct NpyHeader {
  Scalar scalar = Scalar::kF64;
  bool is_big_endian = false;
  bool is_fortran_order = false;
  bool is_batch = false;  ///< three dimensions; false: two, and batch = 1
  std::int64_t batch = 1;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::uint64_t data_offset = 0;  ///< @units bytes from the start of the file
  std::uint64_t data_bytes = 0;   ///< all that follows, to the end of the file
};

/// Longest header that is accepted. Version 1 can hold no more; a matrix needs 128.
inline constexpr std::uint64_t kMaxNpyHeaderBytes = 65535;
/// As many bytes from the start of a file hold any header that is accepted.
inline constexpr std::uint64_t kMaxNpyStartBytes = 12 + kMaxNpyHeaderBytes;

/// "float32", "float64", "complex64" or "complex128": NumPy's names.
[[nodiscard]] std::string_view dtype_name(Scalar scalar) noexcept;

/// Parses the start of a file of file_bytes bytes.
/// @range  start: the first min(file_bytes, kMaxNpyStartBytes) bytes
/// @status kInvalidArgument: not a .npy file, damaged, another type or number of dimensions, or the data are not
///         exactly as long as the shape says; the reason names value and limit
[[nodiscard]] Result<NpyHeader> parse_npy_header(std::string_view start, std::uint64_t file_bytes);

/// The header that NumPy writes for a C-ordered little-endian array: version 1.0, data aligned to 64 bytes.
/// @range shape: (rows, cols) or (batch, rows, cols), none negative
[[nodiscard]] std::string make_npy_header(Scalar scalar, std::span<const std::int64_t> shape);

}  // namespace kizami::cli
