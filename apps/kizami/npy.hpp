// SPDX-License-Identifier: MIT
// The .npy format of NumPy, as far as a matrix of float32 or float64 needs it: header bytes <-> type, order and shape.
//   file := "\x93NUMPY" major minor length header data      length: 2 bytes (version 1) or 4 (versions 2, 3),
//   little-endian header := {'descr': '<f8', 'fortran_order': False, 'shape': (rows, cols), } and blanks up to a
//   newline
// Input is hostile: whatever the bytes say, nothing is read beyond them and nothing is allocated before the shape has
// been compared with the size of the file. Format: numpy.lib.format, NEP 1.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "kizami/status.hpp"
#include "kizami/types.hpp"

namespace kizami::cli {

/// What the header of a matrix says.
struct NpyHeader {
  Scalar scalar = Scalar::kF64;
  bool is_big_endian = false;
  bool is_fortran_order = false;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::uint64_t data_offset = 0;  ///< @units bytes from the start of the file
  std::uint64_t data_bytes = 0;   ///< all that follows, to the end of the file
};

/// Longest header that is accepted. Version 1 can hold no more; a matrix needs 128.
inline constexpr std::uint64_t kMaxNpyHeaderBytes = 65535;
/// As many bytes from the start of a file hold any header that is accepted.
inline constexpr std::uint64_t kMaxNpyStartBytes = 12 + kMaxNpyHeaderBytes;

/// Parses the start of a file of file_bytes bytes.
/// @range  start: the first min(file_bytes, kMaxNpyStartBytes) bytes
/// @status kInvalidArgument: not a .npy file, damaged, no matrix of float32 or float64, or the data are not exactly as
///         long as the shape says; the reason names value and limit
[[nodiscard]] Result<NpyHeader> parse_npy_header(std::string_view start, std::uint64_t file_bytes);

/// The header that NumPy writes for a C-ordered little-endian matrix: version 1.0, data aligned to 64 bytes.
[[nodiscard]] std::string make_npy_header(Scalar scalar, std::int64_t rows, std::int64_t cols);

}  // namespace kizami::cli
