// SPDX-License-Identifier: MIT
#include "multi/blocks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "multi/pieces.hpp"

namespace kizami::multi {
namespace {

void expect_tiling(std::int64_t m, std::int64_t n, const std::vector<Rect>& blocks) {
  const Status status = validate_pieces("C", m, n, blocks);
  EXPECT_TRUE(status.ok()) << status.reason();
}

TEST(Blocks, ExtentsAreCutByWeight) {
  EXPECT_EQ(cut_extent(100, std::vector<double>{1, 1}, 1), (std::vector<std::int64_t>{50, 100}));
  EXPECT_EQ(cut_extent(1000, std::vector<double>{3, 1}, 128), (std::vector<std::int64_t>{768, 1000}));
  EXPECT_EQ(cut_extent(1, std::vector<double>{1, 1, 1}, 1), (std::vector<std::int64_t>{0, 1, 1}));
  EXPECT_EQ(cut_extent(0, std::vector<double>{1, 1}, 1), (std::vector<std::int64_t>{0, 0}));
  EXPECT_EQ(cut_extent(100, std::vector<double>{1, 0, 1}, 128), (std::vector<std::int64_t>{0, 0, 100}));
}

TEST(Blocks, EveryElementHasOneDevice) {
  for (const std::int64_t m : {0, 1, 7, 511, 5000}) {
    for (const std::int64_t n : {0, 1, 9, 640, 16384}) {
      for (std::size_t devices = 1; devices <= 8; ++devices) {
        std::vector<double> speeds(devices, 1.0);
        expect_tiling(m, n, deal_blocks(m, n, speeds));
        for (std::size_t i = 0; i < devices; ++i) speeds[i] = 1.0 + 0.3 * static_cast<double>(i);
        const std::vector<Rect> blocks = deal_blocks(m, n, speeds);
        EXPECT_EQ(blocks.size(), devices);
        expect_tiling(m, n, blocks);
      }
    }
  }
}

TEST(Blocks, FewLinesTravel) {
  const std::vector<double> four(4, 1.0);
  for (const Rect& block : deal_blocks(16384, 16384, four)) {
    EXPECT_EQ(block.rows, 8192);
    EXPECT_EQ(block.cols, 8192);
  }
  for (const Rect& block : deal_blocks(1024, 65536, four)) EXPECT_EQ(block.rows, 1024);
  for (const Rect& block : deal_blocks(65536, 1024, four)) EXPECT_EQ(block.cols, 1024);
  // Of a square, two devices have columns: those of matrices by columns follow one another.
  for (const Rect& block : deal_blocks(4096, 4096, std::vector<double>(2, 1.0))) EXPECT_EQ(block.cols, 2048);
}

TEST(Blocks, SharesFollowSpeeds) {
  const std::vector<double> speeds = {1.0, 1.15, 0.9, 1.05};
  const std::vector<Rect> blocks = deal_blocks(16384, 16384, speeds);
  const double all = 1.0 + 1.15 + 0.9 + 1.05;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const double share = static_cast<double>(blocks[i].rows * blocks[i].cols) / (16384.0 * 16384.0);
    EXPECT_NEAR(share, speeds[i] / all, 0.01);  // tiles of 128 lines in 8192
    EXPECT_EQ(blocks[i].row % 128, 0);
    EXPECT_EQ(blocks[i].col % 128, 0);
  }
}

TEST(Blocks, PartsMakeUpTheirBlock) {
  const Rect block{128, 256, 3000, 2000};
  const std::vector<Rect> parts = cut_block(block, 3, 2);
  ASSERT_EQ(parts.size(), 6U);
  std::vector<Rect> from_origin = parts;
  for (Rect& part : from_origin) {
    EXPECT_TRUE(contains(block, part));
    part.row -= block.row;
    part.col -= block.col;
  }
  expect_tiling(block.rows, block.cols, from_origin);
  for (std::size_t i = 1; i < parts.size(); ++i) {  // a panel stays
    EXPECT_TRUE(parts[i].row == parts[i - 1].row || parts[i].col == parts[i - 1].col) << i;
  }
  EXPECT_EQ(cut_block({0, 0, 2, 1}, 4, 4).size(), 2U);
  EXPECT_TRUE(cut_block({0, 0, 0, 5}, 1, 1).empty());
}

}  // namespace
}  // namespace kizami::multi
