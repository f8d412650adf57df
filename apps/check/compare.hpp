// SPDX-License-Identifier: MIT
// Comparators that NaN cannot slip through: a comparison is red unless it is proven green. A ratio is judged as
// !(ratio <= 1), a maximum keeps the first NaN it meets, and shapes that differ are red.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "check/element.hpp"
#include "kizami/types.hpp"

namespace kizami::check {

/// Green, or red with one sentence: what, where, and both values. In a test: EXPECT_TRUE(v) << v.message.
struct [[nodiscard]] Verdict {
  bool ok = true;
  std::string message;
  explicit operator bool() const noexcept { return ok; }
};
[[nodiscard]] inline Verdict red(std::string message) { return {false, std::move(message)}; }

/// Equality of all bits of all parts, so NaN equals only the same NaN and -0 differs from +0. The message tells the
/// first difference in row order, both values in decimal and in bits, and how many elements differ.
/// @shape got, want: equal shapes, any strides; elements are conjugated where the view says so
template <class T>
requires kIsScalar<T> Verdict bits_equal(MatrixView<const T> got, MatrixView<const T> want);

/// The same, but for the sign and payload of NaN, which nobody promises (docs/reproducibility.md): all NaN are equal.
template <class T>
requires kIsScalar<T> Verdict promised_bits_equal(MatrixView<const T> got, MatrixView<const T> want);

/// Equality of kind, part by part: NaN where NaN is wanted (whatever its sign and payload), an infinity of the
/// wanted sign, and finite where finite is wanted.
template <class T>
requires kIsScalar<T> Verdict same_placement(MatrixView<const T> got, MatrixView<const T> want);

/// Statistics of error ratios over the elements of a matrix, of a complex one over both parts of each.
struct RatioStats {
  double max = 0;         ///< NaN if any ratio is NaN
  std::int64_t row = -1;  ///< where max was met first; -1 if there is no element
  std::int64_t col = -1;
  Part part = Part::kReal;
  double median = 0;       ///< of the ratios in order, NaN counted as above everything; the upper one of an even number
  std::int64_t count = 0;  ///< elements judged, each part for itself
  std::int64_t num_red = 0;   ///< those with !(ratio <= 1)
  std::int64_t num_zero = 0;  ///< those whose exact value is 0: if most are, the run proves little
};

/// Collects ratios into RatioStats.
class RatioCollector {
 public:
  void add(std::int64_t row, std::int64_t col, double ratio, bool is_zero = false, Part part = Part::kReal);
  void merge(const RatioCollector& other);
  [[nodiscard]] RatioStats stats() const;

 private:
  RatioStats stats_;
  std::vector<double> ratios_;
};

/// Green if ratio <= 1; red for anything else, NaN included.
Verdict ratio_at_most_one(double ratio);
/// Green if at least one element was judged and all ratios are at most 1.
Verdict ratio_at_most_one(const RatioStats& stats);

}  // namespace kizami::check
