// SPDX-License-Identifier: MIT
#include "multi/pieces.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

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

}  // namespace
}  // namespace kizami::multi
