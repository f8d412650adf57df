// SPDX-License-Identifier: MIT
// Operands as the inner loops of the FP64 rung read them: panels of a few lines side by side. Not part of the module's
// interface.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "fp64/fp64.hpp"
#include "fp64/headroom.hpp"
#include "num/line_stats.hpp"
#include "num/scaling.hpp"
#include "problem/lines.hpp"

namespace kizami::fp64 {

/// Terms [h, h + length) of lines [first, first + count) into values[h][width]; zeros beyond count, and for lines whose
/// statistics are those of zero lines, as are those of lines with NaN or Inf. Walks memory in its own order.
/// @range h and length multiples of problem::kTerms
template <class T>
void load(const problem::Lines<T>& lines, problem::RealForm form, const num::LineStats* stats, std::int64_t first,
          std::int64_t count, std::int64_t h, std::int64_t length, std::int64_t width, double* values) {
  using problem::RealForm;
  constexpr std::int64_t kTerms = problem::kTerms<T>;
  const T* const origin = lines.data + first * lines.line_stride + h / kTerms * lines.inner_stride;
  const bool is_negated = lines.is_conjugated != (form == RealForm::kRealPart);
  const bool is_swapped = form == RealForm::kImagPart;
  const auto take = [&](std::int64_t x, std::int64_t e) {
    const T& value = origin[x * lines.line_stride + e * lines.inner_stride];
    if constexpr (kIsComplex<T>) {
      const auto re = static_cast<double>(value.real());
      const auto im = static_cast<double>(is_negated ? -value.imag() : value.imag());
      double* const out = values + 2 * e * width + x;
      out[0] = is_swapped ? im : re;
      out[width] = is_swapped ? re : im;
    } else {
      values[e * width + x] = static_cast<double>(value);
    }
  };
  const std::int64_t elements = length / kTerms;
  // What lies side by side in memory is copied side by side; filling panels takes as long as multiplying them.
  if (std::is_same_v<T, double> && lines.inner_stride == 1 && count == kTileB && width == kTileB) {
    const auto* const line = reinterpret_cast<const double*>(origin);
    const std::int64_t step = lines.line_stride;
    for (std::int64_t e = 0; e < elements; ++e) {
      for (std::int64_t x = 0; x < kTileB; ++x) values[kTileB * e + x] = line[x * step + e];
    }
  } else if (lines.inner_stride <= lines.line_stride) {
    for (std::int64_t x = 0; x < count; ++x) {
      for (std::int64_t e = 0; e < elements; ++e) take(x, e);
    }
  } else {
    for (std::int64_t e = 0; e < elements; ++e) {
      if (std::is_same_v<T, double> && lines.line_stride == 1) {
        std::copy_n(reinterpret_cast<const double*>(origin + e * lines.inner_stride), count, values + e * width);
        continue;
      }
      for (std::int64_t x = 0; x < count; ++x) take(x, e);
    }
  }
  for (std::int64_t x = 0; x < width; ++x) {
    if (x < count && !stats[first + x].is_zero()) continue;
    for (std::int64_t b = 0; b < length; ++b) values[b * width + x] = 0.0;
  }
}

/// The same, each line scaled by its own maximum.
template <std::int64_t kWidth, class T>
void pack(const problem::Lines<T>& lines, problem::RealForm form, const num::LineStats* stats, std::int64_t first,
          std::int64_t count, std::int64_t h, std::int64_t length, double* panel) {
  load(lines, form, stats, first, count, h, length, kWidth, panel);
  double factor[2][kWidth] = {};
  for (std::int64_t x = 0; x < count; ++x) {
    const num::ScaleFactors f = headroom_factors(line_shift(stats[first + x]));
    factor[0][x] = f.first;
    factor[1][x] = f.second;
  }
  for (std::int64_t b = 0; b < length; ++b) {
    for (std::int64_t x = 0; x < kWidth; ++x)
      panel[b * kWidth + x] = panel[b * kWidth + x] * factor[0][x] * factor[1][x];
  }
}

}  // namespace kizami::fp64
