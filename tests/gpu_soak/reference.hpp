// SPDX-License-Identifier: MIT
// What an element of C must be, for host and device: sums of at least twice the precision of the type, |op(A)||op(B)|
// beside them, and the judgement of what was computed. For each part of a complex element by itself:
//   |C - (alpha p + beta C0)| <= e (|alpha| G) + r (|alpha p| + |beta C0|) + tiny,
// p = sum of products, G = the sum of their absolute values, as include/kizami/policy.hpp and src/num/bounds.hpp have
// them. An element is NaN or infinite exactly where p is; of real types it is then the same (NaN, or infinity of
// alpha's and p's sign).
#pragma once

#include <cmath>
#include <cstdint>

#include "kizami/host_device.hpp"

namespace gpu_soak {

/// What the elements of a stored matrix stand for.
enum class Structure : std::uint8_t { kGeneral, kTriangular, kUnitTriangular, kSymmetric, kHermitian };
enum class Triangle : std::uint8_t { kAll, kLower, kUpper };

/// op(X) of one product: elements by columns, of parts of type R.
struct Operand {
  const void* data = nullptr;  ///< the buffer
  std::int64_t ld = 1;
  std::int64_t offset = 0, stride = 0;  ///< in elements
  int rotation = 0;
  bool is_transposed = false, is_conjugated = false;
  Structure structure = Structure::kGeneral;
  bool is_lower = true;  ///< which triangle is stored
};

struct Number {
  double re = 0, im = 0;
};

/// op(X)(i, l) of the matrix whose first element is `first`.
template <class R, bool kIsComplex>
KIZAMI_HOST_DEVICE inline Number element_of(const Operand& x, const R* first, std::int64_t i, std::int64_t l) {
  std::int64_t row = x.is_transposed ? l : i;
  std::int64_t col = x.is_transposed ? i : l;
  bool is_conjugated = x.is_conjugated;
  if (x.structure != Structure::kGeneral) {
    const bool is_stored = x.is_lower ? row >= col : row <= col;
    if (x.structure == Structure::kUnitTriangular && row == col) return {1, 0};
    if (!is_stored) {
      if (x.structure != Structure::kSymmetric && x.structure != Structure::kHermitian) return {0, 0};
      const std::int64_t swapped = row;
      row = col;
      col = swapped;
      is_conjugated ^= x.structure == Structure::kHermitian;
    }
  }
  const std::int64_t at = row + col * x.ld;
  if constexpr (!kIsComplex) {
    return {static_cast<double>(first[at]), 0};
  } else {
    const double im = x.structure == Structure::kHermitian && row == col ? 0 : static_cast<double>(first[2 * at + 1]);
    return {static_cast<double>(first[2 * at]), is_conjugated ? -im : im};
  }
}

/// A sum and its rounding errors.
struct Sum {
  double hi = 0, lo = 0;

  KIZAMI_HOST_DEVICE void add(double x, double y) {
    const double p = x * y;
    const double rest = fma(x, y, -p);
    const double s = hi + p;
    const double t = s - hi;
    lo += ((hi - (s - t)) + (p - t)) + rest;
    hi = s;
  }
  KIZAMI_HOST_DEVICE void add(double x, const Sum& y) {
    add(x, y.hi);
    lo = fma(x, y.lo, lo);
  }
};

/// The products of one element. Of FP32 products are exact in FP64, and so are sums but for k 2^-53 of the gauge.
template <class R, bool kIsComplex>
struct Accumulator {
  Sum re, im;
  double gauge_re = 0, gauge_im = 0;

