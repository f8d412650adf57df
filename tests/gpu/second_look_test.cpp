// SPDX-License-Identifier: MIT
// The second look on the device against the phases of the host: equal histograms, selection, pairs, shifts and
// statistics, for every shape, layout, chunking and grid.
#include <gtest/gtest.h>

#include <complex>
#include <cstdint>
#include <string>

#include "gpu/second_look_case.hpp"

namespace kizami::certify::look_case {
namespace {

TEST_F(SecondLookTest, Shapes) {
  for (const std::int64_t k : {1, 31, 63, 64, 65, 128, 129, 1000}) {
    expect_equal_for_all(shape_of(1, 1, k), "randn", "randn");
    expect_equal_for_all(shape_of(7, 100, k), "exprand:phi=2", "randn");
    expect_equal_for_all(shape_of(129, 97, k), "randn", "exprand:phi=2");
  }
  for (const std::int64_t n : {1, 15, 16, 17, 95, 96, 97, 300}) {
    expect_equal_for_all(shape_of(n, 5, 200), "exprand:phi=1", "randn");
    expect_equal_for_all(shape_of(3, n, 200), "exprand:phi=1", "randn");
  }
  expect_equal<double>(shape_of(300, 290, 5000), "exprand:phi=2", "exprand:phi=2");
  expect_equal<std::complex<float>>(shape_of(130, 200, 5000), "exprand:phi=2", "exprand:phi=2");
  expect_equal<float>(shape_of(2300, 500, 70), "exprand:phi=1", "randn");  // two bands of tiles
}

/// Two blocks of real lines from 4096 elements on share a scale: in every storage, with a last block that is alone.
TEST_F(SecondLookTest, LongLinesHaveCoarserScales) {
  for (const std::int64_t k : {4095, 4096, 4100, 4170, 6001}) {
    for (const Storage storage : {Storage::kLines, Storage::kInner, Storage::kPaddedLines, Storage::kBothStrided}) {
      Setting setting;
      setting.a_storage = storage;
      setting.b_storage = k % 2 == 0 ? Storage::kInner : Storage::kLines;
      expect_equal<double>(shape_of(150, 140, k), "exprand:phi=3", "exprand:phi=2", setting);
      expect_equal<float>(shape_of(60, 70, k), "exprand:phi=2", "exprand:phi=3", setting);
    }
    Setting setting;
    setting.chunk = {77, 130};
    expect_equal<double>(shape_of(150, 140, k), "exprand:phi=4", "exprand:phi=4", setting);
    expect_equal<double>(shape_of(70, 80, k), "grade:inner", "grade:inner");
  }
}

/// Blocks of threads go on from tile to tile, and the warpgroups of long lines with their turns.
TEST_F(SecondLookTest, LongLinesInManyTiles) {
  for (const int num_sms : {1, 2, 5}) {
    Setting setting;
    setting.num_sms = num_sms;
    setting.num_launches = 2;
    expect_equal<double>(shape_of(300, 290, 4100), "exprand:phi=4", "exprand:phi=3", setting);
    expect_equal<float>(shape_of(290, 300, 4225), "exprand:phi=3", "exprand:phi=4", setting);
  }
  // 196 tiles, more than an H200 has multiprocessors: some of them have two.
  expect_equal<double>(shape_of(1700, 1700, 4100), "exprand:phi=3", "exprand:phi=2");
  expect_equal<float>(shape_of(1700, 1690, 4225), "exprand:phi=4", "exprand:phi=4");
  EXPECT_GT(met.repairs, 0);
}

/// Tiles that the lowest rung certifies before all blocks are added end there, others beside them do not: the same
/// histograms.
TEST_F(SecondLookTest, TilesEndWhereTheLowestRungIsCertain) {
  if (const std::string why = gpu_test::why_no_wgmma(); !why.empty()) GTEST_SKIP() << why;
  const auto expect_of = [&](std::int64_t m, std::int64_t n, std::int64_t k, int num_sms) {
    Setting setting;
    setting.num_sms = num_sms;
    const std::uint64_t before = met.unread_steps;
    expect_equal_for_all(shape_of(m, n, k), "randn", "exprand:phi=0.5", setting);
    EXPECT_GT(met.unread_steps, before);
    expect_equal_for_all(shape_of(m, n, k), "exprand:phi=1", "exprand:phi=1.1", setting);
    setting.num_odd_rows = 1;  // tiles of its columns are added to their ends
    setting.num_odd_cols = 2;
    expect_equal_for_all(shape_of(m, n, k), "randn", "exprand:phi=0.5", setting);
  };
  for (const std::int64_t k : {900, 1200, 2048}) {  // some steps more than are under way, and more than that
    expect_of(128, 128, k, 1);
    expect_of(300, 290, k, 1);
  }
  expect_of(300, 290, 1200, 2);
  expect_of(1, 700, 1200, 1);
  expect_of(130, 140, 4100, 1);
  Setting many;  // 196 tiles, more than an H200 has multiprocessors
  expect_equal<double>(shape_of(1700, 1690, 1200), "exprand:phi=1", "exprand:phi=1.1", many);
  const std::uint64_t before = met.unread_steps;
  expect_equal<double>(shape_of(300, 290, 700), "randn", "randn");  // all is under way before anybody could be asked
  EXPECT_EQ(met.unread_steps, before);
}

TEST_F(SecondLookTest, Classes) {
  const char* const kClasses[] = {"randn",
                                  "rand",
                                  "exprand:phi=1",
                                  "exprand:phi=4",
                                  "exp_rand",
                                  "grade:rows",
                                  "grade:cols",
                                  "grade:inner",
                                  "grade:shift",
                                  "evil",
                                  "huge",
                                  "cancel",
                                  "test2",
                                  "int:bits=8",
                                  "pow2",
                                  "zeros",
                                  "ones",
                                  "hilbert",
                                  "zerorows:every=3",
                                  "zerocols:every=2",
                                  "identity",
                                  "permutation",
                                  "onehot",
                                  "diagonal",
                                  "lower",
                                  "upper",
                                  "banded:w=3",
                                  "underflow",
                                  "tiny",
                                  "big",
                                  "subnormal",
                                  "negzero"};
  for (const char* const cls : kClasses) {
    for (const std::int64_t k : {100, 300}) {
      expect_equal_for_all(shape_of(100, 110, k), cls, "randn");
      expect_equal_for_all(shape_of(100, 110, k), "exprand:phi=1", cls);
      expect_equal_for_all(shape_of(100, 110, k), cls, cls);
    }
  }
  EXPECT_TRUE(met.equilibration);
  EXPECT_TRUE(met.equilibrated);
  EXPECT_TRUE(met.fp64);
}

TEST_F(SecondLookTest, FewBitsAndMany) {
  for (const int bits : {8, 20, 23, 40, 52}) {
    Setting setting;
    setting.accuracy = Accuracy::at_bits(bits);
    for (const char* const cls : {"randn", "exprand:phi=3", "lower", "int:bits=8"}) {
      if (bits <= 23) expect_equal<float>(shape_of(70, 140, 400), cls, "exprand:phi=1", setting);
      expect_equal<double>(shape_of(70, 140, 400), cls, "exprand:phi=1", setting);
      expect_equal<std::complex<double>>(shape_of(70, 140, 400), cls, "exprand:phi=1", setting);
    }
  }
}

TEST_F(SecondLookTest, Equilibration) {
  for (const std::int64_t k : {1, 64, 300, 1000}) {
    for (const char* const cls : {"grade:inner", "evil"}) {
      for (const Storage a_storage : {Storage::kLines, Storage::kInner}) {
        Setting setting;
        setting.a_storage = a_storage;
        setting.b_storage = a_storage;
        expect_equal_for_all(shape_of(140, 130, k), cls, cls, setting);
        expect_equal_for_all(shape_of(140, 130, k), std::string(cls) + ",nan@middle", cls, setting);
      }
    }
  }
  expect_equal<double>(shape_of(40, 50, 9000), "grade:inner", "grade:inner");
  EXPECT_TRUE(met.equilibrated);
}

/// Columns that are zero in all lines that a gain is sampled from, of lines far below 1: one in 30 where nine elements
/// of ten are zero.
TEST_F(SecondLookTest, GainOfColumnsThatTheSamplesMiss) {
  for (const double share : {0.8, 0.9, 0.95}) {
    for (const char* const cls : {"grade:inner", "grade:inner,span=20", "exprand:phi=3"}) {
      Setting setting;
      setting.share_of_zeros = share;
      expect_equal<double>(shape_of(150, 140, 700), cls, cls, setting);
      expect_equal<std::complex<double>>(shape_of(150, 140, 300), cls, cls, setting);
    }
  }
  EXPECT_TRUE(met.gain) << "no case whose gain decides";
}

TEST_F(SecondLookTest, OddPairsAreListed) {
  for (const auto& [rows, cols] : {std::pair{1, 1}, std::pair{1, 3}, std::pair{3, 4}}) {
    Setting setting;
    setting.num_odd_rows = rows;
    setting.num_odd_cols = cols;
    expect_equal_for_all(shape_of(300, 290, 300), "randn", "randn", setting);
    setting.chunk = {77, 130};
    expect_equal_for_all(shape_of(300, 290, 300), "randn", "randn", setting);
  }
  EXPECT_GT(met.repairs, 50);
  Setting setting;
  setting.num_odd_rows = 1;
  setting.num_odd_cols = 1;
  const std::int64_t before = met.repairs;
  expect_equal_for_all(shape_of(200, 190, 300), "grade:inner", "grade:inner", setting);
  expect_equal_for_all(shape_of(1100, 700, 130), "randn", "lower", setting);
  EXPECT_GT(met.repairs, before);
}

/// Sums that are zero, in tiles whose last rows are not there: of purely real lines all imaginary ones.
TEST_F(SecondLookTest, ZerosBesideRowsThatAreNotThere) {
  for (const std::int64_t m : {1, 2, 3, 5, 6, 7, 130}) {
    for (const std::int64_t k : {11, 130, 600}) {
      expect_equal<std::complex<float>>(shape_of(m, 12, k), "exprand:phi=1.25,re", "exprand:phi=0.25,re");
      expect_equal<std::complex<double>>(shape_of(m, 12, k), "exprand:phi=1.125,re", "exprand:phi=2,re");
      expect_equal<std::complex<double>>(shape_of(m, 5, k), "diagonal", "zerorows:every=3");
      expect_equal<double>(shape_of(m, 5, k), "diagonal", "zerorows:every=3");
    }
  }
}

TEST_F(SecondLookTest, PairsWithoutACommonTerm) {
  for (const int num_supports : {2, 3, 4, 70}) {
    Setting setting;
    setting.num_supports = num_supports;
    expect_equal_for_all(shape_of(140, 130, 64), "randn", "randn", setting);
    expect_equal_for_all(shape_of(40, 130, 300), "randn", "exprand:phi=1", setting);
    expect_equal_for_all(shape_of(50, 60, 2500), "randn", "randn", setting);  // more than one step of bits
    setting.chunk = {37, 50};
    expect_equal_for_all(shape_of(100, 110, 200), "exprand:phi=3", "randn", setting);
  }
}

/// More blocks than a sum takes: the sums of segments are added.
TEST_F(SecondLookTest, LinesOfSeveralSegments) {
  const std::int64_t k = num::kSegmentBlocks * num::kDigitBlock + 1000;
  expect_equal<float>(shape_of(1, 2, k), "exprand:phi=1", "rand");
  expect_equal<double>(shape_of(2, 2, 2 * k), "exprand:phi=3", "exprand:phi=3");
  expect_equal<std::complex<float>>(shape_of(3, 1, k), "exprand:phi=1", "rand");
}

TEST_F(SecondLookTest, Storages) {
  const Storage kStorages[] = {Storage::kLines, Storage::kInner, Storage::kPaddedLines, Storage::kBothStrided};
  for (const Storage a_storage : kStorages) {
    for (const Storage b_storage : kStorages) {
      Setting setting;
      setting.a_storage = a_storage;
      setting.b_storage = b_storage;
      setting.a_conjugated = a_storage == Storage::kPaddedLines || a_storage == Storage::kInner;
      setting.b_conjugated = b_storage == Storage::kBothStrided;
      expect_equal_for_all(shape_of(100, 41, 333), "exprand:phi=2", "zerocols:every=2", setting);
      expect_equal_for_all(shape_of(33, 140, 130), "grade:inner", "grade:inner", setting);
    }
  }
}

TEST_F(SecondLookTest, Chunks) {
  for (const SecondLookChunk chunk : {SecondLookChunk{1, 1000}, SecondLookChunk{1000, 1}, SecondLookChunk{64, 64},
                                      SecondLookChunk{200, 50}, SecondLookChunk{37, 299}, SecondLookChunk{130, 97}}) {
    Setting setting;
    setting.chunk = chunk;
    const bool is_small = chunk.mc == 1 || chunk.nc == 1;
    const problem::Shape shape = is_small ? shape_of(9, 8, 300) : shape_of(300, 280, 300);
    setting.num_odd_rows = is_small ? 0 : 2;
    setting.num_odd_cols = is_small ? 0 : 3;
    expect_equal_for_all(shape, "randn", "exprand:phi=1", setting);
    expect_equal_for_all(shape, "grade:inner", "grade:inner", setting);
    expect_equal_for_all(shape, "lower", "banded:w=3", setting);
  }
}

TEST_F(SecondLookTest, GridsAndRepetition) {
  for (const int num_sms : {1, 2, 7}) {
    Setting setting;
    setting.num_sms = num_sms;
    setting.num_launches = 3;
    setting.num_odd_rows = 2;
    setting.num_odd_cols = 2;
    expect_equal_for_all(shape_of(300, 280, 300), "randn", "randn", setting);
    expect_equal_for_all(shape_of(300, 280, 200), "grade:inner", "grade:inner", setting);
  }
}

TEST_F(SecondLookTest, LinesThatAreNotFinite) {
  for (const char* const place : {"nan@corner", "inf@middle", "-inf@last", "nan@all", "nan@edge,inf@middle"}) {
    expect_equal_for_all(shape_of(70, 60, 150), std::string("exprand:phi=2,") + place, "randn");
    expect_equal_for_all(shape_of(70, 60, 150), "randn", std::string("grade:inner,") + place);
    expect_equal_for_all(shape_of(70, 60, 150), std::string("lower,") + place, std::string("banded:w=3,") + place);
  }
}

}  // namespace
}  // namespace kizami::certify::look_case
