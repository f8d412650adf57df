// SPDX-License-Identifier: MIT
#include "engines/triangle_order.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <vector>

namespace kizami::engines {
namespace {

TEST(TriangularRoot, IsExact) {
  for (std::uint32_t r = 0; r < 40000; r += r < 300 ? 1 : 97) {
    const std::uint32_t first = base::triangular(r);
    EXPECT_EQ(base::triangular_root(first), r);
    EXPECT_EQ(base::triangular_root(first + r), r);
    EXPECT_EQ(base::triangular_root(first + r + 1), r + 1);
  }
}

TEST(TriangleOrder, VisitsTheTilesOfOneTriangleOnce) {
  for (const std::uint32_t raster : {1U, 3U, 8U}) {
    for (std::uint32_t along = 1; along <= 45; ++along) {
      for (const bool is_lower : {true, false}) {
        const TriangleOrder order{along, raster, is_lower ? 1U : 0U};
        EXPECT_EQ(order.num_tiles(), along * (along + 1) / 2);
        std::vector<int> visits(std::size_t{along} * along);
        for (std::uint32_t number = 0; number < order.num_tiles(); ++number) {
          const TileAt at = tile_in_triangle(number, order);
          ASSERT_TRUE(at.i < along && at.j < along);
          ++visits[std::size_t{at.i} * along + at.j];
        }
        for (std::uint32_t i = 0; i < along; ++i) {
          for (std::uint32_t j = 0; j < along; ++j) {
            const bool is_wanted = is_lower ? i >= j : i <= j;
            ASSERT_EQ(visits[std::size_t{i} * along + j], is_wanted ? 1 : 0)
                << i << ", " << j << " of " << along << ", raster " << raster << ", lower " << is_lower;
          }
        }
      }
    }
  }
}

// What an H200's 66 clusters multiply at a time: in any order they need lines of at least 2 sqrt(66) tiles.
TEST(TriangleOrder, TilesAtATimeShareLines) {
  constexpr std::uint32_t kAtATime = 66;
  for (const bool is_lower : {true, false}) {
    const TriangleOrder order{32, 8, is_lower ? 1U : 0U};
    for (std::uint32_t first = 0; first + kAtATime <= order.num_tiles(); first += kAtATime) {
      std::set<std::uint32_t> lines;
      for (std::uint32_t number = first; number < first + kAtATime; ++number) {
        const TileAt at = tile_in_triangle(number, order);
        lines.insert(at.i);
        lines.insert(at.j);
      }
      EXPECT_LE(lines.size(), 26U) << first;
    }
  }
}

}  // namespace
}  // namespace kizami::engines
