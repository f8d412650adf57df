// SPDX-License-Identifier: MIT
// What the guide says that its kernels do. Included by a unit with and one without the checks of the debug mode, and by
// one that runs them on a device (tests/gpu), which says before how: GUIDE_TEST, GUIDE_LAUNCH and GuideAllocator.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <vector>

#include "tile/tests/guide/guide_kernels.hpp"

#if !defined(GUIDE_ON_DEVICE)
#if defined(KIZAMI_TILE_DEBUG)
#define GUIDE_TEST(name) TEST(GuideInDebugMode, name)
#else
#define GUIDE_TEST(name) TEST(Guide, name)
#endif
#define GUIDE_LAUNCH KIZAMI_TILE_LAUNCH
#endif

namespace kizami::tile_guide {
inline namespace KIZAMI_TILE_BACKEND {

#if !defined(GUIDE_ON_DEVICE)
template <class T>
using GuideAllocator = std::allocator<T>;
#endif
/// Numbers that kernels and tests read and write.
template <class T>
using Numbers = std::vector<T, GuideAllocator<T>>;

inline unsigned tiles(int n, int size) { return static_cast<unsigned>((n + size - 1) / size); }
inline std::size_t at(int i) { return static_cast<std::size_t>(i); }

/// n numbers make(0), make(1), ...
template <class T, class Make>
Numbers<T> numbers(int n, const Make& make) {
  Numbers<T> x;
  for (int i = 0; i < n; ++i) x.push_back(static_cast<T>(make(i)));
  return x;
}
inline int small_integer(int i) { return i * 37 % 101 - 50; }

#if !defined(GUIDE_ON_DEVICE)
/// The total of x, or why there is none.
inline Status total_of(const std::vector<int>& x, int& total) {
  const int n = static_cast<int>(x.size());
  const dim3 grid(static_cast<unsigned>((n + 255) / 256));
  total = 0;
  return KIZAMI_TILE_LAUNCH(add_up, grid, nullptr, x.data(), &total, n);
}

/// The same, with blocks in a random order on two threads.
inline Status total_in_another_order(const std::vector<int>& x, int& total) {
  tile::LaunchOptions options;
  options.block_order = tile::BlockOrder::kShuffled;
  options.seed = 7;
  options.max_threads = 2;
  const int n = static_cast<int>(x.size());
  const dim3 grid(static_cast<unsigned>((n + 255) / 256));
  total = 0;
  return KIZAMI_TILE_LAUNCH(add_up, grid, &options, x.data(), &total, n);
}
#endif

#define EXPECT_RUNS(launch)                        \
  do {                                             \
    const Status status_ = (launch);               \
    ASSERT_TRUE(status_.ok()) << status_.reason(); \
  } while (false)

GUIDE_TEST(TakesEveryThirdByte) {
  const int rows = 21, cols = 35;
  const auto rgb = numbers<std::uint8_t>(3 * rows * cols, [](int i) { return i % 251; });
  Numbers<std::uint8_t> red(at(rows * cols));
  EXPECT_RUNS(
      GUIDE_LAUNCH(take_red, dim3(tiles(rows, 16), tiles(cols, 16)), nullptr, rgb.data(), red.data(), rows, cols));
  for (int i = 0; i < rows * cols; ++i) ASSERT_EQ(red[at(i)], rgb[at(3 * i)]);
}

GUIDE_TEST(ReadsColumnsAsRows) {
  const int rows = 21, cols = 35;
  const auto in = numbers<float>(rows * cols, [](int i) { return i; });
  Numbers<float> out(in.size());
  EXPECT_RUNS(
      GUIDE_LAUNCH(to_row_major, dim3(tiles(rows, 16), tiles(cols, 16)), nullptr, in.data(), out.data(), rows, cols));
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < cols; ++j) ASSERT_EQ(out[at(i * cols + j)], in[at(j * rows + i)]);
}

GUIDE_TEST(CountsIn64Bits) {
  const auto in = numbers<float>(1000, small_integer);
  Numbers<float> out(in.size());
  EXPECT_RUNS(GUIDE_LAUNCH(twice, tiles(1000, 256), nullptr, in.data(), out.data(), std::int64_t{1000}));
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(out[at(i)], 2 * in[at(i)]);
}

GUIDE_TEST(PaddingNeverIsTheMinimum) {
  const int rows = 13, cols = 50;
  const auto x = numbers<float>(rows * cols, [](int i) { return 100 + small_integer(i); });
  Numbers<float> minima(at(rows));
  EXPECT_RUNS(GUIDE_LAUNCH(row_minima, tiles(rows, 8), nullptr, x.data(), minima.data(), rows, cols));
  for (int i = 0; i < rows; ++i)
    ASSERT_EQ(minima[at(i)], *std::min_element(x.begin() + i * cols, x.begin() + (i + 1) * cols));
}

GUIDE_TEST(MasksByPosition) {
  const int n = 37;
  auto x = numbers<float>(n * n, [](int) { return 5; });
  EXPECT_RUNS(GUIDE_LAUNCH(keep_lower, dim3(tiles(n, 16), tiles(n, 16)), nullptr, x.data(), n));
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) ASSERT_EQ(x[at(i * n + j)], i >= j ? 5.0F : 0.0F);
}

