// SPDX-License-Identifier: MIT
// The tile kernels of src/tile_kernels on the device beside the same source on the host: equal by == where everything
// is exact or FP64 in a fixed order, within their bounds where the order of a sum is the compiler's.
#if defined(KIZAMI_TEST_HAS_TILE)
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "gpu/tile_launch.hpp"
#include "num/crt_table.hpp"
#include "tile_kernels/crt.hpp"
#include "tile_kernels/crt_record.hpp"
#include "tile_kernels/product_i8.hpp"
#include "tile_kernels/residue_split.hpp"
#include "tile_kernels/row_cases.hpp"

extern "C" const unsigned long long kizami_tile_rows[];
extern "C" const unsigned long long kizami_tile_ozaki2[];

namespace kizami::gpu_test {
namespace {

using tile_kernels::PlaneEpilogue;
using TileKernels = DeviceTest;

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

template <int kLimbs>
void expect_residues(const char* name, bool is_across, int rows, int cols, double second_factor) {
  const int padded = (cols + 63) / 64 * 64;
  const int padded_rows = (rows + 15) / 16 * 16;
  constexpr int kModuli = 14;
  std::mt19937_64 random(5);
  std::normal_distribution<double> normal;
  std::vector<double> x(at(std::int64_t{rows} * cols));
  for (double& v : x) v = std::ldexp(normal(random), static_cast<int>(random() % 20) - 10);
  std::vector<double> first(at(rows), 0x1p20);
  const std::vector<double> second(at(rows), second_factor);
  const std::vector<std::int16_t> moduli(num::kRealModuli.begin(), num::kRealModuli.begin() + kModuli);
  const std::int64_t plane = std::int64_t{padded_rows} * padded;
  std::vector<std::int8_t> expected(at(kModuli * plane));
  const auto by_host = [&](auto order) {
    return KIZAMI_TILE_LAUNCH((tile_kernels::residue_split_block<kLimbs, 16, 64, false, order.value>),
                              blocks(padded_rows, 16, padded, 64), nullptr, x.data(), is_across ? rows : cols,
                              first.data(), second.data(), moduli.data(), kModuli, expected.data(), plane, padded, rows,
                              cols, padded_rows, padded);
  };
  using tile_kernels::Order;
  const Status status = is_across ? by_host(std::integral_constant<Order, Order::kColMajor>{})
                                  : by_host(std::integral_constant<Order, Order::kRowMajor>{});
  ASSERT_TRUE(status.ok()) << status.reason();
  // Lines without factors may hold anything, and have no residues.
  for (int j = 0; j < cols; ++j)
    x[at(is_across ? std::int64_t{j} * rows + 3 : std::int64_t{3} * cols + j)] = std::nan("");
  first[3] = 0;
  for (int l = 0; l < kModuli; ++l) std::fill_n(expected.begin() + l * plane + 3 * padded, padded, std::int8_t{0});
  const DeviceArray<double> in(x);
  const DeviceArray<double> f(first);
  const DeviceArray<double> g(second);
  const DeviceArray<std::int16_t> p(moduli);
  const DeviceArray<std::int32_t> count(std::vector<std::int32_t>{kModuli});
  const DeviceArray<std::int8_t> planes(expected.size());
  const std::vector<std::int8_t> before = planes.download();
  for (const int most : {kModuli - 1, kModuli}) {
    run(kizami_tile_ozaki2, name, dim3(blocks(padded_rows, 16, padded, 64)), in.data(), is_across ? rows : cols,
        f.data(), g.data(), p.data(), count.data(), 1, most, planes.data(), plane, padded, rows, cols, padded_rows,
        padded);
    EXPECT_TRUE(same_bits(planes.download(), most < kModuli ? before : expected))
        << name << " " << rows << " x " << cols << ", most " << most;
  }
  EXPECT_TRUE(planes.guards_are_intact());
}
TEST_F(TileKernels, ResiduesEqualTheHosts) {
  expect_residues<1>("residue_split_1", false, 37, 150, 0x1p12);
  expect_residues<1>("residue_split_1_across", true, 37, 150, 0x1p12);
  expect_residues<2>("residue_split_2", false, 37, 150, 0x1p40);
  expect_residues<2>("residue_split_2_across", true, 37, 150, 0x1p40);
  expect_residues<2>("residue_split_2", false, 1031, 1100, 0x1p40);  // more blocks than run at a time
}

template <PlaneEpilogue kEpilogue, class Result>
void expect_planes(const char* name, int m, int n, int k, int col_stride) {
  const int stride = (k + 63) / 64 * 64;
  const std::vector<std::int16_t> moduli = {256, 255, 251};
  const auto num_products = static_cast<int>(moduli.size());
  const std::vector<std::int8_t> a = random_bytes(std::int64_t{num_products} * m, k, stride, 1);
  const std::vector<std::int8_t> b = random_bytes(std::int64_t{num_products} * n, k, stride, 2);
  const std::uint32_t c_plane = elements(col_stride, n);
  std::vector<Result> expected(num_products * c_plane, 3);
  const DeviceArray<Result> c(expected);
  const auto launch_host =
      KIZAMI_TILE_LAUNCH((tile_kernels::product_i8_block<kEpilogue, Result, 32, 64, 64, false>),
                         dim3(blocks(n, 32, m, 64), 1, static_cast<unsigned>(num_products)), nullptr, a.data(),
                         elements(m, stride), stride, b.data(), elements(n, stride), stride, expected.data(), c_plane,
                         col_stride, moduli.data(), 0, nullptr, num_products, m, n, k, 8);
  ASSERT_TRUE(launch_host.ok()) << launch_host.reason();
  const DeviceArray<std::int8_t> device_a(a);
  const DeviceArray<std::int8_t> device_b(b);
  constexpr std::uint64_t kModuli = 255 | 254 << 8 | 250 << 16;  // tile_kernels::PackedModuli
  constexpr std::uint64_t kNone = 0;
  const std::int32_t* const all = nullptr;
  run(kizami_tile_ozaki2, name, dim3(blocks(n, 128, m, 128), 1, static_cast<unsigned>(num_products)), device_a.data(),
      elements(m, stride), stride, device_b.data(), elements(n, stride), stride, c.data(), c_plane, col_stride, kModuli,
      kNone, kNone, kNone, kNone, kNone, kNone, kNone, 0, all, num_products, m, n, k, 8);
  EXPECT_EQ(c.download(), expected) << name << " " << m << " x " << n << " x " << k;
  EXPECT_TRUE(c.guards_are_intact());
}
TEST_F(TileKernels, ProductsOfPlanesEqualTheHosts) {
  for (const int k : {1, 100, 1000}) {
    expect_planes<PlaneEpilogue::kStoreAcc, std::int32_t>("product_i8_store_any", 130, 129, k, 131);
    expect_planes<PlaneEpilogue::kStoreAcc, std::int32_t>("product_i8_store", 132, 129, k, 144);
    expect_planes<PlaneEpilogue::kStoreAdd, std::int32_t>("product_i8_store_add_any", 130, 129, k, 131);
    expect_planes<PlaneEpilogue::kStoreAdd, std::int32_t>("product_i8_store_add", 132, 129, k, 144);
    expect_planes<PlaneEpilogue::kReduce, std::int8_t>("product_i8_reduce_any", 130, 129, k, 131);
    expect_planes<PlaneEpilogue::kReduce, std::int8_t>("product_i8_reduce", 144, 129, k, 144);
    expect_planes<PlaneEpilogue::kReduceAdd, std::int8_t>("product_i8_reduce_add_any", 130, 129, k, 131);
    expect_planes<PlaneEpilogue::kReduceAdd, std::int8_t>("product_i8_reduce_add", 144, 129, k, 144);
  }
  expect_planes<PlaneEpilogue::kReduceAdd, std::int8_t>("product_i8_reduce_add", 1040, 720, 304, 1056);
}

template <int kDigits>
void expect_crt(const char* name, int num_moduli, int m, int n, double alpha, double beta) {
  const num::CrtTable& table = num::crt_table(num::Ring::kReal, num_moduli);
  const int col_stride = (m + 15) / 16 * 16;
  const std::int64_t plane = std::int64_t{col_stride} * n;
  ASSERT_EQ(table.num_digits, kDigits);
  std::mt19937 random(9);
  std::vector<std::int8_t> residues(at(num_moduli * plane));
  for (int l = 0; l < num_moduli; ++l) {
    const int p = num::kRealModuli[at(l)];
    for (std::int64_t e = 0; e < plane; ++e) {
      residues[at(l * plane + e)] =
          static_cast<std::int8_t>(static_cast<int>(random() % static_cast<unsigned>(p)) - p / 2);
    }
  }
  std::vector<double> half;
  for (int d = 0; d < kDigits; ++d) half.push_back(num::detail::crt_digit(table.half_wide, d));
  std::vector<double> row_factors(at(m));
  std::vector<double> col_factors(at(n));
  for (int i = 0; i < m; ++i) row_factors[at(i)] = std::ldexp(1.0, i % 20 - 50);
  for (int j = 0; j < n; ++j) col_factors[at(j)] = std::ldexp(1.0, -40 - j % 30);
  std::vector<double> expected(at(std::int64_t{m} * n));
  for (double& v : expected) v = std::ldexp(static_cast<double>(random()), -32);
  const std::vector<double> before = expected;
  const DeviceArray<double> c(before);
  ASSERT_TRUE(KIZAMI_TILE_LAUNCH((tile_kernels::crt_block<kDigits, 4, 32, false>), blocks(n, 4, m, 32), nullptr,
                                 residues.data(), plane, col_stride, num_moduli, &table.weight[0][0], table.fraction,
                                 table.product, half.data(), row_factors.data(), col_factors.data(), alpha, beta,
                                 expected.data(), m, m, n)
                  .ok());
  const DeviceArray<std::int8_t> r(residues);
  const DeviceArray<double> records(tile_kernels::make_crt_records());
  const DeviceArray<double> rows(row_factors);
  const DeviceArray<double> cols(col_factors);
  const DeviceArray<std::int32_t> count(std::vector<std::int32_t>{num_moduli});
  for (const int least : {num_moduli + 1, 2}) {  // not its count: C is left alone
    run(kizami_tile_ozaki2, name, dim3(blocks(n, 8, m, 64)), r.data(), plane, col_stride, count.data(), least, 99,
        records.data(), rows.data(), cols.data(), alpha, beta, c.data(), m, m, n);
    if (least > num_moduli) {
      EXPECT_EQ(c.download(), before) << name;
    }
  }
  EXPECT_EQ(c.download(), expected) << name << " " << m << " x " << n;
  EXPECT_TRUE(c.guards_are_intact());
}
TEST_F(TileKernels, CrtEqualsTheHosts) {
  expect_crt<3>("crt_3", 10, 130, 19, 0.3, -0.7);
  expect_crt<4>("crt_4", 14, 130, 19, 1.0, 0.0);
  expect_crt<5>("crt_5", 19, 130, 19, -2.5, 1.0);
  expect_crt<6>("crt_6", 24, 130, 19, 0.75, 0.0);
  expect_crt<6>("crt_6", 28, 130, 19, 1.0, 0.0);
  expect_crt<4>("crt_4", 14, 1031, 517, 0.3, -0.7);  // more blocks than run at a time
}

}  // namespace
}  // namespace kizami::gpu_test
#endif
