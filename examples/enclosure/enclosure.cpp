// SPDX-License-Identifier: MIT
// Proves that a matrix is not singular, and encloses the solution of A x = b, in FP64 and with a condition of 1e14.
//   X is any approximation of A^-1, y one of x. If ||I - XA|| <= alpha < 1, then A is not singular, and
//   ||x - y|| <= ||X (b - A y)|| / (1 - alpha)        [Rump, Verification methods, Acta Numerica 2010, sections 10.1 and 10.4]
// Norms are the largest absolute sums of rows. All of it is products, and a proof needs a bound for the error of each.
// Products rounded once (accuracy `correct`) prove it; with the bound that holds for FP64 products as a BLAS computes
// them nothing is proven: it is relative to |X||A|, which is as large as the condition.
#include <kizami/gemm.hpp>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace {

constexpr double kUnit = 0x1p-53;    // rounding to nearest
constexpr double kTiny = 0x1p-1074;  // and below the normal numbers
constexpr double kUp = 1 + 0x1p-30;  // covers the roundings of a sum of up to 2^20 terms that are not negative

/// By columns.
struct Matrix {
  std::int64_t rows, cols;
  std::vector<double> data;
  Matrix(std::int64_t m, std::int64_t n) : rows(m), cols(n), data(static_cast<std::size_t>(m * n)) {}
  double& operator()(std::int64_t i, std::int64_t j) { return data[static_cast<std::size_t>(i + j * rows)]; }
  double operator()(std::int64_t i, std::int64_t j) const { return data[static_cast<std::size_t>(i + j * rows)]; }
};

struct Product {
  Matrix value;
  double bound;  ///< |value - AB| <= bound |A||B|
};

Product multiply(const Matrix& a, const Matrix& b, kizami::Accuracy accuracy) {
  kizami::Policy policy;
  policy.accuracy = accuracy;
  kizami::Outcome outcome;
  Matrix c(a.rows, b.cols);
  const kizami::Status status =
      kizami::gemm<double>(kizami::Layout::kColMajor, kizami::Op::kNone, kizami::Op::kNone, a.rows, b.cols, a.cols, 1.0,
                           a.data.data(), a.rows, b.data.data(), b.rows, 0.0, c.data.data(), c.rows, policy, &outcome);
  if (!status.ok()) {
    std::fprintf(stderr, "enclosure: %s\n", status.reason().c_str());
    std::exit(1);
  }
  return {std::move(c), outcome.bound};
}

/// Random, with singular values from 1 to 1 / condition: reflections of a diagonal matrix.
Matrix ill_conditioned(std::int64_t n, double condition) {
  Matrix a(n, n);
  for (std::int64_t i = 0; i < n; ++i)
    a(i, i) = std::pow(condition, -static_cast<double>(i) / static_cast<double>(n - 1));
  std::mt19937_64 source(1);
  const auto normal = [&] {  // nearly, and the same on every machine
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += static_cast<double>(source() >> 11) * 0x1p-53;
    return sum;
  };
  for (const bool is_left : {true, false, true, false}) {
    std::vector<double> v(static_cast<std::size_t>(n));
    double square = 0;
    for (double& x : v) {
      x = normal();
      square += x * x;
    }
    for (std::int64_t line = 0; line < n; ++line) {
      const auto at = [&](std::int64_t i) -> double& { return is_left ? a(i, line) : a(line, i); };
      double dot = 0;
      for (std::int64_t i = 0; i < n; ++i) dot += v[static_cast<std::size_t>(i)] * at(i);
      for (std::int64_t i = 0; i < n; ++i) at(i) -= 2 * dot / square * v[static_cast<std::size_t>(i)];
    }
  }
  return a;
}

/// A^-1, roughly: Gauss and Jordan in FP64, with pivots.
Matrix approximate_inverse(Matrix a) {
  const std::int64_t n = a.rows;
  Matrix x(n, n);
  for (std::int64_t i = 0; i < n; ++i) x(i, i) = 1;
  for (std::int64_t p = 0; p < n; ++p) {
    std::int64_t pivot = p;
    for (std::int64_t i = p; i < n; ++i) pivot = std::fabs(a(i, p)) > std::fabs(a(pivot, p)) ? i : pivot;
    std::vector<double> factors(static_cast<std::size_t>(n));
    for (std::int64_t i = 0; i < n; ++i) factors[static_cast<std::size_t>(i)] = i == p ? 0 : a(i == pivot ? p : i, p);
    const double scale = 1 / a(pivot, p);
    for (Matrix* m : {&a, &x}) {
      for (std::int64_t j = 0; j < n; ++j) {
        std::swap((*m)(p, j), (*m)(pivot, j));
        (*m)(p, j) *= scale;
        const double of_pivot = (*m)(p, j);
        for (std::int64_t i = 0; i < n; ++i) (*m)(i, j) -= factors[static_cast<std::size_t>(i)] * of_pivot;
      }
    }
  }
  return x;
}

