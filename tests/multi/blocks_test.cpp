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

/// Elements of the triangle that a block has; each is marked once.
void mark(const Rect& block, std::int64_t n, std::vector<int>& times) {
  for (std::int64_t j = block.col; j < block.col + block.cols; ++j) {
    for (std::int64_t i = block.row; i < block.row + block.rows; ++i) {
      if (block.row == block.col && i < j) continue;
      ASSERT_GE(i, j);
      ++times[static_cast<std::size_t>(i + j * n)];
    }
  }
}

[[nodiscard]] double pairs_of(const std::vector<Rect>& blocks) {
  double pairs = 0;
  for (const Rect& block : blocks) pairs += num_pairs(block);
  return pairs;
}

void expect_triangle(std::int64_t n, const std::vector<std::vector<Rect>>& dealt) {
  std::vector<int> times(static_cast<std::size_t>(n * n));
  for (const std::vector<Rect>& blocks : dealt) {
    for (const Rect& block : blocks) {
      EXPECT_FALSE(block.is_empty());
      EXPECT_TRUE(block.row != block.col || block.rows == block.cols);
      mark(block, n, times);
    }
  }
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = 0; i < n; ++i)
      ASSERT_EQ(times[static_cast<std::size_t>(i + j * n)], i >= j ? 1 : 0) << n << ": " << i << ", " << j;
  }
}

TEST(Triangles, EveryElementHasOneDevice) {
  for (const std::int64_t n : {0, 1, 2, 7, 130, 513, 1100}) {
    for (std::size_t devices = 1; devices <= 8; ++devices) {
      std::vector<double> speeds(devices, 1.0);
      expect_triangle(n, deal_triangle(n, speeds));
      for (std::size_t i = 0; i < devices; ++i) speeds[i] = 1.0 + 0.4 * static_cast<double>(i % 3);
      const std::vector<std::vector<Rect>> dealt = deal_triangle(n, speeds);
      EXPECT_EQ(dealt.size(), devices);
      expect_triangle(n, dealt);
      speeds.back() = 1e-9;
      expect_triangle(n, deal_triangle(n, speeds));
    }
  }
}

TEST(Triangles, AreasFollowSpeeds) {
  const auto expect_areas = [](std::int64_t n, const std::vector<double>& speeds) {
    double all = 0;
    for (const double speed : speeds) all += speed;
    const std::vector<std::vector<Rect>> dealt = deal_triangle(n, speeds);
    for (std::size_t i = 0; i < speeds.size(); ++i) {
      const double wanted = static_cast<double>(n) * static_cast<double>(n) / 2 * speeds[i] / all;
      EXPECT_NEAR(pairs_of(dealt[i]) / wanted, 1.0, 0.05) << n << ", device " << i << " of " << speeds.size();
      for (const Rect& block : dealt[i]) {
        EXPECT_EQ(block.row % 128, 0);
        EXPECT_EQ(block.col % 128, 0);
      }
    }
  };
  for (const std::int64_t n : {16384, 32768, 65536}) {
    expect_areas(n, {1, 1});
    expect_areas(n, {1, 1, 1});
    expect_areas(n, {1, 1, 1, 1});
    expect_areas(n, {1.1, 1.0});
    expect_areas(n, {1.0, 1.15, 0.9, 1.05});
  }
  expect_areas(65536, std::vector<double>(8, 1.0));
}

TEST(Triangles, FewLinesAreSplit) {
  // Of two devices one has a triangle, the other what is below, whose lines both of its blocks have.
  const std::vector<std::vector<Rect>> two = deal_triangle(16384, std::vector<double>(2, 1.0));
  EXPECT_EQ(two[0], (std::vector<Rect>{{0, 0, 11648, 11648}}));
  EXPECT_EQ(two[1], (std::vector<Rect>{{11648, 11648, 4736, 4736}, {11648, 0, 4736, 11648}}));
  // Of four two have triangles of half, two a half of the square.
  const std::vector<std::vector<Rect>> four = deal_triangle(16384, std::vector<double>(4, 1.0));
  EXPECT_EQ(four[0], (std::vector<Rect>{{0, 0, 8192, 8192}}));
  EXPECT_EQ(four[1], (std::vector<Rect>{{8192, 0, 4096, 8192}}));
  EXPECT_EQ(four[2], (std::vector<Rect>{{12288, 0, 4096, 8192}}));
  EXPECT_EQ(four[3], (std::vector<Rect>{{8192, 8192, 8192, 8192}}));
}

