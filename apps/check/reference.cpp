// SPDX-License-Identifier: MIT
#include "check/reference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "check/element.hpp"
#include "check/parallel.hpp"
#include "check/text.hpp"

namespace kizami::check {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

bool all_finite(std::span<const double> x) {
  return std::all_of(x.begin(), x.end(), [](double value) { return std::isfinite(value); });
}

Exact sum_of_squares(std::span<const double> x) {
  Exact sum;
  for (const double value : x) sum.add_product(value, value);
  return sum;
}

std::vector<Scaled> norms_of_rows(const std::vector<double>& x, std::int64_t num_rows, std::int64_t k) {
  std::vector<Scaled> norms(static_cast<std::size_t>(num_rows));
  for (std::size_t r = 0; r < norms.size(); ++r) {
    const std::span<const double> row(x.data() + r * static_cast<std::size_t>(k), static_cast<std::size_t>(k));
    if (all_finite(row)) norms[r] = sqrt_bound(sum_of_squares(row), Rounding::kDown);
  }
  return norms;
}

template <class T>
constexpr std::int64_t num_parts() {
  return static_cast<std::int64_t>(kPartsOf<T>.size());
}

/// The rows of a view, contiguous and in double; of complex types the parts one after another.
template <class T>
std::vector<double> packed_rows(MatrixView<const T> x) {
  std::vector<double> out;
  out.reserve(static_cast<std::size_t>(x.rows * x.cols * num_parts<T>()));
  for (std::int64_t i = 0; i < x.rows; ++i) {
    for (std::int64_t l = 0; l < x.cols; ++l) {
      for (const Part part : kPartsOf<T>) out.push_back(part_of(element(x, i, l), part));
    }
  }
  return out;
}

/// What the terms (re, im) of A are multiplied with for a part of the product: (re, -im) or (im, re) of B.
std::vector<double> second_factors(std::vector<double> b, Part part) {
  for (std::size_t t = 0; t < b.size(); t += 2) {
    if (part == Part::kReal) {
      b[t + 1] = -b[t + 1];
    } else {
      std::swap(b[t], b[t + 1]);
    }
  }
  return b;
}

/// The smallest magnitude that rounds to Inf: 2^E - half a unit in the last place of the largest finite number.
template <class T>
Exact overflow_threshold() {
  using Limits = std::numeric_limits<T>;
  Exact threshold;
  threshold.add(1.0, Limits::max_exponent);
  threshold.add(-1.0, Limits::max_exponent - Limits::digits - 1);
  return threshold;
}

/// The class of alpha * (sum of class sum_class, exactly `sum` if finite).
ValueClass class_of_scaled(double alpha, ValueClass sum_class, const Exact& sum) {
  switch (sum_class) {
    case ValueClass::kFinite:
      return class_of_product(alpha, sum.sign());
    case ValueClass::kNaN:
      return ValueClass::kNaN;
    default:
      return class_of_product(alpha, sum_class == ValueClass::kPosInf ? kInf : -kInf);
  }
}

std::vector<std::int64_t> spread_evenly(std::int64_t n, std::int64_t limit) {
  const std::int64_t count = limit <= 0 || limit > n ? n : limit;
  std::vector<std::int64_t> out(static_cast<std::size_t>(count));
  for (std::int64_t t = 0; t < count; ++t) out[static_cast<std::size_t>(t)] = count > 1 ? t * (n - 1) / (count - 1) : 0;
  return out;
}

template <class T, class RatioOf>
RatioStats collect(const Reference<T>& reference, MatrixView<const T> c, Sampling sampling, int threads,
                   const RatioOf& ratio_of) {
  RatioCollector all;
  if (c.rows != reference.rows() || c.cols != reference.cols()) return all.stats();
  const std::vector<std::int64_t> rows = spread_evenly(c.rows, sampling.max_rows),
                                  cols = spread_evenly(c.cols, sampling.max_cols);
  std::vector<RatioCollector> columns(cols.size());
  const auto num_cols = static_cast<std::int64_t>(cols.size());
  parallel_for(num_cols, num_cols * static_cast<std::int64_t>(rows.size()) * 64, threads, [&](std::int64_t t) {
    const auto column = static_cast<std::size_t>(t);
    for (const std::int64_t i : rows) {
      const std::int64_t j = cols[column];
      const T got = element(c, i, j);
      for (const Part part : kPartsOf<T>) {
        const typename Reference<T>::Element want = reference.element(i, j, part);
        const bool is_zero = want.cls == ValueClass::kFinite && want.value.sign() == 0;
        columns[column].add(i, j, ratio_of(want, part_of(got, part), i, j), is_zero, part);
      }
    }
  });
  for (const RatioCollector& column : columns) all.merge(column);
  return all.stats();
}

}  // namespace