GUIDE_TEST(MeansBroadcastOverRows) {
  const int rows = 13;
  const auto x = numbers<float>(rows * 64, [](int i) { return 64 * (i % 5); });  // exact: sums of integers by 64
  Numbers<float> y(x.size());
  EXPECT_RUNS(GUIDE_LAUNCH(centre_rows, tiles(rows, 8), nullptr, x.data(), y.data(), rows));
  for (int i = 0; i < rows; ++i) {
    const float sum = std::accumulate(x.begin() + i * 64, x.begin() + (i + 1) * 64, 0.0F);
    for (int j = 0; j < 64; ++j) ASSERT_EQ(y[at(i * 64 + j)], x[at(i * 64 + j)] - sum / 64);
  }
}

GUIDE_TEST(ScansCarryFromTileToTile) {
  const auto x = numbers<int>(500, small_integer);
  Numbers<int> y(x.size());
  EXPECT_RUNS(GUIDE_LAUNCH(running_sum, 1, nullptr, x.data(), y.data(), 500));
  Numbers<int> expected(x.size());
  std::partial_sum(x.begin(), x.end(), expected.begin());
  EXPECT_EQ(y, expected);
}

GUIDE_TEST(FindsTheFirstLargest) {
  const int rows = 13;
  const auto x = numbers<float>(rows * 64, [](int i) { return i * 29 % 40; });
  Numbers<std::uint32_t> where(at(rows));
  EXPECT_RUNS(GUIDE_LAUNCH(largest_column, tiles(rows, 8), nullptr, x.data(), where.data(), rows));
  for (int i = 0; i < rows; ++i) {
    const auto row = x.begin() + i * 64;
    ASSERT_EQ(where[at(i)], static_cast<std::uint32_t>(std::max_element(row, row + 64) - row));
  }
}

GUIDE_TEST(GathersRows) {
  const int height = 20, n = 25;
  const auto table = numbers<float>(height * 32, [](int i) { return i; });
  const auto rows = numbers<std::uint32_t>(n, [](int i) { return i * 7 % height; });
  Numbers<float> out(at(n * 32));
  EXPECT_RUNS(GUIDE_LAUNCH(gather_rows, tiles(n, 16), nullptr, table.data(), rows.data(), out.data(), height, n));
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < 32; ++j) ASSERT_EQ(out[at(i * 32 + j)], table[rows[at(i)] * 32U + at(j)]);
}

GUIDE_TEST(WalksDownTheDiagonal) {
  const int n = 70;
  const auto a = numbers<float>(n * n, [](int i) { return i; });
  Numbers<float> diagonal(at(n));
  EXPECT_RUNS(GUIDE_LAUNCH(take_diagonal, tiles(n, 64), nullptr, a.data(), diagonal.data(), n));
  for (int i = 0; i < n; ++i) ASSERT_EQ(diagonal[at(i)], a[at(i * n + i)]);
}

