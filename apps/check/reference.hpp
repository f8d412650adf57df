// SPDX-License-Identifier: MIT
// The exact product and the judgement of a computed one:
//   ratio_ij = |C_ij - (alpha AB + beta C0)_ij| / (units * gauge_ij + absolute),  rounded up, relative error below
//   2^-48
// gauge kEntry: |alpha| (|A||B|)_ij + |beta| |C0|_ij; kNorm: |alpha| ||a_i||_2 ||b_j||_2 + |beta| |C0|_ij, the norms
// rounded down. BLAS rules: alpha = 0 does not read A and B, beta = 0 does not read C0; alpha = +-1, beta = 1 are not
// special. Costs one exact dot product of length k per element judged (20 ns a term, 3 us more an element): see
// Sampling for large products.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "check/compare.hpp"
#include "check/exact.hpp"
#include "kizami/policy.hpp"
#include "kizami/types.hpp"

namespace kizami::check {

/// Bounds of the 2-norm of a vector as doubles, lower <= norm <= upper, each within 2^-51 relative; beyond the finite
/// range lower is the largest finite number and upper Inf. @range all elements finite
struct NormBounds {
  double lower = 0;
  double upper = 0;
};
[[nodiscard]] NormBounds norm_bounds(std::span<const double> x);

/// What an error is divided by.
enum class Against : std::uint8_t {
  kEntry,  ///< |alpha| |A||B| + |beta| |C0|
  kNorm,   ///< |alpha| ||a_i|| ||b_j|| + |beta| |C0|
  kValue,  ///< |alpha AB + beta C0|: the relative error. For studies; no mode promises it
};
[[nodiscard]] constexpr Against against(Gauge g) noexcept {
  return g == Gauge::kEntry ? Against::kEntry : Against::kNorm;
}

/// The error that is allowed: units * gauge + absolute. @range both finite and >= 0
struct Allowance {
  Against gauge = Against::kEntry;
  double units = 0;
  double absolute = 0;
};

/// What policy.hpp promises of alpha AB, restated independently of the library: units = c(k) u or 2^-bits, rounded
/// down; absolute = half the smallest subnormal number, the error of rounding to the type near 0.
/// @range k >= 0; k = 0 counts as 1
[[nodiscard]] Allowance promised_allowance(const Accuracy& accuracy, Gauge gauge, Scalar scalar, std::int64_t k);

/// C = alpha A B + beta C0, exactly. Owns copies of what it needs, so C may be computed in place of C0 afterwards.
template <class T>
requires kIsScalar<T>
class Reference {
 public:
  struct Element {
    ValueClass cls = ValueClass::kFinite;
    Exact value;  ///< only if cls is kFinite: alpha AB + beta C0
    Exact entry;  ///< only if cls is kFinite: |alpha| |A||B| + |beta| |C0|
  };

  /// @shape a: op(A), m x k; b: op(B), k x n; c0: m x n, not read if beta = 0; a and b are not read if alpha = 0
  Reference(T alpha, MatrixView<const T> a, MatrixView<const T> b, T beta, MatrixView<const T> c0);

  [[nodiscard]] std::int64_t rows() const noexcept { return m_; }
  [[nodiscard]] std::int64_t cols() const noexcept { return n_; }

  /// sum_l a_il b_lj and its magnitudes, without alpha and beta; empty if alpha = 0.
  [[nodiscard]] ExactDot dot(std::int64_t i, std::int64_t j) const;
  [[nodiscard]] Element element(std::int64_t i, std::int64_t j) const;
  /// The element rounded to nearest, or the NaN or Inf that its class says; an exact zero gives +0.
  [[nodiscard]] T rounded(std::int64_t i, std::int64_t j) const;
  /// The denominator without units: a lower bound of the gauge of this element. @range cls is kFinite
  [[nodiscard]] Exact gauge(const Element& element, Against against, std::int64_t i, std::int64_t j) const;

  /// An upper bound of the ratio of `got`, or of 1 / 0 = Inf where the kinds differ, or NaN if the allowance is no
  /// number. An infinite C stands for all numbers that round to it: its error is the distance to the nearest of them.
  [[nodiscard]] double ratio(const Element& element, T got, const Allowance& allowed, std::int64_t i,
                             std::int64_t j) const;

  /// All elements as rounded(), in a col-major array with leading dimension max(1, m).
  [[nodiscard]] std::vector<T> rounded_all(int threads = 1) const;

 private:
  std::int64_t m_, n_, k_;
  double alpha_, beta_;
  std::vector<double> a_rows_;     // m x k, rows contiguous; empty if alpha = 0
  std::vector<double> b_columns_;  // n x k, columns of B contiguous
  std::vector<T> c0_;              // m x n, col-major; empty if beta = 0
  std::vector<Scaled> a_norms_;    // lower bounds of ||a_i||, 0 where not finite
  std::vector<Scaled> b_norms_;
};

/// Which elements are judged: at most max_rows rows and max_cols columns, spread evenly, first and last included; 0 is
/// all.
struct Sampling {
  std::int64_t max_rows = 0;
  std::int64_t max_cols = 0;
};

/// Ratios of all or sampled elements. Elements that are not finite are judged too: 0 where the kinds agree, else Inf.
/// @shape c: m x n. A c of another shape gives statistics of no element, which ratio_at_most_one() refuses.
template <class T>
requires kIsScalar<T>
[[nodiscard]] RatioStats error_ratios(const Reference<T>& reference, MatrixView<const T> c, const Allowance& allowed,
                                      Sampling sampling = {}, int threads = 1);

/// The same against an absolute bound for each element, for instance the one the library reports. @range bound(i, j) is
/// finite and >= 0, else the ratio is NaN and red; it may be called by several threads at once
template <class T>
requires kIsScalar<T>
[[nodiscard]] RatioStats bound_ratios(const Reference<T>& reference, MatrixView<const T> c,
                                      const std::function<double(std::int64_t i, std::int64_t j)>& bound,
                                      Sampling sampling = {}, int threads = 1);

}  // namespace kizami::check
