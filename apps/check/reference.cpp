// SPDX-License-Identifier: MIT
#include "check/reference.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "check/parallel.hpp"

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

/// The rows of a view, contiguous and in double.
template <class T>
std::vector<double> packed_rows(MatrixView<const T> x) {
  std::vector<double> out(static_cast<std::size_t>(x.rows * x.cols));
  for (std::int64_t i = 0; i < x.rows; ++i) {
    for (std::int64_t l = 0; l < x.cols; ++l) out[static_cast<std::size_t>(i * x.cols + l)] = x(i, l);
  }
  return out;
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
      const typename Reference<T>::Element element = reference.element(i, j);
      const bool is_zero = element.cls == ValueClass::kFinite && element.value.sign() == 0;
      columns[column].add(i, j, ratio_of(element, c(i, j), i, j), is_zero);
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
  const int min_subnormal_exp = scalar == Scalar::kF32 ? -149 : -1074;
  Allowance out{against(gauge), std::ldexp(1.0, -accuracy.bits), std::ldexp(1.0, min_subnormal_exp - 1)};
  if (accuracy.kind == Accuracy::Kind::kNative) {
    const auto terms = static_cast<double>(std::max<std::int64_t>(k, 1));
    const double root = to_double(sqrt_bound(Exact(terms), Rounding::kDown), Rounding::kDown);
    out.units = std::ldexp(std::min(std::max(terms, 8.0), 16 * root), -digits);
  }
  return out;
}

template <class T>
requires kIsScalar<T> Reference<T>::Reference(T alpha, MatrixView<const T> a, MatrixView<const T> b, T beta,
                                              MatrixView<const T> c0)
    : m_(a.rows), n_(b.cols), k_(a.cols), alpha_(alpha), beta_(beta) {
  if (alpha != 0) {
    a_rows_ = packed_rows(a);
    b_columns_ = packed_rows(b.transposed());
    a_norms_ = norms_of_rows(a_rows_, m_, k_);
    b_norms_ = norms_of_rows(b_columns_, n_, k_);
  }
  if (beta != 0) {
    c0_.resize(static_cast<std::size_t>(m_ * n_));
    for (std::int64_t j = 0; j < n_; ++j) {
      for (std::int64_t i = 0; i < m_; ++i) c0_[static_cast<std::size_t>(j * m_ + i)] = c0(i, j);
    }
  }
}

template <class T>
requires kIsScalar<T> ExactDot Reference<T>::dot(std::int64_t i, std::int64_t j)
const {
  ExactDot out;
  if (alpha_ == 0) return out;
  const double* a = a_rows_.data() + i * k_;
  const double* b = b_columns_.data() + j * k_;
  for (std::int64_t l = 0; l < k_; ++l) out.add(a[l], b[l]);
  return out;
}

template <class T>
requires kIsScalar<T>
typename Reference<T>::Element Reference<T>::element(std::int64_t i, std::int64_t j) const {
  Element out;
  if (alpha_ != 0 && k_ > 0) {
    const ExactDot product = dot(i, j);
    const Exact sum = product.sum();
    out.cls = class_of_scaled(alpha_, product.value_class(), sum);
    if (out.cls == ValueClass::kFinite) {
      out.value = sum.times(alpha_);
      out.entry = product.abs_sum().times(std::abs(alpha_));
    }
  }
  if (beta_ != 0) {
    const double c0 = c0_[static_cast<std::size_t>(j * m_ + i)];
    const ValueClass term = class_of_product(beta_, c0);
    out.cls = class_of_sum(out.cls, term);
    if (out.cls == ValueClass::kFinite) {
      out.value.add_product(beta_, c0);
      out.entry.add_product(std::abs(beta_), std::abs(c0));
    }
  }
  return out;
}

template <class T>
requires kIsScalar<T> T Reference<T>::rounded(std::int64_t i, std::int64_t j)
const {
  const Element e = element(i, j);
  switch (e.cls) {
    case ValueClass::kFinite:
      return e.value.template rounded<T>();
    case ValueClass::kNaN:
      return std::numeric_limits<T>::quiet_NaN();
    case ValueClass::kPosInf:
      return std::numeric_limits<T>::infinity();
    case ValueClass::kNegInf:
      return -std::numeric_limits<T>::infinity();
  }
  return 0;
}

template <class T>
requires kIsScalar<T> std::vector<T> Reference<T>::rounded_all(int threads)
const {
  std::vector<T> out(static_cast<std::size_t>(m_ * n_));
  parallel_for(n_, m_ * n_ * std::max<std::int64_t>(k_, 64), threads, [&](std::int64_t j) {
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
  if (alpha_ != 0) {
    const Scaled& a = a_norms_[static_cast<std::size_t>(i)];
    const Scaled& b = b_norms_[static_cast<std::size_t>(j)];
    out.add_product(a.frac, b.frac, a.exp + b.exp);
    out = out.times(std::abs(alpha_));
  }
  if (beta_ != 0)
    out.add_product(std::abs(beta_), std::abs(static_cast<double>(c0_[static_cast<std::size_t>(j * m_ + i)])));
  return out;
}

template <class T>
requires kIsScalar<T>
double Reference<T>::ratio(const Element& element, T got, const Allowance& allowed, std::int64_t i,
                           std::int64_t j) const {
  if (!(std::isfinite(allowed.units) && allowed.units >= 0 && std::isfinite(allowed.absolute) && allowed.absolute >= 0))
    return kNaN;
  if (element.cls != ValueClass::kFinite) return class_of(got) == element.cls ? 0 : kInf;
  if (std::isnan(got)) return kInf;
  Exact error = element.value;
  if (std::isinf(got)) {  // distance to the interval of numbers that round to this infinity
    error = overflow_threshold<T>();
    error -= got > 0 ? element.value : element.value.negated();
    if (error.sign() < 0) return 0;
  } else {
    error.add(-static_cast<double>(got));
  }
  Exact denominator = gauge(element, allowed.gauge, i, j).times(allowed.units);
  denominator.add(allowed.absolute);
  return ratio_up(error, denominator);
}

template class Reference<float>;
template class Reference<double>;

template <class T>
requires kIsScalar<T> RatioStats error_ratios(const Reference<T>& reference, MatrixView<const T> c,
                                              const Allowance& allowed, Sampling sampling, int threads) {
  return collect<T>(reference, c, sampling, threads,
                    [&](const typename Reference<T>::Element& element, T got, std::int64_t i, std::int64_t j) {
                      return reference.ratio(element, got, allowed, i, j);
                    });
}
template RatioStats error_ratios(const Reference<float>&, MatrixView<const float>, const Allowance&, Sampling, int);
template RatioStats error_ratios(const Reference<double>&, MatrixView<const double>, const Allowance&, Sampling, int);

template <class T>
requires kIsScalar<T> RatioStats bound_ratios(const Reference<T>& reference, MatrixView<const T> c,
                                              const std::function<double(std::int64_t, std::int64_t)>& bound,
                                              Sampling sampling, int threads) {
  return collect<T>(reference, c, sampling, threads,
                    [&](const typename Reference<T>::Element& element, T got, std::int64_t i, std::int64_t j) {
                      return reference.ratio(element, got, {Against::kEntry, 0, bound(i, j)}, i, j);
                    });
}
template RatioStats bound_ratios(const Reference<float>&, MatrixView<const float>,
                                 const std::function<double(std::int64_t, std::int64_t)>&, Sampling, int);
template RatioStats bound_ratios(const Reference<double>&, MatrixView<const double>,
                                 const std::function<double(std::int64_t, std::int64_t)>&, Sampling, int);

}  // namespace kizami::check
