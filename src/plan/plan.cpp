// SPDX-License-Identifier: MIT
#include "plan/plan.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "plan/buffers.hpp"
#include "plan/device_ec.hpp"
#include "plan/device_ozaki1.hpp"
#include "plan/ec_plan.hpp"
#include "plan/native.hpp"
#include "plan/ozaki1.hpp"
#include "plan/ozaki2.hpp"
#include "plan/text.hpp"
#include "plan/validate.hpp"
#include "problem/batch.hpp"

namespace kizami::plan {
namespace {

/// Whether the planner may choose scheme ec by itself: on a device, where no bits are promised. Its predictions are of operands
/// within range; others cost more, and are as accurate.
[[nodiscard]] bool may_be_ec(const Plan& plan) {
  const Policy& policy = plan.policy;
  return is_on_device(plan) && policy.scheme == Scheme::kAuto && real_of(plan.shape.scalar) == Scalar::kF32 &&
         policy.reproducibility == Reproducibility::kNotGuaranteed && policy.forced_moduli == 0 &&
         policy.accuracy.kind != Accuracy::Kind::kCorrect;
}

/// Likewise scheme ozaki1: in gauge norm, where it needs no certificate.
[[nodiscard]] bool may_be_sliced(const Plan& plan) {
  const Policy& policy = plan.policy;
  return is_on_device(plan) && policy.scheme == Scheme::kAuto && policy.gauge == Gauge::kNorm &&
         policy.reproducibility == Reproducibility::kNotGuaranteed && policy.forced_moduli == 0 &&
         policy.accuracy.kind != Accuracy::Kind::kCorrect;
}

/// Scheme ozaki1: behind a certificate scheme ozaki2 of the same accuracy, and then its own slices.
Status plan_ozaki1(Plan& plan, const Environment& environment) {
  if (is_on_device(plan)) return plan_device_ozaki1(plan, environment);
  if (wants_certificate(plan.policy)) {
    const EngineName engine = plan.policy.engine;
    if (plan.policy.slices.format != SliceFormat::kInt8) plan.policy.engine = EngineName::kAuto;
    KIZAMI_RETURN_IF_ERROR(plan_ozaki2_numerics(plan));
    KIZAMI_RETURN_IF_ERROR(plan_ozaki2_schedule(plan, environment));
    plan.policy.engine = engine;
  }
  KIZAMI_RETURN_IF_ERROR(plan_slice_numerics(plan));
  return plan_slice_schedule(plan, environment);
}

/// The plan, but for what its engines ask for.
Result<Plan> decide(const problem::Shape& shape, const Policy& policy, const Environment& environment,
                    const Batch& batch) {
  KIZAMI_RETURN_IF_ERROR(problem::validate_shape(shape.m, shape.n, shape.k));
  KIZAMI_RETURN_IF_ERROR(validate_policy(shape, policy));
  KIZAMI_RETURN_IF_ERROR(problem::validate_num_products(batch.num_products));
  Plan plan;
  plan.shape = shape;
  plan.policy = policy;
  // No memory is larger, and sums of sizes that stop at the largest number are then within no limit.
  plan.policy.workspace_limit_bytes = std::min<std::size_t>(policy.workspace_limit_bytes, PTRDIFF_MAX);
  plan.schedule.facts = environment.facts;
  plan.schedule.batch = batch;
  if (policy.threads > 0) plan.schedule.facts.num_threads = policy.threads;
  if (is_on_device(plan)) KIZAMI_RETURN_IF_ERROR(validate_device_policy(shape, policy));

  if (policy.scheme == Scheme::kEc) {
    KIZAMI_RETURN_IF_ERROR(is_on_device(plan) ? plan_device_ec(plan, environment) : plan_ec(plan, environment));
    return plan;
  }
  if (policy.scheme == Scheme::kOzaki1) {
    KIZAMI_RETURN_IF_ERROR(plan_ozaki1(plan, environment));
    return plan;
  }
  const bool may_be_native = policy.scheme == Scheme::kAuto && policy.engine == EngineName::kAuto &&
                             policy.forced_moduli == 0 && policy.reproducibility == Reproducibility::kNotGuaranteed;
  if (policy.scheme == Scheme::kNative && policy.engine != EngineName::kAuto &&
      policy.engine != EngineName::kNativeBlas) {
    return Status(StatusCode::kUnsupported,
                  "engine " + std::string(to_string(policy.engine)) + " carries scheme ozaki2 only, not native");
  }
  if (is_native_by_name(policy)) {
    if (!environment.has_native_blas) return Status(StatusCode::kUnsupported, "scheme native: no BLAS in this build");
    KIZAMI_RETURN_IF_ERROR(plan_native(plan));
    return plan;
  }
  Plan native = plan;
  const Status native_status = plan_native(native);
  const bool has_native = may_be_native && environment.has_native_blas && native_status.ok();
  if (policy.scheme == Scheme::kAuto && !has_native) {
    plan.refusals.push_back(
        !may_be_native ? "native: its bits depend on library and threads; reproducibility or the engine excludes it"
        : native_status.ok() ? "native: no BLAS in this build"
                             : native_status.reason());
  }
  Plan ec = plan;
  const bool has_ec = may_be_ec(plan) && plan_device_ec(ec, environment).ok();
  Plan sliced = plan;
  const bool has_slices = may_be_sliced(plan) && plan_device_ozaki1(sliced, environment).ok();
  Status status = plan_ozaki2_numerics(plan);
  if (status.ok()) status = plan_ozaki2_schedule(plan, environment);
  if (has_native && status.ok() && !is_on_device(plan)) {
    Plan behind = plan;
    book_engine_bytes(behind);
    native.schedule.workspace_bytes = behind.schedule.workspace_bytes;
    native.behind = std::make_shared<const Plan>(std::move(behind));
  }
  std::vector<Plan*> candidates;  // of equally quick ones the first
  if (has_native) candidates.push_back(&native);
  if (has_ec) candidates.push_back(&ec);
  if (has_slices) candidates.push_back(&sliced);
  if (status.ok()) candidates.push_back(&plan);
  if (candidates.empty()) {
    if (status.code() != StatusCode::kWorkspaceTooSmall || !may_be_native || native_status.ok()) return status;
    return Status(status.code(), status.reason() + "; " + native_status.reason());
  }
  Plan& best = **std::min_element(candidates.begin(), candidates.end(), [](const Plan* x, const Plan* y) {
    return x->schedule.seconds < y->schedule.seconds;
  });
  if (!status.ok()) best.refusals.push_back(status.reason());
  for (const Plan* other : candidates) {
    if (other == &best) continue;
    best.refusals.push_back(
        std::string(to_string(other->numerics.scheme)) + ": predicted " + short_number(other->schedule.seconds) +
        " s, " + std::string(to_string(best.numerics.scheme)) + " " + short_number(best.schedule.seconds) + " s");
  }
  return std::move(best);
}

}  // namespace

Result<Plan> make(const problem::Shape& shape, const Policy& policy, const Environment& environment,
                  const Batch& batch) {
  Result<Plan> decided = decide(shape, policy, environment, batch);
  if (!decided.ok()) return decided.status();
  Plan plan = std::move(decided).value();
  book_engine_bytes(plan);
  static std::atomic<std::uint32_t> last_serial{0};
  if (is_on_device(plan)) plan.serial = last_serial.fetch_add(1, std::memory_order_relaxed) + 1;
  return plan;
}

}  // namespace kizami::plan
