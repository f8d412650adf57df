// SPDX-License-Identifier: MIT
// The block certificate of the host against its definition (docs/accuracy/certificate.md), pair by pair, and what theorem 2 promises:
// whatever the sampled certificate passes has rung 0.
#include "certify/certificate.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "base/aligned_buffer.hpp"
#include "certify/equilibration_gain.hpp"
#include "certify/statistics.hpp"
#include "exec/environment.hpp"
#include "num/exponent.hpp"
#include "plan/plan.hpp"
#include "schemes/ozaki2/buffers.hpp"

namespace kizami::certify {
namespace {

using problem::kTerms;
using problem::Lines;

template <class T>
struct Operand {
  std::int64_t num_lines;
  std::int64_t length;
  std::vector<T> values;
  std::vector<num::LineStats> stats;
  std::vector<num::LineWeight> weights;

  [[nodiscard]] Lines<T> lines() const { return {values.data(), num_lines, length, length, 1, false}; }
  /// A line with NaN or Inf is one of zeros.
  [[nodiscard]] double term(std::int64_t i, std::int64_t t) const {
    return stats[static_cast<std::size_t>(i)].is_finite ? lines().term(i, t) : 0.0;
  }
};

/// Terms (uniform - 0.5) exp(phi normal), some of them zero, some lines zero.
template <class T>
Operand<T> random_operand(std::mt19937_64& rng, std::int64_t num_lines, std::int64_t length, double phi,
                          double share_of_zeros) {
  Operand<T> x{num_lines, length, std::vector<T>(static_cast<std::size_t>(num_lines * length)), {}, {}};
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform(-0.5, 0.5);
  std::uniform_real_distribution<double> share(0.0, 1.0);
  auto* const terms = reinterpret_cast<RealOf<T>*>(x.values.data());
  for (std::size_t t = 0; t < x.values.size() * static_cast<std::size_t>(kTerms<T>); ++t) {
    const double value = uniform(rng) * std::exp(phi * normal(rng));
    terms[t] = share(rng) < share_of_zeros ? RealOf<T>{0} : static_cast<RealOf<T>>(value);
  }
  x.stats.resize(static_cast<std::size_t>(num_lines));
  gather_statistics(x.lines(), nullptr, 1, x.stats.data());
  return x;
}

template <class T>
plan::Plan plan_of(std::int64_t m, std::int64_t n, std::int64_t k) {
  Policy policy;
  policy.scheme = Scheme::kOzaki2;
  policy.threads = 2;
  return plan::make({kScalarOf<T>, m, n, k}, policy, exec::environment()).value();
}

template <class T>
CertifiedLines<T> certified(const plan::Plan& plan, Operand<T>& x) {
  x.weights.clear();
  for (const num::LineStats& line : x.stats)
    x.weights.push_back(num::line_weight(ozaki2::ozaki2_of(plan).ladder, line));
  return {x.lines(), x.stats.data(), x.weights.data(), nullptr, nullptr};
}

/// The digit of a term in its block (64 elements, 128 of a long real line), and how far the block lies below its line.
template <class T>
struct BlockOfLine {
  int exponent = num::kNoExponent;
  int deficit = 0;

