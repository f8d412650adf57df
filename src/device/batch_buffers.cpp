// SPDX-License-Identifier: MIT
#include "device/batch_buffers.hpp"

#include <algorithm>
#include <cstdint>

#include "base/int_math.hpp"

namespace kizami::device {
namespace {

[[nodiscard]] std::size_t bytes_with(const problem::Shape& shape, const Batch& batch, std::size_t product_bytes,
                                     int lanes) {
  base::Carver counter;
  static_cast<void>(carve_device_batch(counter, shape, batch, product_bytes, lanes));
  return counter.bytes();
}

}  // namespace

int batch_lanes(const problem::Shape& shape, const Batch& batch, std::size_t product_bytes,
                std::size_t workspace_bytes) {
  constexpr std::int64_t kTile = 128;
  constexpr std::int64_t kTilesAtOnce = 528;
  if (batch.has_device_arrays || shape.m == 0 || shape.n == 0) return 1;
  const std::int64_t tiles_i = base::ceil_div(shape.m, kTile);
  const std::int64_t tiles_j = base::ceil_div(shape.n, kTile);
  const std::int64_t fill = tiles_i >= kTilesAtOnce || tiles_j >= kTilesAtOnce ? 1 : kTilesAtOnce / (tiles_i * tiles_j);
  auto lanes = static_cast<int>(std::clamp<std::int64_t>(std::min(fill, batch.num_products), 1, kMostBatchLanes));
  const auto fits = [&] {
    return product_bytes <= kMostLaneBytes / static_cast<std::size_t>(lanes) &&
           bytes_with(shape, batch, product_bytes, lanes) <= workspace_bytes;
  };
  while (lanes > 1 && !fits()) --lanes;
  return lanes;
}

DeviceBatchBuffers carve_device_batch(base::Carver& carver, const problem::Shape& shape, const Batch& batch,
                                      std::size_t product_bytes, int lanes) {
  DeviceBatchBuffers buffers;
  const auto lane_bytes = static_cast<std::size_t>(
      base::round_up(static_cast<std::int64_t>(product_bytes), static_cast<std::int64_t>(kWorkspaceAlignment)));
  for (int l = 0; l < lanes; ++l)
    buffers.lanes.push_back(carver.take<std::byte>(l + 1 < lanes ? lane_bytes : product_bytes));
  buffers.states = batch.num_products > 1 ? carver.take<DeviceState>(batch.num_products)
                                          : reinterpret_cast<DeviceState*>(buffers.lanes[0]);
  if (!batch.has_device_arrays) return buffers;
  const std::int64_t element = size_bytes(shape.scalar);
  buffers.a = carver.take<std::byte>(shape.m, shape.k, element);
  buffers.b = carver.take<std::byte>(shape.k, shape.n, element);
  buffers.c = carver.take<std::byte>(shape.m, staged_line(shape.n), element);
  return buffers;
}

std::size_t device_batch_bytes(const problem::Shape& shape, const Batch& batch, std::size_t product_bytes,
                               std::size_t limit_bytes) {
  return bytes_with(shape, batch, product_bytes, batch_lanes(shape, batch, product_bytes, limit_bytes));
}

std::size_t device_together_bytes(const problem::Shape& shape, const Batch& batch, std::size_t together_bytes) {
  return bytes_with(shape, batch, together_bytes, 1);
}

}  // namespace kizami::device
