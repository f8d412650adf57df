// SPDX-License-Identifier: MIT
#include "schemes/ozaki1/split.hpp"

#include <algorithm>
#include <complex>

#include "base/int_math.hpp"
#include "base/parallel.hpp"
#include "kizami/formats.hpp"
#include "num/exponent.hpp"

namespace kizami::ozaki1 {
namespace {

using problem::kTileLength;
using problem::kTileLines;

template <class Digit>
[[nodiscard]] Digit digit_of(int value) {
  if constexpr (std::is_same_v<Digit, std::int8_t>) {
    return static_cast<std::int8_t>(value);
  } else {
    return Digit::from(static_cast<double>(value), RoundingMode::kNearestEven);
  }
}

/// The digits of rest 2^unit, `stride` apart, the first one at `out` (is_reversed: the last one).
template <class Digit, class Int>
void write_digits(Int rest, int unit, int exponent, const num::DigitRule& rule, int num_slices, std::int64_t stride,
                  Digit* out) {
  for (int s = 0; s < num_slices; ++s) {
    out[s * stride] =
        rest == 0 ? Digit{} : digit_of<Digit>(num::next_digit(rule, rest, exponent + num::digit_unit(rule, s) - unit));
  }
}

/// Turns the real terms of a tile's line, in place, into those that are sliced. kSum stays in pairs.
void take_terms(SliceTerms terms, double* x, std::int64_t num_terms) {
  switch (terms) {
    case SliceTerms::kPlain:
    case SliceTerms::kSum:
      return;
    case SliceTerms::kReal:
      for (std::int64_t h = 0; h < num_terms / 2; ++h) x[h] = x[2 * h];
      return;
    case SliceTerms::kImaginary:
      for (std::int64_t h = 0; h < num_terms / 2; ++h) x[h] = x[2 * h + 1];
      return;
    case SliceTerms::kRealForm:
      for (std::int64_t t = 1; t < num_terms; t += 2) x[t] = -x[t];
      return;
    case SliceTerms::kImagForm:
      for (std::int64_t t = 1; t < num_terms; t += 2) std::swap(x[t - 1], x[t]);
      return;
  }
}

}  // namespace

template <class Digit, class T>
void make_slices(const problem::Lines<T>& lines, SliceTerms terms, const std::int32_t* exponents, std::int64_t first,
                 std::int64_t length, const num::DigitRule& rule, int num_slices, bool is_reversed, int threads,
                 Digit* slices, std::int64_t row_stride, std::int64_t slice_stride) {
  constexpr std::int64_t kTileElems = kTileLength / problem::kTerms<T>;
  const std::int64_t num_out = num_slice_terms(terms, kIsComplex<T>, length);
  const std::int64_t step = is_reversed ? -slice_stride : slice_stride;
  base::parallel_for(base::ceil_div(lines.num_lines, kTileLines), threads, [&](std::int64_t group, int) {
    double tile[kTileLines * kTileLength];
    const std::int64_t first_line = group * kTileLines;
    const std::int64_t num_lines = std::min(kTileLines, lines.num_lines - first_line);
    for (std::int64_t h = 0; h < length; h += kTileElems) {
      const std::int64_t part = std::min(kTileElems, length - h);
      const std::int64_t num_terms = part * problem::kTerms<T>;
      const std::int64_t count = num_slice_terms(terms, kIsComplex<T>, part);
      problem::load_tile(lines, first_line, num_lines, (first + h) * problem::kTerms<T>, num_terms, tile);
      for (std::int64_t i = 0; i < num_lines; ++i) {
        double* const x = tile + i * kTileLength;
        const bool is_skipped = exponents[first_line + i] == num::kSkipLine;
        if (is_skipped) std::fill(x, x + num_terms, 0.0);
        const int exponent = is_skipped ? 0 : exponents[first_line + i];
        take_terms(terms, x, num_terms);
        Digit* const out = slices + (first_line + i) * row_stride + (is_reversed ? num_slices - 1 : 0) * slice_stride +
                           num_slice_terms(terms, kIsComplex<T>, h);
        for (std::int64_t t = 0; t < count; ++t) {
          if (terms == SliceTerms::kSum) {
            const int unit = exponent - num::kSumDepth;
            write_digits(num::fixed_point(x[2 * t], unit) + num::fixed_point(x[2 * t + 1], unit), unit, exponent + 1,
                         rule, num_slices, step, out + t);
          } else {
            const num::Decomposed d = num::decompose(x[t]);
            write_digits(d.mantissa, d.exponent, exponent, rule, num_slices, step, out + t);
          }
        }
      }
    }
    for (std::int64_t i = first_line; i < first_line + num_lines; ++i) {
      for (int s = 0; s < num_slices; ++s) {
        Digit* const slice = slices + i * row_stride + s * slice_stride;
        std::fill(slice + num_out, slice + slice_stride, Digit{});
      }
    }
  });
}

#define KIZAMI_INSTANTIATE(Digit, T)                                                                             \
  template void make_slices<Digit, T>(const problem::Lines<T>&, SliceTerms, const std::int32_t*, std::int64_t,   \
                                      std::int64_t, const num::DigitRule&, int, bool, int, Digit*, std::int64_t, \
                                      std::int64_t)
#define KIZAMI_INSTANTIATE_ALL(Digit)             \
  KIZAMI_INSTANTIATE(Digit, float);               \
  KIZAMI_INSTANTIATE(Digit, double);              \
  KIZAMI_INSTANTIATE(Digit, std::complex<float>); \
  KIZAMI_INSTANTIATE(Digit, std::complex<double>)

KIZAMI_INSTANTIATE_ALL(std::int8_t);
KIZAMI_INSTANTIATE_ALL(Fp16);
KIZAMI_INSTANTIATE_ALL(Bf16);
#undef KIZAMI_INSTANTIATE_ALL
#undef KIZAMI_INSTANTIATE

}  // namespace kizami::ozaki1
