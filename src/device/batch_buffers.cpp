// SPDX-License-Identifier: MIT
#include "device/batch_buffers.hpp"

#include <cstdint>

namespace kizami::device {

DeviceBatchBuffers carve_device_batch(base::Carver& carver, const problem::Shape& shape, const Batch& batch,
                                      std::size_t product_bytes) {
  DeviceBatchBuffers buffers;
  buffers.product = carver.take<std::byte>(product_bytes);
  buffers.states = batch.num_products > 1 ? carver.take<DeviceState>(batch.num_products)
                                          : reinterpret_cast<DeviceState*>(buffers.product);
  if (!batch.has_device_arrays) return buffers;
  const std::int64_t element = size_bytes(shape.scalar);
  buffers.a = carver.take<std::byte>(shape.m, shape.k, element);
  buffers.b = carver.take<std::byte>(shape.k, shape.n, element);
  buffers.c = carver.take<std::byte>(shape.m, staged_line(shape.n), element);
  return buffers;
}

std::size_t device_batch_bytes(const problem::Shape& shape, const Batch& batch, std::size_t product_bytes) {
  base::Carver counter;
  static_cast<void>(carve_device_batch(counter, shape, batch, product_bytes));
  return counter.bytes();
}

}  // namespace kizami::device
