// SPDX-License-Identifier: MIT
// The phases of scheme ozaki2 as tile kernels, equal to the CPU's by ==: residues of scaled elements, products of planes with
// each epilogue, reconstruction.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "num/crt_table.hpp"
#include "num/modular.hpp"
#include "schemes/ozaki2/crt.hpp"
#include "schemes/ozaki2/residues.hpp"
#include "tile_kernels/crt.hpp"
#include "tile_kernels/crt_record.hpp"
#include "tile_kernels/product_i8.hpp"
#include "tile_kernels/residue_split.hpp"

namespace kizami::tile_kernels_test {
namespace {

using Epilogue = tile_kernels::PlaneEpilogue;

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }
unsigned blocks(int rows, int tile_rows, int cols, int tile_cols) {
  return static_cast<unsigned>(((rows + tile_rows - 1) / tile_rows) * ((cols + tile_cols - 1) / tile_cols));
}

TEST(SymmetricResidues, EqualTheDefinitionForEveryModulus) {
  namespace ct = cuda::tiles;
  using Tile = ct::tile<std::int32_t, ct::shape<16>>;
  const std::vector<std::int32_t> x = {0,           1,
                                       -1,          127,
                                       128,         -128,
                                       -129,        255,
                                       -257,        123456789,
                                       -123456789,  2147483647,
                                       -2147483647, -2147483647 - 1,
                                       1 << 30,     -(1 << 30) - 77};
  const ct::partition_view in{ct::tensor_span{x.data(), ct::shape<16>{}}, ct::shape<16>{}};
  for (int p = 2; p <= 256; ++p) {
    std::vector<std::int32_t> r(16);
    ct::partition_view{ct::tensor_span{r.data(), ct::shape<16>{}}, ct::shape<16>{}}.store(
        tile_kernels::symmetric_residues<Tile>(in.load(0), p), 0);
    for (std::size_t i = 0; i < 16; ++i) ASSERT_EQ(r[i], num::symmetric_residue(x[i], p)) << x[i] << " mod " << p;
  }
}

template <int kLimbs>
void expect_residues(int max_bits) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal;
  for (const int cols : {1, 30, 64, 100}) {
    constexpr int kRows = 5;
    const int padded = (cols + 63) / 64 * 64;
    std::vector<double> x(at(kRows * padded));
    for (int i = 0; i < kRows; ++i) {
      for (int h = 0; h < cols; ++h)
        x[at(i * padded + h)] = std::ldexp(normal(random), static_cast<int>(random() % 60) - 30);
    }
    x[0] = std::ldexp(0.5, -20);  // half an integer once scaled: ties to even
    std::vector<double> first(kRows);
    std::vector<double> second(kRows);
    for (int i = 0; i < kRows; ++i) {
      // |x| < 2^34 (normal numbers beyond 16 do not occur here): the largest integers have max_bits bits.
      first[at(i)] = std::ldexp(1.0, max_bits - 34 - i - 40);
      second[at(i)] = 0x1p40;
    }
    const int num_moduli = 20;
    const std::int64_t plane = std::int64_t{kRows} * padded;
    std::vector<std::int8_t> planes(at(num_moduli * plane), 99);
    std::vector<std::int8_t> expected(planes.size(), 0);
    for (int i = 0; i < kRows; ++i) {
      ozaki2::residue_row(x.data() + i * padded, padded, first[at(i)], second[at(i)], max_bits, num::kRealModuli.data(),
                          num_moduli, expected.data() + i * padded, plane);
    }
    const Status status =
        KIZAMI_TILE_LAUNCH((tile_kernels::residue_split_block<kLimbs, 4, 32, false>), blocks(kRows, 4, padded, 32),
                           nullptr, x.data(), padded, first.data(), second.data(), num::kRealModuli.data(), num_moduli,
                           planes.data(), plane, padded, kRows, cols, kRows, padded);
    ASSERT_TRUE(status.ok()) << status.reason();
    ASSERT_EQ(planes, expected) << cols << " columns, " << max_bits << " bits";
  }
}
TEST(ResidueSplit, EqualsTheCpuWithOneLimb) { expect_residues<1>(52); }
TEST(ResidueSplit, EqualsTheCpuWithTwoLimbs) { expect_residues<2>(96); }
TEST(ResidueSplit, EqualsTheCpuWithThreeLimbs) { expect_residues<3>(140); }
TEST(ResidueSplit, EqualsTheCpuWithFourLimbs) { expect_residues<4>(184); }

