// SPDX-License-Identifier: MIT
// Products of 16 lines of A and up to 32 of B in the order that defines them: tiles of B that share a panel of A, which
// takes as long to fill as to multiply. Not part of the module's interface.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/int_math.hpp"
#include "fp64/fp64.hpp"
#include "fp64/headroom.hpp"
#include "fp64/panels.hpp"

namespace kizami::fp64 {

inline constexpr std::int64_t kChain = num::kFp64ChainLength;
inline constexpr std::int64_t kPairs = kTileA * kTileB;

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

/// The real products that make up a product of lines.
template <class T>
constexpr std::array<problem::RealForm, problem::kTerms<T>> forms() {
  if constexpr (kIsComplex<T>) {
    return {problem::RealForm::kRealPart, problem::RealForm::kImagPart};
  } else {
    return {problem::RealForm::kPlain};
  }
}

/// Panels of B that meet one panel of A: tiles of B, each in all forms.
inline constexpr std::int64_t kMostPanels = 8;
template <class T>
inline constexpr std::int64_t kMostTiles = kMostPanels / problem::kTerms<T>;
/// A number for each pair and panel: [panel][j * kTileA + i].
using PairNumbers = double[kMostPanels][kPairs];

/// Up to kTileA lines of A and kMostTiles * kTileB lines of B.
template <class T>
struct Strip {
  const problem::Lines<T>& a;
  const num::LineStats* a_stats;
  std::int64_t i, num_a;
  const problem::Lines<T>& b;
  const num::LineStats* b_stats;
  std::int64_t j, num_b;

  [[nodiscard]] std::int64_t num_panels() const { return base::ceil_div(num_b, kTileB) * problem::kTerms<T>; }
  [[nodiscard]] static problem::RealForm form(std::int64_t panel) {
    return forms<T>()[static_cast<std::size_t>(panel % problem::kTerms<T>)];
  }
  /// First line of B of a panel, from j.
  [[nodiscard]] static std::int64_t first(std::int64_t panel) { return panel / problem::kTerms<T> * kTileB; }
  [[nodiscard]] std::int64_t count(std::int64_t panel) const { return std::min(kTileB, num_b - first(panel)); }
  /// Whether a panel has pairs of that kind (may_underflow).
  [[nodiscard]] bool has_pairs(std::int64_t panel, bool is_wide) const {
    for (std::int64_t y = first(panel); y < first(panel) + count(panel); ++y) {
      for (std::int64_t x = 0; x < num_a; ++x) {
        if (may_underflow(a_stats[i + x], b_stats[j + y]) == is_wide) return true;
      }
    }
    return false;
  }
};

/// The panels of a strip that have pairs of one kind.
struct PanelList {
  std::array<std::int64_t, kMostPanels> panels;
  std::int64_t size = 0;

