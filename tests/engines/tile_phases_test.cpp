// SPDX-License-Identifier: MIT
// Split and reconstruction by engine tile against the common phases, byte for byte, in FP64 and FP32: every layout that the
// bodies take, ends of their ranges, canaries around what they write; and what they refuse.
#include "engines/tile/phases.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/int_math.hpp"
#include "certify/statistics.hpp"
#include "num/crt_table.hpp"
#include "num/line_stats.hpp"
#include "num/modular.hpp"
#include "schemes/ozaki2/crt.hpp"
#include "schemes/ozaki2/ladder.hpp"
#include "schemes/ozaki2/residues.hpp"

namespace kizami::engines {
namespace {

using product::ReconstructionDesc;
using product::SplitDesc;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

num::Rung rung_of(int num_moduli, std::int64_t k) {
  return ozaki2::forced_ladder(num::Ring::kReal, num_moduli, k).rungs[0];
}

/// Lines in one of two layouts, with what the common split gathers of them.
template <class T>
struct Operand {
  Operand(std::int64_t num_lines, std::int64_t length, bool is_along, int spread)
      : values(at(num_lines * (length + 3) + num_lines + length)) {
    std::mt19937_64 random(at(num_lines * 1000 + length));
    std::normal_distribution<double> normal;
    for (T& x : values)
      x = static_cast<T>(std::ldexp(normal(random), static_cast<int>(random() % at(2 * spread + 1)) - spread));
    lines.data = values.data();
    lines.num_lines = num_lines;
    lines.length = length;
    lines.line_stride = is_along ? length + 3 : 1;
    lines.inner_stride = is_along ? 1 : num_lines + 1;
  }
  void gather(const num::Rung& rung) {
    stats.resize(at(lines.num_lines));
    certify::gather_statistics(lines, nullptr, 1, stats.data());
    for (const num::LineStats& line : stats)
      scales.push_back(line.is_finite ? ozaki2::line_scale(rung, line) : num::kSkipLine);
  }
  [[nodiscard]] T& value(std::int64_t i, std::int64_t h) {
    return values[at(i * lines.line_stride + h * lines.inner_stride)];
  }

  std::vector<T> values;
  problem::Lines<T> lines;
  std::vector<num::LineStats> stats;
  std::vector<std::int32_t> scales;
};

template <class T>
void expect_same_planes(Operand<T>& x, int num_moduli, std::int64_t first, std::int64_t length) {
  const num::Rung rung = rung_of(num_moduli, x.lines.length);
  x.gather(rung);
  const std::int64_t row_stride = base::round_up(length, std::int64_t{64}) + 64;
  const std::int64_t plane_stride = x.lines.num_lines * row_stride + 17;
  std::vector<std::int8_t> expected(at(num_moduli * plane_stride), 99);
  std::vector<std::int8_t> planes = expected;
  std::vector<double> factors(at(2 * x.lines.num_lines));
  ozaki2::make_residue_planes(x.lines, x.stats.data(), nullptr, first, length, rung, 1, expected.data(), row_stride,
                              plane_stride);
  const SplitDesc desc{.data = x.lines.data + first * x.lines.inner_stride,
                       .num_lines = x.lines.num_lines,
                       .length = length,
                       .line_stride = x.lines.line_stride,
                       .inner_stride = x.lines.inner_stride,
                       .scales = x.scales.data(),
                       .rung = rung,
                       .planes = planes.data(),
                       .row_stride = row_stride,
                       .plane_stride = plane_stride,
                       .factors = factors.data(),
                       .threads = 2};
  ASSERT_EQ(tile_phases().why_refused(desc).value_or("taken"), "taken");
  const Status status = tile_phases().split(desc);
  ASSERT_TRUE(status.ok()) << status.reason();
  EXPECT_EQ(planes, expected) << num_moduli << " moduli, " << x.lines.num_lines << " lines of " << x.lines.length;
}

template <class T>
void expect_same_planes_of_layouts() {
  for (const bool is_along : {true, false}) {
    for (const auto& [num_lines, length] :
         {std::pair<std::int64_t, std::int64_t>{1, 1}, {7, 63}, {8, 64}, {9, 65}, {17, 200}}) {
      Operand<T> x(num_lines, length, is_along, 20);
      for (std::int64_t h = 0; h < length; ++h) x.value(num_lines / 2, h) = h % 2 == 0 ? T{0} : -T{0};  // a zero line
      for (const int num_moduli : {2, 7, 14, 24}) {
        Operand<T> copy = x;
        copy.lines.data = copy.values.data();
        expect_same_planes(copy, num_moduli, 0, length);
      }
    }
    Operand<T> later(5, 300, is_along, 20);
    expect_same_planes(later, 15, 64, 130);
  }
}
TEST(TilePhases, SplitsAsTheCommonPhase) {
  expect_same_planes_of_layouts<double>();
  expect_same_planes_of_layouts<float>();
}

template <class T>
void expect_same_planes_of_units(std::initializer_list<double> units) {
  for (const double unit : units) {
    Operand<T> x(3, 70, true, 0);
    for (T& value : x.values) value = static_cast<T>(std::clamp(static_cast<double>(value), -8.0, 8.0) * unit);
    expect_same_planes(x, 16, 0, 70);
  }
}
TEST(TilePhases, SplitsElementsOfAnySize) {
  expect_same_planes_of_units<double>({0x1p1000, 0x1p-1000, 0x1p-1070});
  expect_same_planes_of_units<float>({0x1p120, 0x1p-120, 0x1p-145});
}

/// Residues of numbers from small to as large as the moduli carry, and the scales of their lines.
template <class T>
struct Block {
  Block(int count, std::int64_t rows, std::int64_t cols)
      : num_moduli(count), m(rows), n(cols), col_stride(base::round_up(rows, std::int64_t{64})) {
    std::mt19937_64 random(at(count * 100 + rows));
    residues.resize(at(count * n * col_stride));
    for (std::int64_t j = 0; j < n; ++j) {
      for (std::int64_t i = 0; i < m; ++i) {
        const auto small = static_cast<std::int64_t>(random()) >> (8 * (j % 8));
        for (int l = 0; l < count; ++l) {
          const int p = num::kRealModuli[at(l)];
          const std::int64_t x = j % 3 == 0 ? static_cast<std::int64_t>(random() % 256) : j % 3 == 1 ? small : 0;
          residues[at((l * n + j) * col_stride + i)] = static_cast<std::int8_t>(num::symmetric_residue(x, p));
        }
      }
    }
    for (std::int64_t i = 0; i < m; ++i) row_scale.push_back(static_cast<std::int32_t>(40 + i % 50));
    for (std::int64_t j = 0; j < n; ++j) col_scale.push_back(static_cast<std::int32_t>(60 - 3 * (j % 40)));
    factors.resize(at(m + n));
    c.assign(at(n * (m + 2)), static_cast<T>(kNaN));  // beta = 0: what is there is not looked at
  }
  /// Elements of C of many sizes, for beta != 0.
  void fill_c(int spread) {
    std::mt19937_64 random(5);
    std::normal_distribution<double> normal;
    for (T& x : c)
      x = static_cast<T>(std::ldexp(normal(random), static_cast<int>(random() % at(2 * spread + 1)) - spread));
    c[0] = T{0};
    c[1] = -T{0};
  }
  [[nodiscard]] ReconstructionDesc desc(T alpha, T beta = 0) {
    return {.residues = residues.data(),
            .num_moduli = num_moduli,
            .col_stride = col_stride,
            .plane_stride = n * col_stride,
            .row_scale = row_scale.data(),
            .col_scale = col_scale.data(),
            .alpha = alpha,
            .beta = beta,
            .c = c.data(),
            .m = m,
            .n = n,
            .c_row_stride = 1,
            .c_col_stride = m + 2,
            .factors = factors.data(),
            .threads = 2};
  }

