// SPDX-License-Identifier: MIT
// The split of FP32 into hi and lo, by definition: what is stored is decoded here bit by bit and compared in FP64, in
// which every number that occurs is exact.
#include "schemes/ec/device_planes_oracle.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "num/line_stats.hpp"

namespace kizami::ec {
namespace {

using product::EcFormat;

constexpr std::int8_t kCanary = 0x5A;
constexpr num::EcRangeLimits kLimits = {0x1p-10F, 0x1p4F, 0x1p-60F, 0x1p-100F};

/// The value of a stored narrow number.
[[nodiscard]] double decoded(EcFormat format, const std::int8_t* at) {
  if (format == EcFormat::kTf32) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, at, sizeof bits);
    EXPECT_EQ(bits & 0x1FFFU, 0U) << "bits below TF32";
    return std::bit_cast<float>(bits);
  }
  std::uint16_t bits = 0;
  std::memcpy(&bits, at, sizeof bits);
  const int exponent = bits >> 10 & 31;
  const int mantissa = bits & 1023;
  EXPECT_NE(exponent, 31) << "no finite number";
  const double magnitude = exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
  return (bits >> 15) != 0 ? -magnitude : magnitude;
}

struct SplitLine {
  std::vector<std::int8_t> row;  ///< and a block of canaries
  std::int32_t scale = 77;
  num::EcLineSight sight;

  SplitLine(const std::vector<float>& line, EcFormat format, std::int64_t stride = 1) {
    const auto length = static_cast<std::int64_t>(line.size());
    std::vector<float> memory(static_cast<std::size_t>(length * stride), std::numeric_limits<float>::quiet_NaN());
    for (std::int64_t h = 0; h < length; ++h)
      memory[static_cast<std::size_t>(h * stride)] = line[static_cast<std::size_t>(h)];
    row.assign(static_cast<std::size_t>(product::ec_line_bytes(format, length) + product::kEcBlockBytes), kCanary);
    sight = ec_split_line({memory.data(), 1, length, 1, stride}, 0, format, kLimits, row.data(), scale);
  }
  [[nodiscard]] const std::int8_t* at(EcFormat format, std::int64_t h) const {
    const std::int64_t block = product::ec_block_length(format);
    return row.data() + h / block * product::kEcBlockBytes + h % block * (product::kEcBlockBytes / 2 / block);
  }
  [[nodiscard]] double hi(EcFormat format, std::int64_t h) const { return decoded(format, at(format, h)); }
  [[nodiscard]] double lo(EcFormat format, std::int64_t h) const {
    return decoded(format, at(format, h) + product::kEcBlockBytes / 2);
  }
};

/// Half the spacing of a format's numbers around y.
[[nodiscard]] double half_spacing(EcFormat format, double y) {
  if (y == 0) return 0;
  const int least = format == EcFormat::kF16 ? -14 : -126;
  return std::ldexp(1, std::max(std::ilogb(y), least) - 11);
}

/// Everything the header promises of a finite line.
void expect_split(const std::vector<float>& line, EcFormat format, std::int64_t stride = 1) {
  const SplitLine split(line, format, stride);
  double largest = 0;
  for (const float x : line) largest = std::max(largest, std::fabs(static_cast<double>(x)));
  if (largest == 0) {
    EXPECT_EQ(split.scale, 0);
  } else {
    EXPECT_EQ(std::ilogb(std::ldexp(largest, split.scale)), product::ec_top_exponent(format));
  }
  std::int64_t num_dense = 0;
  std::int64_t num_full = 0;
  double smallest = 0;
  const double floor = format == EcFormat::kF16 ? 0x1p-25 : 0x1p-137;
  for (std::size_t h = 0; h < line.size(); ++h) {
    const double y = std::ldexp(line[h], split.scale);  // rounded to FP32: what is far below the largest may underflow
    const double hi = split.hi(format, static_cast<std::int64_t>(h));
    const double lo = split.lo(format, static_cast<std::int64_t>(h));
    ASSERT_LE(std::fabs(y - hi), half_spacing(format, y)) << line[h];
    ASSERT_LE(std::fabs(y - hi - lo), std::max(0x1p-22 * std::fabs(y), floor)) << line[h];
    const double seen = std::max(std::fabs(y), 0x1p-149);  // an element that underflows is small, not zero
    if (line[h] != 0 && (smallest == 0 || seen < smallest)) smallest = seen;
    num_dense += std::fabs(hi) >= 0x1p4 ? 1 : 0;
    num_full += std::fabs(y) >= 0x1p-100 ? 1 : 0;
  }
  EXPECT_EQ(split.sight.smallest, smallest);
  EXPECT_EQ(split.sight.num_dense, num_dense);
  EXPECT_EQ(split.sight.num_full, num_full);
  const auto padded = static_cast<std::int64_t>(split.row.size() - product::kEcBlockBytes) / product::kEcBlockBytes *
                      product::ec_block_length(format);
  for (auto h = static_cast<std::int64_t>(line.size()); h < padded; ++h) {
    EXPECT_EQ(split.hi(format, h), 0);
    EXPECT_EQ(split.lo(format, h), 0);
  }
  EXPECT_TRUE(std::all_of(split.row.end() - product::kEcBlockBytes, split.row.end(),
                          [](std::int8_t byte) { return byte == kCanary; }));
}

