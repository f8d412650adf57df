// SPDX-License-Identifier: MIT
#include "exact_sample.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "check/element.hpp"

namespace kizami::cli {
namespace {

constexpr std::int64_t kSampleLines = 32;

std::vector<std::int64_t> spread(std::int64_t n) {
  const std::int64_t count = n < kSampleLines ? n : kSampleLines;
  std::vector<std::int64_t> out(static_cast<std::size_t>(count));
  for (std::int64_t t = 0; t < count; ++t) out[static_cast<std::size_t>(t)] = count > 1 ? t * (n - 1) / (count - 1) : 0;
  return out;
}

/// The elements (row(i), col(j)), row by row.
template <class T, class Row, class Col>
std::vector<T> gathered(MatrixView<const T> x, std::int64_t rows, std::int64_t cols, const Row& row, const Col& col) {
  std::vector<T> out(static_cast<std::size_t>(rows * cols));
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < cols; ++j)
      out[static_cast<std::size_t>(i * cols + j)] = check::element(x, row(i), col(j));
  }
  return out;
}

template <class T>
MatrixView<const T> row_major(const std::vector<T>& x, std::int64_t rows, std::int64_t cols) {
  return {x.data(), rows, cols, cols, 1};
}

auto element_of(const std::vector<std::int64_t>& list) {
  return [&list](std::int64_t i) { return list[static_cast<std::size_t>(i)]; };
}

std::int64_t length(const std::vector<std::int64_t>& list) { return static_cast<std::int64_t>(list.size()); }

template <class T>
check::Reference<T> sampled_reference(const std::vector<std::int64_t>& rows, const std::vector<std::int64_t>& cols,
                                      T alpha, MatrixView<const T> a, MatrixView<const T> b, T beta,
                                      MatrixView<const T> c0) {
  const auto same = [](std::int64_t l) { return l; };
  const std::int64_t k = a.cols;
  const std::vector<T> a_rows = gathered(a, length(rows), k, element_of(rows), same);
  const std::vector<T> b_cols = gathered(b, k, length(cols), same, element_of(cols));
  std::vector<T> c_part;
  if (beta != T{0}) c_part = gathered(c0, length(rows), length(cols), element_of(rows), element_of(cols));
  return {alpha, row_major(a_rows, length(rows), k), row_major(b_cols, k, length(cols)), beta,
          row_major(c_part, length(rows), length(cols))};
}

}  // namespace

template <class T>
check::Allowance allowance_of(T alpha, T beta, double bound, Gauge gauge) {
  using R = RealOf<T>;
  constexpr double kTiny = std::numeric_limits<R>::denorm_min();
  // Half a unit in the last place of the type; FP32 results are rounded to FP64 first.
  constexpr double kRounding = sizeof(R) == 4 ? 0x1p-24 + 0x1p-52 : 0x1p-53 * (1 + 0x1p-40);
  constexpr int kRoundings = kIsComplex<T> ? 4 : 2;
  // Half the smallest subnormal number; for FP64 that is no double, so a whole one.
  check::Allowance out{check::against(gauge), bound, sizeof(R) == 4 ? kTiny / 2 : kTiny};
  if ((alpha == T{1} || alpha == T{-1}) && beta == T{0}) return out;
  // alpha p + beta C0 rounds so often, and |p| <= (1 + bound) G. Exponents of p have no limits: it loses nothing to
  // underflow that alpha could make large.
  out.units += kRoundings * kRounding * (1 + bound);
  out.absolute = kTiny;
  return out;
}

template <class T>
ExactSample<T>::ExactSample(T alpha, MatrixView<const T> a, MatrixView<const T> b, T beta, MatrixView<const T> c0)
    : rows_(spread(a.rows)),
      cols_(spread(b.cols)),
      alpha_(alpha),
      beta_(beta),
      reference_(sampled_reference(rows_, cols_, alpha, a, b, beta, c0)) {}

template <class T>
bool ExactSample<T>::is_overflowed(MatrixView<const T> c, std::int64_t i, std::int64_t j) const {
  using R = RealOf<T>;
  const T got = check::element(c, i, j);
  const auto is_infinite = [&](check::Part part) { return std::isinf(check::part_of(got, part)); };
  if (std::none_of(check::kPartsOf<T>.begin(), check::kPartsOf<T>.end(), is_infinite)) return false;
  const T exact = reference_.rounded(i, j);
  return std::any_of(check::kPartsOf<T>.begin(), check::kPartsOf<T>.end(), [&](check::Part part) {
    return is_infinite(part) && std::abs(check::part_of(exact, part)) <= std::numeric_limits<R>::max() / 2;
  });
}

template <class T>
SampleError ExactSample<T>::judge(MatrixView<const T> c, double bound, Gauge gauge, bool is_conditional,
                                  int threads) const {
  const std::vector<T> part = gathered(c, length(rows_), length(cols_), element_of(rows_), element_of(cols_));
  const MatrixView<const T> view = row_major(part, length(rows_), length(cols_));
  const check::Allowance in_gauge{check::against(gauge), 1, 0};
  const check::Allowance allowed = allowance_of(alpha_, beta_, bound, gauge);
  const check::RatioStats ratios = check::error_ratios(reference_, view, allowed, {}, threads);
  SampleError out;
  out.error = check::error_ratios(reference_, view, in_gauge, {}, threads).max;
  out.error_over_bound = ratios.max;
  out.checked_elements = ratios.count;
  if (ratios.row >= 0) {
    out.row = rows_[static_cast<std::size_t>(ratios.row)];
    out.col = cols_[static_cast<std::size_t>(ratios.col)];
  }
  for (std::int64_t i = 0; is_conditional && i < view.rows; ++i) {
    for (std::int64_t j = 0; j < view.cols; ++j) {
      if (!is_overflowed(view, i, j)) continue;
      out.error = out.error_over_bound = std::numeric_limits<double>::infinity();
      out.row = rows_[static_cast<std::size_t>(i)];
      out.col = cols_[static_cast<std::size_t>(j)];
      return out;
    }
  }
  return out;
}

template <class T>
check::Verdict ExactSample<T>::correctly_rounded(MatrixView<const T> c, int threads) const {
  if (rows_.empty() || cols_.empty()) return {};  // which the check kit takes for a mistake
  const std::vector<T> part = gathered(c, length(rows_), length(cols_), element_of(rows_), element_of(cols_));
  return check::correctly_rounded<T>(reference_, row_major(part, length(rows_), length(cols_)), {}, threads);
}

template check::Allowance allowance_of(float, float, double, Gauge);
template check::Allowance allowance_of(double, double, double, Gauge);
template check::Allowance allowance_of(std::complex<float>, std::complex<float>, double, Gauge);
template check::Allowance allowance_of(std::complex<double>, std::complex<double>, double, Gauge);
template class ExactSample<float>;
template class ExactSample<double>;
template class ExactSample<std::complex<float>>;
template class ExactSample<std::complex<double>>;

}  // namespace kizami::cli
