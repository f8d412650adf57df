// SPDX-License-Identifier: MIT
// Tile kernels of floating slices on the device beside the same source on the host: all is exact or FP64 in a fixed
// order, and equal by ==.
#if defined(KIZAMI_TEST_HAS_TILE)
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "gpu/tile_launch.hpp"
#include "num/float_slices.hpp"
#include "tile_kernels/slice_diagonal.hpp"
#include "tile_kernels/slice_product.hpp"
#include "tile_kernels/slice_product_whole_k.hpp"
#include "tile_kernels/veltkamp_split.hpp"

extern "C" const unsigned long long kizami_tile_slices[];
extern "C" const unsigned long long kizami_tile_slice_products[];   // of bench_gpu_tile_slices
extern "C" const unsigned long long kizami_tile_report_products[];  // of bench_gpu_report_slices

namespace kizami::gpu_test {
namespace {

using TileSlices = DeviceTest;

constexpr int kGroup = 8;
constexpr int kTile = 128;  // of the kernels of products

struct Shape {
  int m, n, k;
};

/// Normal numbers and their slices by the host, which those by the device equal in every bit.
template <class Slice>
struct Side {
  Side(const char* split, std::mt19937& random, int rho, int num_slices_, int rows, int cols)
      : num_slices(num_slices_),
        plane_stride(elements(rows, cols)),
        stride(cols),
        slices(at(std::int64_t{num_slices_} * rows * cols)) {
    std::normal_distribution<double> normal;
    std::vector<double> x(at(std::int64_t{rows} * cols));
    double largest = 0;
    for (double& v : x) largest = std::max(largest, std::fabs(v = normal(random)));
    const int exponent = num::slice_exponent(largest);
    std::vector<double> sigmas;
    std::vector<double> inverse_scales;
    for (int p = 0; p < num_slices; ++p) {
      scales.push_back(num::slice_scale(exponent, rho, p));
      sigmas.push_back(num::slice_sigma(exponent, rho, p));
      inverse_scales.push_back(1 / scales.back());
    }
    const Status status =
        KIZAMI_TILE_LAUNCH((tile_kernels::veltkamp_split_block<Slice, 16, 64, tile_kernels::ScaleOf::kMatrix, false>),
                           blocks(rows, 16, cols, 64), nullptr, x.data(), cols, slices.data(), plane_stride, cols,
                           sigmas.data(), inverse_scales.data(), 1, num_slices, rows, cols);
    EXPECT_TRUE(status.ok()) << status.reason();
    const DeviceArray<double> device_x(x);
    const DeviceArray<double> device_sigmas(sigmas);
    const DeviceArray<double> device_inverse_scales(inverse_scales);
    const DeviceArray<Slice> device_slices(slices.size());
    run(kizami_tile_slices, split, dim3(blocks(rows, 32, cols, 64)), device_x.data(), cols, device_slices.data(),
        plane_stride, cols, device_sigmas.data(), device_inverse_scales.data(), 1, num_slices, rows, cols);
    EXPECT_TRUE(same_bits(device_slices.download(), slices)) << split << " " << rows << " x " << cols;
    EXPECT_TRUE(device_slices.guards_are_intact());
  }

  int num_slices;
  std::uint32_t plane_stride;
  int stride;
  std::vector<Slice> slices;
  std::vector<double> scales;  ///< 2^(c_p)
};

template <class Slice>
struct Operands {
  Operands(const char* split, Shape shape_, int rho, int num_a, int num_b)
      : shape(shape_),
        A(split, random, rho, num_a, shape.m, shape.k),
        B(split, random, rho, num_b, shape.k, shape.n),
        a(A.slices),
        b(B.slices),
        device_scales(of_pairs()) {}

  [[nodiscard]] std::vector<double> of_pairs() const {
    std::vector<double> scales;
    for (const double x : A.scales) {
      for (const double y : B.scales) scales.push_back(x * y);
    }
    return scales;
  }
  [[nodiscard]] std::string name() const {
    return std::to_string(shape.m) + " x " + std::to_string(shape.n) + " x " + std::to_string(shape.k) + ", " +
           std::to_string(A.num_slices) + " x " + std::to_string(B.num_slices) + " slices";
  }
  [[nodiscard]] std::size_t size() const { return elements(shape.m, shape.n); }

