// SPDX-License-Identifier: MIT
#include "exec/nonfinite.hpp"

#include <algorithm>
#include <string>

#include "base/parallel.hpp"
#include "fp64/fp64.hpp"
#include "num/scaled.hpp"

namespace kizami::exec {

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
                                      std::to_string(first - stats) + "; must be finite (reject_nonfinite)"};
}

template <class T>
void answer_nonfinite(const problem::Problem<T>& problem, const num::LineStats* a_stats, const num::LineStats* b_stats,
                      int threads) {
  const problem::Lines<T> a = problem::lines_of(Side::kA, problem.a);
  const problem::Lines<T> b = problem::lines_of(Side::kB, problem.b);
  base::parallel_for(problem.c.rows, threads, [&](std::int64_t i, int) {
    for (std::int64_t j = 0; j < problem.c.cols; ++j) {
      if (a_stats[i].is_finite && b_stats[j].is_finite) continue;
      T& out = problem.c(i, j);
      out = num::finish_nonfinite(fp64::nonfinite_product(a, i, b, j), problem.alpha, problem.beta,
                                  problem.beta == T{0} ? T{0} : out);
    }
  });
}

#define KIZAMI_INSTANTIATE(T) \
  template void answer_nonfinite<T>(const problem::Problem<T>&, const num::LineStats*, const num::LineStats*, int)

KIZAMI_INSTANTIATE(float);
KIZAMI_INSTANTIATE(double);
KIZAMI_INSTANTIATE(std::complex<float>);
KIZAMI_INSTANTIATE(std::complex<double>);
#undef KIZAMI_INSTANTIATE

}  // namespace kizami::exec
