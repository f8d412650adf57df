// SPDX-License-Identifier: MIT
// Which elements a thread loads as rows of wgmma (lab/bench/gpu_ec_ways/row_fragments.hpp), beside where the copy engine puts
// them and where the instruction wants them.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <set>
#include <vector>

#include "gpu_ec_ways/row_fragments.hpp"

namespace bench::ec_ways {
namespace {

constexpr int kLines = 64;

/// Bytes from the first line to an element of FP32, in the swizzle of 128 bytes.
[[nodiscard]] std::uint32_t swizzled(int line, int k) {
  return static_cast<std::uint32_t>(line * 128 + ((k / 4) ^ (line % 8)) * 16 + k % 4 * 4);
}

TEST(EcRowFragments, ThreadsLoadWhatTheInstructionAsksOfThem) {
  std::vector<int> element_at(kLines * 128 / 4, -1);  // line * 32 + k
  for (int line = 0; line < kLines; ++line) {
    for (int k = 0; k < kRowElements; ++k) element_at[swizzled(line, k) / 4] = line * kRowElements + k;
  }
  std::vector<int> times_loaded(element_at.size(), 0);
  for (int thread = 0; thread < 128; ++thread) {
    const int warp = thread / 32;
    const int lane = thread % 32;
    for (int u = 0; u < kPairs; ++u) {
      for (int h = 0; h < 2; ++h) {
        const std::uint32_t at = static_cast<std::uint32_t>(warp) * 2 * kEightLines + pair_offset(lane, u) +
                                 static_cast<std::uint32_t>(h) * kEightLines;
        ASSERT_EQ(at % 8, 0U);
        // Registers of a step of 16: rows g and g + 8 by turns, of k = 2t, then of k = 2t + 8.
        const int line = 16 * warp + 8 * h + line_of_row(lane / 4);
        const int k = u / 2 * 16 + u % 2 * 8 + lane % 4 * 2;
        EXPECT_EQ(element_at[at / 4], line * kRowElements + k) << thread << " u " << u << " h " << h;
        EXPECT_EQ(element_at[at / 4 + 1], line * kRowElements + k + 1) << thread << " u " << u << " h " << h;
        ++times_loaded[static_cast<std::size_t>(line * kRowElements + k)];
        ++times_loaded[static_cast<std::size_t>(line * kRowElements + k + 1)];
      }
    }
  }
  for (const int times : times_loaded) EXPECT_EQ(times, 1);
}

TEST(EcRowFragments, PairsOfALaneDifferInTwoBitsOfTheAddress) {
  for (const std::uint32_t base : {0U, 1024U, 35U * 1024U}) {
    for (int lane = 0; lane < 32; ++lane) {
      for (int u = 0; u < kPairs; ++u)
        EXPECT_EQ((base + pair_offset(lane, 0)) ^ (static_cast<std::uint32_t>(u) * kPairBit),
                  base + pair_offset(lane, u));
    }
  }
}

/// Banks of four bytes that the 16 lanes from `first` on meet in a load of 8 bytes each.
template <class OffsetOf>
[[nodiscard]] std::size_t num_banks(int first, const OffsetOf& offset_of) {
  std::set<std::uint32_t> banks;
  for (int lane = first; lane < first + 16; ++lane) {
    banks.insert(offset_of(lane) / 4 % 32);
    banks.insert(offset_of(lane) / 4 % 32 + 1);
  }
  return banks.size();
}

TEST(EcRowFragments, SixteenLanesMeetAllBanks) {
  for (const int first : {0, 16}) {
    for (int u = 0; u < kPairs; ++u) {
      EXPECT_EQ(num_banks(first, [&](int lane) { return pair_offset(lane, u); }), 32U);
      // Lines in the order of rows would have two rows in each bank.
      EXPECT_EQ(num_banks(first, [&](int lane) { return swizzled(lane / 4, 8 * u + 2 * (lane % 4)); }), 16U);
    }
  }
}

TEST(EcRowFragments, StoresHaveTheLinesThatWereLoaded) {
  std::array<bool, 8> is_taken{};
  for (int g = 0; g < 8; ++g) is_taken.at(static_cast<std::size_t>(line_of_row(g))) = true;
  for (const bool taken : is_taken) EXPECT_TRUE(taken);
  for (int lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(lane_of_lines(lane) / 4, line_of_row(lane / 4));
    EXPECT_EQ(lane_of_lines(lane) % 4, lane % 4);
    // Lanes that exchange two elements of a column still hold neighbours of the same column.
    EXPECT_EQ(lane_of_lines(lane ^ 1), lane_of_lines(lane) ^ 1);
  }
}

}  // namespace
}  // namespace bench::ec_ways
