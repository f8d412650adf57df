// SPDX-License-Identifier: MIT
// Tensor maps of the operands: the host says once how lines lie in memory, and the copy engine of sm_90 fetches boxes
// of them, zeros where there is nothing. The bytes of a box are 128 of k, in the 128-byte swizzle.
#pragma once

#include <cstdint>

#include "engines/hopper/tile_walk.hpp"
#include "kizami/status.hpp"

namespace kizami::engines::hopper {

/// The lines of one operand.
/// @units  k and strides in bytes; row_stride and plane_stride multiples of 16, below 2^40 (2^36 for permuted boxes)
/// @range  k >= 1; bytes [k, round_up(k, product::kPadBytes)) of a line are readable, and count
struct MapLines {
  const char* name;  ///< of the operand, for errors
  const std::int8_t* data;
  std::int64_t num_lines;
  std::int64_t k;
  std::int64_t row_stride;
  std::int64_t plane_stride;
  std::int64_t num_planes;  ///< 1 if all planes share the lines
};

/// {k, line, plane}, boxes of `box_lines` lines.
/// @status kUnsupported: no driver, or one without tensor maps; kInternal with the driver's code
[[nodiscard]] Status encode_in_order(const MapLines& lines, int box_lines, TensorMapBits& map);

/// {k, b, line / 16, g, plane} with line = 16 (line / 16) + 2 g + b; boxes of 64 lines, or of the 32 with g below 4 or from 4
/// on. store_tile.cuh says why.
/// @range  num_lines a multiple of 16; box_lines = 32 or 64
/// @status as encode_in_order()
[[nodiscard]] Status encode_permuted(const MapLines& lines, int box_lines, TensorMapBits& map);

/// {k, g, h, line / 16, plane} with line = 16 (line / 16) + 2 g + h: rows of wgmma of which a lane has neighbouring lines,
/// for it has rows g and g + 8 of 16. Boxes of box_lines lines, a multiple of 16.
/// @range  num_lines a multiple of 16
/// @status as encode_in_order()
[[nodiscard]] Status encode_in_pairs(const MapLines& lines, int box_lines, TensorMapBits& map);

}  // namespace kizami::engines::hopper
