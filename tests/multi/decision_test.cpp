// SPDX-License-Identifier: MIT
// What blocks count makes the decision of the whole, by the certificate of the host: histograms, exponents and shifts,
// gain, selection.
#include "multi/decision.hpp"

#include <gtest/gtest.h>

#include <complex>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "base/aligned_buffer.hpp"
#include "certify/certificate.hpp"
#include "certify/equilibration_gain.hpp"
#include "certify/statistics.hpp"
#include "exec/environment.hpp"
#include "multi/blocks.hpp"
#include "plan/plan.hpp"
#include "schemes/ozaki2/buffers.hpp"

namespace kizami::multi {
namespace {

using problem::kTerms;
using problem::Lines;

/// Lines of k elements.
template <class T>
struct Operand {
  std::vector<T> values;
  std::int64_t num_lines = 0;
  std::int64_t k = 0;

  [[nodiscard]] Lines<T> lines() const { return {values.data(), num_lines, k, k, 1, false}; }
};

/// @param grade  exponents of the inner index rise by so many bits in all
/// @param num_odd  lines at the beginning whose large elements are those of even or odd numbers, as the seed is: large
///        elements of such lines of A and of B do not meet
template <class T>
Operand<T> operand(std::uint64_t seed, std::int64_t num_lines, std::int64_t k, double grade, std::int64_t num_odd = 0) {
  std::mt19937_64 rng(seed);
  std::normal_distribution<double> normal;
  Operand<T> x{std::vector<T>(static_cast<std::size_t>(num_lines * k)), num_lines, k};
  auto* const terms = reinterpret_cast<RealOf<T>*>(x.values.data());
  for (std::int64_t i = 0; i < num_lines; ++i) {
    for (std::int64_t t = 0; t < k * kTerms<T>; ++t) {
      const std::int64_t h = t / kTerms<T>;
      const bool is_large = i < num_odd && static_cast<std::uint64_t>(h) % 2 == seed % 2;
      const double exponent = grade * static_cast<double>(h) / static_cast<double>(k) + (is_large ? 12.0 : 0.0);
      terms[i * k * kTerms<T> + t] = static_cast<RealOf<T>>(normal(rng) * std::exp2(exponent));
    }
  }
  return x;
}

/// The certificate of some lines by the host.
template <class T>
num::RungHistogram histogram_of(const Lines<T>& a, const Lines<T>& b, const std::int32_t* a_shift,
                                const std::int32_t* b_shift) {
  Policy policy;
  policy.scheme = Scheme::kOzaki2;
  policy.threads = 1;
  const plan::Plan plan =
      plan::make({kScalarOf<T>, a.num_lines, b.num_lines, a.length}, policy, exec::environment()).value();
  const num::Ladder& ladder = ozaki2::ozaki2_of(plan).ladder;
  const auto certify = [&](const Lines<T>& lines, const std::int32_t* shift, std::vector<num::LineStats>& stats,
                           std::vector<num::LineWeight>& weights) {
    stats.resize(static_cast<std::size_t>(lines.num_lines));
    certify::gather_statistics(lines, shift, 1, stats.data());
    for (const num::LineStats& line : stats) weights.push_back(num::line_weight(ladder, line));
    return certify::CertifiedLines<T>{lines, stats.data(), weights.data(), shift, nullptr};
  };
  std::vector<num::LineStats> a_stats;
  std::vector<num::LineStats> b_stats;
  std::vector<num::LineWeight> a_weights;
  std::vector<num::LineWeight> b_weights;
  const auto of_a = certify(a, a_shift, a_stats, a_weights);
  const auto of_b = certify(b, b_shift, b_stats, b_weights);
  base::AlignedBuffer workspace(plan.schedule.workspace_bytes);
  base::Carver carver(workspace.data());
  const certify::CertificateBuffers buffers = ozaki2::carve(carver, plan).certificate;
  num::RungHistogram histogram;
  const Status status =
      certify::block_histogram<T>(ozaki2::certificate_plan(plan), ladder, buffers, of_a, of_b, histogram);
  EXPECT_TRUE(status.ok()) << status.reason();
  return histogram;
}

struct Seen {
  int equilibrated = 0;
  int climbed = 0;  ///< or in FP64 arithmetic
};

template <class T>
void expect_whole(const Operand<T>& a, const Operand<T>& b, int row_parts, int col_parts, Seen& seen) {
  const std::int64_t k = a.k;
  const std::int64_t pairs = a.num_lines * b.num_lines;
  Policy policy;
  policy.scheme = Scheme::kOzaki2;
  const plan::Plan plan = plan::make({kScalarOf<T>, a.num_lines, b.num_lines, k}, policy, exec::environment()).value();
  const num::Ladder& ladder = ozaki2::ozaki2_of(plan).ladder;

  // The whole, as a call by itself finds it.
  num::Statistics whole;
  whole.num_pairs = pairs;
  whole.plain = histogram_of(a.lines(), b.lines(), nullptr, nullptr);
  std::vector<std::int32_t> a_shift(static_cast<std::size_t>(k));
  std::vector<std::int32_t> b_shift(static_cast<std::size_t>(k));
  certify::gather_inner_exponents(a.lines(), 1, a_shift.data());
  certify::gather_inner_exponents(b.lines(), 1, b_shift.data());
  certify::equilibration_shifts(k, a_shift.data(), b_shift.data());
  whole.has_equilibrated = true;
  whole.equilibrated = histogram_of(a.lines(), b.lines(), a_shift.data(), b_shift.data());

  // Blocks, whose states carry what their device counted.
  Counts counts;
  InnerExponents exponents(k);
  const std::vector<Rect> blocks = cut_block({0, 0, a.num_lines, b.num_lines}, row_parts, col_parts);
  const auto lines_of = [&](const Rect& block) {
    return std::pair(a.lines().subset(block.row, block.rows), b.lines().subset(block.col, block.cols));
  };
  for (const Rect& block : blocks) {
    const auto [rows, cols] = lines_of(block);
    device::DeviceState state;
    state.statistics.plain = histogram_of(rows, cols, nullptr, nullptr);
    state.sampled_failures = 1;
    if (state.statistics.plain.pairs[0] == block.rows * block.cols) {  // a sample may refuse nothing: nobody counts
      state.statistics.plain = {};
      state.sampled_failures = 0;
    }
    add_block(state, block.rows * block.cols, block.col == 0, block.row == 0, counts);
    std::vector<std::int32_t> of_a(static_cast<std::size_t>(k));
    std::vector<std::int32_t> of_b(static_cast<std::size_t>(k));
    certify::gather_inner_exponents(rows, 1, of_a.data());
    certify::gather_inner_exponents(cols, 1, of_b.data());
    exponents.add(of_a, of_b);
  }
  EXPECT_EQ(counts.statistics.num_pairs, pairs);
  EXPECT_EQ(counts.statistics.plain, whole.plain);
  exponents.make_shifts();
  EXPECT_TRUE(std::equal(a_shift.begin(), a_shift.end(), exponents.a().begin()));
  EXPECT_TRUE(std::equal(b_shift.begin(), b_shift.end(), exponents.b().begin()));
  for (const Rect& block : blocks) {
    const auto [rows, cols] = lines_of(block);
    device::DeviceState state;
    state.statistics.equilibrated = histogram_of(rows, cols, exponents.a().data(), exponents.b().data());
    add_equilibrated(state, counts);
  }
  EXPECT_EQ(counts.statistics.equilibrated, whole.equilibrated);
  const num::Selection selection = num::select(ladder, counts.statistics);
  EXPECT_EQ(selection, num::select(ladder, whole));
  seen.equilibrated += selection.equilibrated ? 1 : 0;
  seen.climbed += selection.rung != 0 ? 1 : 0;
}

template <class T>
void expect_wholes() {
  Seen seen;
  for (const auto& [row_parts, col_parts] : {std::pair{1, 2}, {2, 2}, {3, 5}}) {
    expect_whole(operand<T>(1, 23, 200, 0), operand<T>(2, 31, 200, 0), row_parts, col_parts, seen);
    expect_whole(operand<T>(3, 23, 200, 0, 5), operand<T>(4, 31, 200, 0, 5), row_parts, col_parts, seen);
    const double grade = sizeof(RealOf<T>) == 4 ? 40 : 90;
    expect_whole(operand<T>(5, 23, 200, grade), operand<T>(6, 31, 200, -grade), row_parts, col_parts, seen);
  }
  EXPECT_GT(seen.equilibrated, 0);
  EXPECT_GT(seen.climbed, 0);
}

TEST(Decision, OfBlocksIsThatOfTheWholeF32) { expect_wholes<float>(); }
TEST(Decision, OfBlocksIsThatOfTheWholeF64) { expect_wholes<double>(); }
TEST(Decision, OfBlocksIsThatOfTheWholeC64) { expect_wholes<std::complex<float>>(); }
TEST(Decision, OfBlocksIsThatOfTheWholeC128) { expect_wholes<std::complex<double>>(); }

/// Blocks of one triangle of A A^T: pairs beside the diagonal stand for those across it, of the same lines.
template <class T>
void expect_mirrored(double grade, std::int64_t num_odd, Seen& seen) {
  // Odd lines of two kinds, in different blocks.
  Operand<T> a = operand<T>(9, 20, 200, grade, num_odd);
  const Operand<T> more = operand<T>(10, 17, 200, grade, num_odd);
  a.values.insert(a.values.end(), more.values.begin(), more.values.end());
  a.num_lines += more.num_lines;
  const std::int64_t k = a.k;
  const auto exponents_of = [&](const Lines<T>& lines) {
    std::vector<std::int32_t> all(static_cast<std::size_t>(k));
    certify::gather_inner_exponents(lines, 1, all.data());
    return all;
  };
  InnerExponents shifts(k);
  shifts.add(exponents_of(a.lines()), exponents_of(a.lines()));
  shifts.make_shifts();
  const auto histogram = [&](const Lines<T>& rows, const Lines<T>& cols, bool is_equilibrated) {
    return histogram_of(rows, cols, is_equilibrated ? shifts.a().data() : nullptr,
                        is_equilibrated ? shifts.b().data() : nullptr);
  };
  Counts counts;
  std::vector<Rect> blocks = {{0, 0, a.num_lines, a.num_lines}};
  for (int times = 0; times < 2; ++times) {
    std::vector<Rect> halves;
    for (const Rect& block : blocks) {
      for (const Rect& half : halve_block(block)) halves.push_back(half);
    }
    blocks = halves;
  }
  for (const Rect& block : blocks) {
    const Lines<T> rows = a.lines().subset(block.row, block.rows);
    const Lines<T> cols = a.lines().subset(block.col, block.cols);
    device::DeviceState state;
    state.sampled_failures = 1;
    state.statistics.plain = histogram(rows, cols, false);
    state.statistics.equilibrated = histogram(rows, cols, true);
    const int stands_for = block.row == block.col ? 1 : 2;
    add_block(state, block.rows * block.cols, false, false, counts, stands_for);
    add_equilibrated(state, counts, stands_for);
  }
  EXPECT_EQ(counts.statistics.num_pairs, a.num_lines * a.num_lines);
  EXPECT_EQ(counts.statistics.plain, histogram(a.lines(), a.lines(), false));
  EXPECT_EQ(counts.statistics.equilibrated, histogram(a.lines(), a.lines(), true));
  seen.climbed += counts.statistics.plain.pairs[0] == counts.statistics.num_pairs ? 0 : 1;
}

template <class T>
void expect_all_mirrored() {
  Seen seen;
  expect_mirrored<T>(0, 0, seen);
  expect_mirrored<T>(0, 5, seen);
  expect_mirrored<T>(sizeof(RealOf<T>) == 4 ? 40 : 90, 5, seen);
  EXPECT_GT(seen.climbed, 0);
}

TEST(Decision, OfATriangleIsThatOfAllPairs) {
  expect_all_mirrored<float>();
  expect_all_mirrored<double>();
  expect_all_mirrored<std::complex<float>>();
  expect_all_mirrored<std::complex<double>>();
}

template <class T>
void expect_gain(std::int64_t m, std::int64_t n, double grade) {
  constexpr std::int64_t kLength = 130;
  const Operand<T> a = operand<T>(7, m, kLength, grade);
  const Operand<T> b = operand<T>(8, n, kLength, -grade);
  const auto gather = [](const Operand<T>& x) {
    std::vector<T> samples;
    for (int s = 0; s < certify::kGainLines; ++s) {
      const std::int64_t line = certify::gain_line(x.num_lines, s);
      samples.insert(samples.end(), x.values.begin() + line * x.k, x.values.begin() + (line + 1) * x.k);
    }
    return samples;
  };
  std::vector<num::LineStats> a_stats(static_cast<std::size_t>(m));
  std::vector<num::LineStats> b_stats(static_cast<std::size_t>(n));
  certify::gather_statistics(a.lines(), nullptr, 1, a_stats.data());
  certify::gather_statistics(b.lines(), nullptr, 1, b_stats.data());
  std::vector<std::int32_t> a_shift(kLength);
  std::vector<std::int32_t> b_shift(kLength);
  const std::int32_t want = certify::equilibration_gain(a.lines(), a_stats.data(), b.lines(), b_stats.data(), 1,
                                                        a_shift.data(), b_shift.data());
  EXPECT_EQ(gain_of_samples(gather(a).data(), gather(b).data(), kLength, 2), want);
  EXPECT_EQ(want >= num::kLeastEquilibrationGain, grade != 0);
}

TEST(Decision, SamplesHaveTheGainOfTheWhole) {
  for (const auto& [m, n] : {std::pair{1, 1}, {63, 64}, {65, 300}}) {
    expect_gain<double>(m, n, 0);
    expect_gain<double>(m, n, 60);
    expect_gain<std::complex<float>>(m, n, 30);
  }
}

TEST(Decision, LinesThatAreNotFiniteAreCountedOnce) {
  device::DeviceState state;
  state.nonfinite_rows = 2;
  state.nonfinite_cols = 3;
  Counts counts;
  add_block(state, 10, true, true, counts);
  add_block(state, 10, true, false, counts);
  add_block(state, 10, false, true, counts);
  EXPECT_EQ(counts.nonfinite_rows, 4);
  EXPECT_EQ(counts.nonfinite_cols, 6);
  EXPECT_EQ(counts.statistics.num_pairs, 30);
  EXPECT_EQ(counts.statistics.plain.pairs[0], 30);
}

}  // namespace
}  // namespace kizami::multi