  KIZAMI_HOST_DEVICE static void add(Sum& sum, double& gauge, double x, double y) {
    if constexpr (sizeof(R) == 4) {
      sum.hi = fma(x, y, sum.hi);
    } else {
      sum.add(x, y);
    }
    gauge = fma(fabs(x), fabs(y), gauge);
  }
  KIZAMI_HOST_DEVICE void add(const Number& x, const Number& y) {
    add(re, gauge_re, x.re, y.re);
    if constexpr (kIsComplex) {
      add(re, gauge_re, -x.im, y.im);
      add(im, gauge_im, x.re, y.im);
      add(im, gauge_im, x.im, y.re);
    }
  }
};

/// What is allowed: see allowed_of().
struct Allowed {
  double relative = 0;  ///< e
  double rounding = 0;  ///< r
  double tiny = 0;
  bool mixes_parts = false;  ///< three real products make a complex one: either part errs by the gauges of both
};

struct Factors {
  Number alpha, beta;
};

struct Verdict {
  double ratio = 0;           ///< error by what is allowed; not a number: no number where one is expected
  bool is_misplaced = false;  ///< NaN or infinite where it should not be, or the other way round
};

KIZAMI_HOST_DEVICE inline bool is_finite(double x) { return x - x == 0; }
KIZAMI_HOST_DEVICE inline bool is_finite(const Number& x) { return is_finite(x.re) && is_finite(x.im); }

/// |value - (x p + y q + z s + w t)| by what is allowed.
KIZAMI_HOST_DEVICE inline double ratio_of_part(double value, double x, const Sum& p, double gauge_p, double y,
                                               const Sum& q, double gauge_q, double z, double s, double w, double t,
                                               const Allowed& allowed) {
  Sum exact;
  exact.add(x, p);
  if (y != 0) exact.add(y, q);
  if (z != 0) exact.add(z, s);
  if (w != 0) exact.add(w, t);
  const double gauge = fabs(x) * gauge_p + fabs(y) * gauge_q;
  const double terms = fabs(x * p.hi) + fabs(y * q.hi) + fabs(z * s) + fabs(w * t);
  return fabs((value - exact.hi) - exact.lo) / (allowed.relative * gauge + allowed.rounding * terms + allowed.tiny);
}

/// @range c0 is not looked at where beta = 0
template <class R, bool kIsComplex>
KIZAMI_HOST_DEVICE inline Verdict judge_element(const Accumulator<R, kIsComplex>& sum, const Factors& f, Number c0,
                                                const Number& value, const Allowed& allowed) {
  if (f.beta.re == 0 && f.beta.im == 0) c0 = {0, 0};
  const bool is_product_read = f.alpha.re != 0 || f.alpha.im != 0;
  if (is_product_read && !(is_finite(sum.re.hi) && is_finite(sum.im.hi))) {
    if constexpr (kIsComplex) return {0, is_finite(value)};
    const double expected = f.alpha.re * sum.re.hi;
    return {0, !(expected == expected ? value.re == expected : value.re != value.re)};
  }
  if (!is_finite(value)) return {0, true};
  Verdict verdict;
  const double gauge_re = allowed.mixes_parts ? sum.gauge_re + sum.gauge_im : sum.gauge_re;
  const double gauge_im = allowed.mixes_parts ? gauge_re : sum.gauge_im;
  verdict.ratio = ratio_of_part(value.re, f.alpha.re, sum.re, gauge_re, -f.alpha.im, sum.im, gauge_im, f.beta.re, c0.re,
                                -f.beta.im, c0.im, allowed);
  if constexpr (kIsComplex) {
    const double of_im = ratio_of_part(value.im, f.alpha.re, sum.im, gauge_im, f.alpha.im, sum.re, gauge_re, f.beta.re,
                                       c0.im, f.beta.im, c0.re, allowed);
    if (!(of_im <= verdict.ratio)) verdict.ratio = of_im;
  }
  return verdict;
}

/// The residual of a solution: p = op(A) X against alpha B.
template <class R, bool kIsComplex>
KIZAMI_HOST_DEVICE inline Verdict judge_residual(const Accumulator<R, kIsComplex>& sum, const Number& alpha,
                                                 const Number& b, const Allowed& allowed) {
  if (!is_finite(sum.re.hi) || !is_finite(sum.im.hi)) return {0, true};
  Verdict verdict;
  const Sum none;
  verdict.ratio = ratio_of_part(0, 1, sum.re, sum.gauge_re, 0, none, 0, -alpha.re, b.re, alpha.im, b.im, allowed);
  if constexpr (kIsComplex) {
    const double of_im =
        ratio_of_part(0, 1, sum.im, sum.gauge_im, 0, none, 0, -alpha.re, b.im, -alpha.im, b.re, allowed);
    if (!(of_im <= verdict.ratio)) verdict.ratio = of_im;
  }
  return verdict;
}

}  // namespace gpu_soak
