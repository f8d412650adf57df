// SPDX-License-Identifier: MIT
// The split of FP32 operands on the device against ec_split_line(), bit for bit: planes, scales and counts. All of the planes'
// storage is compared, so a byte between rows or beyond the last is a failure like any other.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "gpu/device_memory.hpp"
#include "gpu/ec_case.hpp"
#include "num/line_stats.hpp"
#include "split/device_ec_split.hpp"
#include "split/ec_split.hpp"

namespace kizami::split {
namespace {

using gpu_test::DeviceArray;
using gpu_test::DeviceEcOperand;
using gpu_test::EcLines;
using product::EcFormat;

class DeviceEcSplitTest : public gpu_test::DeviceTest {};

/// Compares what the device has made of an operand, and adds to `expected` what it should have counted.
void expect_host_bits(const DeviceEcOperand& operand, EcFormat format, EcLineState& expected, const std::string& name) {
  const EcLines& host = operand.host;
  std::vector<std::int8_t> planes(operand.planes.size(), static_cast<std::int8_t>(DeviceArray<std::int8_t>::kPoison));
  const std::vector<std::int32_t> scales = operand.scales.download();
  for (std::int64_t i = 0; i < host.num_lines; ++i) {
    std::int32_t scale = 0;
    const EcLineCount count =
        ec_split_line(host.lines(host.memory.data()), i, format, planes.data() + i * operand.row_stride, scale);
    ASSERT_EQ(scales[static_cast<std::size_t>(i)], scale) << name << " line " << i;
    if (scale == num::kSkipLine) {
      ++expected.nonfinite_lines;
    } else if (is_coarse(count)) {
      ++expected.coarse_lines;
    }
  }
  const std::vector<std::int8_t> found = operand.planes.download();
  const auto wrong = std::mismatch(found.begin(), found.end(), planes.begin());
  const auto at = wrong.first - found.begin();
  ASSERT_TRUE(wrong.first == found.end())
      << name << " line " << at / operand.row_stride << " byte " << at % operand.row_stride;
  EXPECT_TRUE(operand.planes.guards_are_intact()) << name;
}

void expect_split(const EcLines& a, const EcLines& b, EcFormat format, bool counts, const std::string& name) {
  const DeviceEcOperand device_a(a, format, 1);
  const DeviceEcOperand device_b(b, format);
  const DeviceArray<EcLineState> state(std::vector<EcLineState>(1));
  const Status status =
      device_ec_split(device_a.task(), device_b.task(), format, counts ? state.data() : nullptr, nullptr);
  ASSERT_TRUE(status.ok()) << status.reason();
  EcLineState expected;
  expect_host_bits(device_a, format, expected, name + " a");
  expect_host_bits(device_b, format, expected, name + " b");
  if (!counts) return;
  const EcLineState found = state.download()[0];
  EXPECT_EQ(found.nonfinite_lines, expected.nonfinite_lines) << name;
  EXPECT_EQ(found.coarse_lines, expected.coarse_lines) << name;
}

TEST_F(DeviceEcSplitTest, HasTheBitsOfTheHost) {
  struct Shape {
    std::int64_t a_lines, b_lines, k;
  };
  // Lines of one to eight warps, units of one to eight CTAs, and what is beyond the registers of either.
  constexpr std::array<Shape, 9> kShapes = {{{1, 1, 1},
                                             {5, 33, 31},
                                             {65, 8, 32},
                                             {32, 9, 257},
                                             {40, 3, 1024},
                                             {33, 2, 2100},
                                             {3, 35, 4096},
                                             {2, 34, 4135},
                                             {9, 37, 9001}}};
  std::mt19937_64 rng(1);
  for (const Shape& shape : kShapes) {
    for (const EcFormat format : {EcFormat::kF16, EcFormat::kTf32}) {
      for (const int layout : {0, 1, 2, 3}) {
        const bool is_a_across = layout % 2 == 0;
        const bool is_b_across = layout / 2 == 0;
        for (const std::int64_t gap : {0, 3}) {
          EcLines a(shape.a_lines, shape.k, is_a_across, gap, gap / 3);
          EcLines b(shape.b_lines, shape.k, is_b_across, gap);
          a.fill(rng, 20);
          b.fill(rng, gap == 0 ? 60 : 3, 100);
          for (std::int64_t i = 0; i < shape.a_lines; i += 4) a.scale_line(i, static_cast<int>(rng() % 240) - 120);
          if (shape.a_lines > 2) a(2, shape.k / 2) = std::numeric_limits<float>::infinity();
          if (shape.b_lines > 1) b(1, shape.k - 1) = std::numeric_limits<float>::quiet_NaN();
          if (shape.b_lines > 5) {
            for (std::int64_t h = 0; h < shape.k; ++h) b(5, h) = h % 2 == 0 ? 0.0F : -0.0F;
          }
          const std::string name = std::to_string(shape.a_lines) + "x" + std::to_string(shape.b_lines) + "x" +
                                   std::to_string(shape.k) + (is_a_across ? " across" : " along") +
                                   (is_b_across ? " across" : " along") + " gap " + std::to_string(gap) +
                                   (format == EcFormat::kF16 ? " f16" : " tf32");
          expect_split(a, b, format, true, name);
          expect_split(a, b, format, false, name + " uncounted");
        }
      }
    }
  }
}

TEST_F(DeviceEcSplitTest, AddsToTheCounts) {
  EcLines a(8, 64, false);
  std::mt19937_64 rng(2);
  a.fill(rng, 60);
  const DeviceEcOperand operand(a, EcFormat::kF16);
  const DeviceEcOperand other(a, EcFormat::kF16);
  const DeviceArray<EcLineState> state(std::vector<EcLineState>{{3, 5}});
  ASSERT_TRUE(device_ec_split(operand.task(), other.task(), EcFormat::kF16, state.data(), nullptr).ok());
  EXPECT_EQ(state.download()[0].nonfinite_lines, 3U);
  EXPECT_EQ(state.download()[0].coarse_lines, 5U + 16U);
}

}  // namespace
}  // namespace kizami::split
