// SPDX-License-Identifier: MIT
// The workspace of a batch of device calls: that of one product, or of those that are computed together, for each lane, and products that use the lanes in turn,
// side by side on as many streams; a state for each product, since what a product did is read when all are done; and
// where the matrices are found by arrays in device memory, one more A, B and C, which the matrices of a product are copied
// to: the kernels of a product take pointers from the host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/carver.hpp"
#include "device/state.hpp"
#include "kizami/batch.hpp"
#include "problem/problem.hpp"
#include "product/product.hpp"

namespace kizami::device {

/// What a workspace may have: what was asked for, or a quarter of the device's memory.
[[nodiscard]] constexpr std::size_t workspace_limit(std::size_t wanted_bytes, const product::DeviceFacts& facts) {
  return wanted_bytes != 0 ? wanted_bytes : facts.memory_bytes / 4;
}

/// Workspaces of calls, and of each product, begin on such a boundary.
inline constexpr std::size_t kWorkspaceAlignment = 256;

struct DeviceBatchBuffers {
  std::vector<std::byte*> lanes;  ///< [product_bytes] each
  /// [num_products]; a lone product has its state at the beginning of its own workspace
  DeviceState* states = nullptr;
  void* a = nullptr;  ///< [m k] elements, of a plan for arrays in device memory; likewise below
  void* b = nullptr;  ///< [k n]
  void* c = nullptr;  ///< [m n], or more: see staged_line()
};

/// Elements from one row of the copy of C to the next, where it is stored by rows: never 1, which would be stored by
/// columns.
[[nodiscard]] constexpr std::int64_t staged_line(std::int64_t cols) { return cols < 2 ? 2 : cols; }

inline constexpr int kMostBatchLanes = 8;  ///< more were not tried
/// Of more than one lane together: 8 products of complex FP64 numbers, n = 1024.
inline constexpr std::size_t kMostLaneBytes = std::size_t{1536} << 20;

/// Products of the batch that are computed side by side in a workspace of so many bytes: as many as have 528 tiles of
/// 128 x 128 together, four times an H200's multiprocessors, so that what one leaves idle others use; 1 where all
/// products share one copy of their matrices.
/// @param product_bytes what one product needs
[[nodiscard]] int batch_lanes(const problem::Shape& shape, const Batch& batch, std::size_t product_bytes,
                              std::size_t workspace_bytes);

/// The workspace with so many lanes.
[[nodiscard]] DeviceBatchBuffers carve_device_batch(base::Carver& carver, const problem::Shape& shape,
                                                    const Batch& batch, std::size_t product_bytes, int lanes);

/// Bytes of a workspace with as many lanes as a limit admits, which one lane may exceed.
[[nodiscard]] std::size_t device_batch_bytes(const problem::Shape& shape, const Batch& batch, std::size_t product_bytes,
                                             std::size_t limit_bytes);

/// Bytes of the workspace of a batch whose products share launches, of which so many need together_bytes.
[[nodiscard]] std::size_t device_together_bytes(const problem::Shape& shape, const Batch& batch,
                                                std::size_t together_bytes);

}  // namespace kizami::device
