// SPDX-License-Identifier: MIT
// The tile kernels of src/tile_kernels on the device beside the same source on the host: equal by == where everything is exact or
// FP64 in a fixed order, within their bounds where the order of a sum is the compiler's.
#if defined(KIZAMI_TEST_HAS_TILE)
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "base/cuda_module.hpp"
#include "gpu/device_memory.hpp"
#include "num/crt_table.hpp"
#include "num/float_slices.hpp"
#include "tile_kernels/crt.hpp"
#include "tile_kernels/product_i8.hpp"
#include "tile_kernels/residue_split.hpp"
#include "tile_kernels/row_cases.hpp"
#include "tile_kernels/slice_product.hpp"
#include "tile_kernels/veltkamp_split.hpp"

extern "C" const unsigned long long kizami_tile_rows[];
extern "C" const unsigned long long kizami_tile_slices[];
extern "C" const unsigned long long kizami_tile_ozaki2[];

namespace kizami::gpu_test {
namespace {

using tile_kernels::PlaneEpilogue;
using TileKernels = DeviceTest;

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }
unsigned blocks(int rows, int tile_rows, int cols, int tile_cols) {
  return static_cast<unsigned>(((rows + tile_rows - 1) / tile_rows) * ((cols + tile_cols - 1) / tile_cols));
}

/// Runs a kernel of a cubin to its end.
template <class... Arguments>
void run(const unsigned long long* cubin, const char* name, dim3 grid, Arguments... arguments) {
  base::CudaModule module;
  ASSERT_EQ(module.load(cubin, name).reason(), "");
  base::CudaModuleKernel kernel;
  ASSERT_EQ(module.kernel(name, kernel).reason(), "");
  ASSERT_EQ(kernel.launch(grid, nullptr, arguments...).reason(), "");
  check(cudaDeviceSynchronize(), name);
}

std::vector<std::int8_t> random_bytes(std::int64_t rows, int k, int stride, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::int8_t> bytes(at(rows * stride), 0);
  for (std::int64_t row = 0; row < rows; ++row) {
    for (int l = 0; l < k; ++l) bytes[at(row * stride + l)] = static_cast<std::int8_t>(random());
  }
  return bytes;
}

TEST_F(TileKernels, SoftmaxWithinItsBound) {
  constexpr double kExpUnits = 4;  // two units in the last place, as the CUDA programming guide gives for expf
  for (const auto& s : {tile_kernels_test::RowShape{1, 1}, tile_kernels_test::RowShape{13, 1000},
                        tile_kernels_test::RowShape{4, 257}}) {
    for (const bool aligned : {false, true}) {
      const int stride = aligned ? (s.cols + 16) / 16 * 16 : s.cols + 3;
      const std::vector<float> x = tile_kernels_test::random_rows(s, stride, 5, 80);
      const DeviceArray<float> in(x);
      const DeviceArray<float> out(std::vector<float>(x.size(), -1.0F));
      run(kizami_tile_rows, aligned ? "softmax_rows_f32_aligned" : "softmax_rows_f32", dim3(blocks(s.rows, 4, 1, 1)),
          in.data(), stride, out.data(), stride, s.rows, s.cols);
      tile_kernels_test::expect_softmax(x, out.download(), stride, s, kExpUnits);
      EXPECT_TRUE(out.guards_are_intact());
    }
  }
}

TEST_F(TileKernels, LayerNormWithinItsBound) {
  for (const auto& s : {tile_kernels_test::RowShape{1, 1}, tile_kernels_test::RowShape{13, 1000},
                        tile_kernels_test::RowShape{4, 257}}) {
    const int stride = s.cols + 3;
    const std::vector<float> x = tile_kernels_test::random_rows(s, stride, 2, 1);
    const std::vector<float> weight = tile_kernels_test::random_rows({1, s.cols}, s.cols, 1, 0);
    const std::vector<float> bias = tile_kernels_test::random_rows({2, s.cols}, s.cols, 1, 0);
    const DeviceArray<float> in(x);
    const DeviceArray<float> w(weight);
    const DeviceArray<float> b(bias);
    const DeviceArray<float> out(std::vector<float>(x.size(), -1.0F));
    constexpr float kEpsilon = 0x1p-10F;
    run(kizami_tile_rows, "layer_norm_rows_f32", dim3(blocks(s.rows, 4, 1, 1)), in.data(), stride, w.data(), b.data(),
        out.data(), stride, s.rows, s.cols, kEpsilon);
    tile_kernels_test::expect_layer_norm(x, weight, bias, out.download(), stride, s, kEpsilon);
  }
}

TEST_F(TileKernels, PrefixSumExactly) {
  constexpr int kChunk = 4096;
  for (const int n : {1, 1024, 5000, 100000}) {
    std::vector<int> x(at(n));
    for (int i = 0; i < n; ++i) x[at(i)] = i * 7919 % 1001 - 500;
    const int num_chunks = (n + kChunk - 1) / kChunk;
    const DeviceArray<int> in(x);
    const DeviceArray<int> totals(at(num_chunks));
    const DeviceArray<int> out(at(n));
    run(kizami_tile_rows, "sum_chunks_i32", dim3(static_cast<unsigned>(num_chunks)), in.data(), totals.data(), n,
        kChunk);
    run(kizami_tile_rows, "prefix_sum_totals_i32", dim3(1), totals.data(), totals.data(), num_chunks, kChunk);
    run(kizami_tile_rows, "prefix_sum_chunks_i32", dim3(static_cast<unsigned>(num_chunks)), in.data(), totals.data(),
        out.data(), n, kChunk);
    std::vector<int> expected;
    int sum = 0;
    for (const int v : x) expected.push_back(sum += v);
    EXPECT_EQ(out.download(), expected) << n;
  }
}

// Did not come back from an H200 (driver 580.159.04, tileiras 13.4.92); which of the two kernels is at fault is not known.
TEST_F(TileKernels, DISABLED_SlicesAndTheirProductEqualTheHosts) {
  constexpr int kM = 144;
  constexpr int kN = 80;
  constexpr int kK = 304;
  constexpr int kSlices = 7;
  constexpr int kDepth = 9;
  constexpr int kBlock = 128;
  const int rho = num::slice_rho(kBlock, 8);
  std::mt19937 random(3);
  std::normal_distribution<double> normal;
  struct Side {
    std::vector<double> x, sigmas, inverse_scales;
    std::vector<__nv_bfloat16> slices;
    int exponent = 0;
  };
  const auto make = [&](int rows, int cols) {
    Side side;
    side.x.resize(at(rows * cols));
    double largest = 0;
    for (double& v : side.x) largest = std::max(largest, std::fabs(v = normal(random)));
    side.exponent = num::slice_exponent(largest);
    for (int p = 0; p < kSlices; ++p) {
      side.sigmas.push_back(num::slice_sigma(side.exponent, rho, p));
      side.inverse_scales.push_back(1 / num::slice_scale(side.exponent, rho, p));
    }
    side.slices.resize(at(kSlices * rows * cols));
    const Status status = KIZAMI_TILE_LAUNCH(
        (tile_kernels::veltkamp_split_block<__nv_bfloat16, 16, 64, tile_kernels::ScaleOf::kMatrix, false>),
        blocks(rows, 16, cols, 64), nullptr, side.x.data(), cols, side.slices.data(), std::int64_t{rows} * cols, cols,
        side.sigmas.data(), side.inverse_scales.data(), 1, kSlices, rows, cols);
    EXPECT_TRUE(status.ok()) << status.reason();
    const DeviceArray<double> x(side.x);
    const DeviceArray<double> sigmas(side.sigmas);
    const DeviceArray<double> inverse_scales(side.inverse_scales);
    const DeviceArray<__nv_bfloat16> slices(side.slices.size());
    run(kizami_tile_slices, "veltkamp_split_bf16_matrix", dim3(blocks(rows, 32, cols, 64)), x.data(), cols,
        slices.data(), std::int64_t{rows} * cols, cols, sigmas.data(), inverse_scales.data(), 1, kSlices, rows, cols);
    const std::vector<__nv_bfloat16> found = slices.download();
    EXPECT_TRUE(std::equal(found.begin(), found.end(), side.slices.begin(), [](__nv_bfloat16 a, __nv_bfloat16 b) {
      return static_cast<float>(a) == static_cast<float>(b);
    }));
    return side;
  };
  const Side A = make(kM, kK);
  const Side B = make(kK, kN);
  std::vector<double> scales;
  for (int p = 0; p < kSlices; ++p) {
    for (int q = 0; q < kSlices; ++q)
      scales.push_back(num::slice_scale(A.exponent, rho, p) * num::slice_scale(B.exponent, rho, q));
  }
  std::vector<double> expected(at(kM * kN));
  ASSERT_TRUE(KIZAMI_TILE_LAUNCH((tile_kernels::slice_product_block<__nv_bfloat16, 16, 64, 64, false>),
                                 blocks(kM, 16, kN, 64), nullptr, A.slices.data(), std::int64_t{kM} * kK, kK,
                                 B.slices.data(), std::int64_t{kK} * kN, kN, scales.data(), expected.data(), kN,
                                 kSlices, kSlices, kDepth, kM, kN, kK, kBlock / 64, 8)
                  .ok());
  const DeviceArray<__nv_bfloat16> a(A.slices);
  const DeviceArray<__nv_bfloat16> b(B.slices);
  const DeviceArray<double> device_scales(scales);
  const DeviceArray<double> c(expected.size());
  run(kizami_tile_slices, "slice_product_bf16", dim3(blocks(kM, 128, kN, 64)), a.data(), std::int64_t{kM} * kK, kK,
      b.data(), std::int64_t{kK} * kN, kN, device_scales.data(), c.data(), kN, kSlices, kSlices, kDepth, kM, kN, kK,
      kBlock / 64, 8);
  EXPECT_EQ(c.download(), expected);
}

TEST_F(TileKernels, ResiduesEqualTheHosts) {
  constexpr int kRows = 37;
  constexpr int kCols = 150;
  constexpr int kPadded = 192;
  constexpr int kModuli = 14;
  std::mt19937_64 random(5);
  std::normal_distribution<double> normal;
  std::vector<double> x(at(kRows * kCols));
  for (double& v : x) v = std::ldexp(normal(random), static_cast<int>(random() % 40) - 20);
  const std::vector<double> first(kRows, 0x1p30);
  const std::vector<double> second(kRows, 0x1p4);
  const std::vector<std::int16_t> moduli(num::kRealModuli.begin(), num::kRealModuli.begin() + kModuli);
  constexpr std::int64_t kPlane = std::int64_t{kRows} * kPadded;
  std::vector<std::int8_t> expected(at(kModuli * kPlane));
  ASSERT_TRUE(KIZAMI_TILE_LAUNCH((tile_kernels::residue_split_block<2, 4, 64, false>), blocks(kRows, 4, kPadded, 64),
                                 nullptr, x.data(), kCols, first.data(), second.data(), moduli.data(), kModuli,
                                 expected.data(), kPlane, kPadded, kRows, kCols, kPadded)
                  .ok());
  const DeviceArray<double> in(x);
  const DeviceArray<double> f(first);
  const DeviceArray<double> g(second);
  const DeviceArray<std::int16_t> p(moduli);
  const DeviceArray<std::int8_t> planes(expected.size());
  run(kizami_tile_ozaki2, "residue_split_2", dim3(blocks(kRows, 16, kPadded, 64)), in.data(), kCols, f.data(), g.data(),
      p.data(), kModuli, planes.data(), kPlane, kPadded, kRows, kCols, kPadded);
  EXPECT_EQ(planes.download(), expected);
  EXPECT_TRUE(planes.guards_are_intact());
}

template <PlaneEpilogue kEpilogue, class Result>
void expect_planes(const char* name, int m, int n, int k, int col_stride) {
  const int stride = (k + 63) / 64 * 64;
  const std::vector<std::int16_t> moduli = {256, 255, 251};
  const auto num_products = static_cast<int>(moduli.size());
  const std::vector<std::int8_t> a = random_bytes(std::int64_t{num_products} * m, k, stride, 1);
  const std::vector<std::int8_t> b = random_bytes(std::int64_t{num_products} * n, k, stride, 2);
  const std::int64_t c_plane = std::int64_t{col_stride} * n;
  std::vector<Result> expected(at(num_products * c_plane), 3);
  const DeviceArray<Result> c(expected);
  const auto launch_host =
      KIZAMI_TILE_LAUNCH((tile_kernels::product_i8_block<kEpilogue, Result, 32, 64, 64, false>),
                         dim3(blocks(n, 32, m, 64), 1, static_cast<unsigned>(num_products)), nullptr, a.data(),
                         std::int64_t{m} * stride, stride, b.data(), std::int64_t{n} * stride, stride, expected.data(),
                         c_plane, col_stride, moduli.data(), m, n, k, 8);
  ASSERT_TRUE(launch_host.ok()) << launch_host.reason();
  const DeviceArray<std::int8_t> device_a(a);
  const DeviceArray<std::int8_t> device_b(b);
  const DeviceArray<std::int16_t> p(moduli);
  run(kizami_tile_ozaki2, name, dim3(blocks(n, 128, m, 128), 1, static_cast<unsigned>(num_products)), device_a.data(),
      std::int64_t{m} * stride, stride, device_b.data(), std::int64_t{n} * stride, stride, c.data(), c_plane,
      col_stride, p.data(), m, n, k, 8);
  EXPECT_EQ(c.download(), expected) << name << " " << m << " x " << n << " x " << k;
  EXPECT_TRUE(c.guards_are_intact());
}
TEST_F(TileKernels, ProductsOfPlanesEqualTheHosts) {
  for (const int k : {1, 100, 1000}) {
    expect_planes<PlaneEpilogue::kStoreAcc, std::int32_t>("product_i8_store", 130, 129, k, 131);
    expect_planes<PlaneEpilogue::kReduce, std::int8_t>("product_i8_reduce_any", 130, 129, k, 131);
    expect_planes<PlaneEpilogue::kReduce, std::int8_t>("product_i8_reduce", 144, 129, k, 144);
    expect_planes<PlaneEpilogue::kReduceAdd, std::int8_t>("product_i8_reduce_add", 144, 129, k, 144);
  }
}

TEST_F(TileKernels, CrtEqualsTheHosts) {
  constexpr int kModuli = 14;
  constexpr int kDigits = 4;
  constexpr int kM = 130;
  constexpr int kN = 19;
  const num::CrtTable& table = num::crt_table(num::Ring::kReal, kModuli);
  ASSERT_EQ(table.num_digits, kDigits);
  std::mt19937 random(9);
  std::vector<std::int8_t> residues(at(kModuli * kM * kN));
  for (int l = 0; l < kModuli; ++l) {
    const int p = num::kRealModuli[at(l)];
    for (int e = 0; e < kM * kN; ++e) {
      residues[at(l * kM * kN + e)] =
          static_cast<std::int8_t>(static_cast<int>(random() % static_cast<unsigned>(p)) - p / 2);
    }
  }
  std::vector<double> half;
  for (int d = 0; d < kDigits; ++d) half.push_back(num::detail::crt_digit(table.half_wide, d));
  std::vector<double> row_factors(kM);
  std::vector<double> col_factors(kN);
  for (int i = 0; i < kM; ++i) row_factors[at(i)] = std::ldexp(1.0, i % 20 - 50);
  for (int j = 0; j < kN; ++j) col_factors[at(j)] = std::ldexp(1.0, -40 - j);
  std::vector<double> expected(at(kM * kN));
  for (double& v : expected) v = std::ldexp(static_cast<double>(random()), -32);
  const DeviceArray<double> c(expected);
  constexpr double kAlpha = 0.3;
  constexpr double kBeta = -0.7;
  ASSERT_TRUE(KIZAMI_TILE_LAUNCH((tile_kernels::crt_block<kDigits, 4, 32>), blocks(kN, 4, kM, 32), nullptr,
                                 residues.data(), std::int64_t{kM} * kN, kM, kModuli, &table.weight[0][0],
                                 table.fraction, table.product, half.data(), row_factors.data(), col_factors.data(),
                                 kAlpha, kBeta, expected.data(), kM, kM, kN)
                  .ok());
  const DeviceArray<std::int8_t> r(residues);
  const DeviceArray<double> weights(
      std::vector<double>(&table.weight[0][0], &table.weight[kModuli - 1][0] + num::kMaxCrtDigits));
  const DeviceArray<double> fractions(std::vector<double>(table.fraction, table.fraction + kModuli));
  const DeviceArray<double> product(std::vector<double>(table.product, table.product + kDigits));
  const DeviceArray<double> device_half(half);
  const DeviceArray<double> rows(row_factors);
  const DeviceArray<double> cols(col_factors);
  run(kizami_tile_ozaki2, "crt_4", dim3(blocks(kN, 8, kM, 64)), r.data(), std::int64_t{kM} * kN, kM, kModuli,
      weights.data(), fractions.data(), product.data(), device_half.data(), rows.data(), cols.data(), kAlpha, kBeta,
      c.data(), kM, kM, kN);
  EXPECT_EQ(c.download(), expected);
  EXPECT_TRUE(c.guards_are_intact());
}

}  // namespace
}  // namespace kizami::gpu_test
#endif
