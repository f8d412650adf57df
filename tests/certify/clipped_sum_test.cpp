// SPDX-License-Identifier: MIT
// Theorem 4 of docs/accuracy/certificate.md: whatever the lines and the clips, two lines of which is_certified_by_clipped_sum()
// is true are a pair that the sums of blocks certify.
#include "num/clipped_sum.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "certify/digits.hpp"
#include "certify/statistics.hpp"
#include "num/rung.hpp"
#include "tests/certify/stored_lines.hpp"
#include "tests/num/exact_numbers.hpp"

namespace kizami::certify {
namespace {

using num::RungWeight;
using tests::Rng;

/// Lines of `length` elements that lie together as badly as they can, or well.
std::vector<double> line_of(Rng& rng, std::int64_t length) {
  std::vector<double> x(static_cast<std::size_t>(length));
  const int kind = tests::random_int(rng, 0, 7);
  const double phi = 0.1 * tests::random_int(rng, 0, 15);
  for (std::size_t h = 0; h < x.size(); ++h) {
    const double uniform = (static_cast<double>(tests::random_int(rng, 0, 1 << 30)) + 0.5) / (1 << 30);
    const double normal = std::sqrt(-2 * std::log(uniform)) * std::cos(0.001 * tests::random_int(rng, 0, 6283));
    switch (kind) {
      case 0:  // zeros of one half, large ones in the other
        x[h] = h < x.size() / 2 ? 1 + uniform : 0;
        break;
      case 1:
        x[h] = h < x.size() / 2 ? 0 : 1 + uniform;
        break;
      case 2:  // one large element
        x[h] = h == 0 ? 1000 : uniform;
        break;
      case 3:  // a few zeros
        x[h] = tests::random_int(rng, 0, 9) < 2 ? 0 : uniform;
        break;
      case 4:
        x[h] = tests::random_int(rng, -40, 40);
        break;
      case 5:  // sorted
        x[h] = static_cast<double>(h);
        break;
      case 6:
        x[h] = static_cast<double>(x.size() - h);
        break;
      default:
        x[h] = (uniform - 0.5) * std::exp(phi * normal);
    }
  }
  return x;
}

struct Line {
  std::vector<std::int8_t> digits;  ///< below the line's largest
  std::vector<std::int8_t> block_digits;
  std::vector<float> scales;
  RungWeight weight;

