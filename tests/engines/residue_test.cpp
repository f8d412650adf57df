// SPDX-License-Identifier: MIT
// The reduction of INT32 accumulators in every kernel, against the definition: all moduli, near the ends of the range,
// near multiples of p and half multiples, and a coarse net over everything.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "engines/cpu_simd/micro_kernel.hpp"
#include "engines/cpu_simd/symmetric_residue.hpp"
#include "engines/product_case.hpp"
#include "num/modular.hpp"

namespace kizami::engines {
namespace {

constexpr std::int64_t kLowest = std::numeric_limits<std::int32_t>::min();
constexpr std::int64_t kHighest = std::numeric_limits<std::int32_t>::max();

/// Accumulators that are interesting for p.
std::vector<std::int32_t> probes(int p) {
  std::vector<std::int64_t> xs;
  const std::int64_t reach = 3 * p + 3;
  for (std::int64_t d = 0; d <= reach; ++d) {
    for (const std::int64_t x : {kLowest + d, kHighest - d, -d, d}) xs.push_back(x);
  }
  for (std::uint64_t i = 0; i < 200; ++i) {
    const auto q = static_cast<std::int64_t>(testing::hash(i) >> 32) - (std::int64_t{1} << 31);
    const std::int64_t multiple = q / p * p;
    for (const std::int64_t d : {-1, 0, 1}) {
      for (const std::int64_t half : {0, p / 2, (p + 1) / 2}) xs.push_back(multiple + half + d);
    }
  }
  const std::int64_t step = testing::kIsSanitized ? 9999991 : 199999;
  for (std::int64_t x = kLowest; x <= kHighest; x += step) xs.push_back(x);
  std::vector<std::int32_t> result;
  for (const std::int64_t x : xs) {
    if (x >= kLowest && x <= kHighest) result.push_back(static_cast<std::int32_t>(x));
  }
  return result;
}

/// Reduces all of `xs` through the kernel, a column of a tile at a time, adding `add`; checks each against the
/// definition.
void check_kernel(const MicroKernel& kernel, int p, const std::vector<std::int32_t>& xs, int add) {
  alignas(64) std::int32_t acc[kMaxTileElems] = {};
  std::int8_t c[kMaxTileElems];
  const auto tile = static_cast<std::size_t>(kernel.tile_rows * kernel.tile_cols);
  for (std::size_t first = 0; first < xs.size(); first += tile) {
    const std::size_t count = std::min(tile, xs.size() - first);
    for (std::size_t i = 0; i < count; ++i) {
      acc[i] = xs[first + i];
      c[i] = static_cast<std::int8_t>(add);
    }
    kernel.reduce(acc, kernel.tile_rows, kernel.tile_cols, p, add != 0, c, kernel.tile_rows);
    for (std::size_t i = 0; i < count; ++i) {
      const std::int64_t sum = std::int64_t{acc[i]} + add;
      if (sum < kLowest || sum > kHighest) continue;  // WrapsHarmlesslyForPowersOfTwo
      ASSERT_EQ(c[i], num::symmetric_residue(sum, p))
          << kernel.name << " x = " << acc[i] << " + " << add << " p = " << p;
    }
  }
}

TEST(SymmetricResidue, EveryKernelEveryModulus) {
  for (const MicroKernel& kernel : compiled_kernels()) {
    if (!kernel.is_supported) continue;
    for (int p = 2; p <= 256; ++p) {
      const auto xs = probes(p);
      for (const int add : {0, -128, -1, 127}) check_kernel(kernel, p, xs, add);
    }
  }
}

TEST(SymmetricResidue, WrapsHarmlesslyForPowersOfTwo) {
  for (const MicroKernel& kernel : compiled_kernels()) {
    if (!kernel.is_supported) continue;
    for (const int p : {2, 4, 128, 256}) {
      alignas(64) std::int32_t acc[kMaxTileElems] = {};
      std::int8_t c[kMaxTileElems] = {};
      for (int i = 0; i < kernel.tile_rows; ++i) {
        acc[i] = std::numeric_limits<std::int32_t>::min();  // 2^31, wrapped
        c[i] = static_cast<std::int8_t>(i % 2 == 0 ? -128 + i : 127 - i);
      }
      kernel.reduce(acc, kernel.tile_rows, 1, p, true, c, kernel.tile_rows);
      for (int i = 0; i < kernel.tile_rows; ++i) {
        const std::int64_t sum = (std::int64_t{1} << 31) + (i % 2 == 0 ? -128 + i : 127 - i);
        EXPECT_EQ(c[i], num::symmetric_residue(sum, p)) << kernel.name << " p = " << p;
      }
    }
  }
}

TEST(SymmetricResidue, TouchesOnlyTheTileAskedFor) {
  for (const MicroKernel& kernel : compiled_kernels()) {
    if (!kernel.is_supported) continue;
    for (int rows = 1; rows <= kernel.tile_rows; ++rows) {
      alignas(64) std::int32_t acc[kMaxTileElems] = {};
      for (int i = 0; i < kMaxTileElems; ++i) acc[i] = i * 7919;
      std::vector<std::int8_t> c(static_cast<std::size_t>(kernel.tile_rows + 5) * 3, 99);
      const std::int64_t stride = rows + 5;
      kernel.reduce(acc, rows, 2, 251, false, c.data(), stride);
      for (std::int64_t i = 0; i < static_cast<std::int64_t>(c.size()); ++i) {
        const bool is_inside = i / stride < 2 && i % stride < rows;
        const int expected =
            is_inside ? num::symmetric_residue(acc[i / stride * kernel.tile_rows + i % stride], 251) : 99;
        ASSERT_EQ(c[static_cast<std::size_t>(i)], expected) << kernel.name << " rows = " << rows << " at " << i;
      }
    }
  }
}

// The scalar form at compile time, at both ends of the range.
constexpr bool matches_at_the_ends(int p) {
  for (std::int64_t d = 0; d < 2 * p; ++d) {
    for (const std::int64_t x : {kLowest + d, kHighest - d}) {
      if (symmetric_residue(static_cast<std::int32_t>(x), 0, residue_constants(p)) != num::symmetric_residue(x, p))
        return false;
    }
  }
  return true;
}
static_assert(matches_at_the_ends(2) && matches_at_the_ends(3) && matches_at_the_ends(173) &&
              matches_at_the_ends(255) && matches_at_the_ends(256));

}  // namespace
}  // namespace kizami::engines
