// SPDX-License-Identifier: MIT
// Sums of residues in parts of a word, beside sums of integers: all pairs of residues of all moduli.
#include "schemes/ozaki2/residue_pairs.hpp"

#include <gtest/gtest.h>

#include <cstdint>

#include "num/modular.hpp"

namespace kizami::ozaki2 {
namespace {

constexpr bool is_modulus(int p) { return p == 256 || p % 2 == 1; }

TEST(ResiduePairs, OfAllSums) {
  for (int p = 3; p <= 256; ++p) {
    if (!is_modulus(p)) continue;
    const std::uint32_t minus_p = (0x10000U - static_cast<std::uint32_t>(p)) * 0x10001U;
    for (int x = 0; x < p; ++x) {
      for (int y = 0; y < p; ++y) {
        // The other half has its own numbers, the largest of which would carry.
        const auto other_x = static_cast<std::uint32_t>(p - 1);
        const auto other_y = static_cast<std::uint32_t>(p - 1 - y);
        const std::uint32_t low = add_residue_pairs(static_cast<std::uint32_t>(x) | other_x << 16,
                                                    static_cast<std::uint32_t>(y) | other_y << 16, minus_p);
        const std::uint32_t high = add_residue_pairs(static_cast<std::uint32_t>(x) << 16 | other_x,
                                                     static_cast<std::uint32_t>(y) << 16 | other_y, minus_p);
        const int mask = p == 256 ? 255 : 0xFFFF;
        ASSERT_EQ(static_cast<int>(low) & mask, (x + y) % p) << x << " + " << y << " modulo " << p;
        ASSERT_EQ(static_cast<int>(high >> 16) & mask, (x + y) % p) << x << " + " << y << " modulo " << p;
        ASSERT_EQ(static_cast<int>(low >> 16) & mask, static_cast<int>(other_x + other_y) % p) << "beside them";
        ASSERT_EQ(static_cast<int>(high) & mask, static_cast<int>(other_x + other_y) % p) << "beside them";
      }
    }
  }
}

TEST(ResiduePairs, Modulo256TheHighByteMayBeAny) {
  constexpr std::uint32_t kMinus256 = 0xFF00FF00U;
  for (const std::uint32_t x : {0x00FFU, 0x0100U, 0x7FFFU, 0x8000U, 0xFFFFU}) {
    for (const std::uint32_t y : {0x0001U, 0x0080U, 0x8001U, 0xFF01U, 0xFFFFU}) {
      const std::uint32_t sum = add_residue_pairs(x | x << 16, y | y << 16, kMinus256);
      EXPECT_EQ(sum & 0xFFU, (x + y) & 0xFFU) << x << " + " << y;
      EXPECT_EQ(sum >> 16 & 0xFFU, (x + y) & 0xFFU) << x << " + " << y;
    }
  }
}

TEST(ResiduePairs, SymmetricBytes) {
  for (int p = 3; p <= 256; ++p) {
    if (!is_modulus(p)) continue;
    for (int x = 0; x < p; ++x) {
      const auto r = static_cast<std::uint32_t>(x);
      const auto most = static_cast<std::uint32_t>(p - 1);
      const std::uint32_t bytes =
          symmetric_residue_bytes(r | most << 8 | r << 16 | most << 24, static_cast<std::uint32_t>(p));
      for (int i = 0; i < 4; ++i) {
        const int of = i % 2 == 0 ? x : p - 1;
        ASSERT_EQ(static_cast<std::int8_t>(bytes >> (8 * i)), static_cast<std::int8_t>(num::symmetric_residue(of, p)))
            << of << " modulo " << p << ", byte " << i;
      }
    }
  }
}

}  // namespace
}  // namespace kizami::ozaki2