NormBounds norm_bounds(std::span<const double> x) {
  const Exact squares = sum_of_squares(x);
  return {to_double(sqrt_bound(squares, Rounding::kDown), Rounding::kDown),
          to_double(sqrt_bound(squares, Rounding::kUp), Rounding::kUp)};
}

Allowance promised_allowance(const Accuracy& accuracy, Gauge gauge, Scalar scalar, std::int64_t k) {
  const int digits = significand_bits(scalar);
  // Half the smallest subnormal number of FP64 is no double.
  const double absolute = std::ldexp(1.0, digits == 24 ? -150 : -1074);
  Allowance out{against(gauge), std::ldexp(1.0, -accuracy.bits), absolute};
  if (accuracy.kind == Accuracy::Kind::kCorrect) return {Against::kValue, std::ldexp(1.0, -digits), absolute};
  if (accuracy.kind == Accuracy::Kind::kNative) {
    const auto terms = static_cast<double>(std::max<std::int64_t>(is_complex(scalar) ? 2 * k : k, 1));
    const double root = to_double(sqrt_bound(Exact(terms), Rounding::kDown), Rounding::kDown);
    out.units = std::ldexp(std::min(std::max(terms, 8.0), 16 * root), -digits);
  }
  return out;
}

template <class T>
requires kIsScalar<T> Reference<T>::Reference(T alpha, MatrixView<const T> a, MatrixView<const T> b, T beta,
                                              MatrixView<const T> c0)
    : m_(a.rows), n_(b.cols), num_terms_(a.cols * num_parts<T>()), alpha_(alpha), beta_(beta) {
  if (alpha != T{0}) {
    a_rows_ = packed_rows(a);
    std::vector<double>& b_columns = b_columns_.front();
    b_columns = packed_rows(b.transposed());
    a_norms_ = norms_of_rows(a_rows_, m_, num_terms_);
    b_norms_ = norms_of_rows(b_columns, n_, num_terms_);
    if constexpr (kIsComplex<T>) {
      b_columns_.back() = second_factors(b_columns, Part::kImaginary);
      b_columns = second_factors(std::move(b_columns), Part::kReal);
    }
  }
  if (beta != T{0}) {
    c0_.resize(static_cast<std::size_t>(m_ * n_));
    for (std::int64_t j = 0; j < n_; ++j) {
      for (std::int64_t i = 0; i < m_; ++i) c0_[static_cast<std::size_t>(j * m_ + i)] = check::element(c0, i, j);
    }
  }
}

template <class T>
requires kIsScalar<T> std::vector<typename Reference<T>::Factor> Reference<T>::factors(T x, Part part) {
  const double re = part_of(x, Part::kReal);
  std::vector<Factor> out{{re, part}};
  if constexpr (kIsComplex<T>) {
    const double im = x.imag();
    if (im != 0) out.push_back(part == Part::kReal ? Factor{-im, Part::kImaginary} : Factor{im, Part::kReal});
  }
  return out;
}