/// An upper bound of ||I - XA||, from a product of the two.
double distance_from_identity(const Matrix& x, const Matrix& a, bool is_rounded_once) {
  const auto [p, bound] = multiply(x, a, is_rounded_once ? kizami::Accuracy::correct() : kizami::Accuracy::native());
  // ||X||A|||, for a bound that is relative to it: |X| (|A| 1).
  const std::int64_t n = a.rows;
  double worst = 0;
  std::vector<double> sums(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < n; ++j) sums[static_cast<std::size_t>(i)] += std::fabs(a(i, j));
  }
  for (std::int64_t i = 0; i < n; ++i) {
    double row = 0;
    double gauge = 0;
    for (std::int64_t j = 0; j < n; ++j) {
      const double error = is_rounded_once ? kUnit * std::fabs(p(i, j)) + kTiny : 0;
      row += std::fabs((i == j ? 1.0 : 0.0) - p(i, j)) + error;
      gauge += std::fabs(x(i, j)) * sums[static_cast<std::size_t>(j)];
    }
    worst = std::fmax(worst, row + (is_rounded_once ? 0 : bound * gauge));
  }
  return worst * kUp;
}

/// b - A y, rounded once: one product of (b, A) and (1, -y).
Matrix residual(const Matrix& a, const Matrix& b, const Matrix& y) {
  Matrix left(a.rows, a.cols + 1);
  Matrix right(a.cols + 1, 1);
  for (std::int64_t i = 0; i < a.rows; ++i) {
    left(i, 0) = b(i, 0);
    for (std::int64_t j = 0; j < a.cols; ++j) left(i, j + 1) = a(i, j);
  }
  right(0, 0) = 1;
  for (std::int64_t j = 0; j < a.cols; ++j) right(j + 1, 0) = -y(j, 0);
  return multiply(left, right, kizami::Accuracy::correct()).value;
}

}  // namespace

int main() {
  constexpr std::int64_t kSize = 200;
  constexpr double kCondition = 1e14;
  const Matrix a = ill_conditioned(kSize, kCondition);
  Matrix b(kSize, 1);
  for (std::int64_t i = 0; i < kSize; ++i) b(i, 0) = 1;
  const Matrix x = approximate_inverse(a);

  const double by_native = distance_from_identity(x, a, false);
  const double alpha = distance_from_identity(x, a, true);
  std::printf("%ld x %ld, condition %.0e\n", static_cast<long>(kSize), static_cast<long>(kSize), kCondition);
  std::printf("||I - XA|| <= %.2g by products as accurate as FP64's: %s\n", by_native,
              by_native < 1 ? "A is not singular" : "nothing is proven");
  std::printf("||I - XA|| <= %.2g by products rounded once: %s\n", alpha,
              alpha < 1 ? "A is not singular" : "nothing is proven");
  if (!(alpha < 1)) return 1;

  // y <- y + X r, which needs few steps; then the enclosure, |b - A y - r| <= u |r|.
  Matrix y(kSize, 1);
  double radius = 0;
  double norm = 0;
  for (int step = 0; step < 8; ++step) {
    const Matrix r = residual(a, b, y);
    const Matrix correction = multiply(x, r, kizami::Accuracy::correct()).value;
    radius = 0;
    norm = 0;
    for (std::int64_t i = 0; i < kSize; ++i) {
      double uncertain = 0;
      for (std::int64_t j = 0; j < kSize; ++j) uncertain += std::fabs(x(i, j)) * (kUnit * std::fabs(r(j, 0)) + kTiny);
      const double size = std::fabs(correction(i, 0));
      radius = std::fmax(radius, (size + kUnit * size + kTiny + uncertain) * kUp / (1 - alpha) * kUp);
      norm = std::fmax(norm, std::fabs(y(i, 0)));
    }
    std::printf("step %d: ||y|| = %.16g, ||x - y|| <= %.2g\n", step, norm, radius);
    if (radius <= 4 * kUnit * norm) break;
    for (std::int64_t i = 0; i < kSize; ++i) y(i, 0) += correction(i, 0);
  }
  // A y of 53 bits cannot be nearer than half a unit, and this one is proven to be within a few.
  const bool is_proven = radius <= 4 * kUnit * norm && by_native >= 1;
  std::printf("%s\n", is_proven ? "every digit of the largest components is proven" : "not proven");
  return is_proven ? 0 : 1;
}
