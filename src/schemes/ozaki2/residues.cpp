// SPDX-License-Identifier: MIT
#include "schemes/ozaki2/residues.hpp"

#include <algorithm>
#include <cstring>

#include "base/instantiate.hpp"
#include "base/int_math.hpp"
#include "base/parallel.hpp"
#include "num/modular.hpp"
#include "num/moduli.hpp"
#include "num/scaling.hpp"

namespace kizami::ozaki2 {

namespace {

using problem::kTileLength;
using problem::kTileLines;

constexpr std::int64_t kPad = 64;

/// The planes of one row: x[0, num_terms) times the factors. @range num_terms / kTerms a multiple of kComputedElems
template <class T>
void make_row(const double* x, std::int64_t num_terms, const num::ScaleFactors& f, int max_bits, int num_moduli,
              std::int8_t* out, std::int64_t plane_stride) {
  if constexpr (kIsComplex<T>) {
    alignas(64) std::int8_t parts[kTileLength * num::kComplexModuli.size()];
    residue_row(x, num_terms, f.first, f.second, max_bits, num::kComplexModuli.data(), num_moduli, parts, kTileLength);
    for (int l = 0; l < num_moduli; ++l) {
      combine_parts(parts + l * kTileLength, num_terms / 2, l,
                    out + num::num_planes(num::Ring::kComplex, l) * plane_stride, plane_stride);
    }
  } else {
    residue_row(x, num_terms, f.first, f.second, max_bits, num::kRealModuli.data(), num_moduli, out, plane_stride);
  }
}

}  // namespace

template <class T>
void make_residue_planes(const problem::Lines<T>& lines, const num::LineStats* stats, const std::int32_t* inner_shift,
                         std::int64_t first, std::int64_t length, const num::Rung& rung, int threads,
                         std::int8_t* planes, std::int64_t row_stride, std::int64_t plane_stride) {
  constexpr std::int64_t kTerms = problem::kTerms<T>;
  constexpr std::int64_t kTileElems = kTileLength / kTerms;
  constexpr num::Ring kRing = kIsComplex<T> ? num::Ring::kComplex : num::Ring::kReal;
  const int num_planes = num::num_planes(kRing, rung.num_moduli);
  base::parallel_for(base::ceil_div(lines.num_lines, kTileLines), threads, [&](std::int64_t group, int) {
    alignas(64) double tile[kTileLines * kTileLength];
    const std::int64_t first_line = group * kTileLines;
    const std::int64_t num_lines = std::min(kTileLines, lines.num_lines - first_line);
    for (std::int64_t h = 0; h < length; h += kTileElems) {
      const std::int64_t part = std::min(kTileElems, length - h);
      const std::int64_t padded = base::round_up(part, kPad);
      problem::load_tile(lines, first_line, num_lines, (first + h) * kTerms, part * kTerms, tile);
      for (std::int64_t a = 0; a < num_lines; ++a) {
        const num::LineStats& line = stats[first_line + a];
        double* const x = tile + a * kTileLength;
        std::int8_t* const out = planes + (first_line + a) * row_stride + h;
        if (line.is_zero()) {
          for (int q = 0; q < num_planes; ++q) std::memset(out + q * plane_stride, 0, static_cast<std::size_t>(padded));
          continue;
        }
        std::fill(x + part * kTerms, x + padded * kTerms, 0.0);
        const int bits = num::scale_bits(rung, line.sum_squares);
        const int scale = bits - line.exponent;
        num::ScaleFactors factors = num::scale_factors(scale);
        if (inner_shift != nullptr) {
          for (std::int64_t t = 0; t < part * kTerms; ++t) {
            const num::ScaleFactors f = num::scale_factors(scale + inner_shift[first + h + t / kTerms]);
            x[t] = x[t] * f.first * f.second;
          }
          factors = num::ScaleFactors{};
        }
        const std::int64_t computed = base::round_up(part, kComputedElems<T>);
        make_row<T>(x, computed * kTerms, factors, bits + 1, rung.num_moduli, out, plane_stride);
        if (computed == padded) continue;
        for (int q = 0; q < num_planes; ++q)
          std::memset(out + q * plane_stride + computed, 0, static_cast<std::size_t>(padded - computed));
      }
    }
  });
}

void make_residue_planes(const problem::Lines<DoubleDouble>& lines, const num::LineStats* stats,
                         const std::int32_t* inner_shift, std::int64_t first, std::int64_t length,
                         const num::Rung& rung, int threads, std::int8_t* planes, std::int64_t row_stride,
                         std::int64_t plane_stride) {
  make_residue_planes(lines.high(), stats, inner_shift, first, length, rung, threads, planes, row_stride, plane_stride);
  const problem::Lines<double> low = lines.low();
  base::parallel_for(lines.num_lines, threads, [&](std::int64_t i, int) {
    const num::LineStats& line = stats[i];
    if (line.is_zero()) return;
    const int bits = num::scale_bits(rung, line.sum_squares);
    alignas(64) double x[kTileLength];
    alignas(64) std::int8_t residues[kTileLength * num::kRealModuli.size()];
    for (std::int64_t h = 0; h < length; h += kTileLength) {
      const std::int64_t part = std::min(kTileLength, length - h);
      const std::int64_t padded = base::round_up(part, kPad);
      problem::load_tile(low, i, 1, first + h, part, x);
      std::fill(x + part, x + padded, 0.0);
      for (std::int64_t t = 0; t < part; ++t) {
        const int shift = inner_shift == nullptr ? 0 : inner_shift[first + h + t];
        const num::ScaleFactors f = num::scale_factors(bits - line.exponent + shift);
        x[t] = x[t] * f.first * f.second;
      }
      residue_row(x, padded, 1.0, 1.0, bits + 1, num::kRealModuli.data(), rung.num_moduli, residues, kTileLength);
      for (int l = 0; l < rung.num_moduli; ++l) {
        const int p = num::kRealModuli[static_cast<std::size_t>(l)];
        const int highest = num::residue_max(p);
        const int lowest = num::residue_min(p);
        std::int8_t* const plane = planes + l * plane_stride + i * row_stride + h;
        for (std::int64_t t = 0; t < padded; ++t) {
          int sum = plane[t] + residues[l * kTileLength + t];
          sum -= sum > highest ? p : 0;
          sum += sum < lowest ? p : 0;
          plane[t] = static_cast<std::int8_t>(sum);
        }
      }
    }
  });
}

#define KIZAMI_INSTANTIATE(T)                                                                                         \
  template void make_residue_planes<T>(const problem::Lines<T>&, const num::LineStats*, const std::int32_t*,          \
                                       std::int64_t, std::int64_t, const num::Rung&, int, std::int8_t*, std::int64_t, \
                                       std::int64_t)

KIZAMI_FOR_EACH_ELEMENT(KIZAMI_INSTANTIATE);
#undef KIZAMI_INSTANTIATE

}  // namespace kizami::ozaki2
