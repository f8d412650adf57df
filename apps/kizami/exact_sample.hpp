// SPDX-License-Identifier: MIT
// Compares a product with the exact one in a sample of its elements: at most 32 rows times 32 columns, spread evenly,
// corners included, the same in every run. The sample of the operands is taken before the product, so C0 may be
// overwritten.
#pragma once

#include <cstdint>
#include <vector>

#include "check/reference.hpp"
#include "kizami/policy.hpp"
#include "kizami/types.hpp"

namespace kizami::cli {

/// What the sample says about one product.
struct SampleError {
  double error = 0;             ///< largest |C - exact| / gauge of any part, gauge = |alpha| G + |beta| |C0|
  double error_over_bound = 0;  ///< largest |C - exact| / allowed error; the product keeps its promise if it is <= 1
  std::int64_t row = -1;        ///< where; -1 if C has no element
  std::int64_t col = -1;
  std::int64_t checked_elements = 0;  ///< each part for itself
};

template <class T>
class ExactSample {
 public:
  /// @shape a: op(A), m x k; b: op(B), k x n; c0: m x n, not read if beta = 0
  ExactSample(T alpha, MatrixView<const T> a, MatrixView<const T> b, T beta, MatrixView<const T> c0);

  /// Judges c by a bound relative to G = |A||B| (kEntry) or ||a_i|| ||b_j|| (kNorm).
  /// @bound allowed: |alpha| bound G, half the smallest subnormal number (FP64: a whole one), and with alpha or beta
  ///        two roundings more, four for complex types
  /// @param is_conditional  the bound holds unless terms overflow: an infinite element where the exact one is within
  ///        half the largest number has an infinite error, whatever G, for only terms that overflow make it
  [[nodiscard]] SampleError judge(MatrixView<const T> c, double bound, Gauge gauge, bool is_conditional,
                                  int threads) const;

  /// Green if every part of the sample is the exact one rounded once, which accuracy correct promises. Rows and columns
  /// in its message count those of the sample.
  [[nodiscard]] check::Verdict correctly_rounded(MatrixView<const T> c, int threads) const;

 private:
  /// Whether a part of c, of the sample's shape, is infinite where the exact one is far from it.
  [[nodiscard]] bool is_overflowed(MatrixView<const T> c, std::int64_t i, std::int64_t j) const;

  std::vector<std::int64_t> rows_;
  std::vector<std::int64_t> cols_;
  T alpha_, beta_;
  check::Reference<T> reference_;
};

/// The error that a product with this bound may have, in the terms of the check kit.
template <class T>
[[nodiscard]] check::Allowance allowance_of(T alpha, T beta, double bound, Gauge gauge);

}  // namespace kizami::cli
