// SPDX-License-Identifier: MIT
#include "certify/equilibration_gain.hpp"

#include <array>
#include <complex>

#include "base/instantiate.hpp"
#include "base/int_math.hpp"
#include "base/parallel.hpp"
#include "certify/statistics.hpp"
#include "certify/terms.hpp"

namespace kizami::certify {
namespace {

using problem::kTerms;

/// exponents[h] = the largest of elements h of the even samples, relative to their lines; kNoExponent of none.
template <class T>
void gather_relative_exponents(const problem::Lines<T>& lines, const num::LineStats* stats, int threads,
                               std::int32_t* exponents) {
  constexpr std::int64_t kGroup = 1024;
  base::parallel_for(base::ceil_div(lines.length, kGroup), threads, [&](std::int64_t group, int) {
    const std::int64_t begin = group * kGroup;
    const std::int64_t end = std::min(begin + kGroup, lines.length);
    std::fill(exponents + begin, exponents + end, num::kNoExponent);
    for (int s = 0; s < kGainLines; s += 2) {
      const std::int64_t line = gain_line(lines.num_lines, s);
      if (stats[line].is_zero()) continue;
      for (std::int64_t t = begin * kTerms<T>; t < end * kTerms<T>; ++t) {
        const double x = lines.term(line, t);
        if (x == 0.0) continue;
        std::int32_t& exponent = exponents[t / kTerms<T>];
        exponent = std::max(exponent, shifted_exponent(x, 0) - stats[line].exponent);
      }
    }
  });
}

/// The median of what the shifts take from the norms of the odd samples.
template <class T>
[[nodiscard]] std::int32_t median_gain(const problem::Lines<T>& lines, const num::LineStats* stats,
                                       const std::int32_t* inner_shift, int threads) {
  std::array<num::LineStats, kOddLines> shifted;
  base::parallel_for(kOddLines, threads, [&](std::int64_t s, int) {
    const std::int64_t line = gain_line(lines.num_lines, static_cast<int>(2 * s + 1));
    if (!stats[line].is_zero())
      gather_statistics(lines.subset(line, 1), inner_shift, 1, &shifted[static_cast<std::size_t>(s)]);
  });
  std::array<std::int32_t, kOddLines> gains{};
  int count = 0;
  for (int s = 0; s < kOddLines; ++s) {
    const num::LineStats& as_given = stats[gain_line(lines.num_lines, 2 * s + 1)];
    if (as_given.is_zero()) continue;
    gains[static_cast<std::size_t>(count++)] =
        norm_half_bits(as_given) - norm_half_bits(shifted[static_cast<std::size_t>(s)]);
  }
  return lower_median(gains.data(), count);
}

}  // namespace

template <class T>
std::int32_t equilibration_gain(const problem::Lines<T>& a, const num::LineStats* a_stats, const problem::Lines<T>& b,
                                const num::LineStats* b_stats, int threads, std::int32_t* a_shift,
                                std::int32_t* b_shift) {
  gather_relative_exponents(a, a_stats, threads, a_shift);
  gather_relative_exponents(b, b_stats, threads, b_shift);
  equilibration_shifts(a.length, a_shift, b_shift);
  return median_gain(a, a_stats, a_shift, threads) + median_gain(b, b_stats, b_shift, threads);
}

template <>
std::int32_t equilibration_gain(const problem::Lines<DoubleDouble>& a, const num::LineStats* a_stats,
                                const problem::Lines<DoubleDouble>& b, const num::LineStats* b_stats, int threads,
                                std::int32_t* a_shift, std::int32_t* b_shift) {
  return equilibration_gain(a.high(), a_stats, b.high(), b_stats, threads, a_shift, b_shift);
}

#define KIZAMI_INSTANTIATE(T)                                                                                      \
  template std::int32_t equilibration_gain<T>(const problem::Lines<T>&, const num::LineStats*,                     \
                                              const problem::Lines<T>&, const num::LineStats*, int, std::int32_t*, \
                                              std::int32_t*)

KIZAMI_FOR_EACH_ELEMENT(KIZAMI_INSTANTIATE);
#undef KIZAMI_INSTANTIATE

}  // namespace kizami::certify
