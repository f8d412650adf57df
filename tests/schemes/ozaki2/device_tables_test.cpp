// SPDX-License-Identifier: MIT
// The constants of the device's CRT: each count fits the kernel that its limbs choose.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <vector>

#include "num/crt_table.hpp"
#include "schemes/ozaki2/device_crt.hpp"

namespace kizami::ozaki2 {
namespace {

TEST(DeviceCrtTables, FitTheKernels) {
  for (const num::Ring ring : {num::Ring::kReal, num::Ring::kComplex}) {
    const bool is_complex = ring == num::Ring::kComplex;
    const std::size_t parts = is_complex ? 2 : 1;
    const std::vector<DeviceCrtTable> tables = make_device_crt_tables(ring);
    ASSERT_EQ(tables.size(), parts * static_cast<std::size_t>(num::max_moduli(ring) - num::kMinModuli + 1));
    for (std::size_t at = 0; at < tables.size(); ++at) {
      const int count = num::kMinModuli + static_cast<int>(at / parts);
      const DeviceCrtTable& table = tables[at];
      EXPECT_EQ(table.num_planes, num::num_planes(ring, count));
      EXPECT_LE(table.num_planes, 4 * device_words(is_complex, table.num_limbs)) << count;
      EXPECT_LE(table.num_limbs, kDeviceLimbs) << count;
      if (table.num_limbs < 7) {  // the kernels rely on it
        EXPECT_EQ(table.top_limb, table.num_limbs - 1) << count;
      }
      // What reconstruct_by_limbs() is compiled for.
      EXPECT_LE(table.num_limbs, count <= 14                 ? 4
                                 : count <= 18               ? 5
                                 : is_complex || count <= 27 ? 7
                                                             : kDeviceLimbs)
          << count;
      // All but the top limb hold whole bytes of P; the kernel relies on it where it is compiled for so many limbs.
      EXPECT_LE(table.num_bytes, 4 * (table.top_limb + 1)) << count;
      // The choice in reconstruct_device(), and in its kernels.
      int pieces = 2;
      while (pieces <= kDevicePieces && count > most_piece_moduli(is_complex, pieces)) ++pieces;
      EXPECT_EQ(table.pieces.count, pieces <= kDevicePieces ? pieces : 0) << count;
      if (pieces <= kDevicePieces) {
        EXPECT_LE(table.num_planes, most_piece_planes(is_complex, pieces)) << count;
      } else {
        EXPECT_GE(table.num_limbs, 7) << count;
        EXPECT_LE(table.num_limbs, is_complex || count <= 27 ? 7 : kDeviceLimbs) << count;
      }
    }
    EXPECT_LE(most_piece_planes(is_complex, kDevicePieces), kPiecePlanes);
  }
}

TEST(DeviceCrtTables, HoldTheWeights) {
  for (const num::Ring ring : {num::Ring::kReal, num::Ring::kComplex}) {
    const std::size_t parts = ring == num::Ring::kComplex ? 2 : 1;
    const std::vector<DeviceCrtTable> tables = make_device_crt_tables(ring);
    for (std::size_t at = 0; at < tables.size(); ++at) {
      const int count = num::kMinModuli + static_cast<int>(at / parts);
      const num::CrtTable& crt =
          num::crt_table(ring, count, at % parts == 0 ? num::Part::kReal : num::Part::kImaginary);
      for (int q = 0; q < crt.num_planes; ++q) {
        // Modulo 2^61 - 1, from bytes and from digits of 36 bits.
        constexpr std::uint64_t kPrime = (std::uint64_t{1} << 61) - 1;
        __extension__ using uint128 = unsigned __int128;
        uint128 from_bytes = 0;
        for (int b = 4 * kDeviceLimbs - 1; b >= 0; --b)
          from_bytes = (from_bytes * 256 + (tables[at].weight[b][q / 4] >> (8 * (q % 4)) & 255u)) % kPrime;
        uint128 from_digits = 0;
        for (int d = crt.num_digits - 1; d >= 0; --d) {
          from_digits = ((from_digits << num::kCrtDigitBits) + static_cast<std::uint64_t>(crt.weight[q][d])) % kPrime;
        }
        EXPECT_EQ(static_cast<std::uint64_t>(from_bytes), static_cast<std::uint64_t>(from_digits)) << count << ' ' << q;
      }
    }
  }
}

/// A number of few bits, as an exact multiple of 2^grid.
long long units(double x, int grid) {
  const double scaled = std::ldexp(x, -grid);
  EXPECT_EQ(scaled, std::nearbyint(scaled));
  EXPECT_LT(std::abs(scaled), 0x1p53);
  return static_cast<long long>(scaled);
}

/// Modulo 2^61 - 1, in [0, 2^61 - 1).
std::uint64_t residue_of(const double (&pieces)[kDevicePieces], const std::int32_t (&grid)[kDevicePieces]) {
  constexpr long long kPrime = (1ll << 61) - 1;
  __extension__ using int128 = __int128;
  int128 sum = 0;
  for (int i = 0; i < kDevicePieces; ++i) {
    int128 term = units(pieces[i], grid[i]);
    for (int bit = 0; bit < grid[i]; ++bit) term = term * 2 % kPrime;
    sum += term;
  }
  return static_cast<std::uint64_t>((sum % kPrime + kPrime) % kPrime);
}
std::uint64_t residue_of(const num::CrtInt& x) { return num::div_small(x, (std::uint64_t{1} << 61) - 1).remainder; }

TEST(DeviceCrtTables, DigitsAreThePieces) {
  for (const num::Ring ring : {num::Ring::kReal, num::Ring::kComplex}) {
    for (const DeviceCrtTable& table : make_device_crt_tables(ring)) {
      const DeviceCrtPieces& pieces = table.pieces;
      if (pieces.count == 0) continue;
      for (int q = 0; q < static_cast<int>(16 * std::size(pieces.digits[0][0]) / 4); ++q) {
        for (int i = 0; i < kDevicePieces; ++i) {
          long long units_of_digits = 0;
          long long factor = 1;
          for (int d = 0; d < kPieceDigits; ++d, factor *= 256) {
            const std::uint32_t word = pieces.digits[i][d][q / 16 * 4 + q % 4];
            const auto digit = static_cast<std::int8_t>(word >> (8 * (q % 16 / 4)) & 255u);
            units_of_digits += digit * factor;
            // The kernels have the digits of the fifth piece in the sixth places of the others.
            if (d == kPieceDigits - 1 || (i == 4 && d >= fifth_piece_digits(pieces))) {
              EXPECT_EQ(digit, 0);
            }
          }
          const double weight = q < kPiecePlanes ? pieces.weight[q][i] * 0x1p-12 : 0.0;
          EXPECT_EQ(units_of_digits, units(weight, pieces.grid[i])) << table.num_planes << ' ' << q << ' ' << i;
        }
      }
    }
  }
}

TEST(DeviceCrtTables, FifthPiecesHaveFourDigitsButOfManyRealModuli) {
  for (const num::Ring ring : {num::Ring::kReal, num::Ring::kComplex}) {
    const bool is_complex = ring == num::Ring::kComplex;
    for (const DeviceCrtTable& table : make_device_crt_tables(ring)) {
      if (table.pieces.count != 5) continue;
      const bool has_five = !is_complex && table.num_planes == 24;  // the kernels for complex types rely on it
      EXPECT_EQ(fifth_piece_digits(table.pieces), has_five ? 5 : 4) << table.num_planes;
      // The fourth digit's sum, and 256 times that of the fifth where a lane adds them: 256 times as much fits in 31
      // bits, as sums of two digits do.
      double fourth = 0;
      for (int q = 0; q < table.num_planes; ++q)
        fourth += 128 * (128 + (has_five ? 256 * (std::abs(table.pieces.weight[q][4]) * 0x1p-44 + 1) : 0));
      EXPECT_LT(257 * fourth, 0x1p31) << table.num_planes;
    }
  }
}

TEST(DeviceCrtTables, PiecesAreExact) {
  constexpr std::uint64_t kPrime = (std::uint64_t{1} << 61) - 1;
  for (const num::Ring ring : {num::Ring::kReal, num::Ring::kComplex}) {
    const std::size_t parts = ring == num::Ring::kComplex ? 2 : 1;
    const std::vector<DeviceCrtTable> tables = make_device_crt_tables(ring);
    for (std::size_t at = 0; at < tables.size(); ++at) {
      const DeviceCrtPieces& pieces = tables[at].pieces;
      if (pieces.count == 0) continue;
      const int count = num::kMinModuli + static_cast<int>(at / parts);
      const num::CrtTable& crt =
          num::crt_table(ring, count, at % parts == 0 ? num::Part::kReal : num::Part::kImaginary);
      EXPECT_EQ(residue_of(pieces.product, pieces.grid), residue_of(crt.product_wide)) << count;
      EXPECT_EQ(residue_of(pieces.half, pieces.grid), residue_of(crt.half_wide)) << count;
      double most[kDevicePieces] = {};  // of |sum_q r_q W_q|
      for (int q = 0; q < crt.num_planes; ++q) {
        num::CrtInt weight;
        for (int d = crt.num_digits - 1; d >= 0; --d) {
          weight = num::add(num::mul_small(weight, std::uint64_t{1} << num::kCrtDigitBits),
                            num::CrtInt(static_cast<std::uint64_t>(crt.weight[q][d])));
        }
        double cut[kDevicePieces];
        for (int i = 0; i < kDevicePieces; ++i) {
          cut[i] = pieces.weight[q][i] * 0x1p-12;
          most[i] += 128 * std::abs(cut[i]);
        }
        const std::uint64_t residue = residue_of(cut, pieces.grid);
        EXPECT_TRUE(residue == residue_of(weight) ||
                    residue == (residue_of(weight) + kPrime - residue_of(crt.product_wide)) % kPrime)
            << count << ' ' << q;
      }
      for (int i = 0; i < kDevicePieces; ++i) {
        const double limit = std::ldexp(1.0, 53 + pieces.grid[i]);
        for (int first = 0; first < crt.num_planes; first += kPieceGroup) {
          // Partial sums of a group lie between its offset and what it adds; the groups before it are in them.
          double sum = 0;
          double magnitude = 0;
          for (int q = first; q < std::min(first + kPieceGroup, crt.num_planes); ++q) {
            sum += pieces.weight[q][i] * 0x1p-12;
            magnitude += std::abs(pieces.weight[q][i]) * 0x1p-12;
          }
          EXPECT_EQ(pieces.offset[first / kPieceGroup][i], -4224 * sum) << count;
          EXPECT_LT(4352 * magnitude + most[i], limit) << count << ' ' << i;
        }
        // Q P, and what is left of a piece and of a comparison with half.
        const double quotient = most[0] * pieces.inverse * 1.01 + 2;
        const double left = quotient * std::abs(pieces.product[i]) + most[i] + 2 * std::abs(pieces.product[i]);
        EXPECT_LT(left, limit) << count;
        if (i > 0 && i < pieces.count) {
          EXPECT_LT(left, std::ldexp(1.0, 14 + pieces.grid[i - 1])) << count;  // PieceSum
        }
      }
      // The ratio is known to 2^-12.
      double neglected = 0;
      for (int i = 1; i < kDevicePieces; ++i) neglected += most[i];
      EXPECT_LT(neglected * pieces.inverse, 0x1p-12) << count;
      // What PieceSum relies on.
      for (int i = 1; i < pieces.count; ++i) EXPECT_LE(pieces.grid[i - 1] - pieces.grid[i], 37) << count;
      EXPECT_EQ(pieces.grid[pieces.count - 1], 0) << count;
      EXPECT_LT(2 / pieces.inverse, std::ldexp(1.0, 39 + pieces.grid[0])) << count;
    }
  }
}

}  // namespace
}  // namespace kizami::ozaki2