  int num_moduli;
  std::int64_t m;
  std::int64_t n;
  std::int64_t col_stride;
  std::vector<std::int8_t> residues;
  std::vector<std::int32_t> row_scale;
  std::vector<std::int32_t> col_scale;
  std::vector<double> factors;
  std::vector<T> c;
};

/// Bits, so that signs of zeros and the NaN of untouched memory count.
template <class T>
std::vector<std::uint64_t> bits_of(const std::vector<T>& values) {
  std::vector<std::uint64_t> bits;
  for (const T x : values) bits.push_back(std::bit_cast<std::uint64_t>(static_cast<double>(x)));
  return bits;
}

template <class T>
void expect_same_block(Block<T> block, T alpha, T beta = 0) {
  std::vector<T> expected = block.c;
  ozaki2::reconstruct_crt<T>({block.residues.data(), block.num_moduli, block.col_stride, block.n * block.col_stride},
                             block.row_scale.data(), block.col_scale.data(), alpha, beta, 1,
                             {expected.data(), block.m, block.n, 1, block.m + 2});
  const ReconstructionDesc desc = block.desc(alpha, beta);
  ASSERT_EQ(tile_phases().why_refused(desc).value_or("taken"), "taken");
  const Status status = tile_phases().reconstruct(desc);
  ASSERT_TRUE(status.ok()) << status.reason();
  EXPECT_EQ(bits_of(block.c), bits_of(expected))
      << block.num_moduli << " moduli, alpha = " << alpha << ", beta = " << beta;
}

template <class T>
void expect_same_blocks() {
  for (const int num_moduli : {2, 4, 5, 9, 13, 14, 17, 18, 20, 24}) {
    expect_same_block(Block<T>(num_moduli, 65, 5), T{1});
    expect_same_block(Block<T>(num_moduli, 3, 9), static_cast<T>(-0.3));
    Block<T> added(num_moduli, 33, 8);
    added.fill_c(60);
    expect_same_block(added, T{1}, T{1});
    expect_same_block(added, static_cast<T>(-0.3), static_cast<T>(0.7));
  }
}
TEST(TilePhases, ReconstructsAsTheCommonPhase) {
  expect_same_blocks<double>();
  expect_same_blocks<float>();
}

template <class T>
void expect_same_ends() {
  for (const std::int32_t sum : {340, -230}) {
    Block<T> block(24, 40, 6);
    std::fill(block.row_scale.begin(), block.row_scale.end(), sum < 0 ? -600 : 600);
    std::fill(block.col_scale.begin(), block.col_scale.end(), sum < 0 ? sum + 600 : sum - 600);
    expect_same_block(block, T{-1});
    block.fill_c(120);
    expect_same_block(block, T{2}, T{-1});
    block.col_scale[3] += sum < 0 ? -1 : 1;
    EXPECT_EQ(tile_phases().why_refused(block.desc(1)).value_or(""),
              "products leave the range of one fused multiply-add");
  }
}
TEST(TilePhases, ReconstructsAtTheEndsOfItsRange) {
  expect_same_ends<double>();
  expect_same_ends<float>();  // rounded to subnormal numbers, zero and Inf
}

TEST(TilePhases, AddsWhateverAnFp32MatrixHolds) {
  Block<float> block(9, 40, 3);
  block.fill_c(140);
  block.c[2] = std::numeric_limits<float>::infinity();
  block.c[3] = std::numeric_limits<float>::max();
  block.c[4] = std::numeric_limits<float>::denorm_min();
  expect_same_block(block, 1e30F, 1e30F);
  expect_same_block(block, -1e-30F, 1e-30F);
}

TEST(TilePhases, RefusesWhatItsReconstructionDoesNotTake) {
  const auto reason = [](const auto& change) {
    Block<double> block(15, 4, 4);
    std::fill(block.c.begin(), block.c.end(), 1.0);
    ReconstructionDesc desc = block.desc(1);
    change(desc, block);
    return tile_phases().why_refused(desc).value_or("");
  };
  EXPECT_EQ(reason([](auto&, auto&) {}), "");
  EXPECT_EQ(reason([](auto& d, auto&) { d.c_row_stride = 2; }), "C is not column-major");
  EXPECT_EQ(reason([](auto& d, auto&) { d.num_moduli = 30; }), "30 moduli of 7 digits, must be at most 6");
  for (const double x : {kNaN, 1e300, 1e-200}) {
    EXPECT_NE(reason([x](auto& d, auto&) { d.alpha = x; }).find("alpha leaves"), std::string::npos) << x;
    EXPECT_NE(reason([x](auto& d, auto&) { d.beta = x; }).find("beta leaves"), std::string::npos) << x;
    const auto set_last = [x](Block<double>& b) { b.c[3 * (4 + 2) + 3] = x; };
    EXPECT_EQ(reason([&](auto&, auto& b) { set_last(b); }), "") << x << " in C, which is not looked at";
    EXPECT_EQ(reason([&](auto& d, auto& b) { set_last(b), d.beta = 1; }),
              "an element of C leaves the range of one fused multiply-add");
  }
  EXPECT_EQ(reason([](auto& d, auto& b) { b.c[4] = kNaN, d.beta = 1; }), "") << "between the columns";
  EXPECT_EQ(reason([](auto& d, auto&) { d.c_col_stride = std::int64_t{1} << 31; }),
            "c_col_stride = 2147483648, must be below 2^31: tile kernels index by int");
  EXPECT_EQ(reason([](auto&, auto& b) { b.col_scale[2] = num::kSkipLine; }), "a line holds NaN or Inf");
  EXPECT_EQ(reason([](auto&, auto& b) { b.row_scale[1] = 601; }), "scales leave the range of -600..600");
}

TEST(TilePhases, RefusesWhatItsSplitDoesNotTake) {
  Operand<double> x(4, 100, true, 5);
  const std::vector<std::int32_t> shift(100);
  const auto reason = [&](const auto& change) {
    x.scales.clear();
    x.gather(rung_of(15, 100));
    SplitDesc desc{.data = x.lines.data,
                   .num_lines = 4,
                   .length = 100,
                   .line_stride = x.lines.line_stride,
                   .inner_stride = 1,
                   .scales = x.scales.data(),
                   .rung = rung_of(15, 100),
                   .row_stride = 128};
    change(desc);
    return tile_phases().why_refused(desc).value_or("");
  };
  EXPECT_EQ(reason([](auto&) {}), "");
  EXPECT_EQ(reason([&](auto& d) { d.inner_shift = shift.data(); }), "operands are equilibrated");
  EXPECT_EQ(reason([](auto& d) { d.inner_stride = 2; }), "elements lie one by one, neither along nor across lines");
  EXPECT_EQ(reason([](auto& d) { d.line_stride = std::int64_t{1} << 31; }),
            "stride = 2147483648, must be below 2^31: tile kernels index by int");
  EXPECT_EQ(reason([](auto& d) { d.rung = rung_of(40, 100); }).find("integers of "), 0U);
  x.value(2, 50) = kNaN;
  EXPECT_EQ(reason([](auto&) {}), "a line holds NaN or Inf");
}

}  // namespace
}  // namespace kizami::engines
