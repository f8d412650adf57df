// SPDX-License-Identifier: MIT
#include "dropin/blas/choice.hpp"

#include "dropin/blas/emulate.hpp"
#include "dropin/level3/halves.hpp"
#include "dropin/policy/answer.hpp"
#include "kizami/plan.hpp"

namespace kizami::dropin::blas {
namespace {

/// What the products take that a call is made of, under one policy. @units seconds
class EmulatedSeconds {
 public:
  EmulatedSeconds(Scalar scalar, const Policy& policy) : scalar_(scalar), policy_(policy) {}

  [[nodiscard]] double of(const Shape& x) const {
    if (has_triangle(x.routine)) return of_triangle(x);
    if (is_triangular(x.routine)) return of_triangular(x, level3::order_of(x));
    return of_product(x.m, x.n, x.k);
  }

 private:
  /// What the planner refuses, the native library answers.
  [[nodiscard]] double of_product(std::int64_t m, std::int64_t n, std::int64_t k) const {
    if (m == 0 || n == 0) return 0;
    const Result<Plan> plan = make_plan(scalar_, m, n, k, policy_);
    return plan.ok() ? plan.value().predicted_seconds() : of_native({.m = m, .n = n, .k = k});
  }
  [[nodiscard]] double of_native(const Shape& x) const { return predicted_native(scalar_, x); }

  [[nodiscard]] double of_triangle(const Shape& x) const {
    double seconds = 0;
    for_each_columns(x.uplo, x.n, [&](const TriangleColumns& part) {
      seconds += of_product(part.num_rows, part.width, x.k) + of_product(part.width, part.width, x.k);
    });
    return is_rank_2k(x.routine) ? 2 * seconds : seconds;
  }
  /// Halves differ by a line at most: both take as long as the larger one.
  [[nodiscard]] double of_triangular(const Shape& x, std::int64_t order) const {
    const bool is_left = x.side == 'L';
    const std::int64_t width = is_left ? x.n : x.m;
    if (order <= block_of_triangular(x)) {
      Shape block = x;
      (is_left ? block.m : block.n) = block.k = order;
      return of_native(block);
    }
    const level3::Halves halves = level3::halves_of({0, order});
    const std::int64_t half = halves.second.size;
    return 2 * of_triangular(x, half) + (is_left ? of_product(half, width, half) : of_product(width, half, half));
  }

  Scalar scalar_;
  const Policy& policy_;
};

/// A call that is one product is chosen by its plan. One of several is left to the native library, too, where all of
/// them are predicted to take longer than it does, if whose bits they are is the planner's choice.
Choice choose(const Settings& settings, Scalar scalar, const Shape& x) {
  Choice choice{&settings, x.routine, x.side == 'L', x.m, x.n, x.k, scalar, Scheme::kNative, nullptr};
  Policy policy = policy_of(settings);
  const Result<Plan> plan = make_plan(scalar, x.m, x.n, x.k, policy);
  if (!plan.ok()) {
    choice.why_native = kept_refusal(plan.status());
    return choice;
  }
  choice.scheme = plan.value().scheme();
  if (choice.scheme == Scheme::kNative) {
    choice.why_native = kByPlan;
  } else if (may_be_native(settings) && (has_triangle(x.routine) || is_triangular(x.routine))) {
    policy.scheme = choice.scheme;
    const double native = predicted_native(scalar, x);
    if (native > 0 && native < EmulatedSeconds(scalar, policy).of(x)) choice.why_native = kByPlan;
  }
  return choice;
}

}  // namespace

const Choice& chosen(const Settings& settings, Scalar scalar, const Shape& x) {
  const auto is_for = [&](const Choice& c) {
    return c.settings == &settings && c.scalar == scalar && c.routine == x.routine && c.is_left == (x.side == 'L') &&
           c.m == x.m && c.n == x.n && c.k == x.k;
  };
  return remembered<Choice>(x.m, x.n, x.k,
                            reinterpret_cast<std::uintptr_t>(&settings) + static_cast<std::uint64_t>(scalar) +
                                64 * static_cast<std::uint64_t>(x.routine),
                            is_for, [&] { return choose(settings, scalar, x); });
}

double predicted_native(Scalar scalar, const Shape& x) {
  return dropin::predicted_native(x, [&](const Policy& policy) { return make_plan(scalar, x.m, x.n, x.k, policy); });
}

Emulation predicted_emulation(Scalar scalar, const Shape& x) {
  const Settings settings;
  const Choice choice = choose(settings, scalar, x);
  Policy policy = policy_of(settings);
  policy.scheme = scheme_to_compare(choice.scheme);
  const Result<Plan> plan = make_plan(scalar, x.m, x.n, x.k, policy);
  if (!plan.ok()) return {};
  return {.scheme = choice.why_native == nullptr ? choice.scheme : Scheme::kNative,
          .seconds = EmulatedSeconds(scalar, policy).of(x),
          .native_seconds = predicted_native(scalar, x),
          .base_moduli = plan.value().base_moduli(),
          .max_moduli = plan.value().max_moduli()};
}

}  // namespace kizami::dropin::blas