template <class T>
requires kIsScalar<T> ExactDot Reference<T>::dot(std::int64_t i, std::int64_t j, Part part)
const {
  ExactDot out;
  if (alpha_ == T{0}) return out;
  const double* a = a_rows_.data() + i * num_terms_;
  const double* b = b_columns_[static_cast<std::size_t>(part)].data() + j * num_terms_;
  for (std::int64_t t = 0; t < num_terms_; ++t) out.add(a[t], b[t]);
  return out;
}

template <class T>
requires kIsScalar<T>
typename Reference<T>::Element Reference<T>::element(std::int64_t i, std::int64_t j, Part part) const {
  Element out;
  out.part = part;
  if (alpha_ != T{0} && num_terms_ > 0) {
    for (const Factor& factor : factors(alpha_, part)) {
      const ExactDot product = dot(i, j, factor.part);
      const Exact sum = product.sum();
      out.cls = class_of_sum(out.cls, class_of_scaled(factor.value, product.value_class(), sum));
      if (out.cls != ValueClass::kFinite) continue;
      const Exact term = sum.times(factor.value);
      out.value += term;
      out.terms += term.abs();
      out.entry += product.abs_sum().times(std::abs(factor.value));
    }
  }
  if (beta_ != T{0}) {
    const T c0 = c0_[static_cast<std::size_t>(j * m_ + i)];
    for (const Factor& factor : factors(beta_, part)) {
      const double x = part_of(c0, factor.part);
      out.cls = class_of_sum(out.cls, class_of_product(factor.value, x));
      if (out.cls != ValueClass::kFinite) continue;
      out.value.add_product(factor.value, x);
      out.terms.add_product(std::abs(factor.value), std::abs(x));
      out.entry.add_product(std::abs(factor.value), std::abs(x));
    }
  }
  return out;
}

/// A finite exact number, NaN or Inf in a type.
template <class R>
R rounded_element(ValueClass cls, const Exact& value) {
  switch (cls) {
    case ValueClass::kFinite:
      return value.rounded<R>();
    case ValueClass::kNaN:
      return std::numeric_limits<R>::quiet_NaN();
    case ValueClass::kPosInf:
      return std::numeric_limits<R>::infinity();
    case ValueClass::kNegInf:
      return -std::numeric_limits<R>::infinity();
  }
  return 0;
}

template <class T>
requires kIsScalar<T> T Reference<T>::rounded(std::int64_t i, std::int64_t j)
const {
  const auto part = [&](Part which) {
    const Element e = element(i, j, which);
    return rounded_element<RealOf<T>>(e.cls, e.value);
  };
  return from_parts<T>(part(Part::kReal), kIsComplex<T> ? part(Part::kImaginary) : 0);
}

template <class T>
requires kIsScalar<T> std::vector<T> Reference<T>::rounded_all(int threads)
const {
  std::vector<T> out(static_cast<std::size_t>(m_ * n_));
  parallel_for(n_, m_ * n_ * std::max<std::int64_t>(num_terms_, 64), threads, [&](std::int64_t j) {
    for (std::int64_t i = 0; i < m_; ++i) out[static_cast<std::size_t>(j * m_ + i)] = rounded(i, j);
  });
  return out;
}

template <class T>
requires kIsScalar<T> Exact Reference<T>::gauge(const Element& element, Against against, std::int64_t i, std::int64_t j)
const {
  if (against == Against::kEntry) return element.entry;
  if (against == Against::kValue) return element.value.abs();
  Exact out;
  if (alpha_ != T{0} && num_terms_ > 0) {
    const Scaled& a = a_norms_[static_cast<std::size_t>(i)];
    const Scaled& b = b_norms_[static_cast<std::size_t>(j)];
    Exact norms;
    norms.add_product(a.frac, b.frac, a.exp + b.exp);
    for (const Factor& factor : factors(alpha_, element.part)) out += norms.times(std::abs(factor.value));
  }
  if (beta_ != T{0}) {
    const T c0 = c0_[static_cast<std::size_t>(j * m_ + i)];
    for (const Factor& factor : factors(beta_, element.part))
      out.add_product(std::abs(factor.value), std::abs(static_cast<double>(part_of(c0, factor.part))));
  }
  return out;
}

