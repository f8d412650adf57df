// SPDX-License-Identifier: MIT
#include "multi/pieces.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <vector>

#include "schemes/ozaki2/strassen.hpp"

namespace kizami::multi {
namespace {

TEST(Pieces, MakeUpTheirMatrix) {
  const std::vector<Rect> fine = {{0, 0, 2, 3}, {2, 0, 1, 3}, {0, 3, 3, 1}, {3, 4, 0, 0}};
  EXPECT_TRUE(validate_pieces("A", 3, 4, fine).ok());
  EXPECT_TRUE(validate_pieces("A", 0, 4, {}).ok());
  const auto reason = [](std::int64_t rows, std::int64_t cols, const std::vector<Rect>& pieces) {
    const Status status = validate_pieces("A", rows, cols, pieces);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    return status.reason();
  };
  EXPECT_NE(reason(3, 4, {{0, 0, 3, 3}}).find("have 9 elements, must have all 12"), std::string::npos);
  EXPECT_NE(reason(3, 4, {{0, 0, 3, 3}, {0, 2, 3, 2}}).find("in common with piece 0"), std::string::npos);
  EXPECT_NE(reason(3, 4, {{0, 1, 3, 4}}).find("must lie in the matrix"), std::string::npos);
  EXPECT_NE(reason(3, 4, {{-1, 0, 3, 4}}).find("must lie in the matrix"), std::string::npos);
  EXPECT_NE(reason(3, 4, {{0, 0, -3, 4}}).find("negative"), std::string::npos);
}

TEST(Pieces, HoldAPart) {
  const std::vector<Rect> pieces = {{0, 0, 4, 4}, {4, 0, 4, 4}, {0, 4, 8, 4}};
  const std::vector<Holding> holdings = holdings_of({2, 2, 4, 4}, pieces);
  ASSERT_EQ(holdings.size(), 3U);
  EXPECT_EQ(holdings[0].rect, (Rect{2, 2, 2, 2}));
  EXPECT_EQ(holdings[1].rect, (Rect{4, 2, 2, 2}));
  EXPECT_EQ(holdings[2].rect, (Rect{2, 4, 4, 2}));
  EXPECT_EQ(holdings_of({0, 4, 8, 4}, pieces).size(), 1U);
  EXPECT_TRUE(holdings_of({3, 3, 0, 2}, pieces).empty());
}

/// Parts of a panel are lines, whole ones and each once; those of a part lie as far apart as halves of all lines do.
TEST(Pieces, PanelsComeInPartsOfTheirLines) {
  constexpr std::int64_t kLength = 7;
  for (const std::int64_t num_lines : {1, 63, 64, 65, 129, 1000, 4096}) {
    for (const PanelLines lines : {PanelLines::kRows, PanelLines::kCols}) {
      const bool are_rows = lines == PanelLines::kRows;
      const Rect panel = are_rows ? Rect{3, 5, num_lines, kLength} : Rect{3, 5, kLength, num_lines};
      for (const int count : {1, 2, 3, 4}) {
        std::vector<Rect> all;
        for (int i = 0; i < count; ++i) {
          const std::array<Rect, 2> part = part_of_panel(panel, lines, i, count);
          for (const Rect& rect : part) {
            if (rect.is_empty()) continue;
            EXPECT_TRUE(contains(panel, rect));
            EXPECT_EQ(are_rows ? rect.cols : rect.rows, kLength) << "whole lines";
            all.push_back({rect.row - panel.row, rect.col - panel.col, rect.rows, rect.cols});
          }
          if (part[0].is_empty() || part[1].is_empty()) continue;
          const std::int64_t apart = are_rows ? part[1].row - part[0].row : part[1].col - part[0].col;
          EXPECT_EQ(apart, ozaki2::strassen_halves({Scalar::kF64, num_lines, num_lines, 1}).m);
        }
        const Status status = validate_pieces("the panel", panel.rows, panel.cols, all);
        EXPECT_TRUE(status.ok()) << status.reason();
      }
    }
  }
}

/// Copies cover what a triangle has of a rectangle, nothing else, and are few.
TEST(Pieces, CopiesAreOfOneTriangle) {
  constexpr std::int64_t kExtent = 700;
  const Rect rects[] = {{0, 0, 700, 700},    {0, 0, 63, 63},       {0, 0, 64, 64},       {0, 0, 65, 65},
                        {5, 5, 1, 1},        {300, 0, 200, 90},    {0, 300, 90, 200},    {100, 250, 300, 60},
                        {250, 100, 60, 300}, {200, 100, 150, 400}, {100, 200, 400, 150}, {7, 6, 1, 3},
                        {6, 7, 3, 1},        {10, 12, 130, 129},   {12, 10, 129, 130}};
  for (const Rect& rect : rects) {
    for (const bool is_lower : {true, false}) {
      std::vector<int> times(kExtent * kExtent);
      const std::vector<ColumnCopy> copies = triangle_copies(rect, is_lower);
      for (const ColumnCopy& copy : copies) {
        for (std::int64_t j = 0; j < copy.count; ++j) {
          for (std::int64_t i = 0; i < copy.length; ++i) {
            const std::int64_t row = copy.row + i + (copy.is_slanting ? j : 0);
            const std::int64_t col = copy.col + j;
            ASSERT_TRUE(contains(rect, {row, col, 1, 1}));
            ++times[static_cast<std::size_t>(row + col * kExtent)];
          }
        }
      }
      for (std::int64_t j = 0; j < kExtent; ++j) {
        for (std::int64_t i = 0; i < kExtent; ++i) {
          const bool is_wanted = contains(rect, {i, j, 1, 1}) && (is_lower ? i >= j : i <= j);
          ASSERT_EQ(times[static_cast<std::size_t>(i + j * kExtent)] > 0, is_wanted)
              << is_lower << ", " << rect.row << ", " << rect.col << ": " << i << ", " << j;
        }
      }
      EXPECT_LE(copies.size(), 1U + 1U + 63U + 11U);
    }
  }
  EXPECT_EQ(triangle_copies({300, 0, 200, 90}, true), (std::vector<ColumnCopy>{{300, 0, 200, 90, false}}));
  EXPECT_TRUE(triangle_copies({300, 0, 200, 90}, false).empty());
  EXPECT_LE(triangle_copies({0, 0, 8192, 8192}, true).size(), 200U);
}

}  // namespace
}  // namespace kizami::multi
