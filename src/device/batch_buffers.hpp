// SPDX-License-Identifier: MIT
// The workspace of a batch of device calls: that of one product, which all of them use in turn; a state for each
// product, since what a product did is read when all are done; and where the matrices are found by arrays in device
// memory, one more A, B and C, which the matrices of a product are copied to: the kernels of a product take pointers
// from the host.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/carver.hpp"
#include "device/state.hpp"
#include "kizami/batch.hpp"
#include "problem/problem.hpp"

namespace kizami::device {

struct DeviceBatchBuffers {
  std::byte* product = nullptr;  ///< [product_bytes]
  /// [num_products]; a lone product has its state at the beginning of its own workspace
  DeviceState* states = nullptr;
  void* a = nullptr;  ///< [m k] elements, of a plan for arrays in device memory; likewise below
  void* b = nullptr;  ///< [k n]
  void* c = nullptr;  ///< [m n], or more: see staged_line()
};

/// Elements from one row of the copy of C to the next, where it is stored by rows: never 1, which would be stored by
/// columns.
[[nodiscard]] constexpr std::int64_t staged_line(std::int64_t cols) { return cols < 2 ? 2 : cols; }

/// @param product_bytes what one product needs
[[nodiscard]] DeviceBatchBuffers carve_device_batch(base::Carver& carver, const problem::Shape& shape,
                                                    const Batch& batch, std::size_t product_bytes);

/// Bytes of that workspace.
[[nodiscard]] std::size_t device_batch_bytes(const problem::Shape& shape, const Batch& batch,
                                             std::size_t product_bytes);

}  // namespace kizami::device
