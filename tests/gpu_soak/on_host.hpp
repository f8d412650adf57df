// SPDX-License-Identifier: MIT
// A case with its matrices on the host: its result by the definitions of BLAS in long double, and the judge's
// arithmetic on it.
#pragma once

#include <algorithm>
#include <complex>
#include <cstdint>
#include <random>
#include <vector>

#include "gpu_soak/judged.hpp"

namespace gpu_soak {

using kizami::Op;
using Wide = std::complex<long double>;

/// Rows x cols numbers, by columns.
struct Dense {
  std::int64_t rows, cols;
  std::vector<Wide> values;

  Dense(std::int64_t r, std::int64_t c) : rows(r), cols(c), values(static_cast<std::size_t>(r * c)) {}
  Wide& at(std::int64_t i, std::int64_t j) { return values[static_cast<std::size_t>(i + j * rows)]; }
  [[nodiscard]] const Wide& at(std::int64_t i, std::int64_t j) const {
    return values[static_cast<std::size_t>(i + j * rows)];
  }
};

inline Dense operated(const Dense& x, Op op) {
  if (op == Op::kNone) return x;
  Dense y(x.cols, x.rows);
  for (std::int64_t i = 0; i < x.rows; ++i) {
    for (std::int64_t j = 0; j < x.cols; ++j)
      y.at(j, i) = op == Op::kConjTranspose ? std::conj(x.at(i, j)) : x.at(i, j);
  }
  return y;
}

inline Dense product(const Dense& x, const Dense& y) {
  Dense z(x.rows, y.cols);
  for (std::int64_t i = 0; i < x.rows; ++i) {
    for (std::int64_t j = 0; j < y.cols; ++j) {
      long double re = 0, im = 0;  // by parts: std::complex has opinions on infinities
      for (std::int64_t l = 0; l < x.cols; ++l) {
        const Wide a = x.at(i, l), b = y.at(l, j);
        re += a.real() * b.real() - a.imag() * b.imag();
        im += a.real() * b.imag() + a.imag() * b.real();
      }
      z.at(i, j) = {re, im};
    }
  }
  return z;
}

/// A case with its matrices on the host.
template <class R, bool kIsComplex>
class OnHost {
 public:
  static constexpr int kParts = kIsComplex ? 2 : 1;

  explicit OnHost(const Case& x)
      : x_(x), a_(filled(x.used_a(), 1)), b_(filled(x.used_b(), 2)), c0_(filled(x.used_c(), 3)) {
    if (x.routine == Routine::kTrsm) {
      const Matrix& a = x.first().a;
      for (R& part : a_) part /= static_cast<R>(a.ld);
      for (std::int64_t i = 0; i < a.rows; ++i) a_[static_cast<std::size_t>((a.offset + i * (a.ld + 1)) * kParts)] += 2;
    }
    c_ = c0_;
  }

  std::vector<R>& a() { return a_; }
  std::vector<R>& c() { return c_; }
  void set_factors(std::complex<double> alpha, std::complex<double> beta) {
    for (Section& s : x_.sections) {
      s.alpha = alpha;
      s.beta = beta;
    }
  }

  /// C by the definitions.
  void compute() {
    for (const Section& s : x_.sections) {
      for (int p = 0; p < s.num_products; ++p) store(s, p, result(s, p));
    }
  }

  struct Count {
    std::int64_t judged = 0, wrong = 0, misplaced = 0;
    double worst = 0;
  };
  [[nodiscard]] Count judge(int bits = 0) {
    Count count;
    const std::vector<R> solution = c_;
    for (const Judged& j :
         judged_of(x_, {a_.data(), b_.data(), c0_.data(), solution.data(), c_.data()}, {bits, true})) {
      for (int p = 0; p < j.num_products; ++p) {
        for (std::int64_t col = 0; col < j.n; ++col) {
          for (std::int64_t row = 0; row < j.m; ++row) {
            if (j.written == Triangle::kLower ? row < col : j.written == Triangle::kUpper && row > col) continue;
            const Verdict verdict = verdict_of(j, p, row, col);
            ++count.judged;
            count.misplaced += verdict.is_misplaced;
            count.wrong += !verdict.is_misplaced && !(verdict.ratio <= 1);
            count.worst = std::max(count.worst, verdict.ratio);
          }
        }
      }
    }
    return count;
  }

 private:
  static std::vector<R> filled(std::int64_t elements, std::uint64_t seed) {
    std::vector<R> parts(static_cast<std::size_t>(elements * kParts));
    std::mt19937_64 source(seed);
    for (R& part : parts) part = static_cast<R>(static_cast<double>(source() >> 11) * 0x1p-52 - 1);
    return parts;
  }
  static Wide number(const std::vector<R>& x, std::int64_t at) {
    const auto i = static_cast<std::size_t>(at * kParts);
    return {x[i], kIsComplex ? x[i + kParts - 1] : R{}};
  }
  static Dense stored(const std::vector<R>& x, const Matrix& matrix, int product, int num_products) {
    Dense dense(matrix.rows, matrix.cols);
    const std::int64_t start = matrix.start(product, num_products);
    for (std::int64_t j = 0; j < matrix.cols; ++j) {
      for (std::int64_t i = 0; i < matrix.rows; ++i) dense.at(i, j) = number(x, start + i + j * matrix.ld);
    }
    return dense;
  }

