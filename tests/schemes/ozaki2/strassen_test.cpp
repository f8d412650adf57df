// SPDX-License-Identifier: MIT
// The seven products as the split and the CRT of a device take them, in integers.
#include "schemes/ozaki2/strassen.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>

#include "schemes/ozaki2/device_crt.hpp"

namespace kizami::ozaki2 {
namespace {

using Quadrants = std::array<std::int64_t, 4>;  ///< by halves of the lines, then of k

[[nodiscard]] std::array<std::int64_t, kStrassenProducts> sums_of(const Quadrants& x) {
  std::array<std::int64_t, kStrassenProducts> sums{};
  for (int s = 0; s < kStrassenProducts; ++s) {
    for (int q = 0; q < 4; ++q)
      sums[static_cast<std::size_t>(s)] += strassen_sign(s, q) * x[static_cast<std::size_t>(q)];
  }
  return sums;
}

TEST(Strassen, SevenProductsAreTheEight) {
  // Products of quadrants are bilinear: all pairs of single quadrants are enough.
  for (std::size_t i = 0; i < 4; ++i) {
    for (std::size_t j = 0; j < 4; ++j) {
      Quadrants a{};
      Quadrants b{};
      a[i] = 3;
      b[j] = 5;
      const auto of_a = sums_of(a);
      // A line of B is a column: halves of k are negated where they are the first.
      const auto of_b = sums_of({-b[0], b[1], -b[2], b[3]});
      std::array<std::int64_t, kStrassenProducts> p{};
      for (int s = 0; s < kStrassenProducts; ++s) {
        const auto product = static_cast<std::size_t>(strassen_product_of_b(s));
        p[product] = of_a[product] * of_b[static_cast<std::size_t>(s)];
      }
      p[0] = -p[0];  // as the CRT takes it; P4 has the sign that it adds
      EXPECT_EQ(p[0] + p[1], a[0] * b[0] + a[1] * b[1]);
      EXPECT_EQ(p[0] + p[5] + p[4] + p[2], a[0] * b[2] + a[1] * b[3]);
      EXPECT_EQ(p[0] + p[5] + p[6] + p[3], a[2] * b[0] + a[3] * b[1]);
      EXPECT_EQ(p[0] + p[5] + p[6] + p[4], a[2] * b[2] + a[3] * b[3]);
    }
  }
}

/// Of two levels each product is again one of seven: any entry of a 4 x 4 matrix by any of another one.
TEST(Strassen, OfTwoLevelsFortyNineAreTheSixtyFour) {
  using Quarters = std::array<std::array<std::int64_t, 4>, 4>;  ///< [part of the lines][part of k]
  constexpr std::size_t kProducts = strassen_products(2);
  const auto sums_of_quarters = [](const Quarters& x) {
    std::array<std::int64_t, kProducts> sums{};
    for (int s = 0; s < kStrassenProducts; ++s) {
      for (int t = 0; t < kStrassenProducts; ++t) {
        for (int q = 0; q < 16; ++q) {
          const int outer = q / 4;
          const int inner = q % 4;
          sums[static_cast<std::size_t>(kStrassenProducts * s + t)] +=
              strassen_sign(s, outer) * strassen_sign(t, inner) *
              x[static_cast<std::size_t>(outer / 2 * 2 + inner / 2)]
               [static_cast<std::size_t>(outer % 2 * 2 + inner % 2)];
        }
      }
    }
    return sums;
  };
  // Products whose sum is quadrant (row, column), the first of them negated.
  constexpr int kOf[2][2][4] = {{{0, 1, -1, -1}, {0, 5, 4, 2}}, {{0, 5, 6, 3}, {0, 5, 6, 4}}};
  for (std::size_t i = 0; i < 16; ++i) {
    for (std::size_t j = 0; j < 16; ++j) {
      Quarters a{};
      Quarters b{};  // a line is a column
      a[i / 4][i % 4] = 3;
      b[j / 4][j % 4] = 5;
      Quarters b_given{};
      for (int x = 0; x < 4; ++x) {
        for (std::size_t y = 0; y < 4; ++y)
          b_given[y][static_cast<std::size_t>(x)] =
              (is_negated_in_b(2, x) ? -1 : 1) * b[y][static_cast<std::size_t>(x)];
      }
      const auto of_a = sums_of_quarters(a);
      const auto of_b = sums_of_quarters(b_given);
      std::array<std::int64_t, kProducts> p{};
      for (int s = 0; s < static_cast<int>(kProducts); ++s) {
        const auto product = static_cast<std::size_t>(kStrassenProducts * strassen_product_of_b(s / kStrassenProducts) +
                                                      strassen_product_of_b(s % kStrassenProducts));
        p[product] = of_a[product] * of_b[static_cast<std::size_t>(s)];
      }
      for (std::size_t row = 0; row < 4; ++row) {
        for (std::size_t col = 0; col < 4; ++col) {
          std::int64_t made = 0;
          for (const int s : kOf[row / 2][col / 2]) {
            for (const int t : kOf[row % 2][col % 2]) {
              if (s < 0 || t < 0) continue;
              const std::int64_t product = p[static_cast<std::size_t>(kStrassenProducts * s + t)];
              made += (s == 0) != (t == 0) ? -product : product;
            }
          }
          std::int64_t wanted = 0;
          for (std::size_t h = 0; h < 4; ++h) wanted += a[row][h] * b[col][h];
          EXPECT_EQ(made, wanted) << i << ' ' << j << ' ' << row << ' ' << col;
        }
      }
    }
  }
}

TEST(Strassen, PartsHoldTheWhole) {
  for (const int levels : {1, 2}) {
    const std::int64_t count = std::int64_t{1} << levels;
    for (const std::int64_t extent : {1, 2, 31, 32, 33, 255, 256, 257, 8192, 16383}) {
      const StrassenParts parts = strassen_parts({Scalar::kF64, extent, extent, extent}, levels);
      for (const std::int64_t part : {parts.m, parts.n, parts.k}) EXPECT_GE(count * part, extent);
      EXPECT_EQ(parts.m % 16, 0);
      EXPECT_EQ(parts.n % 16, 0);
      EXPECT_EQ(parts.k % 128, 0);
      EXPECT_LT(parts.m, (extent + count - 1) / count + 16);
      EXPECT_LT(parts.k, (extent + count - 1) / count + 128);
    }
  }
}

/// The CRT adds residues up to 512, of two levels 2048, before it weighs them: partial sums of pieces stay below 2^53 of
/// their grid.
TEST(Strassen, SumsOfResiduesAreExact) {
  for (const DeviceCrtTable& table : make_device_crt_tables(num::Ring::kReal)) {
    const DeviceCrtPieces& pieces = table.pieces;
    if (pieces.count == 0 || pieces.count > kMostStrassenPieces) continue;
    double most[kMostStrassenPieces] = {};
    for (int i = 0; i < pieces.count; ++i) {
      const double limit = std::ldexp(1.0, 53 + pieces.grid[i]);
      double magnitude = 0;
      for (int q = 0; q < table.num_planes; ++q) magnitude += std::abs(pieces.weight[q][i]) * 0x1p-12;
      most[i] = 2048 * magnitude;
      EXPECT_LT((4096 + 4095) * magnitude + most[i], limit) << table.num_planes << ' ' << i;
      const double quotient = most[0] * pieces.inverse * 1.01 + 2;
      const double left = quotient * std::abs(pieces.product[i]) + most[i] + 2 * std::abs(pieces.product[i]);
      EXPECT_LT(left, limit) << table.num_planes << ' ' << i;
      if (i > 0) {
        EXPECT_LT(left, std::ldexp(1.0, 50 + pieces.grid[i - 1])) << table.num_planes << ' ' << i;
      }
    }
    EXPECT_LT((most[1] + most[2]) * pieces.inverse, 0x1p-12) << table.num_planes;
  }
}

}  // namespace
}  // namespace kizami::ozaki2
