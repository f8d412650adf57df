// SPDX-License-Identifier: MIT
// Products of windows of floating-point slices: whole numbers whose sums are exact at the ends of every accumulator.
#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <type_traits>
#include <vector>

#include "tile_kernels/product_slices.hpp"

namespace kizami::tile_kernels_test {
namespace {

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

/// What the numbers of a case are.
enum class Numbers : std::uint8_t { kRandom, kLargest, kOpposite };

/// Rows of a matrix, and behind each k numbers zeros up to a multiple of 128.
template <class Slice>
struct Rows {
  Rows(int rows, int k, int bits, Numbers numbers, bool is_negative, unsigned seed)
      : stride((k + 127) / 128 * 128), values(index(std::int64_t{rows} * stride), 0) {
    std::mt19937 random(seed);
    std::uniform_int_distribution<int> any(-(1 << bits), 1 << bits);
    for (int i = 0; i < rows; ++i) {
      for (int h = 0; h < k; ++h) {
        const int largest = is_negative ? -(1 << bits) : 1 << bits;
        values[index(std::int64_t{i} * stride + h)] = numbers == Numbers::kRandom ? any(random) : largest;
      }
    }
    for (const int value : values) slices.push_back(Slice(static_cast<float>(value)));
  }

  int stride;
  std::vector<int> values;
  std::vector<Slice> slices;
};

/// Tiles of 16 x 32 x kTileK.
template <class Slice, int kTileK, int kParts>
void expect_product(int bits, int m, int n, int k, Numbers numbers) {
  const Rows<Slice> a(m, k, bits, numbers, false, 1);
  const Rows<Slice> b(n, k, bits, numbers, numbers == Numbers::kOpposite, 2);
  const int col_stride = m + 3;
  std::vector<std::int32_t> c(index(std::int64_t{n} * col_stride), 77);
  const dim3 grid(static_cast<unsigned>(((n + 15) / 16) * ((m + 31) / 32)));
  Status status;
  if constexpr (sizeof(Slice) == 1) {
    status = KIZAMI_TILE_LAUNCH((tile_kernels::fp8_product_block<Slice, 16, 32, kTileK, kParts, false>), grid, nullptr,
                                a.slices.data(), a.stride, b.slices.data(), b.stride, c.data(), col_stride, m, n,
                                a.stride, 2);
  } else {
    status = KIZAMI_TILE_LAUNCH((tile_kernels::promoted_product_block<Slice, 16, 32, kTileK, kParts, false>), grid,
                                nullptr, a.slices.data(), a.stride, b.slices.data(), b.stride, c.data(), col_stride, m,
                                n, a.stride, 2);
  }
  ASSERT_TRUE(status.ok()) << status.reason();
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < col_stride; ++i) {
      std::int64_t sum = i < m ? 0 : 77;
      for (int h = 0; h < k && i < m; ++h)
        sum += std::int64_t{a.values[index(std::int64_t{i} * a.stride + h)]} *
               b.values[index(std::int64_t{j} * b.stride + h)];
      ASSERT_EQ(c[index(std::int64_t{j} * col_stride + i)], sum)
          << m << " x " << n << " x " << k << " of " << bits << " bits at " << i << ", " << j;
    }
  }
}

/// Shapes around tiles and steps; then as much as INT32, or FP32, holds.
template <class Slice, int kTileK, int kParts>
void expect_products(int bits, int longest) {
  for (const int k : {1, 63, 64, 65, 200, 256, 257, 600})
    expect_product<Slice, kTileK, kParts>(bits, 1 + k % 40, 1 + k % 33, k, Numbers::kRandom);
  expect_product<Slice, kTileK, kParts>(bits, 33, 17, 130, Numbers::kLargest);
  expect_product<Slice, kTileK, kParts>(bits, 3, 2, longest, Numbers::kLargest);
  expect_product<Slice, kTileK, kParts>(bits, 2, 3, longest, Numbers::kOpposite);
}

TEST(ProductSlices, Fp16) { expect_products<__half, 64, 1>(9, 8191); }
TEST(ProductSlices, Bf16) { expect_products<__nv_bfloat16, 64, 4>(8, 32767); }
TEST(ProductSlices, E4m3) { expect_products<__nv_fp8_e4m3, 64, 2>(4, 65536); }
TEST(ProductSlices, E5m2) { expect_products<__nv_fp8_e5m2, 256, 1>(3, 131072); }

}  // namespace
}  // namespace kizami::tile_kernels_test