  BlockOfLine(const Operand<T>& x, std::int64_t i, std::int64_t block) {
    for (std::int64_t t = begin(x, block); t < end(x, block); ++t) {
      if (x.term(i, t) != 0.0) exponent = std::max(exponent, std::ilogb(x.term(i, t)));
    }
    deficit = x.stats[static_cast<std::size_t>(i)].exponent - exponent;
  }
  static std::int64_t elements(std::int64_t length) { return kTerms<T> == 1 && length >= 4096 ? 128 : 64; }
  static std::int64_t begin(const Operand<T>& x, std::int64_t block) { return block * elements(x.length) * kTerms<T>; }
  static std::int64_t end(const Operand<T>& x, std::int64_t block) {
    return std::min(begin(x, block + 1), x.length * kTerms<T>);
  }
  [[nodiscard]] bool has_digits() const { return exponent != num::kNoExponent && deficit <= 52; }
  [[nodiscard]] int digit(const Operand<T>& x, std::int64_t i, std::int64_t t) const {
    return static_cast<int>(std::floor(std::ldexp(std::fabs(x.term(i, t)), 6 - exponent)));
  }
};

/// S of a part of a pair, by definition: segments of 2^20 elements.
template <class T>
float sum_by_definition(const Operand<T>& a, std::int64_t i, const Operand<T>& b, std::int64_t j, int part) {
  float total = 0;
  float segment = 0;
  const std::int64_t of_block = BlockOfLine<T>::elements(a.length);
  const std::int64_t num_blocks = (a.length + of_block - 1) / of_block;
  const std::int64_t of_segment = (std::int64_t{1} << 20) / of_block;
  for (std::int64_t block = 0; block < num_blocks; ++block) {
    const BlockOfLine<T> x(a, i, block);
    const BlockOfLine<T> y(b, j, block);
    if (x.has_digits() && y.has_digits()) {
      std::int64_t products = 0;
      for (std::int64_t t = x.begin(a, block); t < x.end(a, block); ++t)
        products += static_cast<std::int64_t>(x.digit(a, i, t)) * y.digit(b, j, t ^ part);
      segment += std::ldexp(static_cast<float>(products), -12 - x.deficit - y.deficit);
    }
    if ((block + 1) % of_segment == 0 || block + 1 == num_blocks) {
      total = block < of_segment ? segment : total + segment;
      segment = 0;
    }
  }
  return total;
}

template <class T>
bool has_common_term(const Operand<T>& a, std::int64_t i, const Operand<T>& b, std::int64_t j, int part) {
  for (std::int64_t t = 0; t < a.length * kTerms<T>; ++t) {
    if (a.term(i, t) != 0.0 && b.term(j, t ^ part) != 0.0) return true;
  }
  return false;
}

template <class T>
int rung_by_definition(const num::Ladder& ladder, const Operand<T>& a, std::int64_t i, const Operand<T>& b,
                       std::int64_t j) {
  int rung = 0;
  for (int part = 0; part < static_cast<int>(kTerms<T>); ++part) {
    const float sum = sum_by_definition(a, i, b, j, part);
    if (sum == 0.0F && !has_common_term(a, i, b, j, part)) continue;
    rung = std::max(rung, num::first_certified_rung(ladder, a.weights[static_cast<std::size_t>(i)],
                                                    b.weights[static_cast<std::size_t>(j)], sum));
  }
  return rung;
}

struct Seen {
  std::int64_t above = 0;   ///< pairs above rung 0
  std::int64_t passed = 0;  ///< products whose sample passes, of spreads where that is not sure
};

template <class T>
void expect_definition(std::mt19937_64& rng, std::int64_t m, std::int64_t n, std::int64_t k, double phi,
                       double share_of_zeros, Seen& seen) {
  SCOPED_TRACE(std::string(to_string(kScalarOf<T>)) + ' ' + std::to_string(m) + 'x' + std::to_string(n) + 'x' +
               std::to_string(k) + " phi=" + std::to_string(phi) + " zeros=" + std::to_string(share_of_zeros));
  const plan::Plan plan = plan_of<T>(m, n, k);
  ASSERT_TRUE(ozaki2::ozaki2_of(plan).has_certificate);
  Operand<T> a = random_operand<T>(rng, m, k, phi, share_of_zeros);
  Operand<T> b = random_operand<T>(rng, n, k, phi, share_of_zeros);
  base::AlignedBuffer workspace(plan.schedule.workspace_bytes);
  base::Carver carver(workspace.data());
  const CertificateBuffers buffers = ozaki2::carve(carver, plan).certificate;
  const CertifiedLines<T> of_a = certified(plan, a);
  const CertifiedLines<T> of_b = certified(plan, b);
  const num::Ladder& ladder = ozaki2::ozaki2_of(plan).ladder;
  std::vector<int> rungs(static_cast<std::size_t>(m * n), -1);
  const Status status = visit_block_rungs<T>(ozaki2::certificate_plan(plan), ladder, buffers, of_a, of_b,
                                             [&](std::int64_t i, std::int64_t num_i, std::int64_t j, std::int64_t num_j,
                                                 const std::uint8_t* found, std::int64_t ld) {
                                               for (std::int64_t y = 0; y < num_j; ++y) {
                                                 for (std::int64_t x = 0; x < num_i; ++x)
                                                   rungs[static_cast<std::size_t>((j + y) * m + i + x)] =
                                                       found[y * ld + x];
                                               }
                                             });
  ASSERT_TRUE(status.ok()) << status.reason();
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = 0; i < m; ++i) {
      ASSERT_EQ(rungs[static_cast<std::size_t>(j * m + i)], rung_by_definition(ladder, a, i, b, j)) << i << ' ' << j;
      seen.above += rungs[static_cast<std::size_t>(j * m + i)] > 0 ? 1 : 0;
    }
  }
  std::int64_t failures = 0;
  ASSERT_TRUE(count_sampled_failures(ozaki2::certificate_plan(plan), ladder, buffers, of_a, of_b, failures).ok());
  if (failures != 0) return;
  seen.passed += phi > 0 ? 1 : 0;
  EXPECT_EQ(*std::max_element(rungs.begin(), rungs.end()), 0) << "a sample passes what blocks refuse";
}