  /// What A stands for: written out in full, zeros beside a triangle.
  [[nodiscard]] Dense written_out(Dense a) const {
    const bool is_hermitian = x_.routine == Routine::kHemm;
    for (std::int64_t j = 0; j < a.cols; ++j) {
      for (std::int64_t i = 0; i < a.rows; ++i) {
        if (i == j) {
          if (is_hermitian) a.at(i, i) = a.at(i, i).real();
          if (is_triangular(x_.routine) && x_.is_unit) a.at(i, i) = 1;
        } else if ((i > j) != x_.is_lower) {
          const Wide mirrored = is_hermitian ? std::conj(a.at(j, i)) : a.at(j, i);
          a.at(i, j) = is_triangular(x_.routine) ? 0 : mirrored;
        }
      }
    }
    return a;
  }

  /// op(A) X = B, by substitution.
  static Dense solved(const Dense& t, Dense x) {
    const bool is_lower = t.rows < 2 || t.at(0, t.cols - 1) == Wide(0);
    for (std::int64_t j = 0; j < x.cols; ++j) {
      for (std::int64_t step = 0; step < t.rows; ++step) {
        const std::int64_t i = is_lower ? step : t.rows - 1 - step;
        Wide sum = x.at(i, j);
        for (std::int64_t l = is_lower ? 0 : i + 1; l < (is_lower ? i : t.rows); ++l) sum -= t.at(i, l) * x.at(l, j);
        x.at(i, j) = sum / t.at(i, i);
      }
    }
    return x;
  }

  [[nodiscard]] Dense result(const Section& s, int p) const {
    const Wide alpha(s.alpha), beta(s.beta);
    const Dense a = operated(stored(a_, s.a, p, s.num_products), s.op_a);
    const Dense b = operated(stored(b_, s.b, p, s.num_products), s.op_b);
    Dense c = stored(c0_, s.c, p, s.num_products);
    const auto combined = [&](const Dense& sum) {
      for (std::size_t i = 0; i < c.values.size(); ++i) {
        const Wide q = sum.values[i], before = beta == Wide(0) ? Wide(0) : c.values[i];
        c.values[i] = {alpha.real() * q.real() - (alpha.imag() != 0 ? alpha.imag() * q.imag() : 0) +
                           beta.real() * before.real() - beta.imag() * before.imag(),
                       alpha.real() * q.imag() + (alpha.imag() != 0 ? alpha.imag() * q.real() : 0) +
                           beta.real() * before.imag() + beta.imag() * before.real()};
      }
      return c;
    };
    if (is_rank_update(x_.routine)) {
      const Op other = x_.routine == Routine::kHerk ? Op::kConjTranspose : Op::kTranspose;
      if (x_.routine != Routine::kSyr2k) {
        Dense sum = product(a, operated(a, other));
        combined(sum);
        for (std::int64_t i = 0; i < c.rows && x_.routine == Routine::kHerk; ++i) c.at(i, i) = c.at(i, i).real();
        return c;
      }
      Dense sum = product(a, operated(b, other));
      const Dense second = product(b, operated(a, other));
      for (std::size_t i = 0; i < sum.values.size(); ++i) sum.values[i] += second.values[i];
      return combined(sum);
    }
    if (!is_level3(x_.routine)) return combined(product(a, b));
    const Dense full = operated(written_out(stored(a_, s.a, p, 1)), s.op_a);
    if (x_.routine == Routine::kTrsm) {
      for (Wide& value : c.values) value *= alpha;
      if (x_.is_left) return solved(full, c);
      return operated(solved(operated(full, Op::kTranspose), operated(c, Op::kTranspose)), Op::kTranspose);
    }
    const Dense other = x_.is_in_place ? c : b;
    return combined(x_.is_left ? product(full, other) : product(other, full));
  }

  void store(const Section& s, int p, const Dense& result) {
    const std::int64_t start = s.c.start(p, s.num_products);
    for (std::int64_t j = 0; j < s.n; ++j) {
      for (std::int64_t i = 0; i < s.m; ++i) {
        if (is_rank_update(x_.routine) && (x_.is_lower ? i < j : i > j)) continue;
        const auto at = static_cast<std::size_t>((start + i + j * s.c.ld) * kParts);
        c_[at] = static_cast<R>(result.at(i, j).real());
        if constexpr (kIsComplex) c_[at + 1] = static_cast<R>(result.at(i, j).imag());
      }
    }
  }

  [[nodiscard]] Verdict verdict_of(const Judged& j, int p, std::int64_t row, std::int64_t col) const {
    Accumulator<R, kIsComplex> sum;
    const auto first = [&](const Operand& x) {
      const std::int64_t start = x.offset + x.stride * ((p + x.rotation) % j.num_products);
      return static_cast<const R*>(x.data) + start * kParts;
    };
    for (int t = 0; t < j.num_terms; ++t) {
      for (std::int64_t l = 0; l < j.k; ++l) {
        sum.add(element_of<R, kIsComplex>(j.terms[t].left, first(j.terms[t].left), row, l),
                element_of<R, kIsComplex>(j.terms[t].right, first(j.terms[t].right), l, col));
      }
    }
    const std::int64_t at = j.c.offset + j.c.stride * ((p + j.c.rotation) % j.num_products) + row + col * j.c.ld;
    const auto narrow = [&](const std::vector<R>& x) {
      const Wide value = number(x, at);
      return Number{static_cast<double>(value.real()), static_cast<double>(value.imag())};
    };
    Number c0 = narrow(c0_);
    if (j.is_residual) return judge_residual<R, kIsComplex>(sum, j.factors.alpha, c0, j.allowed);
    if (j.has_real_diagonal && row == col) c0.im = 0;
    return judge_element<R, kIsComplex>(sum, j.factors, c0, narrow(c_), j.allowed);
  }

  Case x_;
  std::vector<R> a_, b_, c0_, c_;
};

}  // namespace gpu_soak