TEST(Triangles, OfTwoDevicesWhoseBlocksAreQuickHasMore) {
  const auto time_of = [](const std::vector<Rect>& blocks, double beside) {
    double time = 0;
    for (const Rect& block : blocks) time += pairs_of({block}) * (block.row == block.col ? 1 : beside);
    return time;
  };
  for (const double beside : {0.7, 0.8, 0.9, 1.2}) {
    for (const double speed : {1.0, 1.1}) {
      const std::vector<std::vector<Rect>> dealt = deal_triangle(32768, std::vector<double>{speed, 1.0}, beside);
      EXPECT_NEAR(time_of(dealt[0], beside) / time_of(dealt[1], beside), speed, 0.03) << beside;
      EXPECT_EQ(dealt[0].size() + dealt[1].size(), 3U);
      expect_triangle(1100, deal_triangle(1100, std::vector<double>{speed, 1.0}, beside));
    }
  }
  // Of four the squares' devices would have slivers of the triangles beside them.
  const std::vector<double> four(4, 1.0);
  EXPECT_EQ(deal_triangle(16384, four, 0.8), deal_triangle(16384, four));
}

TEST(Triangles, HalvesMakeUpTheirBlock) {
  for (const std::int64_t n : {1, 2, 3, 100, 1030}) {
    std::vector<Rect> blocks = {{0, 0, n, n}};
    for (int times = 0; times < 3; ++times) {
      std::vector<Rect> halves;
      for (const Rect& block : blocks) {
        for (const Rect& half : halve_block(block)) halves.push_back(half);
      }
      blocks = halves;
      expect_triangle(n, {blocks});
    }
    EXPECT_TRUE(n < 100 || blocks.size() == 20U) << n;  // 8 triangles, and 4 + 4 + 4 of squares cut 0, 1 and 2 times
  }
  EXPECT_EQ(halve_block({8, 0, 2, 6}), (std::vector<Rect>{{8, 0, 2, 3}, {8, 3, 2, 3}}));
  EXPECT_EQ(halve_block({8, 0, 6, 2}), (std::vector<Rect>{{8, 0, 3, 2}, {11, 0, 3, 2}}));
  EXPECT_EQ(halve_block({8, 0, 1, 1}).size(), 1U);
}

TEST(Triangles, SharesComeInParts) {
  const auto parts = [](const std::vector<Rect>& dealt, int wished, std::size_t devices) {
    return cut_share_of_triangle(dealt, wished, devices).size();
  };
  const std::vector<Rect> triangle = {{0, 0, 1024, 1024}};
  const std::vector<Rect> square = {{1024, 0, 512, 1024}};
  const std::vector<Rect> both = {{512, 512, 512, 512}, {512, 0, 512, 512}};
  EXPECT_EQ(parts(triangle, 0, 4), 1U);
  EXPECT_EQ(parts(square, 0, 4), 2U);
  EXPECT_EQ(parts(both, 0, 4), 2U);
  EXPECT_EQ(parts(square, 0, 1), 1U);
  EXPECT_EQ(parts(square, 1, 4), 1U);
  EXPECT_EQ(parts(triangle, 2, 4), 3U);
  EXPECT_EQ(parts(both, 3, 4), 5U);
  EXPECT_EQ(parts({}, 4, 4), 0U);
  EXPECT_EQ(parts({{0, 0, 1, 1}}, 4, 4), 1U);  // nothing to cut
}

}  // namespace
}  // namespace kizami::multi