  Shape shape;
  std::mt19937 random{3};
  Side<Slice> A, B;
  DeviceArray<Slice> a, b;
  DeviceArray<double> device_scales;
};

/// All pairs in one launch, or only first of them.
template <class Slice>
std::vector<double> expect_product(const char* product, const Operands<Slice>& x, int depth) {
  const auto [m, n, k] = x.shape;
  std::vector<double> expected(x.size());
  const std::vector<double> scales = x.of_pairs();
  const Status status =
      KIZAMI_TILE_LAUNCH((tile_kernels::slice_product_block<Slice, 16, 64, 256, false>), blocks(m, 16, n, 64), nullptr,
                         x.A.slices.data(), x.A.plane_stride, k, x.B.slices.data(), x.B.plane_stride, n, scales.data(),
                         expected.data(), n, x.A.num_slices, x.B.num_slices, depth, m, n, k, kGroup);
  EXPECT_TRUE(status.ok()) << status.reason();
  const DeviceArray<double> c(expected.size());
  run(kizami_tile_slices, product, dim3(blocks(m, kTile, n, kTile)), x.a.data(), x.A.plane_stride, k, x.b.data(),
      x.B.plane_stride, n, x.device_scales.data(), c.data(), n, x.A.num_slices, x.B.num_slices, depth, m, n, k, kGroup);
  EXPECT_EQ(c.download(), expected) << product << " " << x.name();
  EXPECT_TRUE(c.guards_are_intact());
  return expected;
}

/// A launch a diagonal, added up in FP64.
template <class Slice>
void expect_diagonals(const char* diagonal, const Operands<Slice>& x, int depth) {
  const auto [m, n, k] = x.shape;
  std::vector<double> expected(x.size());
  const DeviceArray<double> c(x.size());
  const int last = std::min(depth, x.A.num_slices + x.B.num_slices - 1) - 1;
  for (int d = last; d >= 0; --d) {
    const auto [first, num_pairs] = num::slice_diagonal(d, x.A.num_slices, x.B.num_slices);
    const double scale = x.A.scales[at(first)] * x.B.scales[at(d - first)];
    std::vector<double> sum(expected.size());
    const Status status =
        KIZAMI_TILE_LAUNCH((tile_kernels::slice_diagonal_block<Slice, 8, 16, 64, 256, false>), blocks(m, 16, n, 64),
                           nullptr, x.A.slices.data(), x.A.plane_stride, k, x.B.slices.data(), x.B.plane_stride, n,
                           scale, sum.data(), n, d, first, num_pairs, m, n, k, kGroup);
    ASSERT_TRUE(status.ok()) << status.reason();
    for (std::size_t i = 0; i < sum.size(); ++i) expected[i] = d == last ? sum[i] : expected[i] + sum[i];
    const DeviceArray<double> device_sum(sum.size());
    double* const target = d == last ? c.data() : device_sum.data();
    run(kizami_tile_slices, diagonal, dim3(blocks(m, kTile, n, kTile)), x.a.data(), x.A.plane_stride, k, x.b.data(),
        x.B.plane_stride, n, scale, target, n, d, first, num_pairs, m, n, k, kGroup);
    EXPECT_TRUE(device_sum.guards_are_intact());
    if (d < last) run(kizami_tile_slices, "add_f64", dim3(blocks(m, 16, n, 64)), target, n, c.data(), n, m, n);
  }
  EXPECT_EQ(c.download(), expected) << diagonal << " " << x.name();
  EXPECT_TRUE(c.guards_are_intact());
}

TEST_F(TileSlices, Bf16EqualTheHosts) {
  const auto expect = [](Shape shape, int num_a, int num_b, int depth) {
    const Operands<__nv_bfloat16> x("veltkamp_split_bf16_matrix", shape, num::slice_rho(128, 8), num_a, num_b);
    expect_product("slice_product_bf16", x, depth);
    expect_diagonals("slice_diagonal_bf16", x, depth);
  };
  for (int num_slices = 1; num_slices <= 7; ++num_slices) {
    for (const int k : {208, 256, 464, 1008}) expect({144, 80, k}, num_slices, num_slices, num_slices + 2);
  }
  expect({272, 144, 1008}, 7, 7, 1);
  expect({144, 80, 464}, 5, 7, 8);
  expect({144, 80, 464}, 7, 3, 99);
}
TEST_F(TileSlices, Fp16EqualTheHosts) {
  const Operands<__half> x("veltkamp_split_f16_matrix", {144, 80, 240}, num::slice_rho(128, 11), 6, 6);
  expect_product("slice_product_f16", x, 6);
  expect_diagonals("slice_diagonal_f16", x, 6);
}
TEST_F(TileSlices, Fp8EqualTheHosts) {
  const auto expect = [](auto slice, const char* split, const char* product, int significand_bits, Shape shape,
                         int num_a, int num_b, int depth) {
    const Operands<decltype(slice)> x(split, shape, num::slice_rho(128, significand_bits), num_a, num_b);
    expect_product(product, x, depth);
  };
  for (const int k : {208, 1008}) {
    expect(__nv_fp8_e4m3{}, "veltkamp_split_e4m3_matrix", "slice_product_e4m3", 4, {144, 80, k}, 14, 14, 16);
    expect(__nv_fp8_e4m3{}, "veltkamp_split_e4m3_matrix", "slice_product_e4m3", 4, {272, 144, k}, 15, 16, 30);
    expect(__nv_fp8_e5m2{}, "veltkamp_split_e5m2_matrix", "slice_product_e5m2", 3, {144, 80, k}, 18, 17, 18);
  }
}

/// What is shared by several blocks is the host's in every plane, and the whole with one.
TEST_F(TileSlices, PairsSpreadOverBlocksEqualTheHosts) {
  const Operands<__nv_bfloat16> x("veltkamp_split_bf16_matrix", {272, 144, 464}, num::slice_rho(128, 8), 7, 6);
  const auto [m, n, k] = x.shape;
  constexpr int kDepth = 9;
  const std::vector<double> whole = expect_product("slice_product_bf16", x, kDepth);
  const std::vector<double> scales = x.of_pairs();
  for (const int num_parts : {1, 2, 4, 50}) {  // 50: more than pairs
    const std::size_t size = at(num_parts) * x.size();
    std::vector<double> expected(size);
    const Status status =
        KIZAMI_TILE_LAUNCH((tile_kernels::slice_product_part_block<__nv_bfloat16, 16, 64, 256, false>),
                           dim3(blocks(m, 16, n, 64), static_cast<unsigned>(num_parts)), nullptr, x.A.slices.data(),
                           x.A.plane_stride, k, x.B.slices.data(), x.B.plane_stride, n, scales.data(), expected.data(),
                           elements(m, n), n, num_parts, x.A.num_slices, x.B.num_slices, kDepth, m, n, k, kGroup);
    ASSERT_TRUE(status.ok()) << status.reason();
    const DeviceArray<double> s(size);
    run(kizami_tile_slice_products, "slice_spread_128x128x64x4_c1_o1_w8",
        dim3(blocks(m, kTile, n, kTile), static_cast<unsigned>(num_parts)), x.a.data(), x.A.plane_stride, k, x.b.data(),
        x.B.plane_stride, n, x.device_scales.data(), s.data(), elements(m, n), n, num_parts, x.A.num_slices,
        x.B.num_slices, kDepth, m, n, k, kGroup);
    EXPECT_EQ(s.download(), expected) << num_parts << " parts, " << x.name();
    EXPECT_TRUE(s.guards_are_intact());
    if (num_parts == 1) {
      EXPECT_EQ(expected, whole);
    }
  }
}

/// One FP32 sum over all of k: exact with the digits that the printed rho leaves.
template <class Slice>
void expect_whole_k(const char* split, const char* product, int significand_bits, Shape shape, int num_a, int num_b,
                    int depth) {
  const Operands<Slice> x(split, shape, num::slice_rho(shape.k, significand_bits), num_a, num_b);
  const auto [m, n, k] = x.shape;
  const std::vector<double> scales = x.of_pairs();
  std::vector<double> expected(x.size());
  const Status status =
      KIZAMI_TILE_LAUNCH((tile_kernels::slice_product_whole_k_block<Slice, 16, 64, 64, false>), blocks(m, 16, n, 64),
                         nullptr, x.A.slices.data(), x.A.plane_stride, k, x.B.slices.data(), x.B.plane_stride, n,
                         scales.data(), expected.data(), n, num_a, num_b, depth, m, n, k, kGroup);
  ASSERT_TRUE(status.ok()) << status.reason();
  const DeviceArray<double> c(expected.size());
  run(kizami_tile_report_products, product, dim3(blocks(m, kTile, n, kTile)), x.a.data(), x.A.plane_stride, k,
      x.b.data(), x.B.plane_stride, n, x.device_scales.data(), c.data(), n, num_a, num_b, depth, m, n, k, kGroup);
  EXPECT_EQ(c.download(), expected) << product << " " << x.name();
  EXPECT_TRUE(c.guards_are_intact());
}
TEST_F(TileSlices, SumsOverAllOfKEqualTheHosts) {
  for (const int k : {112, 1008, 1024}) {
    expect_whole_k<__nv_bfloat16>("veltkamp_split_bf16_matrix", "whole_k_bf16", 8, {144, 272, k}, 7, 7, 9);
    expect_whole_k<__half>("veltkamp_split_f16_matrix", "whole_k_f16", 11, {144, 80, k}, 5, 6, 99);
    expect_whole_k<__nv_fp8_e4m3>("veltkamp_split_e4m3_matrix", "whole_k_e4m3", 4, {144, 80, k}, 15, 16, 99);
  }
}

template <class Slice>
void expect_rows(const char* split, int significand_bits) {
  constexpr int kRows = 237;
  constexpr int kCols = 1040;
  constexpr int kSlices = 7;
  const int rho = num::slice_rho(128, significand_bits);
  std::mt19937 random(4);
  std::normal_distribution<double> normal;
  std::vector<double> x(at(kRows * kCols));
  std::vector<int> exponents(kRows);
  for (int i = 0; i < kRows; ++i) {
    double largest = 0;
    for (int j = 0; j < kCols; ++j)
      largest = std::max(largest, std::fabs(x[at(i * kCols + j)] = std::ldexp(normal(random), i % 40 - 20)));
    exponents[at(i)] = num::slice_exponent(largest);
  }
  std::vector<double> sigmas;
  std::vector<double> inverse_scales;
  for (int p = 0; p < kSlices; ++p) {
    for (const int c : exponents) {
      sigmas.push_back(num::slice_sigma(c, rho, p));
      inverse_scales.push_back(1 / num::slice_scale(c, rho, p));
    }
  }
  std::vector<Slice> expected(at(kSlices * kRows * kCols));
  const Status status = KIZAMI_TILE_LAUNCH(
      (tile_kernels::veltkamp_split_block<Slice, 16, 64, tile_kernels::ScaleOf::kRow, false>),
      blocks(kRows, 16, kCols, 64), nullptr, x.data(), kCols, expected.data(), elements(kRows, kCols), kCols,
      sigmas.data(), inverse_scales.data(), kRows, kSlices, kRows, kCols);
  ASSERT_TRUE(status.ok()) << status.reason();
  const DeviceArray<double> device_x(x);
  const DeviceArray<double> device_sigmas(sigmas);
  const DeviceArray<double> device_inverse_scales(inverse_scales);
  const DeviceArray<Slice> slices(expected.size());
  run(kizami_tile_slices, split, dim3(blocks(kRows, 32, kCols, 64)), device_x.data(), kCols, slices.data(),
      elements(kRows, kCols), kCols, device_sigmas.data(), device_inverse_scales.data(), kRows, kSlices, kRows, kCols);
  EXPECT_TRUE(same_bits(slices.download(), expected)) << split;
  EXPECT_TRUE(slices.guards_are_intact());
}
TEST_F(TileSlices, OfRowsEqualTheHosts) {
  expect_rows<__nv_bfloat16>("veltkamp_split_bf16_rows", 8);
  expect_rows<__nv_fp8_e4m3>("veltkamp_split_e4m3_rows", 4);
}

}  // namespace
}  // namespace kizami::gpu_test
#endif