GUIDE_TEST(CountsWithAtomics) {
  const auto x = numbers<std::uint8_t>(1000, [](int i) { return i * i % 13; });
  Numbers<int> counts(256), expected(256);
  for (const std::uint8_t v : x) ++expected[v];
  EXPECT_RUNS(GUIDE_LAUNCH(histogram, tiles(1000, 64), nullptr, x.data(), counts.data(), 1000));
  EXPECT_EQ(counts, expected);
}

GUIDE_TEST(BlocksAddToOneTotal) {
  const auto x = numbers<int>(3000, small_integer);
  Numbers<int> sum(1);
  EXPECT_RUNS(GUIDE_LAUNCH(add_up, tiles(3000, 256), nullptr, x.data(), sum.data(), 3000));
  EXPECT_EQ(sum[0], std::accumulate(x.begin(), x.end(), 0));
#if !defined(GUIDE_ON_DEVICE)
  int total = 0;
  EXPECT_RUNS(total_of(x, total));
  EXPECT_EQ(total, std::accumulate(x.begin(), x.end(), 0));
  EXPECT_RUNS(total_in_another_order(x, total));
  EXPECT_EQ(total, std::accumulate(x.begin(), x.end(), 0));
#endif
}

GUIDE_TEST(HalvesAreInterleaved) {
  const auto x = numbers<float>(384, [](int i) { return i; });
  Numbers<float> y(x.size());
  EXPECT_RUNS(GUIDE_LAUNCH(interleave_halves, 3, nullptr, x.data(), y.data(), 384));
  for (int i = 0; i < 384; ++i) ASSERT_EQ(y[at(i)], x[at(i / 128 * 128 + i % 128 / 2 + (i % 2) * 64)]) << i;
}

GUIDE_TEST(RoundsDownAndUp) {
  const auto a = numbers<float>(100, [](int i) { return 1.0 + i * 0x1p-23; });
  const auto b = numbers<float>(100, [](int i) { return (i % 2 == 0 ? 1 : -1) * (2.0 - i * 0x1p-22); });
  Numbers<float> low(100), high(100);
  EXPECT_RUNS(GUIDE_LAUNCH(enclose_product, tiles(100, 64), nullptr, a.data(), b.data(), low.data(), high.data(), 100));
  for (int i = 0; i < 100; ++i) {
    const double exact = static_cast<double>(a[at(i)]) * static_cast<double>(b[at(i)]);  // 48 bits
    const float next = std::nextafter(low[at(i)], std::numeric_limits<float>::infinity());
    ASSERT_LE(static_cast<double>(low[at(i)]), exact);
    ASSERT_GE(static_cast<double>(high[at(i)]), exact);
    ASSERT_EQ(high[at(i)], static_cast<double>(low[at(i)]) == exact ? low[at(i)] : next);
  }
}

GUIDE_TEST(ModHasTheSignOfItsDivisor) {
  const auto a = numbers<int>(100, small_integer);
  Numbers<int> result(a.size());
  for (const int b : {7, -7}) {
    EXPECT_RUNS(GUIDE_LAUNCH(python_mod, tiles(100, 64), nullptr, a.data(), b, result.data(), 100));
    for (int i = 0; i < 100; ++i) {
      ASSERT_EQ((a[at(i)] - result[at(i)]) % b, 0);
      ASSERT_TRUE(b > 0 ? result[at(i)] >= 0 && result[at(i)] < b : result[at(i)] <= 0 && result[at(i)] > b);
    }
  }
}

GUIDE_TEST(PromisesChangeNothing) {
  const auto x = numbers<float>(320, small_integer);  // an allocation lies on 16 bytes
  Numbers<float> y(x.size());
  EXPECT_RUNS(GUIDE_LAUNCH(triple, tiles(320, 256), nullptr, x.data(), y.data(), 320));
  for (int i = 0; i < 320; ++i) ASSERT_EQ(y[at(i)], 3 * x[at(i)]);
}

}  // namespace KIZAMI_TILE_BACKEND
}  // namespace kizami::tile_guide
