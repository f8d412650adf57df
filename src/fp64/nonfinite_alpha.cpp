// SPDX-License-Identifier: MIT
#include "fp64/nonfinite_alpha.hpp"

#include <complex>

#include "base/instantiate.hpp"
#include "base/parallel.hpp"
#include "num/double_double.hpp"
#include "num/long_accumulator.hpp"
#include "num/scaled.hpp"
#include "problem/lines.hpp"

namespace kizami::fp64 {
namespace {

using problem::Lines;
using problem::RealForm;

/// A product as far as it matters here: -1, 0 or 1.
[[nodiscard]] num::Scaled signed_unit(const num::LongAccumulator& sum) {
  return num::make_scaled(static_cast<double>(sum.sign()), 0);
}

template <class In>
[[nodiscard]] num::Scaled sign_of(const Lines<In>& a, std::int64_t i, const Lines<In>& b, RealForm form,
                                  std::int64_t j) {
  num::LongAccumulator sum;
  for (std::int64_t t = 0; t < a.num_terms(); ++t) sum.add_product(a.term(i, t), problem::term(b, form, j, t));
  return signed_unit(sum);
}
[[nodiscard]] num::Scaled sign_of(const Lines<DoubleDouble>& a, std::int64_t i, const Lines<DoubleDouble>& b,
                                  RealForm /*form*/, std::int64_t j) {
  num::LongAccumulator sum;
  for (std::int64_t h = 0; h < a.length; ++h) {
    const DoubleDouble& x = a.element(i, h);
    const DoubleDouble& y = b.element(j, h);
    for (const double p : {x.hi, x.lo}) {
      for (const double q : {y.hi, y.lo}) sum.add_product(p, q);
    }
  }
  return signed_unit(sum);
}

}  // namespace

template <class T>
bool is_factor_finite(const T& factor) {
  if constexpr (kIsDoubleDouble<T>) {
    return num::is_finite(factor.hi) && num::is_finite(factor.lo);
  } else if constexpr (kIsComplex<T>) {
    return num::is_finite(factor.real()) && num::is_finite(factor.imag());
  } else {
    return num::is_finite(factor);
  }
}

template <class T, class In>
void answer_nonfinite_alpha(const problem::Problem<T, In>& problem, MatrixView<T> old, const num::LineStats* a_stats,
                            const num::LineStats* b_stats, int threads) {
  const Lines<In> a = problem::lines_of(Side::kA, problem.a);
  const Lines<In> b = problem::lines_of(Side::kB, problem.b);
  base::parallel_for(problem.c.rows, threads, [&](std::int64_t i, int) {
    for (std::int64_t j = 0; j < problem.c.cols; ++j) {
      if (!a_stats[i].is_finite || !b_stats[j].is_finite) continue;
      T& out = problem.c(i, j);
      const T before = problem.beta == T{0} ? T{0} : old(i, j);
      if constexpr (kIsComplex<T>) {
        const num::ScaledComplex p{sign_of(a, i, b, RealForm::kRealPart, j), sign_of(a, i, b, RealForm::kImagPart, j)};
        out = num::finish(p, problem.alpha, problem.beta, before);
      } else if constexpr (kIsDoubleDouble<T>) {
        out = num::finish(num::ScaledDoubleDouble{sign_of(a, i, b, RealForm::kPlain, j), {}}, problem.alpha,
                          problem.beta, before);
      } else {
        out = num::finish(sign_of(a, i, b, RealForm::kPlain, j), problem.alpha, problem.beta, before);
      }
    }
  });
}

#define KIZAMI_INSTANTIATE(T, In)                                                                                   \
  template void answer_nonfinite_alpha<T, In>(const problem::Problem<T, In>&, MatrixView<T>, const num::LineStats*, \
                                              const num::LineStats*, int)

template bool is_factor_finite<float>(const float&);
template bool is_factor_finite<double>(const double&);
template bool is_factor_finite<std::complex<float>>(const std::complex<float>&);
template bool is_factor_finite<std::complex<double>>(const std::complex<double>&);
template bool is_factor_finite<DoubleDouble>(const DoubleDouble&);
#define KIZAMI_INSTANTIATE_SAME(T) KIZAMI_INSTANTIATE(T, T)
KIZAMI_FOR_EACH_ELEMENT(KIZAMI_INSTANTIATE_SAME);
#undef KIZAMI_INSTANTIATE_SAME
KIZAMI_INSTANTIATE(DoubleDouble, double);
KIZAMI_INSTANTIATE(DoubleDouble, DoubleDouble);
#undef KIZAMI_INSTANTIATE

}  // namespace kizami::fp64
