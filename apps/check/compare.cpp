// SPDX-License-Identifier: MIT
#include "check/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "check/exact.hpp"

namespace kizami::check {
namespace {

template <class R>
using BitsOf = std::conditional_t<std::is_same_v<R, float>, std::uint32_t, std::uint64_t>;

/// Whether `equal` holds for every part of two numbers.
template <class T, class Equal>
bool all_parts(const T& x, const T& y, const Equal& equal) {
  return std::all_of(kPartsOf<T>.begin(), kPartsOf<T>.end(),
                     [&](Part part) { return equal(part_of(x, part), part_of(y, part)); });
}

template <class T>
std::string show(const T& x) {
  const auto bits = [&](Part part) {
    return fmt::format("0x{:0{}x}", std::bit_cast<BitsOf<RealOf<T>>>(part_of(x, part)), 2 * sizeof(RealOf<T>));
  };
  if constexpr (kIsComplex<T>) {
    return fmt::format("({}, {}) ({}, {})", x.real(), x.imag(), bits(Part::kReal), bits(Part::kImaginary));
  } else {
    return fmt::format("{} ({})", x, bits(Part::kReal));
  }
}

/// Compares element by element with `equal`; the message reports the first failure in row order and the number of
/// failures.
template <class T, class Equal>
Verdict compare(MatrixView<const T> got, MatrixView<const T> want, const char* what, const Equal& equal) {
  if (got.rows != want.rows || got.cols != want.cols) {
    return red(fmt::format("shapes differ: got {} x {}, want {} x {}", got.rows, got.cols, want.rows, want.cols));
  }
  std::int64_t num_red = 0, row = 0, col = 0;
  for (std::int64_t i = 0; i < got.rows; ++i) {
    for (std::int64_t j = 0; j < got.cols; ++j) {
      if (all_parts(element(got, i, j), element(want, i, j), equal)) continue;
      if (num_red++ == 0) row = i, col = j;
    }
  }
  if (num_red == 0) return {};
  return red(fmt::format("{} differ at ({}, {}): got {}, want {}; {} of {} elements differ", what, row, col,
                         show(element(got, row, col)), show(element(want, row, col)), num_red, got.rows * got.cols));
}

/// Order with NaN above everything.
bool ratio_less(double x, double y) { return std::isnan(y) ? !std::isnan(x) : x < y; }

}  // namespace

template <class T>
requires kIsScalar<T> Verdict bits_equal(MatrixView<const T> got, MatrixView<const T> want) {
  return compare<T>(got, want, "bits",
                    []<class R>(R x, R y) { return std::bit_cast<BitsOf<R>>(x) == std::bit_cast<BitsOf<R>>(y); });
}
template Verdict bits_equal(MatrixView<const float>, MatrixView<const float>);
template Verdict bits_equal(MatrixView<const double>, MatrixView<const double>);
template Verdict bits_equal(MatrixView<const std::complex<float>>, MatrixView<const std::complex<float>>);
template Verdict bits_equal(MatrixView<const std::complex<double>>, MatrixView<const std::complex<double>>);

template <class T>
requires kIsScalar<T> Verdict promised_bits_equal(MatrixView<const T> got, MatrixView<const T> want) {
  return compare<T>(got, want, "bits", []<class R>(R x, R y) {
    return (std::isnan(x) && std::isnan(y)) || std::bit_cast<BitsOf<R>>(x) == std::bit_cast<BitsOf<R>>(y);
  });
}
template Verdict promised_bits_equal(MatrixView<const float>, MatrixView<const float>);
template Verdict promised_bits_equal(MatrixView<const double>, MatrixView<const double>);
template Verdict promised_bits_equal(MatrixView<const std::complex<float>>, MatrixView<const std::complex<float>>);
template Verdict promised_bits_equal(MatrixView<const std::complex<double>>, MatrixView<const std::complex<double>>);

template <class T>
requires kIsScalar<T> Verdict same_placement(MatrixView<const T> got, MatrixView<const T> want) {
  return compare<T>(got, want, "placements of NaN and Inf",
                    []<class R>(R x, R y) { return class_of(x) == class_of(y); });
}
template Verdict same_placement(MatrixView<const float>, MatrixView<const float>);
template Verdict same_placement(MatrixView<const double>, MatrixView<const double>);
template Verdict same_placement(MatrixView<const std::complex<float>>, MatrixView<const std::complex<float>>);
template Verdict same_placement(MatrixView<const std::complex<double>>, MatrixView<const std::complex<double>>);

void RatioCollector::add(std::int64_t row, std::int64_t col, double ratio, bool is_zero, Part part) {
  ratios_.push_back(ratio);
  stats_.num_red += !(ratio <= 1) ? 1 : 0;
  stats_.num_zero += is_zero ? 1 : 0;
  if (stats_.row < 0 || (!std::isnan(stats_.max) && !(ratio <= stats_.max))) {
    stats_.max = ratio;
    stats_.row = row;
    stats_.col = col;
    stats_.part = part;
  }
}

void RatioCollector::merge(const RatioCollector& other) {
  ratios_.insert(ratios_.end(), other.ratios_.begin(), other.ratios_.end());
  stats_.num_red += other.stats_.num_red;
  stats_.num_zero += other.stats_.num_zero;
  if (other.stats_.row >= 0 && (stats_.row < 0 || (!std::isnan(stats_.max) && !(other.stats_.max <= stats_.max)))) {
    stats_.max = other.stats_.max;
    stats_.row = other.stats_.row;
    stats_.col = other.stats_.col;
    stats_.part = other.stats_.part;
  }
}

RatioStats RatioCollector::stats() const {
  RatioStats out = stats_;
  out.count = static_cast<std::int64_t>(ratios_.size());
  if (ratios_.empty()) return out;
  std::vector<double> sorted = ratios_;
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end(), ratio_less);
  out.median = *middle;
  return out;
}

Verdict ratio_at_most_one(double ratio) {
  if (!(ratio <= 1)) return red(fmt::format("ratio {} is not <= 1", ratio));
  return {};
}

Verdict ratio_at_most_one(const RatioStats& stats) {
  if (stats.count == 0) return red("no element was judged");
  if (!(stats.max <= 1) || stats.num_red != 0) {
    const std::string_view part = stats.part == Part::kImaginary ? ", imaginary part," : "";
    return red(fmt::format("ratio {} at ({}, {}){} is not <= 1; {} of {} elements are red, median {}", stats.max,
                           stats.row, stats.col, part, stats.num_red, stats.count, stats.median));
  }
  return {};
}

}  // namespace kizami::check
