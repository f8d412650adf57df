// SPDX-License-Identifier: MIT
// The kernels that tile/docs/guide.md and debug.md show. They are run on the host by guide_test.cpp, with the checks of
// the debug mode by guide_debug_test.cpp, and on GPUs, compiled through guide_kernels.cu, by
// tests/gpu/tile_guide_test.cpp. The pages hold copies of the functions; snippets_test.py compares them.
#pragma once

#include <cstdint>

#include "kizami/tile.hpp"

namespace kizami::tile_guide {
inline namespace KIZAMI_TILE_BACKEND {

namespace ct = cuda::tiles;
using namespace ct::literals;

#if defined(__CUDACC_TILE__)
extern "C" {  // a cubin has them by name
#endif

// ---- views ----------------------------------------------------------------------------------------------------------

/// red = channel 0 of an image of interleaved RGB.  @shape rgb: rows x cols x 3; red: rows x cols
__tile_global__ void take_red(const std::uint8_t* rgb, std::uint8_t* red, int rows, int cols) {
  const auto [i, j, unused] = ct::bid();
  const ct::layout_strided_mapping every_third{ct::extents{rows, cols}, ct::strides{3 * cols, 3_ic}};
  const ct::partition_view from{ct::tensor_span{rgb, every_third}, ct::shape<16, 16>{}};
  const ct::partition_view to{ct::tensor_span{red, ct::extents{rows, cols}}, ct::shape<16, 16>{}};
  to.store_masked(from.load_masked(i, j), i, j);
}

/// out = in, from column-major to row-major.  @shape rows x cols
__tile_global__ void to_row_major(const float* in, float* out, int rows, int cols) {
  const auto [i, j, unused] = ct::bid();
  const ct::extents size{rows, cols};
  const ct::partition_view from{ct::tensor_span{in, size, ct::layout_left{}}, ct::shape<16, 16>{}};
  const ct::partition_view to{ct::tensor_span{out, size}, ct::shape<16, 16>{}};
  to.store_masked(from.load_masked(i, j), i, j);
}

/// out = 2 in, for more elements than 32 bits can count.
__tile_global__ void twice(const float* in, float* out, std::int64_t n) {
  const auto i = ct::bid().x;
  using Long = ct::extents<std::uint64_t, ct::dynamic_extent>;
  const ct::partition_view from{ct::tensor_span{in, Long{n}}, ct::shape<256>{}};
  const ct::partition_view to{ct::tensor_span{out, Long{n}}, ct::shape<256>{}};
  to.store_masked(2 * from.load_masked(i), i);
}

// ---- masks and padding ----------------------------------------------------------------------------------------------

/// minima[i] = the smallest element of row i.  @shape x: rows x cols, cols <= 64; minima: [rows]
__tile_global__ void row_minima(const float* x, float* minima, int rows, int cols) {
  const auto i = ct::bid().x;
  const ct::partition_view x_tiles{ct::tensor_span{x, ct::extents{rows, cols}}, ct::shape<8, 64>{}};
  const auto row = x_tiles.load_masked(ct::view_padding_positive_inf_t{}, i, 0);
  const ct::partition_view to{ct::tensor_span{minima, ct::extents{rows, 1_ic}}, ct::shape<8, 1>{}};
  to.store_masked(ct::reduce_min(row, 1_ic), i, 0);
}

/// Sets what lies above the diagonal to zero.  @shape x: n x n
__tile_global__ void keep_lower(float* x, int n) {
  const auto [i, j, unused] = ct::bid();
  using Tile = ct::tile<float, ct::shape<16, 16>>;
  const auto row = static_cast<int>(i) * 16 + ct::iota<ct::tile<int, ct::shape<16, 1>>>();  // (16, 1)
  const auto col = static_cast<int>(j) * 16 + ct::iota<ct::tile<int, ct::shape<1, 16>>>();  // (1, 16)
  const ct::partition_view tiles{ct::tensor_span{x, ct::extents{n, n}}, ct::shape<16, 16>{}};
  tiles.store_masked(ct::select(row >= col, tiles.load_masked(i, j), ct::zeros<Tile>()), i, j);
}

// ---- reductions, scans, search --------------------------------------------------------------------------------------

/// y = x less the mean of its row.  @shape rows x 64
__tile_global__ void centre_rows(const float* x, float* y, int rows) {
  const auto i = ct::bid().x;
  const ct::extents size{rows, 64_ic};
  const ct::partition_view from{ct::tensor_span{x, size}, ct::shape<8, 64>{}};
  const ct::partition_view to{ct::tensor_span{y, size}, ct::shape<8, 64>{}};
  const auto row = from.load_masked(i, 0);       // (8, 64)
  const auto mean = ct::sum(row, 1_ic) / 64.0F;  // (8, 1)
  to.store_masked(row - mean, i, 0);             // (8, 1) is stretched to (8, 64)
}

/// y[i] = x[0] + ... + x[i], by one block that carries the total from tile to tile.
__tile_global__ void running_sum(const int* x, int* y, int n) {
  const ct::partition_view from{ct::tensor_span{x, ct::extents{n}}, ct::shape<128>{}};
  const ct::partition_view to{ct::tensor_span{y, ct::extents{n}}, ct::shape<128>{}};
  auto carry = ct::zeros<ct::tile<int, ct::shape<1>>>();
  for (const int i : ct::irange(0, ct::ceildiv(n, 128))) {
    const auto values = from.load_masked(i);
    to.store_masked(carry + ct::partial_sum(values, 0_ic), i);
    carry = carry + ct::sum(values, 0_ic);
  }
}

/// where[i] = the column of the largest element of row i, the first of equals.  @shape x: rows x 64
__tile_global__ void largest_column(const float* x, std::uint32_t* where, int rows) {
  const auto i = ct::bid().x;
  const ct::partition_view from{ct::tensor_span{x, ct::extents{rows, 64_ic}}, ct::shape<8, 64>{}};
  const ct::partition_view to{ct::tensor_span{where, ct::extents{rows, 1_ic}}, ct::shape<8, 1>{}};
  to.store_masked(ct::max_element(from.load_masked(i, 0), 1_ic), i, 0);
}

// ---- gather, scatter, atomics ---------------------------------------------------------------------------------------

/// out[i] = table[rows[i]], whole rows.  @shape table: height x 32; rows: [n]; out: n x 32
__tile_global__ void gather_rows(const float* table, const std::uint32_t* rows, float* out, int height, int n) {
  const auto i = ct::bid().x;
  const ct::partition_view row_tiles{ct::tensor_span{rows, ct::extents{n}}, ct::shape<16>{}};
  const ct::gather_scatter_view from{ct::tensor_span{table, ct::extents{height, 32_ic}}, ct::shape<16, 32>{}, 0_ic};
  const ct::partition_view to{ct::tensor_span{out, ct::extents{n, 32_ic}}, ct::shape<16, 32>{}};
  to.store_masked(from.load_masked(row_tiles.load_masked(i), 0), i, 0);
}

/// diagonal[i] = a[i][i].  @shape a: n x n
__tile_global__ void take_diagonal(const float* a, float* diagonal, int n) {
  const int first = static_cast<int>(ct::bid().x) * 64;
  const auto i = first + ct::iota<ct::tile<int, ct::shape<64>>>();
  const auto inside = i < n;
  const auto value = ct::load_masked(a + i * (n + 1), inside, 0.0F);
  ct::store_masked(diagonal + i, value, inside);
}

/// counts[v] += how often v occurs in x.
__tile_global__ void histogram(const std::uint8_t* x, int* counts, int n) {
  const int first = static_cast<int>(ct::bid().x) * 64;
  const auto i = first + ct::iota<ct::tile<int, ct::shape<64>>>();
  const auto inside = i < n;
  const auto value = ct::element_cast<int>(ct::load_masked(x + i, inside, std::uint8_t{0}));
  const auto one = ct::ones<ct::tile<int, ct::shape<64>>>();
  ct::atomic_add_masked(counts + value, one, inside, ct::memory_order_relaxed_t{}, ct::thread_scope_device_t{});
}

/// total += the sum of x, every block its part.
__tile_global__ void add_up(const int* x, int* total, int n) {
  const auto i = ct::bid().x;
  const ct::partition_view from{ct::tensor_span{x, ct::extents{n}}, ct::shape<256>{}};
  const ct::partition_view to{ct::tensor_span{total, ct::shape<1>{}}, ct::shape<1>{}};
  to.atomic_add(ct::sum(from.load_masked(i), 0_ic), ct::memory_order_relaxed_t{}, ct::thread_scope_device_t{}, 0);
}

// ---- shapes ---------------------------------------------------------------------------------------------------------

/// y = the pairs (x[0], x[64]), (x[1], x[65]), ... of each 128 elements of x.  @shape x, y: [n], n divisible by 128
__tile_global__ void interleave_halves(const float* x, float* y, int n) {
  const auto i = ct::bid().x;
  const auto both = ct::partition_view{ct::tensor_span{x, ct::extents{n}}, ct::shape<128>{}}.load(i);
  const auto first = ct::extract(both, ct::shape<64>{}, 0);  // sub-tile 0 of two
  const auto second = ct::extract(both, ct::shape<64>{}, 1);
  const auto columns =
      ct::cat(ct::reshape(first, ct::shape<64, 1>{}), ct::reshape(second, ct::shape<64, 1>{}), 1_ic);  // (64, 2)
  ct::partition_view{ct::tensor_span{y, ct::extents{n}}, ct::shape<128>{}}.store(ct::reshape(columns, ct::shape<128>{}),
                                                                                 i);
}

// ---- conversions and rounding ---------------------------------------------------------------------------------------

/// low <= a b <= high, as close as FP32 allows.
__tile_global__ void enclose_product(const float* a, const float* b, float* low, float* high, int n) {
  const auto i = ct::bid().x;
  const ct::extents size{n};
  const auto x = ct::partition_view{ct::tensor_span{a, size}, ct::shape<64>{}}.load_masked(i);
  const auto y = ct::partition_view{ct::tensor_span{b, size}, ct::shape<64>{}}.load_masked(i);
  const ct::partition_view low_tiles{ct::tensor_span{low, size}, ct::shape<64>{}};
  const ct::partition_view high_tiles{ct::tensor_span{high, size}, ct::shape<64>{}};
  low_tiles.store_masked(ct::mul(x, y, ct::round_toward_negative_t{}), i);
  high_tiles.store_masked(ct::mul(x, y, ct::round_toward_positive_t{}), i);
}

/// a mod b as Python has it: the sign of the result is that of b.
__tile_global__ void python_mod(const int* a, int b, int* result, int n) {
  const auto i = ct::bid().x;
  const ct::partition_view from{ct::tensor_span{a, ct::extents{n}}, ct::shape<64>{}};
  const ct::partition_view to{ct::tensor_span{result, ct::extents{n}}, ct::shape<64>{}};
  const auto x = from.load_masked(i);
  to.store_masked(x - b * ct::floordiv(x, b), i);
}

// ---- promises and hints ---------------------------------------------------------------------------------------------

/// y = 3 x.  @range x and y aligned to 16 bytes, n divisible by 16
__tile_global__ void triple(const float* x, float* y, int n) {
  const auto i = ct::bid().x;
  const ct::extents size{ct::assume_divisible<16>(n)};
  const ct::partition_view from{ct::tensor_span{ct::assume_aligned<16>(x), size}, ct::shape<256>{}};
  const ct::partition_view to{ct::tensor_span{ct::assume_aligned<16>(y), size}, ct::shape<256>{}};
  ct::tile<float, ct::shape<256>> value;
  [[cutile::hint(900, latency = 4)]] value = from.load_masked(i);
  to.store_masked(3 * value, i);
}

// ---- kernels with a mistake, for debug.md ---------------------------------------------------------------------------

/// y = x; but the last tile is not masked.
__tile_global__ void copy_past_the_end(const float* x, float* y, int n) {
  const auto i = ct::bid().x;
  const ct::partition_view from{ct::tensor_span{x, ct::extents{n}}, ct::shape<16>{}};
  const ct::partition_view to{ct::tensor_span{y, ct::extents{n}}, ct::shape<16>{}};
  to.store_masked(from.load(i), i);
}

/// y = x + 1; but masked-off elements have no padding, and all are stored.
__tile_global__ void store_undefined(const float* x, float* y, int n) {
  const auto i = ct::iota<ct::tile<int, ct::shape<16>>>();
  ct::store(y + i, ct::load_masked(x + i, i < n) + 1.0F);
}

/// total = the sum of x; but every block stores its own.
__tile_global__ void total_without_atomics(const int* x, int* total, int n) {
  const auto i = ct::bid().x;
  const ct::partition_view from{ct::tensor_span{x, ct::extents{n}}, ct::shape<16>{}};
  const ct::partition_view to{ct::tensor_span{total, ct::shape<1>{}}, ct::shape<1>{}};
  to.store(ct::sum(from.load_masked(i), 0_ic), 0);
}

#if defined(__CUDACC_TILE__)
}
#endif

}  // namespace KIZAMI_TILE_BACKEND
}  // namespace kizami::tile_guide
