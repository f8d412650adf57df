// SPDX-License-Identifier: MIT
#include "schemes/ozaki1/sums.hpp"

#include <algorithm>
#include <complex>

#include "base/instantiate.hpp"
#include "base/parallel.hpp"
#include "num/line_stats.hpp"
#include "num/scaled.hpp"

namespace kizami::ozaki1 {
namespace {

/// words += value 2^shift.
void add_shifted(std::uint64_t* words, int num_words, std::int64_t value, int shift) {
  if (value == 0) return;
  if (num_words == 1) {
    const double sum = kizami::bit_cast<double>(*words) + static_cast<double>(value) * num::exp2i<double>(shift);
    *words = kizami::bit_cast<std::uint64_t>(sum);
    return;
  }
  const int first = shift / 64;
  const int bits = shift % 64;
  const std::uint64_t extension = value < 0 ? ~std::uint64_t{0} : 0;
  std::uint64_t part = static_cast<std::uint64_t>(value) << bits;
  std::uint64_t next = bits == 0 ? extension : static_cast<std::uint64_t>(value >> (64 - bits));
  bool carry = false;
  for (int w = first; w < num_words; ++w) {
    std::uint64_t sum = words[w] + part;
    const bool overflows = sum < part;
    sum += carry ? 1 : 0;
    carry = overflows || (carry && sum == 0);
    words[w] = sum;
    part = next;
    next = extension;
  }
}

/// The sum times 2^exponent, rounded to 53 bits.
[[nodiscard]] num::Scaled round_sum(const std::uint64_t* words, int num_words, int exponent) {
  if (num_words == 1) return num::make_scaled(kizami::bit_cast<double>(*words), exponent);
  std::uint64_t magnitude[kMaxSumWords] = {};
  const bool is_negative = (words[num_words - 1] >> 63) != 0;
  bool carry = is_negative;
  for (int w = 0; w < num_words; ++w) {
    magnitude[w] = (is_negative ? ~words[w] : words[w]) + (carry ? 1 : 0);
    carry = carry && magnitude[w] == 0;
  }
  int top = num_words - 1;
  while (top > 1 && magnitude[top] == 0) --top;
  bool is_sticky = false;
  for (int w = 0; w < top - 1; ++w) is_sticky = is_sticky || magnitude[w] != 0;
  return num::round_to_scaled(is_negative, magnitude[top], magnitude[top - 1], is_sticky, exponent + 64 * (top - 1));
}

}  // namespace

void clear_sums(const ExactSums& sums, std::int64_t rows, std::int64_t cols, int num_forms, int threads) {
  base::parallel_for(cols * num_forms, threads, [&](std::int64_t column, int) {
    const std::int64_t at = column / cols * sums.form_stride + column % cols * sums.col_stride;
    std::fill_n(sums.words + at * sums.num_words, rows * sums.num_words, std::uint64_t{0});
  });
}

template <class Acc>
void add_products(const SliceProducts<Acc>& products, int planes_per_sum, int sign, int shift, int form,
                  const ExactSums& sums, std::int64_t rows, std::int64_t cols, int threads) {
  base::parallel_for(cols, threads, [&](std::int64_t j, int) {
    std::uint64_t* const column = sums.words + (form * sums.form_stride + j * sums.col_stride) * sums.num_words;
    for (int first = 0; first < products.num_planes; first += planes_per_sum) {
      const int end = std::min(products.num_planes, first + planes_per_sum);
      for (std::int64_t i = 0; i < rows; ++i) {
        const Acc* const element = products.data + j * products.col_stride + i;
        Acc sum{};
        for (int p = first; p < end; ++p) sum += element[p * products.plane_stride];
        add_shifted(column + i * sums.num_words, sums.num_words, sign * static_cast<std::int64_t>(sum), shift);
      }
    }
  });
}

template <class T>
void reconstruct_slices(const ExactSums& sums, int unit, const std::int32_t* row_exponent,
                        const std::int32_t* col_exponent, T alpha, T beta, int threads, MatrixView<T> c) {
  base::parallel_for(c.cols, threads, [&](std::int64_t j, int) {
    if (col_exponent[j] == num::kSkipLine) return;
    for (std::int64_t i = 0; i < c.rows; ++i) {
      if (row_exponent[i] == num::kSkipLine) continue;
      const int exponent = unit + row_exponent[i] + col_exponent[j];
      const auto part = [&](std::int64_t form) {
        const std::int64_t at = form * sums.form_stride + j * sums.col_stride + i;
        return round_sum(sums.words + at * sums.num_words, sums.num_words, exponent);
      };
      T& out = c(i, j);
      const T old = beta == T{0} ? T{0} : out;
      if constexpr (kIsComplex<T>) {
        out = num::finish(num::ScaledComplex{part(0), part(1)}, alpha, beta, old);
      } else {
        out = num::finish(part(0), alpha, beta, old);
      }
    }
  });
}

#define KIZAMI_INSTANTIATE_ADD(Acc)                                                                              \
  template void add_products<Acc>(const SliceProducts<Acc>&, int, int, int, int, const ExactSums&, std::int64_t, \
                                  std::int64_t, int)
KIZAMI_INSTANTIATE_ADD(std::int32_t);
KIZAMI_INSTANTIATE_ADD(float);
#undef KIZAMI_INSTANTIATE_ADD

#define KIZAMI_INSTANTIATE(T)                                                                                     \
  template void reconstruct_slices<T>(const ExactSums&, int, const std::int32_t*, const std::int32_t*, T, T, int, \
                                      MatrixView<T>)
KIZAMI_FOR_EACH_ELEMENT(KIZAMI_INSTANTIATE);
#undef KIZAMI_INSTANTIATE

}  // namespace kizami::ozaki1
