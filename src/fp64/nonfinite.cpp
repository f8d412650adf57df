// SPDX-License-Identifier: MIT
#include "fp64/nonfinite.hpp"

#include <algorithm>
#include <string>

#include "base/instantiate.hpp"
#include "base/parallel.hpp"
#include "fp64/fp64.hpp"
#include "num/scaled.hpp"

namespace kizami::fp64 {

std::int64_t count_nonfinite(const num::LineStats* stats, std::int64_t num_lines) {
  return std::count_if(stats, stats + num_lines, [](const num::LineStats& line) { return !line.is_finite; });
}

Status reject_nonfinite(Side side, const num::LineStats* stats, std::int64_t num_lines) {
  const std::int64_t count = count_nonfinite(stats, num_lines);
  if (count == 0) return {};
  const num::LineStats* const first =
      std::find_if(stats, stats + num_lines, [](const num::LineStats& line) { return !line.is_finite; });
  const std::string where = side == Side::kA ? "rows of op(A)" : "columns of op(B)";
  return {StatusCode::kNonFinite, "NaN or Inf in " + std::to_string(count) + " " + where + ", the first is " +
                                      std::to_string(first - stats) + "; must be finite (nonfinite = reject)"};
}

namespace {

/// The values that decide where NaN and Inf go: high parts of double-doubles.
template <class In>
[[nodiscard]] auto leading_lines(Side side, MatrixView<const In> view) {
  if constexpr (kIsDoubleDouble<In>) {
    return problem::lines_of(side, view).high();
  } else {
    return problem::lines_of(side, view);
  }
}

}  // namespace

template <class T, class In>
void answer_nonfinite(const problem::Problem<T, In>& problem, const num::LineStats* a_stats,
                      const num::LineStats* b_stats, int threads) {
  const auto a = leading_lines(Side::kA, problem.a);
  const auto b = leading_lines(Side::kB, problem.b);
  base::parallel_for(problem.c.rows, threads, [&](std::int64_t i, int) {
    for (std::int64_t j = 0; j < problem.c.cols; ++j) {
      if (a_stats[i].is_finite && b_stats[j].is_finite) continue;
      T& out = problem.c(i, j);
      const auto product = nonfinite_product(a, i, b, j);
      const T old = problem.beta == T{0} ? T{0} : out;
      if constexpr (kIsDoubleDouble<T>) {
        out = T(num::finish_nonfinite(product, problem.alpha.hi, problem.beta.hi, old.hi));
      } else {
        out = num::finish_nonfinite(product, problem.alpha, problem.beta, old);
      }
    }
  });
}

#define KIZAMI_INSTANTIATE(T, In)                                                                                     \
  template void answer_nonfinite<T, In>(const problem::Problem<T, In>&, const num::LineStats*, const num::LineStats*, \
                                        int)

#define KIZAMI_INSTANTIATE_SAME(T) KIZAMI_INSTANTIATE(T, T)
KIZAMI_FOR_EACH_ELEMENT(KIZAMI_INSTANTIATE_SAME);
#undef KIZAMI_INSTANTIATE_SAME
KIZAMI_INSTANTIATE(DoubleDouble, double);
KIZAMI_INSTANTIATE(DoubleDouble, DoubleDouble);
#undef KIZAMI_INSTANTIATE

}  // namespace kizami::fp64
