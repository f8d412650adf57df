// SPDX-License-Identifier: MIT
// Weights of lines in the certificate of slices, and the rung that it takes.
#include "num/slice_weight.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace kizami::num {
namespace {

/// Rungs of 3 and 5 slices of bytes.
[[nodiscard]] SliceLadder ladder() {
  SliceLadder out;
  out.rule = digit_rule(DigitKind::kBytes, 7);
  out.num_rungs = 2;
  out.exact_digits = {2, 3};
  out.dropped_share = 10.0;
  return out;
}

/// A line whose largest element is in [1, 2), of bits down to 2^lsb, with ||x||_1 = 4.
[[nodiscard]] LineStats line_of(int lsb) {
  LineStats line;
  line.exponent = 0;
  line.lsb = lsb;
  line.sum_abs = std::uint64_t{4} << kAbsBits;
  line.sum_squares = std::uint64_t{4} << (2 * kSquareBits);
  return line;
}

TEST(SliceWeight, OfLinesOfFewAndManyDigits) {
  const LineWeight zero = slice_weight(ladder(), LineStats{});
  EXPECT_EQ(zero.norm1, 0.0F);
  EXPECT_EQ(zero.norm2, 0.0F);
  struct Wanted {
    int lsb;
    int exact_rung;
    float norm1;  ///< with the share of the dropped products, rounded up
  };
  // The first digit has 5 bits below the leading one, each further one 8.
  for (const Wanted& wanted : {Wanted{0, 0, 4.0F},
                               {-5, 0, 4.0F},
                               {-6, 0, 14.0F},
                               {-13, 0, 14.0F},
                               {-14, 1, 14.0F},
                               {-21, 1, 14.0F},
                               {-22, 2, 9.0F},
                               {-60, 2, 9.0F}}) {
    const LineWeight weight = slice_weight(ladder(), line_of(wanted.lsb));
    EXPECT_EQ(weight.exact_rung, wanted.exact_rung) << wanted.lsb;
    EXPECT_EQ(weight.norm2, 1.0F);
    EXPECT_GE(weight.norm1, wanted.norm1) << wanted.lsb;
    EXPECT_LE(weight.norm1, wanted.norm1 * (1.0F + 0x1p-22F)) << wanted.lsb;
  }
}

TEST(SliceWeight, IsOneAtLeast) {
  LineStats line = line_of(0);
  line.sum_abs = std::uint64_t{1} << kAbsBits;
  EXPECT_GE(slice_weight(ladder(), line).norm1, 1.0F);
}

TEST(LowestForAll, LeavesNoPairOpen) {
  Ladder two;
  two.num_rungs = 2;
  const auto rung = [&](std::int64_t at_0, std::int64_t at_1, std::int64_t at_none) {
    RungHistogram histogram;
    histogram.pairs[0] = at_0;
    histogram.pairs[1] = at_1;
    histogram.pairs[2] = at_none;
    const Selection selection = lowest_for_all(two, histogram);
    EXPECT_FALSE(selection.equilibrated);
    EXPECT_EQ(selection.num_repaired, 0);
    return selection.rung;
  };
  EXPECT_EQ(rung(1000000, 0, 0), 0);
  EXPECT_EQ(rung(999999, 1, 0), 1);
  EXPECT_EQ(rung(0, 5, 0), 1);
  EXPECT_EQ(rung(1000000, 0, 1), -1);
  EXPECT_EQ(rung(0, 0, 0), 0);
}

}  // namespace
}  // namespace kizami::num
