// SPDX-License-Identifier: MIT
// Planes of complex operands against their definition in Z[i]: every pair of residues, every modulus, every instruction
// set; whole operands, conjugated or not, rounded by MPFR; and digits with exchanged parts.
#include <gtest/gtest.h>

#include <complex>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "base/int_math.hpp"
#include "certify/digits.hpp"
#include "certify/statistics.hpp"
#include "num/crt_table.hpp"
#include "schemes/ozaki2/ladder.hpp"
#include "schemes/ozaki2/residues.hpp"
#include "tests/certify/simd_targets.hpp"
#include "tests/num/complex_integers.hpp"

namespace kizami::ozaki2 {
namespace {

using num::Ring;
using tests::ComplexInteger;
using tests::Rng;

constexpr std::int8_t kCanary = 99;

TEST(CombineParts, EveryPairOfResiduesOnEveryTarget) {
  std::set<std::string> names;
  const int targets = tests::for_each_simd_target([&](const std::string& name) {
    names.insert(name);
    for (int l = 0; l < num::kMaxComplexModuli; ++l) {
      if (tests::is_left_out(l, 4)) continue;
      const int p = num::modulus(Ring::kComplex, l);
      std::vector<std::int8_t> interleaved;
      for (int re = -(p / 2); re <= (p - 1) / 2; ++re) {
        for (int im = -(p / 2); im <= (p - 1) / 2; ++im) {
          interleaved.push_back(static_cast<std::int8_t>(re));
          interleaved.push_back(static_cast<std::int8_t>(im));
        }
      }
      const auto num_pairs = static_cast<std::int64_t>(interleaved.size() / 2);
      const std::int64_t count = base::round_up(num_pairs, kComputedElems<std::complex<double>>);
      interleaved.resize(static_cast<std::size_t>(2 * count));
      const int num_planes = num::planes_of_modulus(Ring::kComplex, l);
      const std::int64_t stride = count + 7;
      std::vector<std::int8_t> out(static_cast<std::size_t>(num_planes * stride), kCanary);
      combine_parts(interleaved.data(), count, l, out.data(), stride);
      for (std::int64_t h = 0; h < count; ++h) {
        const ComplexInteger x{interleaved[static_cast<std::size_t>(2 * h)],
                               interleaved[static_cast<std::size_t>(2 * h + 1)]};
        const auto want = tests::operand_planes(x, l);
        for (int i = 0; i < num_planes; ++i) {
          ASSERT_EQ(out[static_cast<std::size_t>(i * stride + h)], want[static_cast<std::size_t>(i)])
              << name << ", p = " << p << ", plane " << i << ", " << x.re.get_str() << " + " << x.im.get_str() << " i";
        }
      }
      for (int i = 0; i < num_planes; ++i) {
        for (std::int64_t h = count; h < stride; ++h)
          ASSERT_EQ(out[static_cast<std::size_t>(i * stride + h)], kCanary) << "beyond plane " << i;
      }
    }
  });
  EXPECT_EQ(static_cast<int>(names.size()), targets);
  EXPECT_GT(targets, 1);
}

/// Planes of lines by definition, and computed from views.
template <class R>
void expect_planes(std::uint64_t seed, int num_moduli, std::int64_t num_lines, std::int64_t total, std::int64_t first,
                   std::int64_t length, bool is_shifted, bool is_conjugated) {
  Rng rng(seed);
  std::vector<std::complex<R>> memory(static_cast<std::size_t>(num_lines * total));
  for (std::size_t t = 0; t < memory.size(); ++t) {
    const int e = static_cast<int>(t) / static_cast<int>(total) * 9 - 20;
    const auto part = [&] {
      return rng() % 6 == 0 ? R{0} : static_cast<R>(tests::random_double(rng, e + tests::random_int(rng, -30, 0)));
    };
    memory[t] = {part(), part()};
  }
  if (num_lines > 2) memory[static_cast<std::size_t>(total)].imag(std::numeric_limits<R>::infinity());
  std::vector<std::int32_t> shift;
  for (std::int64_t h = 0; is_shifted && h < total; ++h) shift.push_back(tests::random_int(rng, -200, 200));

  const problem::Lines<std::complex<R>> lines{memory.data(), num_lines, total, total, 1, is_conjugated};
  std::vector<num::LineStats> stats;
  for (std::int64_t i = 0; i < num_lines; ++i) {
    std::vector<double> terms;
    std::vector<std::int32_t> shift_of_terms;
    for (std::int64_t h = 0; h < total; ++h) {
      const std::complex<R>& x = memory[static_cast<std::size_t>(i * total + h)];
      terms.insert(terms.end(), {static_cast<double>(x.real()), static_cast<double>(x.imag())});
      if (is_shifted) shift_of_terms.insert(shift_of_terms.end(), 2, shift[static_cast<std::size_t>(h)]);
    }
    stats.push_back(tests::stats_by_definition(terms, shift_of_terms));
  }
  std::vector<num::LineStats> gathered(stats.size());
  certify::gather_statistics(lines, is_shifted ? shift.data() : nullptr, 2, gathered.data());
  ASSERT_EQ(gathered, stats);

  const num::Rung rung = make_rung(Ring::kComplex, num_moduli, 2 * std::max<std::int64_t>(total, 1), 0.0);
  const std::int64_t row_stride = base::round_up(length, 64) + 64, plane_stride = num_lines * row_stride + 64;
  std::vector<std::int8_t> want(static_cast<std::size_t>(num::num_planes(Ring::kComplex, num_moduli) * plane_stride),
                                kCanary);
  std::vector<std::int8_t> got = want;
  for (std::int64_t i = 0; i < num_lines; ++i) {
    const num::LineStats& line = stats[static_cast<std::size_t>(i)];
    const int scale = line_scale(rung, line);
    for (std::int64_t h = 0; h < base::round_up(length, 64); ++h) {
      ComplexInteger x{0, 0};
      if (h < length && !line.is_zero()) {
        const std::complex<R>& value = memory[static_cast<std::size_t>(i * total + first + h)];
        const int s = scale + tests::shift_at(shift, static_cast<std::size_t>(first + h));
        x = {tests::rint_scaled(value.real(), s), tests::rint_scaled(value.imag(), s)};
        if (is_conjugated) x.im = -x.im;
      }
      for (int l = 0; l < num_moduli; ++l) {
        const auto planes = tests::operand_planes(x, l);
        for (int q = 0; q < num::planes_of_modulus(Ring::kComplex, l); ++q) {
          const std::int64_t plane = num::num_planes(Ring::kComplex, l) + q;
          want[static_cast<std::size_t>(plane * plane_stride + i * row_stride + h)] =
              static_cast<std::int8_t>(planes[static_cast<std::size_t>(q)]);
        }
      }
    }
  }
  for (const int threads : {1, 3}) {
    std::vector<std::int8_t> out = got;
    make_residue_planes(lines, stats.data(), is_shifted ? shift.data() : nullptr, first, length, rung, threads,
                        out.data(), row_stride, plane_stride);
    ASSERT_EQ(out, want) << "N = " << num_moduli << ", " << num_lines << " x " << total << " from " << first << " on "
                         << length << ", threads " << threads;
  }
}

TEST(ComplexResiduePlanes, EveryNumberOfModuli) {
  for (int n = 3; n <= num::kMaxComplexModuli; ++n) {
    const auto seed = static_cast<std::uint64_t>(n);
    expect_planes<double>(seed, n, 4, 70, 0, 70, n % 2 == 0, n % 3 == 0);
    expect_planes<float>(seed, n, 4, 70, 0, 70, n % 3 == 0, n % 2 == 0);
    if (HasFatalFailure()) return;
  }
}

TEST(ComplexResiduePlanes, ShapesAroundEveryTileEdge) {
  std::uint64_t seed = 100;
  for (const std::int64_t num_lines : {1, 16, 17}) {
    for (const std::int64_t length : {1, 63, 64, 65, 255, 256, 257, 300}) {
      ++seed;
      expect_planes<double>(seed, seed % 2 == 0 ? 18 : 7, num_lines, length, 0, length, false, seed % 3 == 0);
      expect_planes<float>(seed, 5, num_lines, length + 128, 64, length, true, seed % 3 == 0);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(SwapParts, ExchangesNeighbours) {
  Rng rng(41);
  for (const std::int64_t num_lines : {1, 3, 17}) {
    for (const std::int64_t row : {2, 64, 66, 128, 1024}) {
      std::vector<std::int8_t> digits(static_cast<std::size_t>(num_lines * row));
      for (auto& digit : digits) digit = static_cast<std::int8_t>(rng());
      for (const int threads : {1, 3}) {
        std::vector<std::int8_t> swapped(digits.size() + 1, kCanary);
        certify::swap_parts(digits.data(), num_lines, row, threads, swapped.data());
        for (std::size_t t = 0; t < digits.size(); ++t)
          ASSERT_EQ(swapped[t], digits[t ^ 1]) << num_lines << " x " << row;
        EXPECT_EQ(swapped.back(), kCanary);
      }
    }
  }
}

}  // namespace
}  // namespace kizami::ozaki2
