// SPDX-License-Identifier: MIT
// ec_split.hpp on a CUDA device, both operands in one launch.
#pragma once

#include <cstdint>

#include "kizami/status.hpp"
#include "problem/lines.hpp"
#include "product/ec_planes.hpp"
#include "product/product.hpp"

namespace kizami::split {

/// What the splits into it found, in device memory. The caller sets it to zero before the first.
struct EcLineState {
  std::uint32_t nonfinite_lines = 0;  ///< with NaN or Inf
  std::uint32_t coarse_lines = 0;     ///< is_coarse()
};

/// One operand. Pointers are device memory.
/// @shape  planes and scales as in product::EcPlanes: num_lines lines of ec_line_bytes(), all of them written
struct DeviceEcSplit {
  problem::Lines<float> lines;
  std::int8_t* planes = nullptr;
  std::int64_t row_stride = 0;
  std::int32_t* scales = nullptr;
};

/// Splits the lines of both operands, to the bit as ec_split_line().
/// Elements are read from memory once where they fit on chip: 8192 of lines that are contiguous, 4096 of lines that are not.
/// What is beyond is read twice, mostly from L2.
/// @range  1 <= num_lines, length < 2^30; one of the strides of each operand's lines should be 1, for speed
/// @status kInternal with CUDA's words
/// @queue  asynchronous, one to three kernels whose starts overlap the end of the one before, capturable
/// @param  state null: nothing is counted
Status device_ec_split(const DeviceEcSplit& a, const DeviceEcSplit& b, product::EcFormat format, EcLineState* state,
                       product::Queue queue);

}  // namespace kizami::split
