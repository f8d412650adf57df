// SPDX-License-Identifier: MIT
// The seven products as the split and the CRT of a device take them, in integers.
#include "schemes/ozaki2/strassen.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "schemes/ozaki2/device_crt.hpp"

namespace kizami::ozaki2 {
namespace {

using Quadrants = std::array<std::int64_t, 4>;  ///< by halves of the lines, then of k

[[nodiscard]] std::array<std::int64_t, kStrassenProducts> sums_of(const Quadrants& x) {
  std::array<std::int64_t, kStrassenProducts> sums{};
  for (int s = 0; s < kStrassenProducts; ++s) {
    for (int q = 0; q < 4; ++q) {
      if (has_quadrant(s, q)) sums[static_cast<std::size_t>(s)] += x[static_cast<std::size_t>(q)];
    }
  }
  return sums;
}

/// With the signs of what the split sums. A line of B is a column.
[[nodiscard]] Quadrants with_signs(bool is_b, Quadrants x) {
  for (int q = 0; q < 4; ++q) {
    if (is_quadrant_negative(is_b, q / 2, q % 2)) x[static_cast<std::size_t>(q)] *= -1;
  }
  return x;
}

TEST(Strassen, SevenProductsAreTheEight) {
  // Products of quadrants are bilinear: all pairs of single quadrants are enough.
  for (std::size_t i = 0; i < 4; ++i) {
    for (std::size_t j = 0; j < 4; ++j) {
      Quadrants a{};
      Quadrants b{};
      a[i] = 3;
      b[j] = 5;
      const auto of_a = sums_of(with_signs(false, a));
      const auto of_b = sums_of(with_signs(true, b));
      std::array<std::int64_t, kStrassenProducts> p{};
      for (int s = 0; s < kStrassenProducts; ++s) {
        const auto product = static_cast<std::size_t>(strassen_product_of_b(s));
        p[product] = of_a[product] * of_b[static_cast<std::size_t>(s)];
      }
      // As the CRT takes them.
      EXPECT_EQ(p[1] - p[0], a[0] * b[0] + a[1] * b[1]);
      EXPECT_EQ(p[5] - p[0] - p[4] - p[2], a[0] * b[2] + a[1] * b[3]);
      EXPECT_EQ(p[5] - p[0] - p[6] - p[3], a[2] * b[0] + a[3] * b[1]);
      EXPECT_EQ(p[5] - p[0] - p[6] - p[4], a[2] * b[2] + a[3] * b[3]);
    }
  }
}

TEST(Strassen, HalvesHoldTheWhole) {
  for (const std::int64_t extent : {1, 2, 31, 32, 33, 255, 256, 257, 8192, 16383}) {
    const StrassenHalves halves = strassen_halves({Scalar::kF64, extent, extent, extent});
    for (const std::int64_t half : {halves.m, halves.n, halves.k}) EXPECT_GE(2 * half, extent);
    EXPECT_EQ(halves.m % 16, 0);
    EXPECT_EQ(halves.n % 16, 0);
    EXPECT_EQ(halves.k % 128, 0);
    EXPECT_LT(halves.m, (extent + 1) / 2 + 16);
    EXPECT_LT(halves.k, (extent + 1) / 2 + 128);
  }
}

/// The CRT of quadrants sums four products of each plane: its sums of digits and of pieces are those of residues up to 512.
TEST(Strassen, SumsOfFourResiduesAreExact) {
  std::vector<DeviceCrtTable> tables = make_device_crt_tables(num::Ring::kReal);
  const std::size_t num_real = tables.size();
  for (const DeviceCrtTable& table : make_device_crt_tables(num::Ring::kComplex)) tables.push_back(table);
  for (std::size_t t = 0; t < tables.size(); ++t) {
    const DeviceCrtTable& table = tables[t];
    const DeviceCrtPieces& pieces = table.pieces;
    if (pieces.count == 0 || pieces.count > kMostStrassenPieces) continue;
    double most[kMostStrassenPieces] = {};
    for (int i = 0; i < pieces.count; ++i) {
      const double limit = std::ldexp(1.0, 53 + pieces.grid[i]);
      double magnitude = 0;
      for (int q = 0; q < table.num_planes; ++q) magnitude += std::abs(pieces.weight[q][i]) * 0x1p-12;
      most[i] = 512 * magnitude;
      EXPECT_LT(most[i], std::ldexp(1.0, 51 + pieces.grid[i])) << table.num_planes << ' ' << i;  // number_of_digits()
      const double quotient = most[0] * pieces.inverse * 1.01 + 2;
      const double left = quotient * std::abs(pieces.product[i]) + most[i] + 2 * std::abs(pieces.product[i]);
      EXPECT_LT(left, limit) << table.num_planes << ' ' << i;
      if (i > 0) {
        EXPECT_LT(left, std::ldexp(1.0, 14 + pieces.grid[i - 1])) << table.num_planes << ' ' << i;  // PieceSum
      }
    }
    EXPECT_LT((most[1] + most[2]) * pieces.inverse, 0x1p-12) << table.num_planes;
    EXPECT_LE(table.num_planes, t < num_real ? 16 : 32);                         // columns of a product
    EXPECT_LT(512 * 128 * table.num_planes * (1 + 256), std::int64_t{1} << 31);  // two sums of digits in one word
  }
}

}  // namespace
}  // namespace kizami::ozaki2
