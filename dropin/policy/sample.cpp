// SPDX-License-Identifier: MIT
#include "dropin/policy/sample.hpp"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <limits>
#include <utility>

#include "dropin/policy/worst_ratio.hpp"

namespace kizami::dropin {
namespace {

#if LDBL_MANT_DIG == 113
using Wide = long double;
#else
__extension__ using Wide = __float128;
#endif

Wide magnitude(Wide x) { return x < 0 ? -x : x; }

/// The square root to FP64's digits, of numbers whose exponents FP64 does not have. @range x >= 0, or NaN
Wide root(Wide x) {
  Wide scale = 1;
  for (; x > 0 && x < 0x1p-500L; x *= 0x1p1000L) scale *= 0x1p-500L;
  for (; x > 0x1p500L && x <= static_cast<Wide>(DBL_MAX) * DBL_MAX * DBL_MAX; x *= 0x1p-1000L) scale *= 0x1p500L;
  return scale * std::sqrt(static_cast<double>(x));
}

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
  [[nodiscard]] Wide norms() const { return root(norm_x) * root(norm_y); }
};

/// Row i of op(X), `count` elements long.
template <class T>
std::vector<T> row_of(const ReadLine<T>& read, char op, const T* data, std::int64_t ld, std::int64_t i,
                      std::int64_t count) {
  std::vector<T> line = is_transposed(op) ? read(data + i * ld, count, 1) : read(data + i, count, ld);
  if (op == 'C' || op == 'R') {
    for (T& x : line) x = conjugate(x);
  }
  return line;
}
/// Column j of op(X).
template <class T>
std::vector<T> column_of(const ReadLine<T>& read, char op, const T* data, std::int64_t ld, std::int64_t j,
                         std::int64_t count) {
  constexpr auto kTransposed = [](char letter) {  // op(X)^T = transposed(op)(X)
    return letter == 'N' ? 'T' : letter == 'T' ? 'N' : letter == 'C' ? 'R' : 'C';
  };
  return row_of(read, kTransposed(op), data, ld, j, count);
}

/// Row i (or column) of A, of which one triangle is stored.
template <class T>
std::vector<T> symmetric_line(const ReadLine<T>& read, const TypedCall<T>& x, std::int64_t i, bool is_row) {
  const bool is_hemm = x.routine == Routine::kHemm;
  std::vector<T> row = row_of(read, 'N', x.a, x.lda, i, x.k);
  const std::vector<T> column = row_of(read, is_hemm ? 'C' : 'T', x.a, x.lda, i, x.k);
  for (std::int64_t p = 0; p < x.k; ++p) {
    T& value = row[static_cast<std::size_t>(p)];
    if (x.uplo == 'U' ? p < i : p > i) value = column[static_cast<std::size_t>(p)];
    if (is_hemm && p == i) value = T(parts(value).re);
    if (is_hemm && !is_row) value = conjugate(value);
  }
  return row;
}

/// Row i (or column) of op(A), triangular: zero beside the stored triangle, one on the diagonal of a unit one.
template <class T>
std::vector<T> triangular_line(const ReadLine<T>& read, const TypedCall<T>& x, std::int64_t i, bool is_row) {
  const bool is_lower = (x.uplo == 'L') == (x.op_a == 'N');
  std::vector<T> line = is_row ? row_of(read, x.op_a, x.a, x.lda, i, x.k) : column_of(read, x.op_a, x.a, x.lda, i, x.k);
  for (std::int64_t p = 0; p < x.k; ++p) {
    T& value = line[static_cast<std::size_t>(p)];
    if (is_lower == is_row ? p > i : p < i) value = T{};
    if (p == i && x.diag == 'U') value = T{1};
  }
  return line;
}

/// What is expected of one element, and how far C may be from it.
template <class T>
struct Expected {
  Wide re = 0, im = 0;
  Wide allowed_re = 0, allowed_im = 0;

