// SPDX-License-Identifier: MIT
#include "schemes/ec/float_planes.hpp"

#include <algorithm>
#include <complex>

#include "base/int_math.hpp"
#include "base/parallel.hpp"
#include "num/line_stats.hpp"
#include "num/scaling.hpp"

namespace kizami::ec {
namespace {

using problem::kTileLength;
using problem::kTileLines;
using problem::RealForm;

/// Turns real terms of a complex line, in place, into those that a form of B has.
void apply_form(RealForm form, double* x, std::int64_t count) {
  for (std::int64_t t = 0; t + 1 < count; t += 2) {
    if (form == RealForm::kRealPart) {
      x[t + 1] = -x[t + 1];
    } else {
      std::swap(x[t], x[t + 1]);
    }
  }
}

template <class F>
void split_row(const double* x, std::int64_t count, const num::ScaleFactors& factors, const num::FloatSplit& split,
               F* out, std::int64_t plane_stride) {
  for (std::int64_t t = 0; t < count; ++t) {
    const auto parts = num::split_number<F>(x[t] * factors.first * factors.second, split);
    for (int q = 0; q < split.num_parts; ++q) out[q * plane_stride + t] = parts[static_cast<std::size_t>(q)];
  }
}

/// Planes of every line. `take` turns the real terms of a tile's line, in place, into those that are split, and returns
/// how many those are: num_out in all of a line.
template <class F, class T, class Take>
void make_planes(const problem::Lines<T>& lines, const Take& take, std::int64_t num_out, const std::int32_t* scales,
                 const num::FloatSplit& split, int threads, F* planes, std::int64_t row_stride,
                 std::int64_t plane_stride) {
  base::parallel_for(base::ceil_div(lines.num_lines, kTileLines), threads, [&](std::int64_t group, int) {
    double tile[kTileLines * kTileLength];
    const std::int64_t first = group * kTileLines;
    const std::int64_t count = std::min(kTileLines, lines.num_lines - first);
    std::int64_t done = 0;
    for (std::int64_t t = 0; t < lines.num_terms(); t += kTileLength) {
      const std::int64_t length = std::min(kTileLength, lines.num_terms() - t);
      problem::load_tile(lines, first, count, t, length, tile);
      std::int64_t taken = 0;
      for (std::int64_t i = 0; i < count; ++i) {
        double* const x = tile + i * kTileLength;
        if (scales[first + i] == num::kSkipLine) std::fill(x, x + length, 0.0);
        taken = take(x, length);
        const int scale = scales[first + i] == num::kSkipLine ? 0 : scales[first + i];
        split_row(x, taken, num::scale_factors(scale), split, planes + (first + i) * row_stride + done, plane_stride);
      }
      done += taken;
    }
    for (int q = 0; q < split.num_parts; ++q) {
      for (std::int64_t i = first; i < first + count; ++i) {
        F* const row = planes + q * plane_stride + i * row_stride;
        std::fill(row + num_out, row + row_stride, F{});
      }
    }
  });
}

/// Calls make.operator()<F>(planes) for the format of a type.
template <class Make>
void with_format(num::FloatType type, std::byte* planes, const Make& make) {
  switch (type) {
    case num::FloatType::kFp16:
      return make(reinterpret_cast<Fp16*>(planes));
    case num::FloatType::kBf16:
      return make(reinterpret_cast<Bf16*>(planes));
    case num::FloatType::kTf32:
      return make(reinterpret_cast<Tf32*>(planes));
  }
}

}  // namespace

template <class T>
void make_float_planes(const problem::Lines<T>& lines, RealForm form, const std::int32_t* scales, num::FloatType type,
                       const num::FloatSplit& split, int threads, std::byte* planes, std::int64_t row_stride,
                       std::int64_t plane_stride) {
  const auto take = [form](double* x, std::int64_t length) {
    if (form != RealForm::kPlain) apply_form(form, x, length);
    return length;
  };
  with_format(type, planes, [&](auto* typed) {
    make_planes(lines, take, lines.num_terms(), scales, split, threads, typed, row_stride, plane_stride);
  });
}

void make_float_planes(const problem::Lines<std::complex<float>>& lines, ComplexTerm term, const std::int32_t* scales,
                       num::FloatType type, const num::FloatSplit& split, int threads, std::byte* planes,
                       std::int64_t row_stride, std::int64_t plane_stride) {
  const auto take = [term](double* x, std::int64_t length) {
    for (std::int64_t h = 0; h < length / 2; ++h) {
      const double re = x[2 * h];
      const double im = x[2 * h + 1];
      x[h] = term == ComplexTerm::kReal ? re : term == ComplexTerm::kImaginary ? im : re + im;
    }
    return length / 2;
  };
  with_format(type, planes, [&](auto* typed) {
    make_planes(lines, take, lines.length, scales, split, threads, typed, row_stride, plane_stride);
  });
}

#define KIZAMI_INSTANTIATE(T)                                                                                 \
  template void make_float_planes<T>(const problem::Lines<T>&, RealForm, const std::int32_t*, num::FloatType, \
                                     const num::FloatSplit&, int, std::byte*, std::int64_t, std::int64_t)

KIZAMI_INSTANTIATE(float);
KIZAMI_INSTANTIATE(std::complex<float>);
#undef KIZAMI_INSTANTIATE

}  // namespace kizami::ec
