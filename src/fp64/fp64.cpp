// SPDX-License-Identifier: MIT
#include "fp64/fp64.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/int_math.hpp"
#include "base/parallel.hpp"
#include "fp64/headroom.hpp"

namespace kizami::fp64 {
namespace {

using problem::RealForm;

constexpr std::int64_t kChain = num::kFp64ChainLength;
constexpr std::int64_t kPairs = kTileA * kTileB;

/// Pairwise summation of a stream of chain sums, kPairs at a time: the binary counter. Sum t enters at level 0; two
/// sums of one level make one of the next. At the end partial levels are added from the lowest up.
class PairwiseSums {
 public:
  void push(const double* sums) {
    std::copy_n(sums, kPairs, carry_.begin());
    int level = 0;
    for (; ((count_ >> level) & 1) != 0; ++level) {
      for (std::int64_t p = 0; p < kPairs; ++p) carry_[p] = levels_[level][p] + carry_[p];
    }
    levels_[level] = carry_;
    ++count_;
  }
  void finish(double* sums) const {
    bool is_first = true;
    for (int level = 0; level < kMaxLevels; ++level) {
      if (((count_ >> level) & 1) == 0) continue;
      for (std::int64_t p = 0; p < kPairs; ++p) sums[p] = is_first ? levels_[level][p] : levels_[level][p] + sums[p];
      is_first = false;
    }
    if (is_first) std::fill_n(sums, kPairs, 0.0);
  }

