// SPDX-License-Identifier: MIT
#include "exec/run.hpp"

#include <algorithm>
#include <complex>
#include <cstdint>
#include <functional>
#include <string>
#include <type_traits>

#include "base/aligned_buffer.hpp"
#include "base/fp_environment.hpp"
#include "base/instantiate.hpp"
#include "base/phase_range.hpp"
#include "certify/statistics.hpp"
#include "fp64/nonfinite.hpp"
#include "fp64/nonfinite_alpha.hpp"
#include "schemes/ec/run.hpp"
#include "schemes/native/run.hpp"
#include "schemes/ozaki1/run.hpp"
#include "schemes/ozaki2/run.hpp"

namespace kizami::exec {
namespace {

/// The operand by itself, if it can be used: a matrix of the right shape, or a prepared operand of this plan's
/// numerics.
template <class T>
Status validate_side(const plan::Plan& plan, Side side, const char* name, MatrixView<const T> view, std::int64_t rows,
                     std::int64_t cols, const schemes::Prepared* prepared) {
  if (prepared == nullptr) return problem::validate_operand(name, view, rows, cols);
  if (view.data != nullptr) KIZAMI_RETURN_IF_ERROR(problem::validate_operand(name, view, rows, cols));
  const std::int64_t num_lines = side == Side::kA ? rows : cols;
  const std::int64_t length = side == Side::kA ? cols : rows;
  const auto invalid = [name](const std::string& what) {
    return Status(StatusCode::kInvalidArgument, "prepared operand " + std::string(name) + " " + what);
  };
  if (prepared->side != side) return invalid("was prepared for the other side");
  if (prepared->num_lines != num_lines || prepared->length != length) {
    return invalid("has " + std::to_string(prepared->num_lines) + " lines of " + std::to_string(prepared->length) +
                   ", must be " + std::to_string(num_lines) + " of " + std::to_string(length));
  }
  if (prepared->numerics_hash != plan::prepared_hash(plan)) return invalid("was prepared by a plan of other numerics");
  return {};
}

/// Memory in common with C; operands of another type count whole spans.
template <class T, class In>
[[nodiscard]] bool overlaps_output(MatrixView<const In> operand, MatrixView<const T> c) {
  if constexpr (std::is_same_v<T, In>) {
    return problem::overlaps(operand, c);
  } else {
    const auto last = [](const auto& v) { return &v(v.rows - 1, v.cols - 1) + 1; };
    const std::less<const void*> before;
    return before(operand.data, last(c)) && before(c.data, last(operand));
  }
}

Status validate_normalised(const char* name, const char* line, const problem::Lines<DoubleDouble>& lines, int threads) {
  const std::int64_t first = certify::first_unnormalised(lines, threads);
  if (first == lines.num_lines) return {};
  return {StatusCode::kInvalidArgument, std::string(name) + " holds a double-double with |lo| > ulp(hi) / 2 in " +
                                            line + " " + std::to_string(first) +
                                            ", must be normalised: hi = round(hi + lo)"};
}

/// Accuracy correct rounds AB, and nothing else.
template <class T>
Status validate_correct(const problem::Problem<T>& problem) {
  const auto refuse = [](const char* name, T value, const char* limit) {
    const std::complex<double> x(value);
    const std::string text =
        kIsComplex<T> ? std::to_string(x.real()) + " + " + std::to_string(x.imag()) + "i" : std::to_string(x.real());
    return Status(StatusCode::kUnsupported,
                  "accuracy correct: " + std::string(name) + " = " + text + ", must be " + limit);
  };
  if (problem.alpha != T{1} && problem.alpha != T{-1}) return refuse("alpha", problem.alpha, "1 or -1");
  if (problem.beta != T{0}) return refuse("beta", problem.beta, "0");
  return {};
}

/// Schemes that split, in a workspace of the caller's or their own.
template <class T, class In>
Status run_scheme(const plan::Plan& plan, const problem::Problem<T, In>& problem, const schemes::Prepared* a_prepared,
                  const schemes::Prepared* b_prepared, std::span<std::byte> workspace, Outcome& outcome,
                  ozaki2::Whole* whole) {
  if (plan.first().scheme == Scheme::kEc && (a_prepared != nullptr || b_prepared != nullptr))
    return {StatusCode::kUnsupported, "scheme ec takes matrices, not prepared operands"};
  const std::size_t needed = plan.schedule.workspace_bytes;
  base::AlignedBuffer owned;
  if (workspace.empty()) {
    owned = base::AlignedBuffer(needed);
    if (!owned.ok())
      return {StatusCode::kOutOfMemory, "workspace: " + std::to_string(needed) + " bytes refused by the system"};
    workspace = {owned.data(), needed};
  }
  if (workspace.size() < needed ||
      reinterpret_cast<std::uintptr_t>(workspace.data()) % base::AlignedBuffer::kAlignment != 0) {
    return {StatusCode::kInvalidArgument, "workspace = " + std::to_string(workspace.size()) + " bytes, must be >= " +
                                              std::to_string(needed) + " and begin on a 64-byte boundary"};
  }
  if constexpr (std::is_same_v<RealOf<T>, float>) {
    if (plan.first().scheme == Scheme::kEc) return ec::run_ec(plan, problem, workspace.data(), outcome);
  }
  if constexpr (std::is_same_v<T, In> && !kIsDoubleDouble<T>) {
    if (plan.first().scheme == Scheme::kOzaki1)
      return ozaki1::run_ozaki1(plan, problem, a_prepared, b_prepared, workspace.data(), outcome);
  }
  return ozaki2::run_ozaki2(plan, problem, a_prepared, b_prepared, workspace.data(), outcome, whole);
}

/// alpha = NaN or Inf: as the scheme has it, but with the signs of exact sums, whatever the scheme.
template <class T, class In>
Status run_nonfinite_alpha(const plan::Plan& plan, const problem::Problem<T, In>& problem,
                           std::span<std::byte> workspace, Outcome& outcome, ozaki2::Whole* whole) {
  const int threads = plan.schedule.facts.num_threads;
  const problem::Shape& shape = plan.shape;
  const auto elements = static_cast<std::size_t>(problem.beta == T{0} ? 0 : shape.m * shape.n);
  const base::AlignedBuffer before(elements * sizeof(T));
  const base::AlignedBuffer memory(static_cast<std::size_t>(shape.m + shape.n) * sizeof(num::LineStats));
  for (const base::AlignedBuffer* buffer : {&before, &memory}) {
    if (!buffer->ok())
      return {StatusCode::kOutOfMemory,
              "C and line statistics: " + std::to_string(buffer->size()) + " bytes refused by the system"};
  }
  const MatrixView<T> old{reinterpret_cast<T*>(before.data()), shape.m, shape.n, 1, shape.m};
  for (std::int64_t j = 0; elements != 0 && j < shape.n; ++j) {
    for (std::int64_t i = 0; i < shape.m; ++i) old(i, j) = problem.c(i, j);
  }
  KIZAMI_RETURN_IF_ERROR(run_scheme(plan, problem, nullptr, nullptr, workspace, outcome, whole));
  auto* const a_stats = reinterpret_cast<num::LineStats*>(memory.data());
  num::LineStats* const b_stats = a_stats + shape.m;
  certify::gather_statistics(problem::lines_of(Side::kA, problem.a), nullptr, threads, a_stats);
  certify::gather_statistics(problem::lines_of(Side::kB, problem.b), nullptr, threads, b_stats);
  fp64::answer_nonfinite_alpha(problem, old, a_stats, b_stats, threads);
  return {};
}

}  // namespace

template <class T, class In>
Status run(const plan::Plan& plan, const problem::Problem<T, In>& problem, const schemes::Prepared* a_prepared,
           const schemes::Prepared* b_prepared, std::span<std::byte> workspace, Outcome& outcome,
           ozaki2::Whole* whole) {
  const base::FpEnvironmentGuard guard;
  const base::PhaseRange phase(base::Phase::kGemm);
  const problem::Shape& shape = plan.shape;
  const int threads = plan.schedule.facts.num_threads;
  outcome = {};
  outcome.engine = "none";
  outcome.scheme = plan.first().scheme;
  outcome.gauge = plan.first().gauge;
  KIZAMI_RETURN_IF_ERROR(problem::validate_output(problem.c, shape.m, shape.n));
  if constexpr (!kIsDoubleDouble<T>) {
    if (plan.first().is_correct) KIZAMI_RETURN_IF_ERROR(validate_correct(problem));
  }
  switch (problem::quick_return(shape.m, shape.n, shape.k, problem.alpha, problem.beta)) {
    case problem::QuickReturn::kNothing:
      return {};
    case problem::QuickReturn::kScale:
      problem::scale_matrix(problem.beta, problem.c);
      return {};
    case problem::QuickReturn::kNone:
      break;
  }
  KIZAMI_RETURN_IF_ERROR(validate_side(plan, Side::kA, "A", problem.a, shape.m, shape.k, a_prepared));
  KIZAMI_RETURN_IF_ERROR(validate_side(plan, Side::kB, "B", problem.b, shape.k, shape.n, b_prepared));
  for (const MatrixView<const In>& operand : {problem.a, problem.b}) {
    if (operand.data != nullptr && overlaps_output<T>(operand, problem.c)) {
      return {StatusCode::kInvalidArgument, "C overlaps an operand in memory, must be disjoint from A and B"};
    }
  }
  if constexpr (kIsDoubleDouble<In>) {
    KIZAMI_RETURN_IF_ERROR(validate_normalised("A", "row", problem::lines_of(Side::kA, problem.a), threads));
    KIZAMI_RETURN_IF_ERROR(validate_normalised("B", "column", problem::lines_of(Side::kB, problem.b), threads));
  }
  if constexpr (!kIsDoubleDouble<T>) {
    if (plan.first().scheme == Scheme::kNative) {
      if (a_prepared != nullptr || b_prepared != nullptr)
        return {StatusCode::kUnsupported, "scheme native takes matrices, not prepared operands"};
      bool is_answered = false;
      KIZAMI_RETURN_IF_ERROR(native::run_native(plan, problem, outcome, is_answered));
      if (is_answered) return {};
      if (plan.stages.size() == 1) {
        return {StatusCode::kAccuracyUnreachable,
                "scheme native: terms may overflow or underflow on the way, where it guarantees nothing, and scheme "
                "ozaki2 cannot answer instead: " +
                    (plan.refusals.empty() ? std::string("it was not planned") : plan.refusals.front())};
      }
      outcome.scheme = plan.stages[1]->scheme;
      outcome.gauge = plan.stages[1]->gauge;
    }
  }
  if (!fp64::is_factor_finite(problem.alpha) && a_prepared == nullptr && b_prepared == nullptr)
    return run_nonfinite_alpha(plan, problem, workspace, outcome, whole);
  return run_scheme(plan, problem, a_prepared, b_prepared, workspace, outcome, whole);
}

#define KIZAMI_INSTANTIATE(T, In)                                                                         \
  template Status run<T, In>(const plan::Plan&, const problem::Problem<T, In>&, const schemes::Prepared*, \
                             const schemes::Prepared*, std::span<std::byte>, Outcome&, ozaki2::Whole*)

#define KIZAMI_INSTANTIATE_SAME(T) KIZAMI_INSTANTIATE(T, T)
KIZAMI_FOR_EACH_ELEMENT(KIZAMI_INSTANTIATE_SAME);
#undef KIZAMI_INSTANTIATE_SAME
KIZAMI_INSTANTIATE(DoubleDouble, double);
KIZAMI_INSTANTIATE(DoubleDouble, DoubleDouble);
#undef KIZAMI_INSTANTIATE

}  // namespace kizami::exec
