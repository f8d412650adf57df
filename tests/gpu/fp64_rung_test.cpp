// SPDX-License-Identifier: MIT
// The FP64 rung of the device against that of the host, everything and lists of pairs: bit by bit, in all of C's memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <complex>
#include <cstdint>
#include <vector>

#include "fp64/repair_place.hpp"
#include "gpu/fp64_rung_case.hpp"

namespace kizami::gpu_test::fp64_case {
namespace {

template <class T>
void expect_shapes(std::uint64_t seed) {
  Rng rng(seed);
  const std::int64_t lengths[] = {1, 2, 7, 15, 16, 17, 63, 64, 65, 127, 128, 129, 255, 256, 257, 300, 384, 385, 1000};
  for (int i = 0; i < 60; ++i) {
    const std::int64_t m = random_int(rng, 1, 130);
    const std::int64_t n = random_int(rng, 1, 130);
    const std::int64_t k = i < static_cast<int>(std::size(lengths)) ? lengths[i] : random_int(rng, 1, 300);
    const auto a = random_operand<T>(rng, Kind::kOrdinary, m, k, i % 3 == 1);
    const auto b = random_operand<T>(rng, Kind::kOrdinary, n, k, i % 4 == 1);
    for (const Fp64Summation summation : kSummations) {
      for (const int num_sms : kSmCounts) {
        Setting<T> setting;
        setting.summation = summation;
        setting.num_sms = num_sms;
        setting.layout = kCLayouts[rng() % std::size(kCLayouts)];
        setting.beta = rng() % 2 == 0 ? T{0} : make<T>(0.5, 0.25);
        expect_host_bits(rng, a, b, setting);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}
TEST_F(Fp64Rung, Shapes32) { expect_shapes<float>(1); }
TEST_F(Fp64Rung, Shapes64) { expect_shapes<double>(2); }
TEST_F(Fp64Rung, ShapesComplex32) { expect_shapes<std::complex<float>>(3); }
TEST_F(Fp64Rung, ShapesComplex64) { expect_shapes<std::complex<double>>(4); }

/// Every storage of both operands, conjugated and not.
template <class T>
void expect_views(std::uint64_t seed) {
  Rng rng(seed);
  for (const tests::Storage storage_a : tests::kStorages) {
    for (const tests::Storage storage_b : tests::kStorages) {
      for (int conjugation = 0; conjugation < (kIsComplex<T> ? 4 : 1); ++conjugation) {
        const Operand<T> a(make_lines<T>(rng, Kind::kOrdinary, 70, 45), 45, storage_a, (conjugation & 1) != 0);
        const Operand<T> b(make_lines<T>(rng, Kind::kOrdinary, 67, 45), 45, storage_b, (conjugation & 2) != 0);
        Setting<T> setting;
        setting.num_sms = kSmCounts[rng() % 2];
        setting.summation = kSummations[rng() % 2];
        expect_host_bits(rng, a, b, setting);
        setting.rung = 2;
        setting.repairs = random_pairs<T>(rng, 70, 67, 3);
        expect_host_bits(rng, a, b, setting);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}
TEST_F(Fp64Rung, Views32) { expect_views<float>(5); }
TEST_F(Fp64Rung, Views64) { expect_views<double>(6); }
TEST_F(Fp64Rung, ViewsComplex32) { expect_views<std::complex<float>>(7); }
TEST_F(Fp64Rung, ViewsComplex64) { expect_views<std::complex<double>>(8); }

/// Many levels of the binary counter: below and above what the large tile holds.
template <class T>
void expect_long_sums(std::uint64_t seed) {
  Rng rng(seed);
  for (const std::int64_t k : {2047, 2048, 2049, 4096, 4097, 5000, 8191, 8192, 8193, 16384, 16385, 20000, 70001}) {
    const auto a = random_operand<T>(rng, Kind::kOrdinary, 5, k, false);
    const auto b = random_operand<T>(rng, Kind::kOrdinary, 4, k, false);
    for (const Fp64Summation summation : kSummations) {
      for (const int num_sms : kSmCounts) {
        Setting<T> setting;
        setting.summation = summation;
        setting.num_sms = num_sms;
        expect_host_bits(rng, a, b, setting);
        setting.rung = 0;
        setting.repairs = random_pairs<T>(rng, 5, 4, 60);
        expect_host_bits(rng, a, b, setting);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}
TEST_F(Fp64Rung, LongSums32) { expect_long_sums<float>(9); }
TEST_F(Fp64Rung, LongSums64) { expect_long_sums<double>(10); }
TEST_F(Fp64Rung, LongSumsComplex32) { expect_long_sums<std::complex<float>>(11); }
TEST_F(Fp64Rung, LongSumsComplex64) { expect_long_sums<std::complex<double>>(12); }

/// Lines of all kinds: those that may underflow, subnormal ones and zeros among ordinary ones; some are not finite.
template <class T>
Operand<T> mixed_operand(Rng& rng, std::int64_t num_lines, std::int64_t length, tests::Storage storage) {
  auto lines = make_lines<T>(rng, Kind::kOrdinary, num_lines, length);
  for (auto& line : lines) {
    const auto of_all = rng() % 30;
    if (of_all < 3) line = make_lines<T>(rng, static_cast<Kind>(of_all), 1, length).front();
    if (of_all == 4) line.back() = nan_of<T>();
  }
  return Operand<T>(lines, length, storage, rng() % 2 == 0);
}

/// Lists that reach every way of dealing pairs to blocks, and of a block's pairs to warps.
template <class T>
void expect_dealt_repairs(std::uint64_t seed) {
  Rng rng(seed);
  for (const tests::Storage storage : {tests::Storage::kLineContiguous, tests::Storage::kInnerContiguous,
                                       tests::Storage::kInnerPadded, tests::Storage::kBothStrided}) {
    const std::int64_t m = 40;
    const std::int64_t n = 2000;
    const std::int64_t k = rng() % 2 == 0 ? 600 : 4500;  // the counter has one level in a warp, or more
    const auto a = mixed_operand<T>(rng, m, k, storage);
    const auto b = mixed_operand<T>(rng, n, k, tests::kStorages[rng() % std::size(tests::kStorages)]);
    const auto expect = [&](int num_sms, std::vector<device::Pair> repairs) {
      for (const Fp64Summation summation : kSummations) {
        Setting<T> setting;
        setting.rung = 0;
        setting.num_sms = num_sms;
        setting.summation = summation;
        setting.beta = rng() % 2 == 0 ? T{0} : make<T>(0.5, 0.25);
        setting.repairs = repairs;
        std::shuffle(setting.repairs.begin(), setting.repairs.end(), rng);
        expect_host_bits(rng, a, b, setting);
        for (device::Pair& pair : setting.repairs) std::swap(pair.row, pair.col);
        expect_host_bits(rng, b, a, setting);
      }
    };
    std::vector<device::Pair> row, col, band, one_block;
    for (std::int64_t j = 0; j < n; ++j) row.push_back({17, j});
    for (std::int64_t i = 0; i < m; ++i) col.push_back({i, 1999});
    for (std::int64_t i = 16; i < 32; ++i) {
      for (std::int64_t j = 0; j < n; j += 89) band.push_back({i, j});
    }
    for (std::int64_t j = 0; one_block.size() < 320;
         ++j) {  // the second third of the places of one band, to three blocks
      ASSERT_LT(j, n);
      for (std::int64_t i = 16; i < 32 && one_block.size() < 320; ++i) {
        if (fp64::place_of_hash(fp64::pair_hash(i, j), 3) == 1) one_block.push_back({i, j});
      }
    }
    expect(132, {{39, 0}});
    expect(132, {{39, 0}, {0, 1999}, {20, 1000}});
    expect(1, {{39, 0}, {0, 1999}, {20, 1000}});
    expect(3, row);  // several walks
    expect(132, row);
    expect(2, col);
    expect(132, col);
    expect(2, band);       // more than are summed at once
    expect(3, one_block);  // more than a block holds
    expect(7, random_pairs<T>(rng, m, n, 1));
    if (testing::Test::HasFatalFailure()) return;
  }
}
TEST_F(Fp64Rung, DealtRepairs32) { expect_dealt_repairs<float>(30); }
TEST_F(Fp64Rung, DealtRepairs64) { expect_dealt_repairs<double>(31); }
TEST_F(Fp64Rung, DealtRepairsComplex32) { expect_dealt_repairs<std::complex<float>>(32); }
TEST_F(Fp64Rung, DealtRepairsComplex64) { expect_dealt_repairs<std::complex<double>>(33); }

/// Lines that are aligned, so that 16 bytes are copied at once: bands of lines across memory that lanes share, of which
/// the last one is not whole, and more bands than they share; lines along memory.
template <class T>
void expect_aligned_lines(std::uint64_t seed) {
  Rng rng(seed);
  for (const tests::Storage storage_a : {tests::Storage::kInnerContiguous, tests::Storage::kLineContiguous}) {
    for (const tests::Storage storage_b : {tests::Storage::kLineContiguous, tests::Storage::kInnerContiguous}) {
      for (const std::int64_t k : {40, 132, 1000, 2304}) {
        const std::int64_t m = 92;  // a multiple of what 16 bytes hold, not of a band
        const std::int64_t n = 300;
        const Operand<T> a(make_lines<T>(rng, Kind::kOrdinary, m, k), k, storage_a, rng() % 2 == 0, 0);
        const Operand<T> b(make_lines<T>(rng, Kind::kOrdinary, n, k), k, storage_b, rng() % 2 == 0, 0);
        std::vector<device::Pair> last_band;
        for (std::int64_t i = 80; i < m; ++i) {
          for (std::int64_t j = static_cast<std::int64_t>(rng() % 11); j < n; j += 37) last_band.push_back({i, j});
        }
        for (const Fp64Summation summation : kSummations) {
          Setting<T> setting;
          setting.rung = 0;
          setting.summation = summation;
          setting.num_sms = kSmCounts[rng() % 2];
          setting.repairs = last_band;
          expect_host_bits(rng, a, b, setting);
          setting.repairs = random_pairs<T>(rng, m, n, 1);
          setting.num_sms = 5;
          expect_host_bits(rng, a, b, setting);
          if (testing::Test::HasFatalFailure()) return;
        }
      }
    }
  }
}
TEST_F(Fp64Rung, AlignedLines32) { expect_aligned_lines<float>(35); }
TEST_F(Fp64Rung, AlignedLines64) { expect_aligned_lines<double>(36); }
TEST_F(Fp64Rung, AlignedLinesComplex32) { expect_aligned_lines<std::complex<float>>(37); }
TEST_F(Fp64Rung, AlignedLinesComplex64) { expect_aligned_lines<std::complex<double>>(38); }

/// More lines than there are bands of 16: a few pairs, so many that a walk through the list does not pay, and some
/// between.
TEST_F(Fp64Rung, RepairsOfManyLines) {
  Rng rng(34);
  const auto tall = random_operand<double>(rng, Kind::kOrdinary, 66000, 9, false);
  const auto thin = random_operand<double>(rng, Kind::kOrdinary, 3, 9, false);
  Setting<double> setting;
  setting.rung = 0;
  for (const int num_sms : {3, 132}) {
    setting.num_sms = num_sms;
    setting.repairs = {{0, 0}, {65999, 2}, {40000, 1}, {40001, 1}};
    expect_host_bits(rng, tall, thin, setting);
    setting.repairs = random_pairs<double>(rng, 66000, 3, 2);
    expect_host_bits(rng, tall, thin, setting);
  }
}

/// Sums that cancel: what is left shows the order in which rounding errors are added.
template <class T>
void expect_cancelling_sums(std::uint64_t seed) {
  Rng rng(seed);
  for (const std::int64_t k : {2, 34, 130, 256, 600, 2000}) {
    auto a_lines = make_lines<T>(rng, Kind::kOrdinary, 70, k);
    auto b_lines = make_lines<T>(rng, Kind::kOrdinary, 37, k);
    const auto half = static_cast<std::size_t>(k / 2);
    for (auto& line : a_lines) {
      for (std::size_t h = 0; h < half; ++h) line[half + h] = -line[h];
    }
    for (auto& line : b_lines) std::copy_n(line.begin(), half, line.begin() + k / 2);
    const Operand<T> a(a_lines, k, tests::kStorages[rng() % 5], rng() % 2 == 0);
    const Operand<T> b(b_lines, k, tests::kStorages[rng() % 5], rng() % 2 == 0);
    for (const Fp64Summation summation : kSummations) {
      Setting<T> setting;
      setting.summation = summation;
      setting.num_sms = kSmCounts[rng() % 2];
      expect_host_bits(rng, a, b, setting);
      setting.rung = 0;
      setting.repairs = random_pairs<T>(rng, 70, 37, 20);
      expect_host_bits(rng, a, b, setting);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}
TEST_F(Fp64Rung, CancellingSums32) { expect_cancelling_sums<float>(27); }
TEST_F(Fp64Rung, CancellingSums64) { expect_cancelling_sums<double>(28); }
TEST_F(Fp64Rung, CancellingSumsComplex64) { expect_cancelling_sums<std::complex<double>>(29); }

/// More tiles than blocks, several bands of tiles.
TEST_F(Fp64Rung, ManyTiles) {
  Rng rng(13);
  const auto a = random_operand<double>(rng, Kind::kOrdinary, 1100, 150, false);
  const auto b = random_operand<double>(rng, Kind::kOrdinary, 330, 150, true);
  for (const int num_sms : {1, 7, 132, 1000}) {
    for (const Fp64Summation summation : kSummations) {
      Setting<double> setting;
      setting.summation = summation;
      setting.num_sms = num_sms;
      expect_host_bits(rng, a, b, setting);
      if (HasFatalFailure()) return;
    }
  }
}

TEST_F(Fp64Rung, EmptyProducts) {
  Rng rng(14);
  const std::int64_t shapes[][3] = {{3, 4, 0}, {0, 4, 5}, {3, 0, 5}};
  for (const auto& [m, n, k] : shapes) {
    const auto a = random_operand<double>(rng, Kind::kOrdinary, m, k, false);
    const auto b = random_operand<double>(rng, Kind::kOrdinary, n, k, false);
    for (const double beta : {0.0, 0.5}) {
      Setting<double> setting;
      setting.beta = beta;
      expect_host_bits(rng, a, b, setting);
      if (HasFatalFailure()) return;
    }
  }
}

}  // namespace
}  // namespace kizami::gpu_test::fp64_case
