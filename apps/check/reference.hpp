// SPDX-License-Identifier: MIT
// The exact product and the judgement of a computed one:
//   ratio_ij = |C_ij - (alpha AB + beta C0)_ij| / (units * gauge_ij + absolute),  rounded up, relative error below
//   2^-48
// gauge kEntry: |alpha| (|A||B|)_ij + |beta| |C0|_ij; kNorm: |alpha| ||a_i||_2 ||b_j||_2 + |beta| |C0|_ij, the norms
// rounded down. BLAS rules: alpha = 0 does not read A and B, beta = 0 does not read C0; alpha = +-1, beta = 1 are not
// special. Costs one exact dot product of length k per element judged (20 ns a term, 3 us more an element): see
// Sampling for large products.
//
// Complex products are judged part by part, each part as the real sum of products that it is:
//   Re AB = sum of Ar Br - Ai Bi,  Im AB = sum of Ar Bi + Ai Br  over 2k terms,  and
//   Re (alpha AB + beta C0) = Re alpha Re AB - Im alpha Im AB + Re beta Re C0 - Im beta Im C0,  Im likewise.
// The gauge is the same sum of magnitudes (kNorm: of the norms of the 2k terms). An imaginary part of alpha or beta
// that is 0 makes a real factor, which multiplies part by part: it has no products with Inf that would give NaN.
#pragma once

#include <array>
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

/// What policy.hpp promises of alpha AB, restated independently of the library: units = c(k) u, with c(2k) for complex
/// types, 2^-bits, or u of the value itself for accuracy correct, rounded down; absolute = half the smallest subnormal
/// number (FP64: a whole one, as half of it is no double), the error of rounding to the type near 0.
/// @range k >= 0; k = 0 counts as 1
[[nodiscard]] Allowance promised_allowance(const Accuracy& accuracy, Gauge gauge, Scalar scalar, std::int64_t k);

/// C = alpha A B + beta C0, exactly. Owns copies of what it needs, so C may be computed in place of C0 afterwards.
template <class T>
requires kIsScalar<T>
class Reference {
 public:
  struct Element {
    ValueClass cls = ValueClass::kFinite;
    Part part = Part::kReal;
    Exact value;  ///< only if cls is kFinite: alpha AB + beta C0
    Exact entry;  ///< only if cls is kFinite: |alpha| |A||B| + |beta| |C0|
    Exact terms;  ///< only if cls is kFinite: |alpha| |AB| + |beta| |C0|, of complex types part times part
  };

  /// @shape a: op(A), m x k; b: op(B), k x n; c0: m x n, not read if beta = 0; a and b are not read if alpha = 0
  Reference(T alpha, MatrixView<const T> a, MatrixView<const T> b, T beta, MatrixView<const T> c0);

  [[nodiscard]] std::int64_t rows() const noexcept { return m_; }
  [[nodiscard]] std::int64_t cols() const noexcept { return n_; }

  /// A part of sum_l a_il b_lj and its magnitudes, without alpha and beta; empty if alpha = 0.
  [[nodiscard]] ExactDot dot(std::int64_t i, std::int64_t j, Part part = Part::kReal) const;
  [[nodiscard]] Element element(std::int64_t i, std::int64_t j, Part part = Part::kReal) const;
  /// The element rounded to nearest, or the NaN or Inf that its class says, part by part; an exact zero gives +0.
  [[nodiscard]] T rounded(std::int64_t i, std::int64_t j) const;
  /// The denominator without units: a lower bound of the gauge of this part of the element. @range cls is kFinite
  [[nodiscard]] Exact gauge(const Element& element, Against against, std::int64_t i, std::int64_t j) const;

  /// An upper bound of the ratio of `got`, this part of C, or of 1 / 0 = Inf where the kinds differ, or NaN if the
  /// allowance is no number. An infinite C stands for all numbers that round to it: its error is the distance to the
  /// nearest of them.
  [[nodiscard]] double ratio(const Element& element, RealOf<T> got, const Allowance& allowed, std::int64_t i,
                             std::int64_t j) const;

  /// All elements as rounded(), in a col-major array with leading dimension max(1, m).
  [[nodiscard]] std::vector<T> rounded_all(int threads = 1) const;

 private:
  /// One product of the definition: a part of alpha or beta, exact, times a part of AB or C0.
  struct Factor {
    double value;
    Part part;
  };
  static std::vector<Factor> factors(T x, Part part);

  std::int64_t m_, n_;
  std::int64_t num_terms_;  // of a dot product: k, or 2k for complex types
  T alpha_, beta_;
  std::vector<double> a_rows_;                    // m x num_terms, rows contiguous; empty if alpha = 0
  std::array<std::vector<double>, 2> b_columns_;  // by part: n x num_terms, columns of B contiguous
  std::vector<T> c0_;                             // m x n, col-major; empty if beta = 0
  std::vector<Scaled> a_norms_;                   // lower bounds of ||a_i||, 0 where not finite
  std::vector<Scaled> b_norms_;
};

/// Which elements are judged: at most max_rows rows and max_cols columns, spread evenly, first and last included; 0 is
/// all.
struct Sampling {
  std::int64_t max_rows = 0;
  std::int64_t max_cols = 0;
};

/// Ratios of all or sampled elements, of complex ones both parts. Elements that are not finite are judged too: 0 where
/// the kinds agree, else Inf.
/// @shape c: m x n. A c of another shape gives statistics of no element, which ratio_at_most_one() refuses.
template <class T>
requires kIsScalar<T>
[[nodiscard]] RatioStats error_ratios(const Reference<T>& reference, MatrixView<const T> c, const Allowance& allowed,
                                      Sampling sampling = {}, int threads = 1);

/// An absolute bound of a part of an element. It may be called by several threads at once.
using BoundOfPart = std::function<double(std::int64_t i, std::int64_t j, Part part)>;

/// The same against an absolute bound for each part, for instance the one the library reports. @range bound(i, j, part)
/// is finite and >= 0, else the ratio is NaN and red
template <class T>
requires kIsScalar<T>
[[nodiscard]] RatioStats bound_ratios(const Reference<T>& reference, MatrixView<const T> c, const BoundOfPart& bound,
                                      Sampling sampling = {}, int threads = 1);

/// The same with one bound(i, j) for every part of an element.
template <class T>
requires kIsScalar<T>
[[nodiscard]] RatioStats bound_ratios(const Reference<T>& reference, MatrixView<const T> c,
                                      const std::function<double(std::int64_t i, std::int64_t j)>& bound,
                                      Sampling sampling = {}, int threads = 1) {
  return bound_ratios<T>(reference, c, BoundOfPart([&](std::int64_t i, std::int64_t j, Part) { return bound(i, j); }),
                         sampling, threads);
}

/// Green if every part is the exact one rounded to nearest, which the grammar calls accuracy=correct: an equal number
/// (zeros of either sign are), or NaN where NaN belongs. @shape c: m x n
template <class T>
requires kIsScalar<T> Verdict correctly_rounded(const Reference<T>& reference, MatrixView<const T> c,
                                                Sampling sampling = {}, int threads = 1);

}  // namespace kizami::check