/// The first num_made of 4 planes.
template <Epilogue kEpilogue, class Result>
void expect_planes(int m, int n, int k, const std::int32_t* num_made = nullptr) {
  const int stride = (k + 63) / 64 * 64;
  const int col_stride = m + 5;
  const std::vector<std::int16_t> moduli = {256, 255, 67, 2};
  const auto num_products = static_cast<int>(moduli.size());
  std::mt19937 random(static_cast<unsigned>(m + 100 * n + 10000 * k));
  std::uniform_int_distribution<int> bytes(-128, 127);
  const auto planes_of = [&](int rows) {
    std::vector<std::int8_t> planes(at(std::int64_t{num_products} * rows * stride), 0);
    for (int row = 0; row < num_products * rows; ++row) {
      for (int l = 0; l < k; ++l) planes[at(std::int64_t{row} * stride + l)] = static_cast<std::int8_t>(bytes(random));
    }
    return planes;
  };
  const std::vector<std::int8_t> a = planes_of(m);
  const std::vector<std::int8_t> b = planes_of(n);
  const std::int64_t c_plane = std::int64_t{col_stride} * n;
  std::vector<Result> c(at(num_products * c_plane), 3);
  const dim3 grid(blocks(n, 16, m, 32), 1, static_cast<unsigned>(num_products));
  const Status status =
      KIZAMI_TILE_LAUNCH((tile_kernels::product_i8_block<kEpilogue, Result, 16, 32, 64, false>), grid, nullptr,
                         a.data(), std::int64_t{m} * stride, stride, b.data(), std::int64_t{n} * stride, stride,
                         c.data(), c_plane, col_stride, moduli.data(), 0, num_made, num_products, m, n, k, 2);
  ASSERT_TRUE(status.ok()) << status.reason();
  for (int l = 0; l < num_products; ++l) {
    for (int j = 0; j < n; ++j) {
      for (int i = 0; i < m; ++i) {
        constexpr bool kAdds = kEpilogue == Epilogue::kReduceAdd || kEpilogue == Epilogue::kStoreAdd;
        std::int64_t sum = kAdds ? 3 : 0;
        for (int h = 0; h < k; ++h) {
          sum += a[at((std::int64_t{l} * m + i) * stride + h)] * b[at((std::int64_t{l} * n + j) * stride + h)];
        }
        if (sizeof(Result) == 1) sum = num::symmetric_residue(sum, moduli[at(l)]);
        if (num_made != nullptr && l >= *num_made) sum = 3;
        ASSERT_EQ(c[at(l * c_plane + j * col_stride + i)], sum)
            << "plane " << l << " at " << i << ", " << j << ", k = " << k;
      }
      for (int i = m; i < col_stride; ++i) ASSERT_EQ(c[at(l * c_plane + j * col_stride + i)], 3) << "beyond the column";
    }
  }
}
TEST(ProductI8, EveryEpilogueExactly) {
  for (const int k : {1, 64, 150}) {
    expect_planes<Epilogue::kStoreAcc, std::int32_t>(33, 17, k);
    expect_planes<Epilogue::kReduce, std::int8_t>(33, 17, k);
    expect_planes<Epilogue::kReduceAdd, std::int8_t>(5, 40, k);
    expect_planes<Epilogue::kStoreAdd, std::int32_t>(33, 17, k);
  }
}
TEST(ProductI8, MakesAsManyPlanesAsMemorySays) {
  for (const std::int32_t count : {-3, 0, 1, 3, 4, 99}) {
    expect_planes<Epilogue::kStoreAcc, std::int32_t>(33, 17, 70, &count);
    expect_planes<Epilogue::kStoreAdd, std::int32_t>(33, 17, 70, &count);
    expect_planes<Epilogue::kReduce, std::int8_t>(33, 17, 70, &count);
    expect_planes<Epilogue::kReduceAdd, std::int8_t>(33, 17, 70, &count);
  }
}

TEST(CrtRecord, HoldsEveryCountOfItsDigits) {
  using R = tile_kernels::CrtRecord;
  EXPECT_EQ(num::crt_table(num::Ring::kReal, R::kMostModuli).num_digits, R::kMostDigits);
  EXPECT_GT(num::crt_table(num::Ring::kReal, R::kMostModuli + 1).num_digits, R::kMostDigits);
  const std::vector<double> records = tile_kernels::make_crt_records();
  for (int count = num::kMinModuli; count <= R::kMostModuli; ++count) {
    const num::CrtTable& table = num::crt_table(num::Ring::kReal, count);
    const double* const record = records.data() + count * R::kSize;
    for (int d = 0; d < R::kMostDigits; ++d) {
      EXPECT_EQ(record[R::kWeights + (count - 1) * num::kMaxCrtDigits + d], table.weight[count - 1][d]) << count;
      EXPECT_EQ(record[R::kProduct + d], table.product[d]) << count;
      EXPECT_EQ(record[R::kHalf + d], num::detail::crt_digit(table.half_wide, d)) << count;
    }
    EXPECT_EQ(record[R::kFractions + count - 1], table.fraction[count - 1]) << count;
  }
}

