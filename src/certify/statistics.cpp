// SPDX-License-Identifier: MIT
#include "certify/statistics.hpp"

#include <algorithm>
#include <atomic>
#include <limits>

#include "base/instantiate.hpp"
#include "base/int_math.hpp"
#include "base/parallel.hpp"
#include "certify/terms.hpp"
#include "num/exponent.hpp"
#include "num/scaling.hpp"

namespace kizami::certify {
namespace {

using num::LineStats;

/// Exponent range and finiteness of part of a line.
template <std::int64_t kTerms>
void observe_exponents(const double* x, const std::int32_t* inner_shift, std::int64_t length, LineStats& stats) {
  for (std::int64_t h = 0; h < length; ++h) {
    if (!num::is_finite(x[h])) {
      stats.is_finite = false;
      continue;
    }
    if (x[h] == 0.0) continue;
    const int shift = inner_shift == nullptr ? 0 : inner_shift[h / kTerms];
    stats.exponent = std::max(stats.exponent, shifted_exponent(x[h], shift));
    stats.lsb = std::min(stats.lsb, num::lowest_bit_exponent(x[h]) + shift);
  }
}

/// Adds the magnitudes of part of a line.
template <std::int64_t kTerms>
void add_magnitudes(const double* x, const std::int32_t* inner_shift, std::int64_t length, LineStats& stats) {
  const num::ScaleFactors line_factors = magnitude_factors(stats.exponent, 0);
  for (std::int64_t h = 0; h < length; ++h) {
    const Magnitude magnitude = magnitude_of(
        x[h], inner_shift == nullptr ? line_factors : magnitude_factors(stats.exponent, inner_shift[h / kTerms]));
    stats.sum_abs += magnitude.units;
    stats.sum_squares += magnitude.square;
  }
}

}  // namespace

template <class T>
void gather_statistics(const problem::Lines<T>& lines, const std::int32_t* inner_shift, int threads, LineStats* stats) {
  constexpr std::int64_t kTerms = problem::kTerms<T>;
  base::parallel_for(base::ceil_div(lines.num_lines, problem::kTileLines), threads, [&](std::int64_t group, int) {
    double tile[problem::kTileLines * problem::kTileLength];
    const std::int64_t first = group * problem::kTileLines;
    const std::int64_t count = std::min(problem::kTileLines, lines.num_lines - first);
    std::fill(stats + first, stats + first + count, LineStats{});
    const auto for_each_part = [&](auto&& observe) {
      for (std::int64_t t = 0; t < lines.num_terms(); t += problem::kTileLength) {
        const std::int64_t length = std::min(problem::kTileLength, lines.num_terms() - t);
        problem::load_tile(lines, first, count, t, length, tile);
        const std::int32_t* const shift = inner_shift == nullptr ? nullptr : inner_shift + t / kTerms;
        for (std::int64_t i = 0; i < count; ++i)
          observe(tile + i * problem::kTileLength, shift, length, stats[first + i]);
      }
    };
    for_each_part(observe_exponents<kTerms>);
    for (std::int64_t i = first; i < first + count; ++i) {
      if (!stats[i].is_finite) {
        stats[i] = LineStats{};
        stats[i].is_finite = false;
      }
    }
    for_each_part([&](const double* x, const std::int32_t* shift, std::int64_t length, LineStats& line) {
      if (!line.is_zero()) add_magnitudes<kTerms>(x, shift, length, line);
    });
  });
}

template <class T>
void gather_inner_exponents(const problem::Lines<T>& lines, int threads, std::int32_t* exponents) {
  constexpr std::int64_t kTerms = problem::kTerms<T>;
  constexpr std::int64_t kPart = problem::kTileLength / kTerms;
  base::parallel_for(base::ceil_div(lines.length, kPart), threads, [&](std::int64_t part, int) {
    double tile[problem::kTileLines * problem::kTileLength];
    const std::int64_t h = part * kPart;
    const std::int64_t length = std::min(kPart, lines.length - h);
    std::fill(exponents + h, exponents + h + length, num::kNoExponent);
    for (std::int64_t i = 0; i < lines.num_lines; i += problem::kTileLines) {
      const std::int64_t count = std::min(problem::kTileLines, lines.num_lines - i);
      problem::load_tile(lines, i, count, h * kTerms, length * kTerms, tile);
      for (std::int64_t a = 0; a < count; ++a) {
        for (std::int64_t t = 0; t < length * kTerms; ++t) {
          const double x = tile[a * problem::kTileLength + t];
          std::int32_t& exponent = exponents[h + t / kTerms];
          if (x != 0.0 && num::is_finite(x)) exponent = std::max(exponent, shifted_exponent(x, 0));
        }
      }
    }
  });
}

void equilibration_shifts(std::int64_t length, std::int32_t* a_exponents_to_shifts,
                          std::int32_t* b_exponents_to_shifts) {
  std::int32_t least = std::numeric_limits<std::int32_t>::max();
  std::int32_t most = std::numeric_limits<std::int32_t>::min();
  for (std::int64_t h = 0; h < length; ++h) {
    if (!is_live(a_exponents_to_shifts[h], b_exponents_to_shifts[h])) continue;
    least = std::min(least, a_exponents_to_shifts[h] - b_exponents_to_shifts[h]);
    most = std::max(most, a_exponents_to_shifts[h] - b_exponents_to_shifts[h]);
  }
  for (std::int64_t h = 0; h < length; ++h) {
    const std::int32_t d = equilibration_shift(a_exponents_to_shifts[h], b_exponents_to_shifts[h], least, most);
    a_exponents_to_shifts[h] = -d;
    b_exponents_to_shifts[h] = d;
  }
}

void gather_statistics(const problem::Lines<DoubleDouble>& lines, const std::int32_t* inner_shift, int threads,
                       LineStats* stats) {
  gather_statistics(lines.high(), inner_shift, threads, stats);
  base::parallel_for(lines.num_lines, threads, [&](std::int64_t i, int) {
    if (stats[i].is_zero()) return;
    for (std::int64_t h = 0; h < lines.length; ++h) {
      const double lo = lines.element(i, h).lo;
      const int shift = inner_shift == nullptr ? 0 : inner_shift[h];
      if (lo != 0.0) stats[i].lsb = std::min(stats[i].lsb, num::lowest_bit_exponent(lo) + shift);
    }
  });
}

std::int64_t first_unnormalised(const problem::Lines<DoubleDouble>& lines, int threads) {
  std::atomic<std::int64_t> first{lines.num_lines};
  base::parallel_for(lines.num_lines, threads, [&](std::int64_t i, int) {
    for (std::int64_t h = 0; h < lines.length; ++h) {
      const DoubleDouble& x = lines.element(i, h);
      if (!num::is_finite(x.hi) || x.hi + x.lo == x.hi) continue;
      std::int64_t known = first;
      while (i < known && !first.compare_exchange_weak(known, i)) {
      }
      return;
    }
  });
  return first;
}

#define KIZAMI_INSTANTIATE(T)                                                                         \
  template void gather_statistics<T>(const problem::Lines<T>&, const std::int32_t*, int, LineStats*); \
  template void gather_inner_exponents<T>(const problem::Lines<T>&, int, std::int32_t*)

KIZAMI_FOR_EACH_ELEMENT(KIZAMI_INSTANTIATE);
#undef KIZAMI_INSTANTIATE

}  // namespace kizami::certify
