// SPDX-License-Identifier: MIT
// swizzle_2d: every tile once, and groups of rows walked column by column.
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "tile_kernels/matrix_view.hpp"

namespace kizami::tile_kernels_test {

TEST(Swizzle2d, VisitsEveryTileOnce) {
  for (int rows = 1; rows <= 9; ++rows) {
    for (int cols = 1; cols <= 7; ++cols) {
      for (const int group : {1, 2, 3, 8, 100}) {
        std::vector<int> visits(static_cast<std::size_t>(rows * cols), 0);
        for (int block = 0; block < rows * cols; ++block) {
          const auto [row, col] = tile_kernels::swizzle_2d(rows, cols, group, block);
          ASSERT_TRUE(row >= 0 && row < rows && col >= 0 && col < cols) << rows << " x " << cols << ", group " << group;
          ++visits[static_cast<std::size_t>(row * cols + col)];
        }
        for (const int count : visits) ASSERT_EQ(count, 1) << rows << " x " << cols << ", group " << group;
      }
    }
  }
}

TEST(Swizzle2d, WalksAGroupColumnByColumnAndTheLastGroupIsLower) {
  const std::vector<std::pair<int, int>> expected = {{0, 0}, {1, 0}, {0, 1}, {1, 1}, {0, 2},
                                                     {1, 2}, {2, 0}, {2, 1}, {2, 2}};
  for (int block = 0; block < 9; ++block) {
    const auto [row, col] = tile_kernels::swizzle_2d(3, 3, 2, block);
    EXPECT_EQ(std::make_pair(row, col), expected[static_cast<std::size_t>(block)]) << block;
  }
}

}  // namespace kizami::tile_kernels_test
