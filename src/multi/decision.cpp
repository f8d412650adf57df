// SPDX-License-Identifier: MIT
#include "multi/decision.hpp"

#include <algorithm>
#include <array>
#include <complex>
#include <cstddef>
#include <string>

#include "base/instantiate.hpp"
#include "certify/equilibration_gain.hpp"
#include "certify/statistics.hpp"
#include "num/exponent.hpp"
#include "problem/lines.hpp"
#include "schemes/ozaki2/correct.hpp"

namespace kizami::multi {
namespace {

void merge(std::span<const std::int32_t> more, std::vector<std::int32_t>& most) {
  std::transform(more.begin(), more.end(), most.begin(), most.begin(),
                 [](std::int32_t x, std::int32_t y) { return std::max(x, y); });
}

}  // namespace

void add_block(const device::DeviceState& state, std::int64_t num_pairs, bool is_first_of_rows, bool is_first_of_cols,
               Counts& counts, int times) {
  num::RungHistogram plain = state.statistics.plain;
  // Where the sample refuses nothing nobody has counted, and the lowest rung certifies all.
  if (state.sampled_failures == 0 && state.look == device::Look::kSample) plain.pairs[0] = num_pairs;
  for (int i = 0; i < times; ++i) ozaki2::add(plain, counts.statistics.plain);
  counts.statistics.num_pairs += num_pairs * times;
  if (is_first_of_rows) counts.nonfinite_rows += static_cast<std::int64_t>(state.nonfinite_rows);
  if (is_first_of_cols) counts.nonfinite_cols += static_cast<std::int64_t>(state.nonfinite_cols);
}

void add_equilibrated(const device::DeviceState& state, Counts& counts, int times) {
  counts.statistics.has_equilibrated = true;
  for (int i = 0; i < times; ++i) ozaki2::add(state.statistics.equilibrated, counts.statistics.equilibrated);
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

namespace {

/// Counts over all parts of all.
Status sum_counts(Others& others, Counts& counts) {
  std::vector<std::int64_t> values = {counts.statistics.num_pairs, counts.nonfinite_rows, counts.nonfinite_cols};
  const auto visit = [&](const auto& take) {
    std::size_t at = 3;
    for (std::int64_t& pairs : counts.statistics.plain.pairs) take(pairs, at++);
    for (std::int64_t& lines : counts.exact_rows) take(lines, at++);
    for (std::int64_t& lines : counts.exact_cols) take(lines, at++);
  };
  visit([&](std::int64_t value, std::size_t) { values.push_back(value); });
  KIZAMI_RETURN_IF_ERROR(others.sum(values));
  counts.statistics.num_pairs = values[0];
  counts.nonfinite_rows = values[1];
  counts.nonfinite_cols = values[2];
  visit([&](std::int64_t& value, std::size_t at) { value = values[at]; });
  return {};
}

Status raise_exponents(Others& others, InnerExponents& exponents) {
  std::vector<std::int64_t> values(exponents.a().begin(), exponents.a().end());
  values.insert(values.end(), exponents.b().begin(), exponents.b().end());
  KIZAMI_RETURN_IF_ERROR(others.max(values));
  const auto half = values.begin() + static_cast<std::ptrdiff_t>(exponents.a().size());
  const auto narrow = [](std::int64_t value) { return static_cast<std::int32_t>(value); };
  std::transform(values.begin(), half, exponents.a().begin(), narrow);
  std::transform(half, values.end(), exponents.b().begin(), narrow);
  return {};
}

}  // namespace

Status decide(const ozaki2::Ozaki2Stage& stage, std::int64_t k, ozaki2::Part& part,
              const std::function<Status(std::int32_t& gain)>& find_gain, Others* others, Counts& counts,
              num::Selection& selection) {
  const num::Ladder& ladder = stage.ladder;
  num::Statistics& statistics = counts.statistics;
  KIZAMI_RETURN_IF_ERROR(part.count(counts));
  if (others != nullptr) KIZAMI_RETURN_IF_ERROR(sum_counts(*others, counts));
  selection = {};
  if (ladder.num_rungs == 0) {
    selection = {-1, false, statistics.num_pairs};
    return {};
  }
  if (stage.is_correct) {
    selection.rung = ozaki2::lowest_exact_rung(ladder, statistics.num_pairs, counts.exact_rows, counts.exact_cols);
    return {};
  }
  if (!stage.has_certificate) return {};  // what a call by itself begins with
  selection = num::select(ladder, statistics);
  if (!num::may_equilibrate(ladder, selection)) return {};
  std::int32_t gain = 0;
  if (selection.rung >= 0) KIZAMI_RETURN_IF_ERROR(find_gain(gain));
  if (!num::wants_equilibration(ladder, selection, gain)) return {};
  InnerExponents exponents(k);
  KIZAMI_RETURN_IF_ERROR(part.find_exponents(exponents.a(), exponents.b()));
  if (others != nullptr) KIZAMI_RETURN_IF_ERROR(raise_exponents(*others, exponents));
  exponents.make_shifts();
  statistics.has_equilibrated = true;
  KIZAMI_RETURN_IF_ERROR(part.count_equilibrated(exponents.a(), exponents.b(), counts));
  if (others != nullptr) KIZAMI_RETURN_IF_ERROR(others->sum(statistics.equilibrated.pairs));
  selection = num::select(ladder, statistics);
  return {};
}

Status require_what_is_needed(const plan::Plan& whole, const Counts& counts, const num::Selection& selection) {
  if (whole.policy.reject_nonfinite && counts.nonfinite_rows + counts.nonfinite_cols != 0) {
    return {StatusCode::kNonFinite, "NaN or Inf in " + std::to_string(counts.nonfinite_rows) + " rows of op(A) and " +
                                        std::to_string(counts.nonfinite_cols) +
                                        " columns of op(B), must be finite (nonfinite = reject)"};
  }
  if ((selection.rung >= 0 && selection.num_repaired == 0) || ozaki2::ozaki2_of(whole).has_fp64) return {};
  return {StatusCode::kAccuracyUnreachable,
          std::to_string(selection.num_repaired) + " of " + std::to_string(whole.shape.m * whole.shape.n) +
              " elements need FP64 arithmetic, which the policy forbids or which cannot guarantee the accuracy"};
}

#define KIZAMI_INSTANTIATE(T) template std::int32_t gain_of_samples<T>(const T*, const T*, std::int64_t, int)

KIZAMI_FOR_EACH_ELEMENT(KIZAMI_INSTANTIATE);
#undef KIZAMI_INSTANTIATE

}  // namespace kizami::multi
