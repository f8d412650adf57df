// SPDX-License-Identifier: MIT
// How planes in device memory are padded, and what a split in one pass takes.
#pragma once

#include <cstdint>

namespace kizami::device {

/// Rows of operands and columns of results are padded to this, so that product kernels need no edge code.
inline constexpr std::int64_t kDeviceLinePad = 128;
/// Bytes of k in a row of a residue plane are padded to this.
inline constexpr std::int64_t kDeviceInnerPad = 128;
/// Product kernels read rows up to a multiple of this.
inline constexpr std::int64_t kReadRows = 16;

/// What the split in one pass takes, see schemes/ozaki2/device_single_pass.cuh: elements of a line, and
/// num::Rung::norm_limit.
inline constexpr std::int64_t kMaxSinglePassLength = 16384;
inline constexpr double kMaxSinglePassNorm = 0x1p94;

}  // namespace kizami::device
