// SPDX-License-Identifier: MIT
#include "engines/triangle_bands.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "problem/part.hpp"

namespace kizami::engines {
namespace {

using problem::Part;
using problem::PartKind;

/// Compares what is visited with the tiles that have an element of the triangle, by problem::Part.
void expect_tiles_of_triangle(std::uint32_t tile_i, std::uint32_t tile_j, std::uint32_t n, bool is_lower) {
  const std::string text = std::to_string(tile_i) + " x " + std::to_string(tile_j) + ", n = " + std::to_string(n) +
                           (is_lower ? ", lower" : ", upper");
  const Part part{is_lower ? PartKind::kLower : PartKind::kUpper};
  const std::uint32_t tiles_i = (n + tile_i - 1) / tile_i;
  const std::uint32_t tiles_j = (n + tile_j - 1) / tile_j;
  std::vector<int> visits(std::size_t{tiles_i} * tiles_j);
  const TriangleBands bands = triangle_bands(n, tile_i, tile_j, is_lower);
  const std::uint32_t count = bands.num_tiles();
  for (std::uint32_t number = 0; number < count; ++number) {
    const TileAt at = tile_in_bands(number, bands);
    ASSERT_TRUE(at.i < tiles_i && at.j < tiles_j) << text << ", tile " << number;
    ++visits[std::size_t{at.i} * tiles_j + at.j];
  }
  const auto lines_of = [n](std::uint32_t first, std::uint32_t tile) { return first + tile < n ? tile : n - first; };
  for (std::uint32_t i = 0; i < tiles_i; ++i) {
    for (std::uint32_t j = 0; j < tiles_j; ++j) {
      const bool is_wanted =
          part.meets(i * tile_i, lines_of(i * tile_i, tile_i), j * tile_j, lines_of(j * tile_j, tile_j));
      ASSERT_EQ(visits[std::size_t{i} * tiles_j + j], is_wanted ? 1 : 0) << text << ": " << i << ", " << j;
    }
  }
}

TEST(TriangleBands, VisitTheTilesOfOneTriangleOnce) {
  std::vector<std::uint32_t> sizes;
  for (std::uint32_t n = 1; n < 9000; n += n < 800 ? 1 : n < 2600 ? 31 : 257) sizes.push_back(n);
  for (const std::uint32_t n : {2303U, 2304U, 2305U, 4096U, 4608U, 4609U, 8192U}) sizes.push_back(n);
  for (const std::uint32_t n : sizes) {
    for (const bool is_lower : {true, false}) {
      expect_tiles_of_triangle(192, 256, n, is_lower);
      expect_tiles_of_triangle(128, 256, n, is_lower);
      expect_tiles_of_triangle(256, 256, n, is_lower);
    }
    if (HasFatalFailure()) return;
  }
}

TEST(TriangleBands, AreHalfOfTheTiles) {
  EXPECT_EQ(triangle_bands(8192, 192, 256, true).num_tiles(), 725U);  // 11 rounds of an H200's 66 clusters
  EXPECT_EQ(triangle_bands(8192, 192, 256, false).num_tiles(), 715U);
  EXPECT_EQ(triangle_bands(4096, 192, 256, true).num_tiles(), 197U);  // three
  EXPECT_EQ(triangle_bands(8192, 128, 256, true).num_tiles(), 1056U);
}

// What an H200's 66 clusters multiply at a time: in any order 66 tiles of 192 x 256 need 2 sqrt(66 * 192 * 256) = 3602
// lines at least.
TEST(TriangleBands, TilesAtATimeShareLines) {
  constexpr std::uint32_t kAtATime = 66;
  constexpr std::uint32_t kSize = 8192;
  for (const bool is_lower : {true, false}) {
    const TriangleBands bands = triangle_bands(kSize, 192, 256, is_lower);
    const std::uint32_t count = bands.num_tiles();
    std::size_t lines = 0;
    std::size_t rounds = 0;
    for (std::uint32_t first = 0; first + kAtATime <= count; first += kAtATime, ++rounds) {
      std::set<std::uint32_t> rows;
      std::set<std::uint32_t> columns;
      for (std::uint32_t number = first; number < first + kAtATime; ++number) {
        const TileAt at = tile_in_bands(number, bands);
        rows.insert(at.i);
        columns.insert(at.j);
      }
      lines += rows.size() * 192 + columns.size() * 256;
      EXPECT_LE(rows.size() * 192 + columns.size() * 256, 6500U) << first;  // the ends of two bands
    }
    EXPECT_LE(lines / rounds, 4700U);
  }
}

}  // namespace
}  // namespace kizami::engines