  /// factor * sum.
  void add(T factor, const Sum<T>& sum, const Allowance& allowance) {
    const double u = std::is_same_v<RealOf<T>, float> ? FLT_EPSILON / 2 : DBL_EPSILON / 2;
    const auto f = parts(factor);
    const auto term = [&](Wide scale, const PartSum& part, Wide& value, Wide& allowed, Wide sign) {
      const Wide gauge = allowance.gauge == Gauge::kEntry ? part.entries : sum.norms();
      value += sign * scale * part.value;
      allowed += magnitude(scale) * (allowance.bound * gauge + allowance.roundings * u * part.entries);
    };
    term(f.re, sum.re, re, allowed_re, 1);
    term(f.im, sum.im, re, allowed_re, -1);
    term(f.re, sum.im, im, allowed_im, 1);
    term(f.im, sum.re, im, allowed_im, 1);
  }
};

template <class T>
Sum<T> sum_of(const std::vector<T>& left, const std::vector<T>& right) {
  Sum<T> sum;
  for (std::size_t p = 0; p < left.size(); ++p) sum.add(left[p], right[p]);
  return sum;
}

template <class T>
double part_ratio(Wide expected, Wide allowed, T got) {
  if (!std::isfinite(static_cast<double>(expected)) || !std::isfinite(static_cast<double>(allowed))) return -1;
  const Wide error = magnitude(static_cast<Wide>(got) - expected);
  if (error == 0) return 0;
  return static_cast<double>(error / (allowed + static_cast<Wide>(std::numeric_limits<T>::denorm_min())));
}

/// The larger magnitude of the parts.
template <class T>
double size_of(T x) {
  const auto p = parts(x);
  return static_cast<double>(std::max(magnitude(p.re), magnitude(p.im)));
}

struct LineFacts {
  double most = 0;
  double least = 0;  ///< that is not 0
  double sum = 0;
  bool has_nonfinite = false;
  [[nodiscard]] int spread() const { return most > 0 ? std::ilogb(most) - std::ilogb(least) : 0; }
};

template <class T>
LineFacts facts_of(const std::vector<T>& line) {
  LineFacts facts;
  for (const T& x : line) {
    const auto p = parts(x);
    for (const Wide part : {magnitude(p.re), magnitude(p.im)}) {
      const auto size = static_cast<double>(part);
      facts.has_nonfinite |= !std::isfinite(size);
      facts.most = std::max(facts.most, size);
      if (size > 0 && (facts.least == 0 || size < facts.least)) facts.least = size;
    }
    facts.sum += size_of(x);
  }
  return facts;
}

/// The line of B or C that op(A) is multiplied with: of the left side a column, else a row.
template <class T>
std::vector<T> beside_triangle(const ReadLine<T>& read, const TypedCall<T>& x, const T* data, std::int64_t ld,
                               std::int64_t i, std::int64_t j) {
  return x.side == 'L' ? read(data + j * ld, x.k, 1) : read(data + i, x.k, ld);
}

}  // namespace

template <class T>
void Sample<T>::add(const TypedCall<T>& x, int e, const ReadLine<T>& read) {
  Element chosen;
  chosen.call = x;
  e %= kElements;
  std::int64_t i = (x.m - 1) * e / (kElements - 1);
  std::int64_t j = (x.n - 1) * ((5 * e) % kElements) / (kElements - 1);
  if (has_triangle(x.routine) && (x.uplo == 'U' ? i > j : i < j)) std::swap(i, j);
  chosen.i = i;
  chosen.j = j;
  const bool is_solve = x.routine == Routine::kTrsm;
  if (is_solve || (x.beta != T{} && !is_triangular(x.routine))) chosen.before = read(x.c + i + j * x.ldc, 1, 1).front();
  if (is_hermitian(x.routine) && has_triangle(x.routine) && i == j) chosen.before = T(parts(chosen.before).re);
  const bool is_left = x.side == 'L';
  if (is_triangular(x.routine) || is_symmetric(x.routine)) {
    std::vector<T> of_a = is_symmetric(x.routine) ? symmetric_line(read, x, is_left ? i : j, is_left)
                                                  : triangular_line(read, x, is_left ? i : j, is_left);
    std::vector<T> beside;  // of trsm X, which is not yet there
    if (!is_solve)
      beside =
          x.b != nullptr ? beside_triangle(read, x, x.b, x.ldb, i, j) : beside_triangle<T>(read, x, x.c, x.ldc, i, j);
    chosen.left = std::move(of_a);
    chosen.right = std::move(beside);
    if (!is_left) std::swap(chosen.left, chosen.right);
  } else if (is_product(x.routine) || x.routine == Routine::kGemmt) {
    chosen.left = row_of(read, x.op_a, x.a, x.lda, i, x.k);
    chosen.right = column_of(read, x.op_b, x.b, x.ldb, j, x.k);
  } else {
    const char transposed = is_hermitian(x.routine) ? 'C' : 'T';
    const char left = x.op_a == 'N' ? 'N' : transposed;
    const char right = x.op_a == 'N' ? transposed : 'N';
    const T* b = is_rank_k(x.routine) ? x.a : x.b;
    const std::int64_t ldb = is_rank_k(x.routine) ? x.lda : x.ldb;
    chosen.left = row_of(read, left, x.a, x.lda, i, x.k);
    chosen.right = column_of(read, right, b, ldb, j, x.k);
    if (is_rank_2k(x.routine)) {
      chosen.second_left = row_of(read, left, b, ldb, i, x.k);
      chosen.second_right = column_of(read, right, x.a, x.lda, j, x.k);
    }
  }
  elements_.push_back(std::move(chosen));
}