  [[nodiscard]] const std::int64_t* begin() const { return panels.data(); }
  [[nodiscard]] const std::int64_t* end() const { return panels.data() + size; }
};
template <class T>
[[nodiscard]] PanelList panels_of(const Strip<T>& strip, bool is_wide) {
  PanelList list;
  for (std::int64_t p = 0; p < strip.num_panels(); ++p) {
    if (strip.has_pairs(p, is_wide)) list.panels[static_cast<std::size_t>(list.size++)] = p;
  }
  return list;
}

/// Sums kPairs products of lines of k terms for each panel, in the order of the definition.
/// @shape fill(h, length) prepares terms [h, h + length) of A; chain(panel, h, length, sums) and
///        compensate(panel, h, length, high, low) take them
template <class Fill, class Chain, class Compensate>
void sum_in_order(std::int64_t k, num::Fp64Summation summation, const PanelList& panels, const Fill& fill,
                  const Chain& chain, const Compensate& compensate, PairNumbers& sums) {
  alignas(64) PairNumbers high = {};
  if (summation == num::Fp64Summation::kPairwise) {
    PairwiseSums pairwise[kMostPanels];
    for (std::int64_t h = 0; h < k; h += kChain) {
      const std::int64_t length = std::min(kChain, k - h);
      fill(h, length);
      for (const std::int64_t p : panels) {
        chain(p, h, length, high[p]);
        pairwise[p].push(high[p]);
      }
    }
    for (const std::int64_t p : panels) pairwise[p].finish(sums[p]);
    return;
  }
  alignas(64) PairNumbers low = {};
  for (std::int64_t h = 0; h < k; h += kChain) {
    const std::int64_t length = std::min(kChain, k - h);
    fill(h, length);
    for (const std::int64_t p : panels) compensate(p, h, length, high[p], low[p]);
  }
  for (const std::int64_t p : panels) {
    for (std::int64_t x = 0; x < kPairs; ++x) sums[p][x] = high[p][x] + low[p][x];
  }
}

/// All products of panels, each line scaled by its own maximum: sums, scaled.
template <class T>
void plain_products(const Strip<T>& s, const PanelList& panels, num::Fp64Summation summation, PairNumbers& sums) {
  alignas(64) double a_panel[kChain * kTileA];
  alignas(64) double b_panel[kChain * kTileB];
  const auto fill_b = [&](std::int64_t p, std::int64_t h, std::int64_t length) {
    pack<kTileB>(s.b, s.form(p), s.b_stats, s.j + s.first(p), s.count(p), h, length, b_panel);
  };
  sum_in_order(
      s.a.num_terms(), summation, panels,
      [&](std::int64_t h, std::int64_t length) {
        pack<kTileA>(s.a, problem::RealForm::kPlain, s.a_stats, s.i, s.num_a, h, length, a_panel);
      },
      [&](std::int64_t p, std::int64_t h, std::int64_t length, double* high) {
        fill_b(p, h, length);
        chain_tile(a_panel, b_panel, length, high);
      },
      [&](std::int64_t p, std::int64_t h, std::int64_t length, double* high, double* low) {
        fill_b(p, h, length);
        compensated_tile(a_panel, b_panel, length, high, low);
      },
      sums);
}

/// All products of panels, for pairs whose terms may underflow: terms relative to the largest of each pair, in [1, 4),
/// so that what underflows lies 2^1074 below (|a|.|b|). The products are sums 2^largest; without terms largest is below
/// 2 kNoTerm / 3.
template <class T>
void wide_products(const Strip<T>& s, const PanelList& panels, num::Fp64Summation summation, PairNumbers& sums,
                   PairNumbers& largest) {
  alignas(64) double values[kChain * kTileA];
  alignas(64) double a_mantissas[kChain * kTileA], a_exponents[kChain * kTileA];
  alignas(64) double b_mantissas[kChain * kTileB], b_exponents[kChain * kTileB];
  const TermPanel a{a_mantissas, a_exponents};
  const TermPanel b{b_mantissas, b_exponents};
  const auto fill = [&](std::int64_t h, std::int64_t length) {
    load(s.a, problem::RealForm::kPlain, s.a_stats, s.i, s.num_a, h, length, kTileA, values);
    take_apart(values, length * kTileA, a_mantissas, a_exponents);
  };
  const auto fill_b = [&](std::int64_t p, std::int64_t h, std::int64_t length) {
    load(s.b, s.form(p), s.b_stats, s.j + s.first(p), s.count(p), h, length, kTileB, values);
    take_apart(values, length * kTileB, b_mantissas, b_exponents);
  };
  const std::int64_t k = s.a.num_terms();
  for (const std::int64_t p : panels) std::fill_n(largest[p], kPairs, 2 * kNoTerm);
  for (std::int64_t h = 0; h < k; h += kChain) {
    const std::int64_t length = std::min(kChain, k - h);
    fill(h, length);
    for (const std::int64_t p : panels) {
      fill_b(p, h, length);
      largest_tile(a, b, length, largest[p]);
    }
  }
  sum_in_order(
      k, summation, panels, fill,
      [&](std::int64_t p, std::int64_t h, std::int64_t length, double* high) {
        fill_b(p, h, length);
        wide_chain_tile(a, b, largest[p], length, high);
      },
      [&](std::int64_t p, std::int64_t h, std::int64_t length, double* high, double* low) {
        fill_b(p, h, length);
        wide_compensated_tile(a, b, largest[p], length, high, low);
      },
      sums);
}

/// The products of a strip, of both kinds.
template <class T>
class StripProducts {
 public:
  StripProducts(const Strip<T>& strip, num::Fp64Summation summation) : strip_(strip) {
    if (const PanelList panels = panels_of(strip, false); panels.size > 0)
      plain_products(strip, panels, summation, plain_);
    if (const PanelList panels = panels_of(strip, true); panels.size > 0)
      wide_products(strip, panels, summation, wide_, largest_);
  }
  /// The product of line x of the strip's lines of A and line y of its lines of B.
  [[nodiscard]] ScaledOf<T> at(std::int64_t x, std::int64_t y) const {
    const std::int64_t panel = y / kTileB * problem::kTerms<T>;
    if constexpr (kIsComplex<T>) {
      return {part(panel, x, y), part(panel + 1, x, y)};
    } else {
      return part(panel, x, y);
    }
  }

 private:
  [[nodiscard]] num::Scaled part(std::int64_t panel, std::int64_t x, std::int64_t y) const {
    const num::LineStats& row = strip_.a_stats[strip_.i + x];
    const num::LineStats& col = strip_.b_stats[strip_.j + y];
    const std::int64_t pair = y % kTileB * kTileA + x;
    if (!may_underflow(row, col)) return num::make_scaled(plain_[panel][pair], -(line_shift(row) + line_shift(col)));
    const double largest = largest_[panel][pair];
    if (largest < 2 * kNoTerm / 3) return {};
    return num::make_scaled(wide_[panel][pair], static_cast<int>(largest));
  }

  const Strip<T>& strip_;
  PairNumbers plain_;
  PairNumbers wide_;
  PairNumbers largest_;
};

}  // namespace kizami::fp64
