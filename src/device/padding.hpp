// SPDX-License-Identifier: MIT
// How planes in device memory are padded, and what a split in one pass takes.
#pragma once

#include <cstdint>

#include "base/device_limits.hpp"

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
/// Elements of a line that a block takes whole where there are no clusters.
inline constexpr std::int64_t kLongestWholeLine = 4096;
/// Elements of a line that the largest cluster of a device takes, kMaxSinglePassLength of one of 16 blocks.
[[nodiscard]] constexpr std::int64_t longest_cluster_pass(const base::DeviceLimits& limits) {
  return kMaxSinglePassLength / 16 * limits.most_cluster();
}
/// Elements of a line that one pass takes, in a cluster or whole.
[[nodiscard]] constexpr std::int64_t longest_single_pass(const base::DeviceLimits& limits) {
  return limits.has_clusters() ? longest_cluster_pass(limits) : kLongestWholeLine;
}

}  // namespace kizami::device
