// SPDX-License-Identifier: MIT
#include "certify/digits.hpp"

#include <algorithm>
#include <cstring>

#include "base/instantiate.hpp"
#include "base/int_math.hpp"
#include "base/parallel.hpp"
#include "certify/terms.hpp"
#include "num/exponent.hpp"
#include "num/scaling.hpp"

namespace kizami::certify {
namespace {

using problem::kTileLength;
using problem::kTileLines;

/// Calls visit(i, h, x, length) for every finite non-zero line i in parts of kTileLength terms, and clears the rows
/// of the others; row padding to a multiple of `padding` is cleared in any case.
template <class T, class Visit>
void for_each_part(const problem::Lines<T>& lines, const num::LineStats* stats, int threads, std::int8_t* digits,
                   std::int64_t row_stride, std::int64_t padding, const Visit& visit) {
  const std::int64_t row_length = lines.num_terms();
  base::parallel_for(base::ceil_div(lines.num_lines, kTileLines), threads, [&](std::int64_t group, int) {
    double tile[kTileLines * kTileLength];
    const std::int64_t first = group * kTileLines;
    const std::int64_t count = std::min(kTileLines, lines.num_lines - first);
    for (std::int64_t i = first; i < first + count; ++i) {
      const std::int64_t begin = stats[i].is_zero() ? 0 : row_length;
      const std::int64_t end = base::round_up(row_length, padding);
      std::memset(digits + i * row_stride + begin, 0, static_cast<std::size_t>(end - begin));
    }
    for (std::int64_t h = 0; h < lines.num_terms(); h += kTileLength) {
      const std::int64_t length = std::min(kTileLength, lines.num_terms() - h);
      problem::load_tile(lines, first, count, h, length, tile);
      for (std::int64_t i = first; i < first + count; ++i) {
        if (!stats[i].is_zero()) visit(i, h, tile + (i - first) * kTileLength, length);
      }
    }
  });
}

}  // namespace

template <class T>
void make_sampled_digits(const problem::Lines<T>& lines, const num::LineStats* stats, std::int64_t stride, int threads,
                         std::int8_t* digits, std::int64_t row_stride) {
  static_assert(kTileLength % 4 == 0, "every part begins at a sampled element");
  // Sampling is a coarser inner stride, so that only sampled elements are read.
  problem::Lines<T> sampled = lines;
  sampled.length = base::ceil_div(lines.length, stride);
  sampled.inner_stride *= stride;
  for_each_part(sampled, stats, threads, digits, row_stride, kDigitBlock,
                [&](std::int64_t i, std::int64_t h, const double* x, std::int64_t length) {
                  const num::ScaleFactors f = num::scale_factors(kDigitBits - stats[i].exponent);
                  for (std::int64_t b = 0; b < length; ++b)
                    digits[i * row_stride + h + b] = static_cast<std::int8_t>(digit(x[b], f));
                });
}

template <class T>
void make_block_digits(const problem::Lines<T>& lines, const num::LineStats* stats, const std::int32_t* inner_shift,
                       int threads, std::int8_t* digits, std::int64_t row_stride, float* scales,
                       std::int64_t scale_stride) {
  constexpr std::int64_t kTermsOfBlock = kBlockTerms<T>;
  static_assert(kTileLength % (2 * kTermsOfBlock) == 0);
  const int blocks = blocks_of_scale(lines.length, problem::kTerms<T>);
  const std::int64_t num_blocks = base::ceil_div(lines.num_terms(), kTermsOfBlock);
  for (std::int64_t i = 0; i < lines.num_lines; ++i) {
    if (!stats[i].is_zero()) continue;
    for (std::int64_t block = 0; block < num_blocks; ++block)
      scales[block * scale_stride + i] = block_scale(kMaxDeficit);
  }
  const auto shift_at = [&](std::int64_t t) {
    return inner_shift == nullptr ? 0 : inner_shift[t / problem::kTerms<T>];
  };
  for_each_part(lines, stats, threads, digits, row_stride, kTermsOfBlock,
                [&](std::int64_t i, std::int64_t h, const double* x, std::int64_t length) {
                  for (std::int64_t begin = 0; begin < length; begin += blocks * kTermsOfBlock) {
                    const std::int64_t end = std::min(begin + blocks * kTermsOfBlock, length);
                    std::int32_t exponent = num::kNoExponent;
                    for (std::int64_t b = begin; b < end; ++b)
                      exponent = std::max(exponent, shifted_exponent(x[b], shift_at(h + b)));
                    const std::int32_t deficit = block_deficit(stats[i].exponent, exponent);
                    for (std::int64_t b = begin; b < end; ++b) {
                      digits[i * row_stride + h + b] = static_cast<std::int8_t>(
                          deficit > kMaxDeficit ? 0 : block_digit(x[b], shift_at(h + b), exponent));
                    }
                    for (std::int64_t b = begin; b < end; b += kTermsOfBlock)
                      scales[(h + b) / kTermsOfBlock * scale_stride + i] = block_scale(std::min(deficit, kMaxDeficit));
                  }
                });
}

template <class T>
void make_indicators(const problem::Lines<T>& lines, const num::LineStats* stats, int threads, std::int8_t* digits,
                     std::int64_t row_stride) {
  for_each_part(lines, stats, threads, digits, row_stride, kBlockTerms<T>,
                [&](std::int64_t i, std::int64_t h, const double* x, std::int64_t length) {
                  for (std::int64_t b = 0; b < length; ++b) {
                    digits[i * row_stride + h + b] = static_cast<std::int8_t>(x[b] != 0.0 ? 1 : 0);
                  }
                });
}

void swap_parts(const std::int8_t* digits, std::int64_t num_lines, std::int64_t row_stride, int threads,
                std::int8_t* swapped) {
  base::parallel_for(num_lines, threads, [&](std::int64_t i, int) {
    const std::int8_t* const from = digits + i * row_stride;
    std::int8_t* const to = swapped + i * row_stride;
    for (std::int64_t t = 0; t < row_stride; t += 2) {
      to[t] = from[t + 1];
      to[t + 1] = from[t];
    }
  });
}

#define KIZAMI_INSTANTIATE(T)                                                                                   \
  template void make_sampled_digits<T>(const problem::Lines<T>&, const num::LineStats*, std::int64_t, int,      \
                                       std::int8_t*, std::int64_t);                                             \
  template void make_block_digits<T>(const problem::Lines<T>&, const num::LineStats*, const std::int32_t*, int, \
                                     std::int8_t*, std::int64_t, float*, std::int64_t);                         \
  template void make_indicators<T>(const problem::Lines<T>&, const num::LineStats*, int, std::int8_t*, std::int64_t)

KIZAMI_FOR_EACH_ELEMENT(KIZAMI_INSTANTIATE);
#undef KIZAMI_INSTANTIATE

}  // namespace kizami::certify
