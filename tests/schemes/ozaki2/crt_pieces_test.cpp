// SPDX-License-Identifier: MIT
// The formulas of the device's CRT in FP64 pieces, run on the host: the bits of reconstruct_crt() for every count that
// fits, in both rings; and sums of pieces against GMP, rounded once by MPFR.
#include "schemes/ozaki2/crt_pieces.hpp"

#include <gtest/gtest.h>

#include <complex>
#include <cstdint>
#include <cstring>
#include <random>
#include <type_traits>
#include <vector>

#include "schemes/ozaki2/crt.hpp"
#include "tests/num/exact_numbers.hpp"
#include "tests/schemes/ozaki2/crt_cases.hpp"

namespace kizami::ozaki2 {
namespace {

using kernels::PieceLayout;
using kernels::PieceSum;
using tests::Integer;

constexpr std::int64_t kRows = 256;

[[nodiscard]] std::uint32_t word_of(const std::int8_t* residues) {
  std::uint32_t word = 0;
  std::memcpy(&word, residues, sizeof word);
  return word;
}

/// The rounded integers of one part, element after element; with few words at a time, as kernels of many pieces have
/// them.
template <int kPieces, int kPlanes>
[[nodiscard]] std::vector<double> rebuild(const std::vector<std::int8_t>& planes, const tests::CrtBlock& block,
                                          const DeviceCrtTable& table, bool is_by_groups) {
  using Layout = PieceLayout<kPieces, kPlanes>;
  constexpr int kAtOnce = 8;
  std::vector<double> constants;
  for (int at = 0; at < Layout::kSize; ++at) constants.push_back(Layout::value(table.pieces, at));
  std::vector<double> result;
  for (std::int64_t at = 0; at < block.plane_stride(); at += 4) {
    std::uint32_t words[kPlanes + kAtOnce] = {};
    for (int q = 0; q < table.num_planes; ++q)
      words[q] = word_of(&planes[static_cast<std::size_t>(q * block.plane_stride() + at)]);
    double x[4];
    double sum[4][kPieces];
    kernels::start_sums<kPieces, kPlanes>(constants.data(), sum);
    if (is_by_groups) {
      for (int first = 0; first < table.num_planes; first += kAtOnce) {
        std::uint32_t group[kAtOnce];
        for (int q = 0; q < kAtOnce; ++q) group[q] = words[first + q];
        kernels::add_planes<kPieces, kPlanes>(group, first, table.num_planes, constants.data(), sum);
      }
    } else {
      kernels::add_planes<kPieces, kPlanes>(words, 0, table.num_planes, constants.data(), sum);
    }
    kernels::finish_sums<kPieces, kPlanes>(sum, constants.data(), table.pieces, x);
    result.insert(result.end(), x, x + 4);
  }
  return result;
}
template <bool kIsComplexRing>
[[nodiscard]] std::vector<double> rebuild_any(const std::vector<std::int8_t>& planes, const tests::CrtBlock& block,
                                              const DeviceCrtTable& table, bool is_by_groups) {
  std::vector<double> result;
  const auto with = [&](auto pieces) {
    result = rebuild<pieces.value, most_piece_planes(kIsComplexRing, pieces.value)>(planes, block, table, is_by_groups);
  };
  switch (table.pieces.count) {
    case 2:
      with(std::integral_constant<int, 2>{});
      break;
    case 3:
      with(std::integral_constant<int, 3>{});
      break;
    case 4:
      with(std::integral_constant<int, 4>{});
      break;
    case 5:
      with(std::integral_constant<int, 5>{});
      break;
    default:
      ADD_FAILURE() << "no pieces";
  }
  return result;
}

template <class T>
void expect_bits_of_the_host() {
  constexpr bool kIsComplexRing = kIsComplex<T>;
  constexpr num::Ring kRing = kIsComplexRing ? num::Ring::kComplex : num::Ring::kReal;
  constexpr std::size_t kParts = kIsComplexRing ? 2 : 1;
  std::mt19937_64 rng(42);
  const tests::CrtBlock block{kRows, tests::cases(10), kRows};
  const std::vector<DeviceCrtTable> tables = make_device_crt_tables(kRing);
  const std::vector<std::int32_t> no_scale(kRows, 0);
  for (int count = num::kMinModuli; count <= most_piece_moduli(kIsComplexRing, kDevicePieces); ++count) {
    const std::vector<std::int8_t> planes = tests::make_crt_planes(rng, kRing, count, block);
    std::vector<T> expected(static_cast<std::size_t>(block.plane_stride()));
    reconstruct_crt<T>({planes.data(), count, block.col_stride, block.plane_stride()}, no_scale.data(), no_scale.data(),
                       T(1), T(0), 1, {expected.data(), block.rows, block.cols, 1, block.rows});
    for (std::size_t part = 0; part < kParts; ++part) {
      const DeviceCrtTable& table = tables[static_cast<std::size_t>(count - num::kMinModuli) * kParts + part];
      for (const bool is_by_groups : {false, true}) {
        const std::vector<double> found = rebuild_any<kIsComplexRing>(planes, block, table, is_by_groups);
        ASSERT_EQ(found.size(), expected.size());
        for (std::size_t at = 0; at < found.size(); ++at) {
          const double must_be = reinterpret_cast<const double*>(&expected[at])[part];
          ASSERT_EQ(std::memcmp(&found[at], &must_be, sizeof must_be), 0)
              << count << " moduli, part " << part << ", element " << at << ": " << found[at] << ", must be "
              << must_be;
        }
      }
    }
  }
}

TEST(CrtPieces, HaveTheBitsOfTheHost) { expect_bits_of_the_host<double>(); }
TEST(CrtPieces, HaveTheBitsOfTheHostInComplexNumbers) { expect_bits_of_the_host<std::complex<double>>(); }

/// Below 2^width in magnitude: any bits; ties of the rounding to 53 bits and their neighbours near and far; a few
/// powers of two, so that pieces are zero or cancel the one above.
[[nodiscard]] Integer random_sum(tests::Rng& rng, int width) {
  const auto power = [&](int below) {
    return tests::power_of_two(static_cast<unsigned>(tests::random_int(rng, 0, below - 1)));
  };
  Integer x = 0;
  switch (rng() % (width < 56 ? 2 : 3)) {
    case 0:
      x = tests::random_below(rng, power(width));
      break;
    case 2: {
      const std::uint64_t ones = rng() >> (rng() % 2 == 0 ? 12 : 60);
      const int shift = tests::random_int(rng, 0, width - 55);
      x = tests::integer((std::uint64_t{1} << 52 | ones) << 1 | 1) << static_cast<unsigned>(shift);
      if (shift > 0 && rng() % 4 != 0) x += rng() % 2 == 0 ? power(shift) : Integer(-power(shift));
      break;
    }
    default:
      for (int left = tests::random_int(rng, 1, 4); left > 0; --left)
        x += rng() % 2 == 0 ? power(width - 2) : Integer(-power(width - 2));
      break;
  }
  return rng() % 2 == 0 ? x : Integer(-x);
}

template <int kPieces>
void expect_rounded_once() {
  tests::Rng rng(kPieces);
  int num_open = 0;
  int num_wrong_if_nearest = 0;
  int num_cancelled[kPieces] = {};  // sums much smaller than so many leading pieces hold
  for (int round = 0; round < tests::cases(60000); ++round) {
    int grid[kPieces] = {};
    grid[kPieces - 2] = tests::random_int(rng, 1, 37);
    for (int i = kPieces - 3; i >= 0; --i) grid[i] = grid[i + 1] + 37;
    double magic[kPieces];
    for (int i = 0; i < kPieces; ++i) magic[i] = 0x1.8p52 * num::power_of_two(grid[i]);
    // The sum in pieces of half a unit above at most; then units move between neighbours.
    const Integer exact = random_sum(rng, 38 + grid[0]);
    Integer rest = exact;
    std::int64_t units[kPieces];
    for (int i = 0; i < kPieces; ++i) {
      const Integer unit = tests::power_of_two(static_cast<unsigned>(grid[i]));
      Integer quotient;
      mpz_fdiv_q(quotient.get_mpz_t(), Integer(rest + unit / 2).get_mpz_t(), unit.get_mpz_t());
      units[i] = quotient.get_si();
      rest -= quotient * unit;
    }
    for (int i = 1; i < kPieces; ++i) {
      const std::int64_t moved = rng() % 2 == 0 ? 0 : tests::random_int(rng, -16000, 16000);  // 2^14 units at most
      units[i - 1] += moved;
      units[i] -= moved << (grid[i - 1] - grid[i]);
    }
    double t[kPieces];
    for (int i = 0; i < kPieces; ++i) t[i] = static_cast<double>(units[i]) * num::power_of_two(grid[i]);
    const PieceSum<kPieces> sum(t, magic);
    const double must_be = tests::rounded_to_bits(tests::Rational(exact), 53).get_d();
    ASSERT_EQ(sum.value(), must_be) << exact.get_str();
    if (sum.is_open()) {
      ++num_open;
      num_wrong_if_nearest += sum.nearest() == must_be ? 0 : 1;
    } else {
      ASSERT_EQ(sum.nearest(), must_be) << exact.get_str();
    }
    for (int i = 0; i + 1 < kPieces; ++i) {
      if (exact != 0 && abs(exact) < tests::power_of_two(static_cast<unsigned>(grid[i]))) ++num_cancelled[i];
    }
  }
  if (kPieces > 2 && !tests::kIsSanitized) {  // too few rounds for so rare a case
    EXPECT_GT(num_open, 0);
    EXPECT_GT(num_wrong_if_nearest, 0);
  }
  for (int i = 0; i + 1 < kPieces; ++i) EXPECT_GT(num_cancelled[i], 0) << i;
}

TEST(CrtPieces, TwoAreRoundedOnce) { expect_rounded_once<2>(); }
TEST(CrtPieces, ThreeAreRoundedOnce) { expect_rounded_once<3>(); }
TEST(CrtPieces, FourAreRoundedOnce) { expect_rounded_once<4>(); }
TEST(CrtPieces, FiveAreRoundedOnce) { expect_rounded_once<5>(); }

}  // namespace
}  // namespace kizami::ozaki2