template <class T>
void expect_definitions(std::uint64_t seed) {
  std::mt19937_64 rng(seed);
  Seen seen;
  for (const std::int64_t k : {1, 63, 64, 65, 130, 700}) {
    for (const double phi : {0.0, 0.5, 1.0, 2.0, 6.0, 30.0}) expect_definition<T>(rng, 7, 5, k, phi, 0.0, seen);
    expect_definition<T>(rng, 9, 8, k, 0.5, 0.7, seen);
    expect_definition<T>(rng, 9, 8, k, 4.0, 0.98, seen);
  }
  for (const std::int64_t k : {4095, 4096, 4097, 4200}) {
    for (const double phi : {0.5, 2.0, 4.0, 8.0}) expect_definition<T>(rng, 3, 3, k, phi, 0.0, seen);
  }
  EXPECT_GT(seen.above, 100);
  EXPECT_GT(seen.passed, 3);
}
TEST(BlockCertificate, IsItsDefinition64) { expect_definitions<double>(1); }
TEST(BlockCertificate, IsItsDefinition32) { expect_definitions<float>(2); }
TEST(BlockCertificate, IsItsDefinitionComplex64) { expect_definitions<std::complex<float>>(3); }
TEST(BlockCertificate, IsItsDefinitionComplex128) { expect_definitions<std::complex<double>>(4); }

/// More blocks than one sum takes.
TEST(BlockCertificate, SegmentsAreAdded) {
  std::mt19937_64 rng(5);
  Seen seen;
  expect_definition<double>(rng, 1, 1, num::kSegmentBlocks * num::kDigitBlock + 200, 3.0, 0.0, seen);
}

TEST(EquilibrationGain, LinesOfSamplesAreSpreadEvenly) {
  for (const std::int64_t lines : {1, 2, 63, 64, 65, 1000, 4096}) {
    for (int s = 0; s < kGainLines; ++s) EXPECT_EQ(gain_line(lines, s), s * lines / kGainLines);
  }
}

TEST(EquilibrationGain, LowerMedian) {
  std::int32_t even[] = {4, 1, 3, 2};
  std::int32_t odd[] = {5, -1, 7};
  EXPECT_EQ(lower_median(even, 4), 2);
  EXPECT_EQ(lower_median(odd, 3), 5);
  EXPECT_EQ(lower_median(odd, 0), 0);
}

