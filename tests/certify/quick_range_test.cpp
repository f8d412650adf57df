// SPDX-License-Identifier: MIT
// The quick first look: what it says it knows is what the definition of a line's statistics says, and it knows ordinary lines.
#include "certify/quick_range.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "num/line_stats.hpp"
#include "tests/certify/stored_lines.hpp"
#include "tests/num/exact_numbers.hpp"

namespace kizami::certify {
namespace {

using tests::Rng;

template <class R>
QuickRange<R> look_at(const std::vector<R>& line) {
  QuickRange<R> range;
  for (const R x : line) range.observe(x);
  return range;
}
/// With an exponent field and a low word as given, the rest by chance.
double number_of(Rng& rng, int field, std::uint32_t low) {
  const auto high = static_cast<std::uint32_t>(rng()) & 0x800FFFFFu;
  return bit_cast<double>(std::uint64_t{high | static_cast<std::uint32_t>(field) << 20} << 32 | low);
}
/// Not zero, with a lowest bit anywhere.
std::uint32_t random_low_word(Rng& rng) {
  return (static_cast<std::uint32_t>(rng()) | 1u) << tests::random_int(rng, 0, 31);
}
/// Of FP32.
float float_of(int field, std::uint32_t sign_and_mantissa) {
  return bit_cast<float>((sign_and_mantissa & 0x807FFFFFu) | static_cast<std::uint32_t>(field) << 23);
}
template <class R>
void expect_by_definition(const std::vector<R>& line) {
  const QuickRange<R> range = look_at(line);
  ASSERT_TRUE(range.is_known());
  const num::LineStats stats = tests::stats_by_definition(std::vector<double>(line.begin(), line.end()), {});
  EXPECT_EQ(static_cast<int>(range.max_high() >> 20) - 1023, stats.exponent);
  EXPECT_EQ(range.lsb(), stats.lsb);
}

TEST(QuickRange, OrdinaryLinesAreKnown) {
  Rng rng(1);
  for (int sample = 0; sample < 2000; ++sample) {
    const int lowest = tests::random_int(rng, 32, 2015);
    const int highest = tests::random_int(rng, lowest, std::min(2015, lowest + tests::random_int(rng, 0, 300)));
    std::vector<double> line(static_cast<std::size_t>(tests::random_int(rng, 1, 40)));
    for (double& x : line) x = number_of(rng, tests::random_int(rng, lowest, highest), random_low_word(rng));
    expect_by_definition(line);
  }
}

/// Numbers next to the ends of what it knows, with each place of the lowest bit: right, or not known.
TEST(QuickRange, EndsAreRightOrUnknown) {
  Rng rng(2);
  for (const int field : {1, 2, 30, 31, 32, 33, 63, 64, 1023, 2014, 2015, 2016, 2017, 2045, 2046}) {
    for (int place = 0; place < 32; ++place) {
      for (const int other : {field, 1000}) {
        const std::vector<double> line = {number_of(rng, other, random_low_word(rng)),
                                          number_of(rng, field, 1u << place)};
        if (look_at(line).is_known()) expect_by_definition(line);
        const bool is_inside = field >= 32 && field < 2016;
        EXPECT_TRUE(look_at(line).is_known() || !is_inside) << field << ' ' << place;
      }
    }
  }
}

/// One number of another kind in any place: an ordinary line's answer would be wrong.
TEST(QuickRange, OtherNumbersAreNotKnown) {
  Rng rng(3);
  EXPECT_FALSE(QuickRange<double>{}.is_known());
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double nan_of_payload = bit_cast<double>(0x7FF8000000000001ull);
  const double infinity_like = bit_cast<double>(0x7FF0000000000001ull);  // a signalling NaN
  for (const double other : {0.0, -0.0, 1.0, -3.0, 0x1p-900, 0x1p1000, 0x1p-1074, -0x1.8p-1050, 0x1.8p-1030, kInfinity,
                             -kInfinity, nan_of_payload, -nan_of_payload, infinity_like}) {
    for (std::size_t at = 0; at < 5; ++at) {
      std::vector<double> line(5);
      for (double& x : line) x = number_of(rng, tests::random_int(rng, 900, 1100), random_low_word(rng));
      ASSERT_TRUE(look_at(line).is_known());
      line[at] = other;
      EXPECT_FALSE(look_at(line).is_known()) << other << " at " << at;
    }
  }
}

TEST(QuickRange, OrdinaryLinesOfFp32AreKnown) {
  Rng rng(4);
  for (int sample = 0; sample < 2000; ++sample) {
    const int lowest = tests::random_int(rng, 24, 231);
    const int highest = tests::random_int(rng, lowest, 231);
    std::vector<float> line(static_cast<std::size_t>(tests::random_int(rng, 1, 40)));
    // Powers of two too: a mantissa of zeros has the hidden bit for its lowest.
    for (float& x : line)
      x = float_of(tests::random_int(rng, lowest, highest), static_cast<std::uint32_t>(rng())
                                                                << tests::random_int(rng, 0, 31));
    expect_by_definition(line);
  }
}

TEST(QuickRange, EndsOfFp32AreRightOrUnknown) {
  Rng rng(5);
  for (const int field : {1, 2, 22, 23, 24, 25, 127, 230, 231, 232, 233, 253, 254}) {
    for (int place = 0; place < 24; ++place) {
      for (const int other : {field, 100}) {
        const std::vector<float> line = {float_of(other, static_cast<std::uint32_t>(rng())),
                                         float_of(field, place == 23 ? 0 : 1u << place)};
        if (look_at(line).is_known()) expect_by_definition(line);
        EXPECT_TRUE(look_at(line).is_known() || field < 24 || field >= 232) << field << ' ' << place;
      }
    }
  }
}

TEST(QuickRange, OtherNumbersOfFp32AreNotKnown) {
  Rng rng(6);
  EXPECT_FALSE(QuickRange<float>{}.is_known());
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const float other : {0.0F, -0.0F, 0x1.000002p-120F, 0x1p120F, 0x1p-149F, -0x1.8p-130F, kInfinity, -kInfinity,
                            std::numeric_limits<float>::quiet_NaN(), bit_cast<float>(0x7F800001u)}) {
    for (std::size_t at = 0; at < 5; ++at) {
      std::vector<float> line(5);
      for (float& x : line) x = float_of(tests::random_int(rng, 60, 200), static_cast<std::uint32_t>(rng()));
      ASSERT_TRUE(look_at(line).is_known());
      line[at] = other;
      EXPECT_FALSE(look_at(line).is_known()) << other << " at " << at;
    }
  }
}

}  // namespace
}  // namespace kizami::certify
