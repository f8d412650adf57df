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
#include "tile_kernels/residue_split.hpp"
#include "tile_kernels/row_cases.hpp"

extern "C" const unsigned long long kizami_tile_rows[];
extern "C" const unsigned long long kizami_tile_ozaki2[];

namespace kizami::gpu_test {
namespace {

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

}  // namespace
}  // namespace kizami::gpu_test
#endif
