// SPDX-License-Identifier: MIT
#include "dropin/blas/sample.hpp"

#include <cfloat>
#include <cmath>
#include <limits>

#include "dropin/blas/emulate.hpp"

namespace kizami::dropin::blas {
namespace {

#if LDBL_MANT_DIG == 113
using Wide = long double;
#else
__extension__ using Wide = __float128;
#endif

constexpr std::int64_t kElements = 8;

Wide magnitude(Wide x) { return x < 0 ? -x : x; }

template <class T>
auto parts(T x) {
  struct Parts {
    Wide re, im;
  };
  if constexpr (kIsComplex<T>) {
    return Parts{x.real(), x.imag()};
  } else {
    return Parts{x, 0};
  }
}

/// One part of a sum of products: its value, and the gauges of its error. Norms are those of the lines.
struct PartSum {
  Wide value = 0;
  Wide entries = 0;  ///< sum of magnitudes of all terms
};

/// re + i im of sum_p x_p y_p.
template <class T>
struct Sum {
  PartSum re, im;
  Wide norm_x = 0;  ///< squared
  Wide norm_y = 0;

  void add(T a, T b) {
    const auto x = parts(a);
    const auto y = parts(b);
    re.value += x.re * y.re - x.im * y.im;
    re.entries += magnitude(x.re * y.re) + magnitude(x.im * y.im);
    im.value += x.re * y.im + x.im * y.re;
    im.entries += magnitude(x.re * y.im) + magnitude(x.im * y.re);
    norm_x += x.re * x.re + x.im * x.im;
    norm_y += y.re * y.re + y.im * y.im;
  }
  [[nodiscard]] double norms() const {
    return std::sqrt(static_cast<double>(norm_x)) * std::sqrt(static_cast<double>(norm_y));
  }
};

template <class T>
T element(const T* data, std::int64_t ld, char op, std::int64_t i, std::int64_t j) {
  const T x = op == 'N' ? data[i + j * ld] : data[j + i * ld];
  return op == 'C' ? conjugate(x) : x;
}

/// Of a matrix of which one triangle is stored.
template <class T>
T symmetric_element(const Call<T>& x, std::int64_t i, std::int64_t j) {
  const bool is_stored = x.uplo == 'U' ? i <= j : i >= j;
  const T value = is_stored ? x.a[i + j * x.lda] : x.a[j + i * x.lda];
  if (x.routine != Routine::kHemm) return value;
  if (i == j) return T(parts(value).re);
  return is_stored ? value : conjugate(value);
}

/// Of op(A), triangular: zero beside the stored triangle, one on the diagonal of a unit one.
template <class T>
T triangular_element(const Call<T>& x, std::int64_t i, std::int64_t j) {
  const bool is_lower = (x.uplo == 'L') == (x.op_a == 'N');
  if (i == j && x.diag == 'U') return T{1};
  return (is_lower ? i >= j : i <= j) ? element(x.a, x.lda, x.op_a, i, j) : T{};
}

/// What is expected of one element: alpha S + alpha2 S2 + beta C, and how far C may be from it.
template <class T>
struct Expected {
  Wide re = 0, im = 0;
  double allowed_re = 0, allowed_im = 0;