  /// As the split has it. @param clip 0: of the mean
  [[nodiscard]] bool passes(float allowance, std::int64_t length, std::uint32_t clip) const {
    if (clip == 0) clip = num::digit_clip(weight.norm1 * (1 << num::kDigitBits) / static_cast<double>(length));
    std::uint64_t sum = 0;
    for (const std::int8_t digit : digits) sum += std::min(static_cast<std::uint32_t>(digit), clip);
    return num::is_certified_by_clipped_sum(allowance, weight, length, clip, sum);
  }
};
Line prepared(const std::vector<double>& x, bool is_exact) {
  const auto length = static_cast<std::int64_t>(x.size());
  const std::int64_t blocks = (length + num::kDigitBlock - 1) / num::kDigitBlock;
  const std::int64_t row = blocks * num::kDigitBlock;
  const tests::StoredLines<double> stored({x}, tests::Storage::kLineContiguous);
  num::LineStats stats;
  gather_statistics(stored.lines(), nullptr, 1, &stats);
  Line line{std::vector<std::int8_t>(static_cast<std::size_t>(row)),
            std::vector<std::int8_t>(static_cast<std::size_t>(row)),
            std::vector<float>(static_cast<std::size_t>(blocks)),
            {}};
  make_sampled_digits(stored.lines(), &stats, 1, 1, line.digits.data(), row);
  make_block_digits(stored.lines(), &stats, nullptr, 1, line.block_digits.data(), row, line.scales.data(), 1);
  if (!stats.is_zero()) {
    const num::LineWeight norms = num::line_norms(stats);
    line.weight = {is_exact ? 0.0F : norms.norm2, norms.norm1};
  }
  return line;
}
/// Products of digits of blocks, added as certify adds them.
float block_sum(const Line& a, const Line& b) {
  float sum = 0;
  for (std::size_t block = 0; block < a.scales.size(); ++block) {
    std::int32_t products = 0;
    for (std::size_t h = block * num::kDigitBlock; h < (block + 1) * num::kDigitBlock; ++h)
      products += a.block_digits[h] * b.block_digits[h];
    sum += static_cast<float>(products) * (a.scales[block] * b.scales[block]);
  }
  return sum;
}

TEST(ClippedSum, PairsThatPassPassByBlocks) {
  Rng rng(70);
  int certified = 0;
  int open = 0;
  for (int i = 0; i < tests::cases(6000); ++i) {
    const std::int64_t length = tests::random_int(rng, 1, 400);
    const auto roots = static_cast<float>(std::sqrt(static_cast<double>(length)));
    const float allowance = 2 * roots * static_cast<float>(std::exp2(0.25 * tests::random_int(rng, 0, 32)));
    const Line a = prepared(line_of(rng, length), tests::random_int(rng, 0, 9) == 0);
    const Line b = prepared(line_of(rng, length), tests::random_int(rng, 0, 9) == 0);
    const float sampled = num::sampled_allowance(allowance, length);
    const auto clip = [&] { return static_cast<std::uint32_t>(std::max(0, tests::random_int(rng, -100, 127))); };
    const bool is_certified = a.passes(sampled, length, clip()) && b.passes(sampled, length, clip());
    if (is_certified) {
      ASSERT_TRUE(num::is_certified(allowance, a.weight, b.weight, block_sum(a, b)))
          << "case " << i << ": " << length << " elements, allowance " << allowance;
    }
    (is_certified ? certified : open) += 1;
  }
  EXPECT_GT(certified, tests::cases(6000) / 30);
  EXPECT_GT(open, tests::cases(6000) / 30);
}

/// Pairs that have no element in common must never pass, however wide the allowance.
TEST(ClippedSum, HalvesOfZerosStayOpen) {
  for (const std::int64_t length : {2, 64, 130, 400}) {
    std::vector<double> low(static_cast<std::size_t>(length));
    std::fill_n(low.begin(), length / 2, 1.0);
    const Line line = prepared(low, false);
    for (std::uint32_t clip = 0; clip < 128; ++clip)
      EXPECT_FALSE(line.passes(1e30F, length, clip)) << length << ", clip " << clip;
  }
}

/// Of the spread that the lowest rung of FP64 products allows, 23.9, ordinary elements need a third.
TEST(ClippedSum, OrdinaryLinesPass) {
  Rng rng(71);
  for (const std::int64_t length : {256, 1000, 4096}) {
    const auto allowance = static_cast<float>(2 * std::sqrt(static_cast<double>(length)) * 12);
    for (int i = 0; i < 20; ++i) {
      std::vector<double> x(static_cast<std::size_t>(length));
      for (double& v : x) v = static_cast<double>(tests::random_int(rng, -(1 << 20), 1 << 20));
      EXPECT_TRUE(prepared(x, false).passes(allowance, length, 0)) << length;
    }
  }
}

TEST(ClippedSum, ZeroLinesPass) { EXPECT_TRUE(prepared({0, 0, 0}, false).passes(0.0F, 3, 0)); }

TEST(ClippedSum, ClipsOfWhateverMeansAreDigits) {
  for (const double mean : {0.0, -1.0, 1e-300, 0.5, 30.0, 127.0, 1e300, HUGE_VAL, std::nan("")}) {
    EXPECT_GE(num::digit_clip(mean), 1U) << mean;
    EXPECT_LE(num::digit_clip(mean), 127U) << mean;
  }
  EXPECT_EQ(num::digit_clip(20.0), 17U);
}

}  // namespace
}  // namespace kizami::certify