class EcSplit : public testing::TestWithParam<EcFormat> {};
INSTANTIATE_TEST_SUITE_P(Formats, EcSplit, testing::Values(EcFormat::kF16, EcFormat::kTf32),
                         [](const auto& format) { return format.param == EcFormat::kF16 ? "F16" : "Tf32"; });

TEST_P(EcSplit, HoldsEveryFp16NumberExactlyDownToItsNormals) {
  std::vector<float> line;
  for (int exponent = 0; exponent < 31; ++exponent) {
    for (int mantissa = 0; mantissa < 1024; ++mantissa) {
      const auto x =
          static_cast<float>(exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25));
      line.push_back(mantissa % 2 == 0 ? x : -x);
    }
  }
  expect_split(line, GetParam());
  const SplitLine split(line, GetParam());
  for (std::size_t h = 0; h < line.size(); ++h) {
    const double y = std::ldexp(static_cast<double>(line[h]), split.scale);
    if (std::fabs(y) < 0x1p-14) continue;
    ASSERT_EQ(split.hi(GetParam(), static_cast<std::int64_t>(h)), y);
    ASSERT_EQ(split.lo(GetParam(), static_cast<std::int64_t>(h)), 0);
  }
}

TEST_P(EcSplit, KeepsItsBoundOnSampledFp32) {
  std::mt19937 rng(6);
  for (const int spread : {1, 12, 30, 60, 250}) {
    for (const std::int64_t stride : {1, 3}) {
      std::vector<float> line(1000 + rng() % 64);
      for (float& x : line) {
        const int exponent = static_cast<int>(rng() % static_cast<unsigned>(spread)) - spread / 2;
        x = std::ldexp(1.0F + static_cast<float>(rng() & 0x7FFFFFU) * 0x1p-23F, exponent) *
            (rng() % 2 == 0 ? 1.0F : -1.0F);
        if (rng() % 50 == 0) x = 0;
      }
      expect_split(line, GetParam(), stride);
    }
  }
}

TEST_P(EcSplit, TakesAnyLengthAndAnyMagnitude) {
  for (const std::size_t length : {1U, 15U, 16U, 17U, 31U, 32U, 33U}) {
    for (const float largest : {0.0F, 0x1p-149F, 0x1.8p-140F, 0x1p-126F, 1.0F, 0x1.FFFFFEp127F}) {
      std::vector<float> line(length, largest / 3);
      line[length / 2] = -largest;
      expect_split(line, GetParam());
    }
  }
}

TEST_P(EcSplit, LeavesLinesWithNanOrInfOut) {
  for (const float x : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                        -std::numeric_limits<float>::infinity()}) {
    std::vector<float> line(40, 1.5F);
    line[33] = x;
    const SplitLine split(line, GetParam());
    EXPECT_EQ(split.scale, num::kSkipLine);
    EXPECT_TRUE(std::all_of(split.row.begin(), split.row.end() - product::kEcBlockBytes,
                            [](std::int8_t byte) { return byte == 0; }));
  }
}

}  // namespace
}  // namespace kizami::ec