  /// factor * sum, at `bound` of its gauge and u per rounding of `roundings`.
  void add(T factor, const Sum<T>& sum, const Outcome& outcome, double roundings) {
    const double u = std::is_same_v<RealOf<T>, float> ? FLT_EPSILON / 2 : DBL_EPSILON / 2;
    const auto f = parts(factor);
    const auto term = [&](Wide scale, const PartSum& part, Wide& value, double& allowed, Wide sign) {
      const double entries = static_cast<double>(part.entries);
      const double gauge = outcome.gauge == Gauge::kEntry ? entries : sum.norms();
      value += sign * scale * part.value;
      allowed += static_cast<double>(magnitude(scale)) * (outcome.bound * gauge + roundings * u * entries);
    };
    term(f.re, sum.re, re, allowed_re, 1);
    term(f.im, sum.im, re, allowed_re, -1);
    term(f.re, sum.im, im, allowed_im, 1);
    term(f.im, sum.re, im, allowed_im, 1);
  }
};

template <class T>
double ratio_of(Wide expected, double allowed, T got) {
  const double finite = static_cast<double>(expected);
  if (!std::isfinite(finite) || !std::isfinite(allowed)) return -1;
  const double error = static_cast<double>(magnitude(static_cast<Wide>(got) - expected));
  if (error == 0) return 0;
  return error / (allowed + static_cast<double>(std::numeric_limits<T>::denorm_min()));
}

/// The larger, or NaN if one is.
double worse(double x, double y) { return std::isnan(x) || y <= x ? x : y; }

}  // namespace

template <class T>
Sample<T>::Sample(const Call<T>& x) {
  for (std::int64_t e = 0; e < kElements; ++e) {
    std::int64_t i = (x.m - 1) * e / (kElements - 1);
    std::int64_t j = (x.n - 1) * ((5 * e) % kElements) / (kElements - 1);
    if (has_triangle(x.routine) && (x.uplo == 'U' ? i > j : i < j)) std::swap(i, j);
    const bool is_read = x.beta != T{} || is_triangular(x.routine);
    Element chosen{i, j, is_read ? x.c[i + j * x.ldc] : T{}, {}};
    if (is_hermitian(x.routine) && has_triangle(x.routine) && i == j) chosen.before = T(parts(chosen.before).re);
    if (x.routine == Routine::kTrmm) {
      for (std::int64_t p = 0; p < x.k; ++p)
        chosen.line.push_back(x.side == 'L' ? x.c[p + j * x.ldc] : x.c[i + p * x.ldc]);
    }
    elements_.push_back(std::move(chosen));
  }
}

template <class T>
double Sample<T>::worst_ratio(const Call<T>& x, const Outcome& outcome) const {
  double worst = -1;
  const bool is_left = x.side == 'L';
  const char transposed = is_hermitian(x.routine) ? 'C' : 'T';
  for (const Element& e : elements_) {
    const auto [i, j, before, line] = e;
    Sum<T> first;
    Sum<T> second;
    T got = x.c[i + j * x.ldc];
    double roundings = 4;  // of two epilogues: rounded products, and their sums with C
    for (std::int64_t p = 0; p < x.k; ++p) {
      if (is_triangular(x.routine)) {
        const T a = is_left ? triangular_element(x, i, p) : triangular_element(x, p, j);
        const T c = x.routine == Routine::kTrmm ? line[static_cast<std::size_t>(p)]
                    : is_left                   ? x.c[p + j * x.ldc]
                                                : x.c[i + p * x.ldc];
        is_left ? first.add(a, c) : first.add(c, a);
      } else if (is_symmetric(x.routine)) {
        is_left ? first.add(symmetric_element(x, i, p), x.b[p + j * x.ldb])
                : first.add(x.b[i + p * x.ldb], symmetric_element(x, p, j));
      } else if (is_rank_k(x.routine) || is_rank_2k(x.routine)) {
        const char left = x.op_a == 'N' ? 'N' : transposed;
        const char right = x.op_a == 'N' ? transposed : 'N';
        const T* b = is_rank_k(x.routine) ? x.a : x.b;
        const std::int64_t ldb = is_rank_k(x.routine) ? x.lda : x.ldb;
        first.add(element(x.a, x.lda, left, i, p), element(b, ldb, right, p, j));
        if (is_rank_2k(x.routine)) second.add(element(b, ldb, left, i, p), element(x.a, x.lda, right, p, j));
      } else {
        first.add(element(x.a, x.lda, x.op_a, i, p), element(x.b, x.ldb, x.op_b, p, j));
      }
    }
    Expected<T> expected;
    if (is_triangular(x.routine)) {
      // Native diagonal blocks, and the halvings: emulate.hpp. A complex product has four roundings for two.
      roundings = 2 * (2 * static_cast<double>(kMaxBlock) + 4 + 2 * (2 + std::log2(static_cast<double>(x.k))));
    }
    Sum<T> c;
    c.add(x.beta, before);
    if (x.routine == Routine::kTrsm) {
      // alpha C - op(A) X = 0: the residual stands for the error.
      Sum<T> scaled;
      scaled.add(x.alpha, before);
      expected.add(T{1}, first, outcome, roundings);
      Outcome exact = outcome;
      exact.bound = 0;
      expected.add(T{-1}, scaled, exact, roundings);
      got = T{};
    } else {
      expected.add(x.alpha, first, outcome, roundings);
      if (is_rank_2k(x.routine))
        expected.add(is_hermitian(x.routine) ? conjugate(x.alpha) : x.alpha, second, outcome, roundings);
      Outcome exact = outcome;
      exact.bound = 0;
      if (x.beta != T{} && !is_triangular(x.routine)) expected.add(T{1}, c, exact, roundings);
    }
    if constexpr (kIsComplex<T>) {
      worst = worse(worst, ratio_of(expected.re, expected.allowed_re, got.real()));
      worst = worse(worst, ratio_of(expected.im, expected.allowed_im, got.imag()));
    } else {
      worst = worse(worst, ratio_of(expected.re, expected.allowed_re, got));
    }
  }
  return worst;
}

template class Sample<float>;
template class Sample<double>;
template class Sample<std::complex<float>>;
template class Sample<std::complex<double>>;

}  // namespace kizami::dropin::blas
