// SPDX-License-Identifier: MIT
// Pieces of the second look that the host can run: its terms, the walk of its tiles, its buffers.
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "base/aligned_buffer.hpp"
#include "base/int_math.hpp"
#include "certify/block_sum.hpp"
#include "certify/device_second_look.hpp"
#include "certify/digits.hpp"
#include "certify/terms.hpp"

namespace kizami::certify {
namespace {

using base::round_up;

/// Theorem 3 of docs/accuracy/certificate.md: bits of an accumulator times the factors of the device are a term of the
/// host.
TEST(SecondLookTerms, AccumulatorsAreTermsOfTheSum) {
  for (const std::int32_t acc : {0, 1, 3, 4095, 64 * 127 * 127, 128 * 127 * 127, (1 << 22) - 1}) {
    for (int a = 0; a <= kMaxDeficit; ++a) {
      for (int b = 0; b <= kMaxDeficit; ++b) {
        const float factor = shifted_block_scale(a, kScaleShiftA) * shifted_block_scale(b, kScaleShiftB<1>);
        ASSERT_EQ(std::ldexp(factor, a + b), 0x1p127F);
        const double term = static_cast<double>(bit_cast<float>(acc)) * static_cast<double>(factor);
        const float of_host = static_cast<float>(acc) * (block_scale(a) * block_scale(b));
        ASSERT_EQ(std::ldexp(term, kSumShift), static_cast<double>(of_host));
        ASSERT_TRUE(acc == 0 || term >= 0x1p-126) << "a step of the device's sum underflows";
        ASSERT_EQ(shifted_block_scale(b, kScaleShiftB<2>), shifted_block_scale(b, kScaleShiftB<1>) / 2);
      }
    }
  }
}

TEST(SecondLookTerms, DigitsFromPackedTerms) {
  std::mt19937_64 rng(5);
  for (int round = 0; round < 100000; ++round) {
    auto bits = rng();
    if (round % 4 == 0) bits &= 0x800FFFFFFFFFFFFFu >> rng() % 52;  // subnormal, or zero
    const auto x = bit_cast<double>(bits);
    if (!num::is_finite(x)) continue;
    const auto shift = static_cast<std::int32_t>(rng() % 2001) - 1000;
    const std::uint32_t packed = packed_term(x, shift);
    ASSERT_EQ(packed == 0, x == 0.0);
    if (packed == 0) continue;
    ASSERT_EQ(exponent_of_term(packed), shifted_exponent(x, shift)) << x;
    for (const int above : {0, 1, 5, 6, 7, 60}) {
      const std::int32_t exponent = shifted_exponent(x, shift) + above;
      ASSERT_EQ(static_cast<std::int32_t>(digit_of_term(packed, exponent)), block_digit(x, shift, exponent)) << x;
    }
  }
}

TEST(SecondLookTerms, TilesAreWalkedOnceEach) {
  for (const std::int64_t rows : {1, 2, 15, 16, 17, 40}) {
    for (const std::int64_t cols : {1, 3, 20}) {
      std::vector<int> visits(static_cast<std::size_t>(rows * cols));
      for (std::int64_t index = 0; index < rows * cols; ++index) {
        const TilePlace place = tile_place(index, rows, cols);
        ASSERT_TRUE(place.row >= 0 && place.row < rows && place.col >= 0 && place.col < cols);
        ++visits[static_cast<std::size_t>(place.row * cols + place.col)];
      }
      EXPECT_EQ(visits, std::vector<int>(visits.size(), 1));
    }
  }
}

TEST(SecondLookTerms, CarvesWhatTheHeaderSays) {
  for (const int parts : {1, 2}) {
    base::Carver counter;
    static_cast<void>(carve_second_look(counter, {100, 30}, 130, parts));
    base::AlignedBuffer memory(counter.bytes());
    base::Carver carver(memory.data());
    const SecondLookBuffers b = carve_second_look(carver, {100, 30}, 130, parts);
    const auto distance = [](const void* from, const void* to) {
      return static_cast<const std::byte*>(to) - static_cast<const std::byte*>(from);
    };
    const std::int64_t steps = parts == 2 ? 3 : 2;  // of three blocks
    const std::int64_t blocks = parts == 2 ? 3 : 4;
    EXPECT_GE(distance(b.a_digits, b.b_digits), steps * (100 + kSecondLookLines) * 128);
    EXPECT_GE(distance(b.b_digits, b.a_scales), steps * (30 + kSecondLookLines) * 128);
    EXPECT_GE(distance(b.a_scales, b.b_scales), blocks * (100 + kSecondLookLines) * 4);
    EXPECT_GE(distance(b.b_scales, b.a_nonzero), blocks * (30 + kSecondLookLines) * 4);
    EXPECT_GE(distance(b.a_nonzero, b.b_nonzero), 100 * round_up(3 * parts, 2) * 8);
    EXPECT_GE(distance(b.b_nonzero, b.a_weights), 30 * round_up(3 * parts, 2) * 8);
    EXPECT_GE(distance(b.rungs, b.gains), 30 * 112);
    EXPECT_GE(static_cast<std::ptrdiff_t>(counter.bytes()), distance(memory.data(), b.gains + kNumGains));
  }
}

}  // namespace
}  // namespace kizami::certify