 private:
  std::array<std::array<double, kPairs>, kMaxLevels> levels_;
  std::array<double, kPairs> carry_;
  std::int64_t count_ = 0;
};

/// Packs terms [h, h + length) of lines [first, first + count) scaled into panel[h][width], zeros beyond count.
template <class T>
void pack(const problem::Lines<T>& lines, RealForm form, const num::LineStats* stats, std::int64_t first,
          std::int64_t count, std::int64_t h, std::int64_t length, std::int64_t width, double* panel) {
  for (std::int64_t x = 0; x < width; ++x) {
    const bool is_used =
        x < count && !stats[first + x].is_zero();  // non-finite lines have the statistics of zero lines
    const num::ScaleFactors f = is_used ? headroom_factors(line_shift(stats[first + x])) : num::ScaleFactors{};
    for (std::int64_t b = 0; b < length; ++b) {
      panel[b * width + x] = is_used ? problem::term(lines, form, first + x, h + b) * f.first * f.second : 0.0;
    }
  }
}

/// Terms [h, h + length) of lines [first, first + count) into values[h][width], zeros beyond count.
template <class T>
void load(const problem::Lines<T>& lines, RealForm form, const num::LineStats* stats, std::int64_t first,
          std::int64_t count, std::int64_t h, std::int64_t length, std::int64_t width, double* values) {
  for (std::int64_t x = 0; x < width; ++x) {
    const bool is_used = x < count && !stats[first + x].is_zero();
    for (std::int64_t b = 0; b < length; ++b)
      values[b * width + x] = is_used ? problem::term(lines, form, first + x, h + b) : 0.0;
  }
}

/// Sums kPairs products of lines of k terms in the order of the definition.
/// @shape chain(h, length, sums) and compensate(h, length, high, low) take terms [h, h + length); sums[j * kTileA + i]
template <class Chain, class Compensate>
void sum_in_order(std::int64_t k, num::Fp64Summation summation, const Chain& chain, const Compensate& compensate,
                  double* sums) {
  alignas(64) double high[kPairs] = {};
  if (summation == num::Fp64Summation::kPairwise) {
    PairwiseSums pairwise;
    for (std::int64_t h = 0; h < k; h += kChain) {
      chain(h, std::min(kChain, k - h), high);
      pairwise.push(high);
    }
    pairwise.finish(sums);
    return;
  }
  alignas(64) double low[kPairs] = {};
  for (std::int64_t h = 0; h < k; h += kChain) compensate(h, std::min(kChain, k - h), high, low);
  for (std::int64_t p = 0; p < kPairs; ++p) sums[p] = high[p] + low[p];
}

/// Up to kTileA lines of A and kTileB lines of B.
template <class T>
struct Tile {
  const problem::Lines<T>& a;
  const num::LineStats* a_stats;
  std::int64_t i, num_a;
  const problem::Lines<T>& b;
  const num::LineStats* b_stats;
  std::int64_t j, num_b;
};

/// All products of a tile, each line scaled by its own maximum: sums[j * kTileA + i], scaled.
template <class T>
void tile_products(const Tile<T>& t, RealForm form, num::Fp64Summation summation, double* sums) {
  alignas(64) double a_panel[kChain * kTileA];
  alignas(64) double b_panel[kChain * kTileB];
  const auto fill = [&](std::int64_t h, std::int64_t length) {
    pack(t.a, RealForm::kPlain, t.a_stats, t.i, t.num_a, h, length, kTileA, a_panel);
    pack(t.b, form, t.b_stats, t.j, t.num_b, h, length, kTileB, b_panel);
  };
  sum_in_order(
      t.a.num_terms(), summation,
      [&](std::int64_t h, std::int64_t length, double* high) {
        fill(h, length);
        chain_tile(a_panel, b_panel, length, high);
      },
      [&](std::int64_t h, std::int64_t length, double* high, double* low) {
        fill(h, length);
        compensated_tile(a_panel, b_panel, length, high, low);
      },
      sums);
}

/// All products of a tile, for pairs whose terms may underflow: terms relative to the largest of each pair, in [1, 4), so that
/// what underflows lies 2^1074 below (|a|.|b|). The products are sums[p] 2^largest[p]; without terms largest is below 2 kNoTerm / 3.
template <class T>
void wide_tile_products(const Tile<T>& t, RealForm form, num::Fp64Summation summation, double* sums, double* largest) {
  alignas(64) double a_mantissas[kChain * kTileA], a_exponents[kChain * kTileA];
  alignas(64) double b_mantissas[kChain * kTileB], b_exponents[kChain * kTileB];
  const TermPanel a{a_mantissas, a_exponents};
  const TermPanel b{b_mantissas, b_exponents};
  const auto fill = [&](std::int64_t h, std::int64_t length) {
    alignas(64) double values[kChain * kTileA];
    load(t.a, RealForm::kPlain, t.a_stats, t.i, t.num_a, h, length, kTileA, values);
    take_apart(values, length * kTileA, a_mantissas, a_exponents);
    load(t.b, form, t.b_stats, t.j, t.num_b, h, length, kTileB, values);
    take_apart(values, length * kTileB, b_mantissas, b_exponents);
  };
  const std::int64_t k = t.a.num_terms();
  std::fill_n(largest, kPairs, 2 * kNoTerm);
  for (std::int64_t h = 0; h < k; h += kChain) {
    const std::int64_t length = std::min(kChain, k - h);
    fill(h, length);
    largest_tile(a, b, length, largest);
  }
  sum_in_order(
      k, summation,
      [&](std::int64_t h, std::int64_t length, double* high) {
        if (k > kChain) fill(h, length);  // else they are there already
        wide_chain_tile(a, b, largest, length, high);
      },
      [&](std::int64_t h, std::int64_t length, double* high, double* low) {
        if (k > kChain) fill(h, length);
        wide_compensated_tile(a, b, largest, length, high, low);
      },
      sums);
}

[[nodiscard]] num::Scaled wide_product(double sum, double largest) {
  return largest < 2 * kNoTerm / 3 ? num::Scaled{} : num::make_scaled(sum, static_cast<int>(largest));
}

/// The real products that make up a product of lines.
template <class T>
constexpr std::array<RealForm, problem::kTerms<T>> forms() {
  if constexpr (kIsComplex<T>) {
    return {RealForm::kRealPart, RealForm::kImagPart};
  } else {
    return {RealForm::kPlain};
  }
}

template <class T>
num::Scaled real_line_product(const problem::Lines<T>& a, const num::LineStats& a_stats, std::int64_t i,
                              const problem::Lines<T>& b, RealForm form, const num::LineStats& b_stats, std::int64_t j,
                              num::Fp64Summation summation) {
  const problem::Lines<T> row = a.subset(i, 1);
  const problem::Lines<T> col = b.subset(j, 1);
  const Tile<T> tile{row, &a_stats, 0, 1, col, &b_stats, 0, 1};
  double sums[kPairs];
  if (may_underflow(a_stats, b_stats)) {
    double largest[kPairs];
    wide_tile_products(tile, form, summation, sums, largest);
    return wide_product(sums[0], largest[0]);
  }
  tile_products(tile, form, summation, sums);
  return num::make_scaled(sums[0], -(line_shift(a_stats) + line_shift(b_stats)));
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
  const auto part = [&](RealForm form) { return real_line_product(a, a_stats, i, b, form, b_stats, j, summation); };
  if constexpr (kIsComplex<T>) {
    return {part(RealForm::kRealPart), part(RealForm::kImagPart)};
  } else {
    return part(RealForm::kPlain);
  }
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
  const std::int64_t col_tiles = base::ceil_div(c.cols, kTileB);
  base::parallel_for(row_tiles * col_tiles, threads, [&](std::int64_t task, int) {
    constexpr auto kForms = forms<T>();
    double sums[kForms.size()][kPairs];
    double wide_sums[kForms.size()][kPairs];
    double largest[kForms.size()][kPairs];
    const std::int64_t i = task / col_tiles * kTileA;
    const std::int64_t j = task % col_tiles * kTileB;
    const std::int64_t num_a = std::min(kTileA, c.rows - i);
    const std::int64_t num_b = std::min(kTileB, c.cols - j);
    bool has_plain = false;
    bool has_wide = false;
    for (std::int64_t y = 0; y < num_b; ++y) {
      for (std::int64_t x = 0; x < num_a; ++x)
        (may_underflow(a_stats[i + x], b_stats[j + y]) ? has_wide : has_plain) = true;
    }
    const Tile<T> tile{a, a_stats, i, num_a, b, b_stats, j, num_b};
    for (std::size_t f = 0; f < kForms.size(); ++f) {
      if (has_plain) tile_products(tile, kForms[f], summation, sums[f]);
      if (has_wide) wide_tile_products(tile, kForms[f], summation, wide_sums[f], largest[f]);
    }
    for (std::int64_t y = 0; y < num_b; ++y) {
      for (std::int64_t x = 0; x < num_a; ++x) {
        const num::LineStats& row = a_stats[i + x];
        const num::LineStats& col = b_stats[j + y];
        if (!row.is_finite || !col.is_finite) continue;
        const std::int64_t pair = y * kTileA + x;
        const auto part = [&](std::size_t f) {
          if (may_underflow(row, col)) return wide_product(wide_sums[f][pair], largest[f][pair]);
          return num::make_scaled(sums[f][pair], -(line_shift(row) + line_shift(col)));
        };
        T& out = c(i + x, j + y);
        const T old = beta == T{0} ? T{0} : out;
        if constexpr (kIsComplex<T>) {
          out = num::finish(num::ScaledComplex{part(0), part(1)}, alpha, beta, old);
        } else {
          out = num::finish(part(0), alpha, beta, old);
        }
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

KIZAMI_INSTANTIATE(float);
KIZAMI_INSTANTIATE(double);
KIZAMI_INSTANTIATE(std::complex<float>);
KIZAMI_INSTANTIATE(std::complex<double>);
#undef KIZAMI_INSTANTIATE

}  // namespace kizami::fp64
