// SPDX-License-Identifier: MIT
// A few elements of C, computed again in arithmetic of 113 bits and compared with the bound of the call
// (KIZAMI_MONITOR).
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "dropin/policy/call.hpp"
#include "kizami/outcome.hpp"

namespace kizami::dropin {

/// Elements of a matrix, wherever it is: `count` of them, `stride` apart. May throw.
template <class T>
using ReadLine = std::function<std::vector<T>(const T* first, std::int64_t count, std::int64_t stride)>;

/// Of matrices in host memory.
template <class T>
[[nodiscard]] std::vector<T> read_host_line(const T* first, std::int64_t count, std::int64_t stride) {
  std::vector<T> line;
  line.reserve(static_cast<std::size_t>(count));
  for (std::int64_t p = 0; p < count; ++p) line.push_back(first[p * stride]);
  return line;
}

/// How far an element may be from alpha op(A) op(B) + beta C: `bound` of the gauge of a product, and `roundings` of
/// half a unit in the last place of the sum of all magnitudes.
struct Allowance {
  double bound = 0;
  Gauge gauge = Gauge::kEntry;
  double roundings = 0;
};
/// Of epilogues: products with alpha and beta are rounded, and their sum.
inline constexpr double kEpilogueRoundings = 4;

/// What the lines of a product ask for.
struct Needs {
  int spread_a = 0;  ///< exponents between the largest and the smallest number of a row of op(A) that is not 0
  int spread_b = 0;  ///< likewise of a column of op(B)
  /// Binary digits that both lines must keep below their largest number, for their products to be within the bound of a
  /// native one: with rows cut at 2^-t of their largest numbers,
  ///   |error| <= 2^-t (max|a| sum|b| + max|b| sum|a|), which must not exceed k u sum|a||b| (2 k for a complex product).
  /// At most a line's width in bits, beyond which nothing is cut.
  int bits = 0;
  bool has_nonfinite = false;
};

template <class T>
class Sample {
 public:
  static constexpr int kElements = 8;

  /// Before the call: takes element `e` of kElements, spread over C, and reads what it is made of. @range sizes >= 1; e
  /// >= 0
  void add(const TypedCall<T>& x, int e, const ReadLine<T>& read);

  /// After the call: reads what worst_ratio() will, in the same order. For a reader that has it only later.
  void read_results(const ReadLine<T>& read) const;

  /// After the call: the largest error / allowance of the elements, real and imaginary parts apart; NaN if a finite
  /// result is expected and C holds none; -1 if there is no element, or all expected ones are Inf or NaN.
  [[nodiscard]] double worst_ratio(const ReadLine<T>& read,
                                   const std::function<Allowance(std::int64_t i, std::int64_t j)>& allowance) const;

  /// The most of all elements; of trsm only the spread of A.
  [[nodiscard]] Needs needs() const;

 private:
  /// C(i, j) = alpha left . right + second_alpha second_left . second_right + beta before; of trsm the residual of
  /// that, with X for one of the lines, which is 0.
  struct Element {
    TypedCall<T> call;
    std::int64_t i = 0;
    std::int64_t j = 0;
    T before{};
    std::vector<T> left, right;  ///< of trsm only that of A
    std::vector<T> second_left, second_right;
  };
  /// What the call has written of it: an element of C, or of trsm a line of X.
  [[nodiscard]] static std::vector<T> results_of(const Element& element, const ReadLine<T>& read);
  [[nodiscard]] static double ratio_of(Element element, const ReadLine<T>& read, const Allowance& allowance);

  std::vector<Element> elements_;
};

}  // namespace kizami::dropin