/// A = X D, B = D^-1 Y with D of 2^+-s is worth it; rows and columns of any scale and random exponents are not.
TEST(EquilibrationGain, TellsGradedDataFromWideOnes) {
  std::mt19937_64 rng(6);
  constexpr std::int64_t kLines = 200;
  constexpr std::int64_t kLength = 500;
  std::vector<std::int32_t> a_shift(kLength);
  std::vector<std::int32_t> b_shift(kLength);
  const auto gain = [&](double phi, int inner, int outer) {
    Operand<double> a = random_operand<double>(rng, kLines, kLength, phi, 0.0);
    Operand<double> b = random_operand<double>(rng, kLines, kLength, phi, 0.0);
    for (std::int64_t i = 0; i < kLines; ++i) {
      for (std::int64_t h = 0; h < kLength; ++h) {
        const int s = static_cast<int>(inner * (2 * h - kLength) / kLength);
        const auto at = static_cast<std::size_t>(i * kLength + h);
        a.values[at] = std::ldexp(a.values[at], s + static_cast<int>(i % (outer + 1)));
        b.values[at] = std::ldexp(b.values[at], -s);
      }
    }
    gather_statistics(a.lines(), nullptr, 1, a.stats.data());
    gather_statistics(b.lines(), nullptr, 1, b.stats.data());
    return equilibration_gain(a.lines(), a.stats.data(), b.lines(), b.stats.data(), 2, a_shift.data(), b_shift.data());
  };
  for (const int inner : {15, 40, 200}) EXPECT_GE(gain(0.5, inner, 0), num::kLeastEquilibrationGain) << inner;
  for (const double phi : {0.5, 2.0, 4.0, 6.0}) EXPECT_LT(gain(phi, 0, 0), num::kLeastEquilibrationGain) << phi;
  EXPECT_LT(gain(0.5, 0, 100), num::kLeastEquilibrationGain);
  EXPECT_GE(gain(0.5, 40, 100), num::kLeastEquilibrationGain);
}

/// An operand times a power of two gains the same, also where the samples miss columns.
TEST(EquilibrationGain, IsThatOfAnyUnit) {
  constexpr std::int64_t kLines = 150;
  constexpr std::int64_t kLength = 700;
  std::mt19937_64 rng(7);
  std::vector<std::int32_t> a_shift(kLength);
  std::vector<std::int32_t> b_shift(kLength);
  Operand<double> a = random_operand<double>(rng, kLines, kLength, 0.5, 0.9);
  Operand<double> b = random_operand<double>(rng, kLines, kLength, 0.5, 0.9);
  for (std::int64_t i = 0; i < kLines; ++i) {
    for (std::int64_t h = 0; h < kLength; ++h) {
      const auto at = static_cast<std::size_t>(i * kLength + h);
      a.values[at] = std::ldexp(a.values[at], static_cast<int>(h % 41) - 20);
      b.values[at] = std::ldexp(b.values[at], 20 - static_cast<int>(h % 41));
    }
  }
  std::vector<std::int32_t> gains;
  for (const int unit : {0, -60, 120}) {
    for (double& x : a.values) x = std::ldexp(x, unit);
    gather_statistics(a.lines(), nullptr, 1, a.stats.data());
    gather_statistics(b.lines(), nullptr, 1, b.stats.data());
    gains.push_back(
        equilibration_gain(a.lines(), a.stats.data(), b.lines(), b.stats.data(), 2, a_shift.data(), b_shift.data()));
  }
  EXPECT_GE(gains[0], num::kLeastEquilibrationGain);
  EXPECT_EQ(gains[1], gains[0]);
  EXPECT_EQ(gains[2], gains[0]);
}

}  // namespace
}  // namespace kizami::certify
