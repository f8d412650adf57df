// SPDX-License-Identifier: MIT
// Addresses, masks and atomics.
#include <cuda_fp16.h>
#include <cuda_tile.h>

#include <cstdint>

namespace ct = cuda::tiles;

/// Elements from `first` on are masked off. @shape x, y: [256]; grid: 1
extern "C" __tile_global__ void load_without_padding(const float* x, float* y, int first) {
  const auto index = ct::iota<ct::tile<int, ct::shape<256>>>();
  ct::store(y + index, ct::load_masked(x + index, index < first));
}

/// y(i) = x(i + offset) with 64-bit extents, one tile of 256. @shape x: n bytes; y: [256]; offset a multiple of 256;
/// grid: 1
extern "C" __tile_global__ void load_far_64(const std::int8_t* x, std::int8_t* y, std::int64_t n, std::int64_t offset) {
  const auto view =
      ct::partition_view{ct::tensor_span{x, ct::extents<std::uint64_t, ct::dynamic_extent>{n}}, ct::shape<256>{}};
  ct::store(y + ct::iota<ct::tile<int, ct::shape<256>>>(), view.load(offset / 256));
}

/// The same by a matrix of n x n bytes with the 32-bit extents that class template argument deduction gives.
/// @shape x: n x n bytes; y: 16 x 16; grid: 1
extern "C" __tile_global__ void load_far_32(const std::int8_t* x, std::int8_t* y, int n, int i, int j) {
  const auto view = ct::partition_view{ct::tensor_span{x, ct::extents{n, n}}, ct::shape<16, 16>{}};
  ct::partition_view{ct::tensor_span{y, ct::extents{16, 16}}, ct::shape<16, 16>{}}.store(view.load(i, j), 0, 0);
}

/// y(i) = x(scale * i): the index of the last elements leaves int32. @shape y: [256]; grid: 1
extern "C" __tile_global__ void gather_with_int32(const std::int8_t* x, std::int8_t* y, int scale) {
  const auto index = ct::iota<ct::tile<int, ct::shape<256>>>();
  ct::store(y + index, ct::load(x + index * scale));
}

/// All 256 elements of x are added to y(0). @shape x: [256]; y: [1]; grid: any
extern "C" __tile_global__ void atomic_sum_f32(const float* x, float* y) {
  const auto index = ct::iota<ct::tile<int, ct::shape<256>>>();
  const auto same = y + index * 0;
  ct::atomic_add(same, ct::load(x + index), ct::memory_order_relaxed_t{}, ct::thread_scope_device_t{});
}

/// y(i) += x(i), by a view. @shape x, y: [256]; grid: 1
extern "C" __tile_global__ void atomic_view_f32(const float* x, float* y) {
  const auto index = ct::iota<ct::tile<int, ct::shape<256>>>();
  ct::partition_view{ct::tensor_span{y, ct::extents{256}}, ct::shape<256>{}}.atomic_add(
      ct::load(x + index), ct::memory_order_relaxed_t{}, ct::thread_scope_device_t{}, 0);
}