template <int kDigits>
void expect_crt(int num_moduli, double alpha, double beta) {
  const num::CrtTable& table = num::crt_table(num::Ring::kReal, num_moduli);
  ASSERT_EQ(table.num_digits, kDigits) << num_moduli << " moduli";
  constexpr int kM = 40;
  constexpr int kN = 7;
  constexpr int kColStride = 64;
  std::mt19937 random(static_cast<unsigned>(num_moduli));
  std::vector<std::int8_t> residues(at(num_moduli * kN * kColStride), 0);
  for (int l = 0; l < num_moduli; ++l) {
    const int p = num::kRealModuli[at(l)];
    for (int j = 0; j < kN; ++j) {
      for (int i = 0; i < kM; ++i) {
        // Columns of random residues (integers as large as P), of -1, 0, 1, of small ones and of the largest magnitude.
        std::int64_t value = static_cast<std::int64_t>(random());
        if (j == 1) value = i % 3 - 1;
        if (j == 2) value = std::int64_t{i} * 1000003 - 20000000;
        if (j == 3) value = (std::int64_t{1} << 53) + i;  // ties
        residues[at((l * kN + j) * kColStride + i)] = static_cast<std::int8_t>(num::symmetric_residue(value, p));
        if (j == 4) {  // (P - 1) / 2 - i and its negative
          const auto rest = num::div_small(table.half_wide, static_cast<std::uint64_t>(p)).remainder;
          const std::int64_t near_half = static_cast<std::int64_t>(rest) - i / 2;
          residues[at((l * kN + j) * kColStride + i)] =
              static_cast<std::int8_t>(num::symmetric_residue(i % 2 == 0 ? near_half : -near_half, p));
        }
      }
    }
  }
  std::vector<std::int32_t> row_scale(kM);
  std::vector<std::int32_t> col_scale(kN);
  std::vector<double> row_factor(kM);
  std::vector<double> col_factor(kN);
  for (int i = 0; i < kM; ++i) row_factor[at(i)] = std::ldexp(1.0, -(row_scale[at(i)] = i - 10));
  for (int j = 0; j < kN; ++j) col_factor[at(j)] = std::ldexp(1.0, -(col_scale[at(j)] = 3 * j));
  std::vector<double> C(at(kM * kN));
  for (double& v : C) v = std::ldexp(static_cast<double>(random()), -20);
  std::vector<double> expected = C;
  ozaki2::reconstruct_crt<double>({residues.data(), num_moduli, kColStride, kN * kColStride}, row_scale.data(),
                                  col_scale.data(), alpha, beta, 1, {expected.data(), kM, kN, 1, kM});
  std::vector<double> half;
  for (int d = 0; d < kDigits; ++d) half.push_back(num::detail::crt_digit(table.half_wide, d));
  const Status status = KIZAMI_TILE_LAUNCH((tile_kernels::crt_block<kDigits, 4, 16, false>), blocks(kN, 4, kM, 16),
                                           nullptr, residues.data(), std::int64_t{kN} * kColStride, kColStride,
                                           num_moduli, &table.weight[0][0], table.fraction, table.product, half.data(),
                                           row_factor.data(), col_factor.data(), alpha, beta, C.data(), kM, kM, kN);
  ASSERT_TRUE(status.ok()) << status.reason();
  for (int j = 0; j < kN; ++j) {
    for (int i = 0; i < kM; ++i) {
      ASSERT_EQ(C[at(j * kM + i)], expected[at(j * kM + i)]) << num_moduli << " moduli at " << i << ", " << j;
    }
  }
}
TEST(Crt, EqualsTheCpuWithAsManyModuliAsFp64Needs) {
  expect_crt<3>(13, 1, 0);
  expect_crt<4>(14, 1, 0);
  expect_crt<4>(17, 1, 0);
}
TEST(Crt, EqualsTheCpuWithFewAndManyModuli) {
  expect_crt<1>(3, 1, 0);
  expect_crt<2>(7, 1, 0);
  expect_crt<5>(20, 1, 0);
  expect_crt<10>(49, 1, 0);
}
TEST(Crt, EqualsTheCpuWithAlphaAndBeta) {
  expect_crt<4>(15, -1.5, 0);
  expect_crt<4>(15, 0.3, -0.7);
}

}  // namespace
}  // namespace kizami::tile_kernels_test
