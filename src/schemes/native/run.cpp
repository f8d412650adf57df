// SPDX-License-Identifier: MIT
#include "schemes/native/run.hpp"

#include <algorithm>
#include <complex>
#include <cstdint>
#include <string>

#include "base/aligned_buffer.hpp"
#include "base/instantiate.hpp"
#include "base/phase_range.hpp"
#include "certify/statistics.hpp"
#include "fp64/nonfinite.hpp"
#include "fp64/nonfinite_alpha.hpp"
#include "num/native_range.hpp"
#include "schemes/native/exponent_range.hpp"
#include "schemes/native/plan.hpp"

namespace kizami::native {
namespace {

/// Whether the bound holds for these operands, as far as their exponents tell.
template <class T>
[[nodiscard]] bool is_bound_certain(const plan::Plan& plan, const problem::Problem<T>& problem) {
  if (!fp64::is_factor_finite(problem.alpha) || !fp64::is_factor_finite(problem.beta)) return false;
  const int threads = plan.schedule.facts.num_threads;
  num::ExponentRange c;
  if (problem.beta != T{0}) c = exponent_range<T>(problem.c, threads);
  return num::is_native_bound_certain<T>(exponent_range<T>(problem.a, threads), exponent_range<T>(problem.b, threads),
                                         plan::num_terms(plan.shape), num::exponent_range_of(problem.alpha), c,
                                         num::exponent_range_of(problem.beta));
}

/// k in the plan's blocks: C <- alpha A_1 B_1 + beta C, then C <- alpha A_b B_b + C.
template <class T>
Status multiply(const plan::Plan& plan, const problem::Problem<T>& problem, Outcome& outcome) {
  const NativeStage& stage = native_of(plan);
  const int threads = plan.schedule.facts.num_threads;
  if (plan.policy.reject_nonfinite) {
    const auto check = [&](Side side, MatrixView<const T> view) -> Status {
      const problem::Lines<T> lines = problem::lines_of(side, view);
      base::AlignedBuffer memory(static_cast<std::size_t>(lines.num_lines) * sizeof(num::LineStats));
      if (!memory.ok())
        return {StatusCode::kOutOfMemory,
                "line statistics: " + std::to_string(memory.size()) + " bytes refused by the system"};
      auto* const stats = reinterpret_cast<num::LineStats*>(memory.data());
      certify::gather_statistics(lines, nullptr, threads, stats);
      return fp64::reject_nonfinite(side, stats, lines.num_lines);
    };
    KIZAMI_RETURN_IF_ERROR(check(Side::kA, problem.a));
    KIZAMI_RETURN_IF_ERROR(check(Side::kB, problem.b));
  }
  outcome.scheme = Scheme::kNative;
  outcome.engine = stage.engine->name();
  outcome.bound = stage.bound;
  outcome.gauge = stage.gauge;
  const std::int64_t k = plan.shape.k;
  T beta = problem.beta;
  for (std::int64_t h = 0; h < k; h += stage.k_block) {
    const std::int64_t length = std::min(stage.k_block, k - h);
    const base::PhaseRange phase(base::Phase::kProduct);
    KIZAMI_RETURN_IF_ERROR(stage.engine->run(problem.a.block(0, h, plan.shape.m, length),
                                             problem.b.block(h, 0, length, plan.shape.n), problem.alpha, beta,
                                             problem.c, threads));
    beta = T{1};
  }
  return {};
}

}  // namespace

template <class T>
Status run_native(const plan::Plan& plan, const problem::Problem<T>& problem, Outcome& outcome, bool& is_answered) {
  const bool is_certain = is_bound_certain(plan, problem);
  is_answered = is_certain || is_native_by_name(plan.policy);
  if (!is_answered) return {};
  outcome.is_conditional = !is_certain;
  return multiply(plan, problem, outcome);
}

#define KIZAMI_INSTANTIATE(T) \
  template Status run_native<T>(const plan::Plan&, const problem::Problem<T>&, Outcome&, bool&)

KIZAMI_FOR_EACH_ELEMENT(KIZAMI_INSTANTIATE);
#undef KIZAMI_INSTANTIATE

}  // namespace kizami::native
