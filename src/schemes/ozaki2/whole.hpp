// SPDX-License-Identifier: MIT
// A product that is a part of a larger one, with whole lines of both operands: who decides for the whole asks the part
// what it counts, and says the rung. All that is asked are integers whose sums and maxima know no order.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "kizami/status.hpp"
#include "num/rung.hpp"

namespace kizami::ozaki2 {

/// Adds the pairs of `more`, which are none of those in `sum`.
constexpr void add(const num::RungHistogram& more, num::RungHistogram& sum) {
  for (std::size_t r = 0; r < sum.pairs.size(); ++r) sum.pairs[r] += more.pairs[r];
}

/// Sums over parts.
struct Counts {
  num::Statistics statistics;
  std::int64_t nonfinite_rows = 0;
  std::int64_t nonfinite_cols = 0;
  /// Accuracy correct: lines that each rung splits exactly.
  std::array<std::int64_t, num::kMaxRungs> exact_rows{};
  std::array<std::int64_t, num::kMaxRungs> exact_cols{};
};

/// What parts are asked, in this order.
class Part {
 public:
  Part() = default;
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;
  virtual ~Part() = default;

  /// Adds rungs of pairs as given, and lines.
  virtual Status count(Counts& counts) = 0;
  /// Raises a and b, [k] each, to certify::gather_inner_exponents() of the part's lines. Perhaps not asked.
  virtual Status find_exponents(std::span<std::int32_t> a, std::span<std::int32_t> b) = 0;
  /// Adds rungs with the shifts of the whole. Behind find_exponents().
  virtual Status count_equilibrated(std::span<const std::int32_t> a, std::span<const std::int32_t> b,
                                    Counts& counts) = 0;
};

/// Who decides for the whole.
class Whole {
 public:
  Whole() = default;
  Whole(const Whole&) = delete;
  Whole& operator=(const Whole&) = delete;
  virtual ~Whole() = default;

  /// Of the rows, and columns, of the whole each is counted by one part.
  [[nodiscard]] virtual bool counts_rows() const = 0;
  [[nodiscard]] virtual bool counts_cols() const = 0;
  /// @status an error of any part, for all of them
  virtual Status decide(Part& part, num::Selection& selection) = 0;
};

}  // namespace kizami::ozaki2
