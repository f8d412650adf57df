// SPDX-License-Identifier: MIT
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "plan/plan.hpp"
#include "plan/text.hpp"
#include "plan/validate.hpp"
#include "problem/batch.hpp"

namespace kizami::plan {
namespace {

[[nodiscard]] std::string name_of(const Plan& plan) { return std::string(to_string(plan.first().scheme)); }

/// Behind a stage that leaves operands to others stands the last scheme, if it was planned.
void put_behind(const Plan& last, Plan& plan) {
  if (plan.first().answers_all(plan)) return;
  plan.stages.insert(plan.stages.end(), last.stages.begin(), last.stages.end());
  plan.schedule.workspace_bytes = last.schedule.workspace_bytes;
}

struct Candidate {
  Plan plan;
  std::size_t num_failures = 0;  ///< that it knows of
};

/// The quickest plan of the schemes that may be chosen.
Result<Plan> choose(Plan start, const Environment& environment) {
  std::vector<Candidate> candidates;                                 // in the order of the schemes
  std::vector<std::string> failures;                                 // of schemes that might have been chosen
  Status last(StatusCode::kUnsupported, "no scheme in this build");  // in the end of the one that answers all
  for (const SchemePlanner* scheme : environment.schemes) {
    const SchemeWish wish = scheme->wish(start);
    if (!wish.reason.empty()) start.refusals.push_back(wish.reason);
    if (wish.kind == SchemeWish::Kind::kNever) continue;
    Plan plan = start;
    last = scheme->plan(plan, environment);
    if (last.ok()) {
      candidates.push_back({std::move(plan), failures.size()});
    } else {
      failures.push_back(last.reason());
      start.refusals.push_back(last.reason());
    }
  }
  if (candidates.empty()) {
    if (last.code() != StatusCode::kWorkspaceTooSmall) return last;
    std::string reason = last.reason();
    failures.pop_back();
    for (const std::string& failure : failures) {
      if (failure != last.reason()) reason += "; " + failure;
    }
    return Status(last.code(), reason);
  }
  if (last.ok()) {
    const Plan& behind = candidates.back().plan;
    for (Candidate& candidate : candidates) {
      if (&candidate.plan != &behind) put_behind(behind, candidate.plan);
    }
  }
  auto& [best, num_known] = *std::min_element(
      candidates.begin(), candidates.end(),
      [](const Candidate& x, const Candidate& y) { return x.plan.schedule.seconds < y.plan.schedule.seconds; });
  best.refusals.insert(best.refusals.end(), failures.begin() + static_cast<std::ptrdiff_t>(num_known), failures.end());
  for (const auto& [other, _] : candidates) {
    if (&other == &best) continue;
    best.refusals.push_back(name_of(other) + ": predicted " + short_number(other.schedule.seconds) + " s, " +
                            name_of(best) + " " + short_number(best.schedule.seconds) + " s");
  }
  return std::move(best);
}

/// The plan, but for what its engines ask for.
Result<Plan> decide(const problem::Shape& shape, const Policy& policy, const Environment& environment,
                    const Batch& batch) {
  KIZAMI_RETURN_IF_ERROR(problem::validate_shape(shape.m, shape.n, shape.k));
  KIZAMI_RETURN_IF_ERROR(validate_policy(shape, policy));
  // From the last, since what is wrong for all comes first.
  for (auto scheme = environment.schemes.rbegin(); scheme != environment.schemes.rend(); ++scheme)
    KIZAMI_RETURN_IF_ERROR((*scheme)->validate(shape, policy, environment.facts.space));
  KIZAMI_RETURN_IF_ERROR(problem::validate_num_products(batch.num_products));
  if (environment.facts.space == product::MemorySpace::kDevice)
    KIZAMI_RETURN_IF_ERROR(validate_device_policy(shape, policy));
  Plan plan;
  plan.shape = shape;
  plan.policy = policy;
  // No memory is larger, and sums of sizes that stop at the largest number are then within no limit.
  plan.policy.workspace_limit_bytes = std::min<std::size_t>(policy.workspace_limit_bytes, PTRDIFF_MAX);
  plan.schedule.facts = environment.facts;
  plan.schedule.batch = batch;
  if (policy.threads > 0) plan.schedule.facts.num_threads = policy.threads;
  for (const SchemePlanner* scheme : environment.schemes) {
    if (scheme->wish(plan).kind != SchemeWish::Kind::kNamed) continue;
    KIZAMI_RETURN_IF_ERROR(scheme->plan(plan, environment));
    return plan;
  }
  return choose(std::move(plan), environment);
}

}  // namespace

Result<Plan> make(const problem::Shape& shape, const Policy& policy, const Environment& environment,
                  const Batch& batch) {
  Result<Plan> decided = decide(shape, policy, environment, batch);
  if (!decided.ok()) return decided.status();
  Plan plan = std::move(decided).value();
  if (!is_on_device(plan)) {
    // Those behind first: the workspaces of stages before them hold theirs.
    for (auto stage = plan.stages.rbegin(); stage != plan.stages.rend(); ++stage) (*stage)->book_engine_bytes(plan);
  }
  static std::atomic<std::uint32_t> last_serial{0};
  if (is_on_device(plan)) plan.serial = last_serial.fetch_add(1, std::memory_order_relaxed) + 1;
  return plan;
}

}  // namespace kizami::plan
