// SPDX-License-Identifier: MIT
#include "multi/decision.hpp"

#include <algorithm>
#include <array>
#include <complex>
#include <cstddef>

#include "base/instantiate.hpp"
#include "certify/equilibration_gain.hpp"
#include "certify/statistics.hpp"
#include "num/exponent.hpp"
#include "problem/lines.hpp"

namespace kizami::multi {
namespace {

void add(const num::RungHistogram& more, num::RungHistogram& sum) {
  for (std::size_t r = 0; r < sum.pairs.size(); ++r) sum.pairs[r] += more.pairs[r];
}

void merge(std::span<const std::int32_t> more, std::vector<std::int32_t>& most) {
  std::transform(more.begin(), more.end(), most.begin(), most.begin(),
                 [](std::int32_t x, std::int32_t y) { return std::max(x, y); });
}

}  // namespace

void add_block(const device::DeviceState& state, std::int64_t num_pairs, bool is_first_of_rows, bool is_first_of_cols,
               Counts& counts) {
  num::RungHistogram plain = state.statistics.plain;
  // Where the sample refuses nothing nobody has counted, and the lowest rung certifies all.
  if (state.sampled_failures == 0 && state.look == device::Look::kSample) plain.pairs[0] = num_pairs;
  add(plain, counts.statistics.plain);
  counts.statistics.num_pairs += num_pairs;
  if (is_first_of_rows) counts.nonfinite_rows += static_cast<std::int64_t>(state.nonfinite_rows);
  if (is_first_of_cols) counts.nonfinite_cols += static_cast<std::int64_t>(state.nonfinite_cols);
}

void add_equilibrated(const device::DeviceState& state, Counts& counts) {
  counts.statistics.has_equilibrated = true;
  add(state.statistics.equilibrated, counts.statistics.equilibrated);
}

InnerExponents::InnerExponents(std::int64_t k)
    : a_(static_cast<std::size_t>(k), num::kNoExponent), b_(static_cast<std::size_t>(k), num::kNoExponent) {}

void InnerExponents::add(std::span<const std::int32_t> a, std::span<const std::int32_t> b) {
  merge(a, a_);
  merge(b, b_);
}

void InnerExponents::make_shifts() {
  certify::equilibration_shifts(static_cast<std::int64_t>(a_.size()), a_.data(), b_.data());
}

template <class T>
std::int32_t gain_of_samples(const T* a, const T* b, std::int64_t k, int threads) {
  static_assert(certify::gain_line(certify::kGainLines, certify::kGainLines - 1) == certify::kGainLines - 1);
  const problem::Lines<T> a_lines{a, certify::kGainLines, k, k, 1, false};
  const problem::Lines<T> b_lines{b, certify::kGainLines, k, k, 1, false};
  std::array<num::LineStats, certify::kGainLines> a_stats;
  std::array<num::LineStats, certify::kGainLines> b_stats;
  certify::gather_statistics(a_lines, nullptr, threads, a_stats.data());
  certify::gather_statistics(b_lines, nullptr, threads, b_stats.data());
  std::vector<std::int32_t> a_shift(static_cast<std::size_t>(k));
  std::vector<std::int32_t> b_shift(static_cast<std::size_t>(k));
  return certify::equilibration_gain(a_lines, a_stats.data(), b_lines, b_stats.data(), threads, a_shift.data(),
                                     b_shift.data());
}

#define KIZAMI_INSTANTIATE(T) template std::int32_t gain_of_samples<T>(const T*, const T*, std::int64_t, int)

KIZAMI_FOR_EACH_ELEMENT(KIZAMI_INSTANTIATE);
#undef KIZAMI_INSTANTIATE

}  // namespace kizami::multi