template <class T>
std::vector<T> Sample<T>::results_of(const Element& e, const ReadLine<T>& read) {
  const TypedCall<T>& x = e.call;
  if (x.routine == Routine::kTrsm) return beside_triangle<T>(read, x, x.c, x.ldc, e.i, e.j);
  return read(x.c + e.i + e.j * x.ldc, 1, 1);
}

template <class T>
void Sample<T>::read_results(const ReadLine<T>& read) const {
  for (const Element& e : elements_) static_cast<void>(results_of(e, read));
}

template <class T>
double Sample<T>::ratio_of(Element e, const ReadLine<T>& read, const Allowance& allowance) {
  const TypedCall<T>& x = e.call;
  const bool is_solve = x.routine == Routine::kTrsm;
  T got{};
  Expected<T> expected;
  Allowance exact = allowance;  // what is not multiplied has no error but roundings
  exact.bound = 0;
  Sum<T> rest;
  if (is_solve) {
    // op(A) X - alpha C = 0: the residual stands for the error.
    (x.side == 'L' ? e.right : e.left) = results_of(e, read);
    expected.add(T{1}, sum_of(e.left, e.right), allowance);
    rest.add(x.alpha, e.before);
    expected.add(T{-1}, rest, exact);
  } else {
    got = results_of(e, read).front();
    expected.add(x.alpha, sum_of(e.left, e.right), allowance);
    if (is_rank_2k(x.routine))
      expected.add(is_hermitian(x.routine) ? conjugate(x.alpha) : x.alpha, sum_of(e.second_left, e.second_right),
                   allowance);
    rest.add(x.beta, e.before);
    if (x.beta != T{} && !is_triangular(x.routine)) expected.add(T{1}, rest, exact);
  }
  if (is_hermitian(x.routine) && has_triangle(x.routine) && e.i == e.j) expected.im = expected.allowed_im = 0;
  if constexpr (kIsComplex<T>) {
    return worse(part_ratio(expected.re, expected.allowed_re, got.real()),
                 part_ratio(expected.im, expected.allowed_im, got.imag()));
  } else {
    return part_ratio(expected.re, expected.allowed_re, got);
  }
}

template <class T>
double Sample<T>::worst_ratio(const ReadLine<T>& read,
                              const std::function<Allowance(std::int64_t i, std::int64_t j)>& allowance) const {
  double worst = -1;
  for (const Element& e : elements_) worst = worse(worst, ratio_of(e, read, allowance(e.i, e.j)));
  return worst;
}

template <class T>
Needs Sample<T>::needs() const {
  Needs worst;
  const double u = std::is_same_v<RealOf<T>, float> ? FLT_EPSILON / 2 : DBL_EPSILON / 2;
  for (const Element& e : elements_) {
    const LineFacts a = facts_of(e.left);
    const LineFacts b = facts_of(e.right);
    worst.has_nonfinite |= a.has_nonfinite || b.has_nonfinite;
    if (a.has_nonfinite || b.has_nonfinite) continue;
    worst.spread_a = std::max(worst.spread_a, a.spread());
    worst.spread_b = std::max(worst.spread_b, b.spread());
    Wide entries = 0;
    for (std::size_t p = 0; p < std::min(e.left.size(), e.right.size()); ++p)
      entries += static_cast<Wide>(size_of(e.left[p])) * size_of(e.right[p]);
    if (entries == 0) continue;
    const Wide k = static_cast<Wide>(e.left.size()) * (kIsComplex<T> ? 2 : 1);
    const Wide lost = static_cast<Wide>(a.most) * b.sum + static_cast<Wide>(b.most) * a.sum;
    const int bits = static_cast<int>(std::ceil(std::log2(static_cast<double>(lost / (k * u * entries)))));
    const int width = std::numeric_limits<RealOf<T>>::digits + std::max(a.spread(), b.spread());
    worst.bits = std::max(worst.bits, std::clamp(bits, 1, width));
  }
  return worst;
}

template class Sample<float>;
template class Sample<double>;
template class Sample<std::complex<float>>;
template class Sample<std::complex<double>>;

}  // namespace kizami::dropin
