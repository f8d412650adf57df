// SPDX-License-Identifier: MIT
#include "fp64/fp64.hpp"

#include <algorithm>

#include "base/instantiate.hpp"
#include "base/int_math.hpp"
#include "base/parallel.hpp"
#include "fp64/strip.hpp"

namespace kizami::fp64 {
namespace {

using problem::RealForm;

/// Lines of B in a strip: of as many tiles as may share a panel of A and leave enough strips for the threads.
template <class T>
[[nodiscard]] std::int64_t strip_lines(std::int64_t num_tiles, int threads) {
  constexpr std::int64_t kStripsPerThread = 4;
  return std::clamp<std::int64_t>(num_tiles / (kStripsPerThread * threads), 1, kMostTiles<T>) * kTileB;
}

template <class T>
double real_nonfinite_product(const problem::Lines<T>& a, std::int64_t i, const problem::Lines<T>& b, RealForm form,
                              std::int64_t j) {
  double sum = 0;
  for (std::int64_t t = 0; t < a.num_terms(); ++t) {
    const double x = a.term(i, t);
    const double y = problem::term(b, form, j, t);
    if (!num::is_finite(x) || !num::is_finite(y)) sum += x * y;
  }
  return sum;
}

}  // namespace

template <class T>
ScaledOf<T> line_product(const problem::Lines<T>& a, const num::LineStats& a_stats, std::int64_t i,
                         const problem::Lines<T>& b, const num::LineStats& b_stats, std::int64_t j,
                         num::Fp64Summation summation) {
  const problem::Lines<T> row = a.subset(i, 1);
  const problem::Lines<T> col = b.subset(j, 1);
  const Strip<T> strip{row, &a_stats, 0, 1, col, &b_stats, 0, 1};
  return StripProducts<T>(strip, summation).at(0, 0);
}

template <class T>
WideOf<T> nonfinite_product(const problem::Lines<T>& a, std::int64_t i, const problem::Lines<T>& b, std::int64_t j) {
  const auto part = [&](RealForm form) { return real_nonfinite_product(a, i, b, form, j); };
  if constexpr (kIsComplex<T>) {
    return {part(RealForm::kRealPart), part(RealForm::kImagPart)};
  } else {
    return part(RealForm::kPlain);
  }
}

template <class T>
void gemm_fp64(const problem::Lines<T>& a, const num::LineStats* a_stats, const problem::Lines<T>& b,
               const num::LineStats* b_stats, num::Fp64Summation summation, T alpha, T beta, int threads,
               MatrixView<T> c) {
  const std::int64_t row_tiles = base::ceil_div(c.rows, kTileA);
  const std::int64_t lines = strip_lines<T>(row_tiles * base::ceil_div(c.cols, kTileB), threads);
  const std::int64_t strips = base::ceil_div(c.cols, lines);
  base::parallel_for(row_tiles * strips, threads, [&](std::int64_t task, int) {
    const std::int64_t i = task / strips * kTileA;
    const std::int64_t j = task % strips * lines;
    const Strip<T> strip{a, a_stats, i, std::min(kTileA, c.rows - i), b, b_stats, j, std::min(lines, c.cols - j)};
    const StripProducts<T> products(strip, summation);
    for (std::int64_t y = 0; y < strip.num_b; ++y) {
      for (std::int64_t x = 0; x < strip.num_a; ++x) {
        if (!a_stats[i + x].is_finite || !b_stats[j + y].is_finite) continue;
        T& out = c(i + x, j + y);
        out = num::finish(products.at(x, y), alpha, beta, beta == T{0} ? T{0} : out);
      }
    }
  });
}

#define KIZAMI_INSTANTIATE(T)                                                                               \
  template ScaledOf<T> line_product<T>(const problem::Lines<T>&, const num::LineStats&, std::int64_t,       \
                                       const problem::Lines<T>&, const num::LineStats&, std::int64_t,       \
                                       num::Fp64Summation);                                                 \
  template WideOf<T> nonfinite_product<T>(const problem::Lines<T>&, std::int64_t, const problem::Lines<T>&, \
                                          std::int64_t);                                                    \
  template void gemm_fp64<T>(const problem::Lines<T>&, const num::LineStats*, const problem::Lines<T>&,     \
                             const num::LineStats*, num::Fp64Summation, T, T, int, MatrixView<T>)

KIZAMI_FOR_EACH_ELEMENT(KIZAMI_INSTANTIATE);
#undef KIZAMI_INSTANTIATE

}  // namespace kizami::fp64