template <class T>
requires kIsScalar<T>
double Reference<T>::ratio(const Element& element, RealOf<T> got, const Allowance& allowed, std::int64_t i,
                           std::int64_t j) const {
  if (!(std::isfinite(allowed.units) && allowed.units >= 0 && std::isfinite(allowed.absolute) && allowed.absolute >= 0))
    return kNaN;
  if (element.cls != ValueClass::kFinite) return class_of(got) == element.cls ? 0 : kInf;
  if (std::isnan(got)) return kInf;
  Exact error = element.value;
  if (std::isinf(got)) {  // distance to the interval of numbers that round to this infinity
    error = overflow_threshold<RealOf<T>>();
    error -= got > 0 ? element.value : element.value.negated();
    if (error.sign() < 0) return 0;
  } else {
    error.add(-static_cast<double>(got));
  }
  Exact denominator = gauge(element, allowed.gauge, i, j).times(allowed.units);
  denominator.add(allowed.absolute);
  // The ratio is rounded up; an error of exactly what is allowed is not red for that.
  const double ratio = ratio_up(error, denominator);
  denominator -= error.abs();
  return ratio > 1 && denominator.sign() >= 0 ? 1 : ratio;
}

template <class T>
requires kIsScalar<T> RatioStats error_ratios(const Reference<T>& reference, MatrixView<const T> c,
                                              const Allowance& allowed, Sampling sampling, int threads) {
  return collect<T>(reference, c, sampling, threads,
                    [&](const typename Reference<T>::Element& element, RealOf<T> got, std::int64_t i, std::int64_t j) {
                      return reference.ratio(element, got, allowed, i, j);
                    });
}

template <class T>
requires kIsScalar<T> RatioStats bound_ratios(const Reference<T>& reference, MatrixView<const T> c,
                                              const BoundOfPart& bound, Sampling sampling, int threads) {
  return collect<T>(reference, c, sampling, threads,
                    [&](const typename Reference<T>::Element& element, RealOf<T> got, std::int64_t i, std::int64_t j) {
                      return reference.ratio(element, got, {Against::kEntry, 0, bound(i, j, element.part)}, i, j);
                    });
}

template <class T>
requires kIsScalar<T> Verdict correctly_rounded(const Reference<T>& reference, MatrixView<const T> c, Sampling sampling,
                                                int threads) {
  using R = RealOf<T>;
  const RatioStats stats =
      collect<T>(reference, c, sampling, threads,
                 [](const typename Reference<T>::Element& element, R got, std::int64_t, std::int64_t) {
                   const R want = rounded_element<R>(element.cls, element.value);
                   return got == want || (std::isnan(got) && std::isnan(want)) ? 0.0 : kInf;
                 });
  if (stats.count == 0) return red("no element was judged");
  if (stats.num_red == 0) return {};
  const R got = part_of(element(c, stats.row, stats.col), stats.part);
  const R want = part_of(reference.rounded(stats.row, stats.col), stats.part);
  return red(fmt::format("{} of ({}, {}) is {}, correctly rounded {}; {} of {} elements are red", to_string(stats.part),
                         stats.row, stats.col, print_real(got), print_real(want), stats.num_red, stats.count));
}

#define KIZAMI_INSTANTIATE(T)                                                                                    \
  template class Reference<T>;                                                                                   \
  template RatioStats error_ratios(const Reference<T>&, MatrixView<const T>, const Allowance&, Sampling, int);   \
  template RatioStats bound_ratios(const Reference<T>&, MatrixView<const T>, const BoundOfPart&, Sampling, int); \
  template Verdict correctly_rounded(const Reference<T>&, MatrixView<const T>, Sampling, int)

KIZAMI_INSTANTIATE(float);
KIZAMI_INSTANTIATE(double);
KIZAMI_INSTANTIATE(std::complex<float>);
KIZAMI_INSTANTIATE(std::complex<double>);
#undef KIZAMI_INSTANTIATE

}  // namespace kizami::check
