// SPDX-License-Identifier: MIT
// The order of blocks that a product finishes one after another, the runs in which the CRT beside it takes them, and
// both together: clusters and warps of random speeds, which meet by counts alone.
#include "product/block_walk.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <queue>
#include <random>
#include <utility>
#include <vector>

#include "product/block_reports.hpp"
#include "schemes/ozaki2/beside_runs.hpp"

namespace kizami::product {
namespace {

using ozaki2::BesideRuns;

struct Shape {
  std::int64_t m, n;
};
constexpr Shape kShapes[] = {{1, 1},       {256, 256},   {257, 255},   {2048, 2048}, {4096, 4096},
                             {8192, 8192}, {300, 20000}, {20000, 300}, {2176, 4352}, {16384, 1024}};

[[nodiscard]] BlockWalk walk_of(const Shape& shape, std::uint32_t group, std::uint32_t raster) {
  return make_block_walk(shape.m, shape.n, 256, 256, group, raster);
}

TEST(BlockWalk, VisitsEachPlaneOfEachBlockOnceAndGroupByGroup) {
  for (const Shape& shape : kShapes) {
    for (const std::uint32_t group : {1U, 5U, 16U, 66U, 1000U}) {
      const BlockWalk walk = walk_of(shape, group, 8);
      const std::uint32_t blocks = walk.num_blocks();
      for (const std::uint32_t planes : {1U, 3U, 14U}) {
        std::vector<std::uint32_t> next_plane(blocks);
        std::uint32_t whole = 0;  // blocks [0, whole) have all planes
        for (std::uint32_t number = 0; number < blocks * planes; ++number) {
          const BlockWalk::Tile tile = walk.tile(number, planes);
          ASSERT_LT(tile.block, blocks);
          ASSERT_EQ(tile.plane, next_plane[tile.block]) << "planes of a block come in order";
          ++next_plane[tile.block];
          while (whole < blocks && next_plane[whole] == planes) ++whole;
          ASSERT_LT(tile.block, whole + walk.group_blocks) << "no group begins before the one before it is all taken";
        }
        ASSERT_EQ(whole, blocks);
      }
    }
  }
}

TEST(BlockWalk, PlacesAreAllOfC) {
  for (const Shape& shape : kShapes) {
    for (const std::uint32_t raster : {1U, 3U, 8U, 1000U}) {
      const BlockWalk walk = walk_of(shape, 66, raster);
      EXPECT_EQ(walk.blocks_i, (shape.m + 255) / 256);
      EXPECT_EQ(walk.blocks_j, (shape.n + 255) / 256);
      std::vector<int> visits(walk.num_blocks());
      for (std::uint32_t block = 0; block < walk.num_blocks(); ++block) {
        const BlockWalk::Place at = walk.place(block);
        ASSERT_TRUE(at.i < walk.blocks_i && at.j < walk.blocks_j);
        ASSERT_EQ(visits[at.i * walk.blocks_j + at.j]++, 0);
      }
    }
  }
}

// What runs at one time reads few lines: of 66 blocks at least 2 sqrt(66) = 16.2 bands of 256.
TEST(BlockWalk, BlocksOfAGroupShareLines) {
  for (const Shape& shape : {Shape{4096, 4096}, Shape{8192, 8192}}) {
    const BlockWalk walk = walk_of(shape, 66, 8);
    for (std::uint32_t group = 0; group < walk.num_whole_groups; ++group) {
      std::vector<bool> rows(walk.blocks_i);
      std::vector<bool> columns(walk.blocks_j);
      for (std::uint32_t block = 66 * group; block < 66 * group + 66; ++block) {
        rows[walk.place(block).i] = true;
        columns[walk.place(block).j] = true;
      }
      const auto lines = std::count(rows.begin(), rows.end(), true) + std::count(columns.begin(), columns.end(), true);
      EXPECT_LE(lines, 26) << group;  // where a group crosses bands: 16 and 10
    }
  }
}

TEST(BlockWalk, EndsInNarrowGroups) {
  for (const Shape& shape : kShapes) {
    for (const std::uint32_t group : {1U, 7U, 66U, 1000U}) {
      const BlockWalk walk = walk_of(shape, group, 8);
      const std::uint32_t blocks = walk.num_blocks();
      EXPECT_EQ(walk.narrow[BlockWalk::kMostNarrow], blocks);
      std::uint32_t before = walk.group_blocks + (walk.group_blocks + 1) / 2;
      EXPECT_LE(blocks - walk.narrow[0], before);
      for (int x = 0; x < BlockWalk::kMostNarrow; ++x) {
        const std::uint32_t width = walk.narrow[x + 1] - walk.narrow[x];
        EXPECT_LE(width, before);
        before = width;
      }
      std::uint32_t last = 0;
      for (int x = 0; x < BlockWalk::kMostNarrow; ++x) {
        if (walk.narrow[x + 1] != walk.narrow[x]) last = walk.narrow[x + 1] - walk.narrow[x];
      }
      EXPECT_GE(last, 1U);
      EXPECT_LE(last, kLeastGroupBlocks) << blocks << " blocks, groups of " << group;
    }
  }
}

TEST(BesideRuns, TakeEachElementOnceInTheOrderOfBlocks) {
  for (const Shape& shape : {Shape{1, 1}, Shape{300, 700}, Shape{2048, 2048}, Shape{2176, 4352}}) {
    const BesideRuns runs{walk_of(shape, 16, 8)};
    const std::int64_t rows = std::int64_t{runs.walk.blocks_i} * 256;
    const std::int64_t cols = std::int64_t{runs.walk.blocks_j} * 256;
    std::vector<std::uint8_t> visits(static_cast<std::size_t>(rows / 128 * cols));
    std::uint32_t block = 0;
    for (std::uint32_t number = 0; number < runs.num_runs(); ++number) {
      const BesideRuns::Run run = runs.run(number);
      ASSERT_GE(run.block, block) << "a warp that waits for a block may hold what others wait for";
      block = run.block;
      const BlockWalk::Place at = runs.walk.place(block);
      for (std::int64_t j = run.first_col; j < run.end_col; ++j) {
        ASSERT_TRUE(run.first_row / 256 == at.i && j / 256 == at.j) << "not in its block";
        ASSERT_EQ(visits[static_cast<std::size_t>(run.first_row / 128 + j * (rows / 128))]++, 0);
      }
    }
    EXPECT_EQ(std::count(visits.begin(), visits.end(), 1), static_cast<std::ptrdiff_t>(visits.size()));
  }
}

// ---- the product and its reader, as events in time -------------------------------------------------------------------

/// Microseconds, or any unit.
struct Machine {
  std::uint32_t clusters = 66;
  double tile = 1;  ///< of one cluster
  std::uint32_t warps = 396;
  double column = 0;             ///< of one warp with a run
  std::uint32_t late_warps = 0;  ///< that begin when the product has ended
  double spread = 0;             ///< speeds of clusters and warps lie within 1 +- spread
};
struct Ends {
  double product = 0;
  double all = 0;
  std::uint64_t columns = 0;  ///< rebuilt
};

/// Clusters take tiles as reporting_product_sm90.cuh does, warps claim runs as device_crt_beside.cuh does. A block may be
/// read from the moment on at which all planes are stored; whether it is read before, counts alone prevent.
[[nodiscard]] Ends simulate(const BlockWalk& walk, std::uint32_t planes, const Machine& machine, std::uint64_t seed) {
  std::mt19937_64 rng(seed);
  std::uniform_real_distribution<double> speed(1 - machine.spread, 1 + machine.spread);
  std::vector<double> stored(walk.num_blocks());  // when the last plane was
  std::vector<std::uint32_t> counts(walk.num_blocks());
  Ends ends;
  for (std::uint32_t cluster = 0; cluster < machine.clusters; ++cluster) {
    const double of_tile = machine.tile * speed(rng);
    double now = 0;
    for (std::uint32_t number = cluster; number < walk.num_blocks() * planes; number += machine.clusters) {
      now += of_tile;
      const std::uint32_t block = walk.tile(number, planes).block;
      stored[block] = std::max(stored[block], now);
      ++counts[block];
    }
    ends.product = std::max(ends.product, now);
  }
  for (const std::uint32_t count : counts) EXPECT_EQ(count, planes) << "a warp would wait for ever";
  const BesideRuns runs{walk};
  std::priority_queue<std::pair<double, double>, std::vector<std::pair<double, double>>, std::greater<>> free_warps;
  for (std::uint32_t warp = 0; warp < machine.warps; ++warp) free_warps.emplace(0, machine.column * speed(rng));
  for (std::uint32_t warp = 0; warp < machine.late_warps; ++warp)
    free_warps.emplace(ends.product, machine.column * speed(rng));
  for (std::uint32_t number = 0; number < runs.num_runs(); ++number) {
    const BesideRuns::Run run = runs.run(number);
    const auto [since, of_column] = free_warps.top();
    free_warps.pop();
    const double end =
        std::max(since, stored[run.block]) + of_column * static_cast<double>(run.end_col - run.first_col);
    ends.columns += static_cast<std::uint64_t>(run.end_col - run.first_col);
    ends.all = std::max(ends.all, end);
    free_warps.emplace(end, of_column);
  }
  ends.all = std::max(ends.all, ends.product);
  return ends;
}

TEST(BlockWalk, AProductAndItsReaderEndWhateverTheirSpeeds) {
  for (const Shape& shape : kShapes) {
    for (const std::uint32_t group : {16U, 66U}) {
      for (const double spread : {0.0, 0.02, 0.9}) {
        const BlockWalk walk = walk_of(shape, group, 8);
        for (const std::uint32_t planes : {1U, 14U}) {
          for (const std::uint32_t warps : {1U, 396U}) {
            const Machine machine{.clusters = 66, .tile = 1, .warps = warps, .column = 0.1, .spread = spread};
            const Ends ends = simulate(walk, planes, machine, planes + warps);
            EXPECT_EQ(ends.columns, std::uint64_t{walk.num_blocks()} * 512);
            EXPECT_GE(ends.all, ends.product);
          }
        }
      }
    }
  }
}

/// The order of a product that goes plane by plane.
[[nodiscard]] BlockWalk one_group(const Shape& shape) {
  BlockWalk walk = walk_of(shape, 1U << 20, 8);
  walk.num_whole_groups = 1;
  std::fill(std::begin(walk.narrow), std::end(walk.narrow), walk.num_blocks());
  return walk;
}

// What is predicted of an H200, in microseconds: a tile of 256 x 128 x 4096 takes 17.3, a column of 128 elements 0.63 on
// a warp of its own (1200 clocks); the CRT by itself 132 at n = 4096.
TEST(BlockWalk, LittleIsLeftWhenTheProductEnds) {
  struct Case {
    Shape shape;
    double tile;
    std::uint32_t group;
    double most_left;
  };
  for (const Case& c : {Case{{4096, 4096}, 17.3, 66, 5}, Case{{4096, 4096}, 17.3, 1U << 20, 5},
                        Case{{8192, 8192}, 34.6, 66, 5}, Case{{2048, 2048}, 8.7, 33, 5}}) {
    const Machine machine{.tile = c.tile, .column = 0.63, .spread = 0.01};
    const Ends ends = simulate(walk_of(c.shape, c.group, 8), 14, machine, 1);
    EXPECT_LE(ends.all - ends.product, c.most_left) << c.shape.m;
    const Ends plane_by_plane = simulate(one_group(c.shape), 14, machine, 1);
    EXPECT_NEAR(plane_by_plane.product, ends.product, 0.02 * ends.product) << "whole rounds of tiles in either order";
    EXPECT_GT(plane_by_plane.all - plane_by_plane.product, 8 * (ends.all - ends.product)) << c.shape.m;
  }
  // With k = 1024 three warps a multiprocessor are hardly faster than the product.
  const Machine short_lines{.tile = 4.4, .column = 0.63, .spread = 0.01};
  const Ends ends = simulate(walk_of({8192, 8192}, 66, 8), 14, short_lines, 1);
  EXPECT_LE(ends.all, 1.05 * ends.product);
}

}  // namespace
}  // namespace kizami::product
