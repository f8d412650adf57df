// SPDX-License-Identifier: MIT
#include <cmath>
#include <string>

#include "plan/plan.hpp"
#include "plan/text.hpp"

namespace kizami::plan {
namespace {

[[nodiscard]] std::string accuracy_text(const Policy& policy) {
  if (policy.slices.num_slices != 0) {
    return policy.slices.num_slices == kUntilZero ? "slices until zero (forced)"
                                                  : "slices=" + std::to_string(policy.slices.num_slices) + " (forced)";
  }
  if (policy.forced_moduli != 0) return "moduli=" + std::to_string(policy.forced_moduli) + " (forced)";
  switch (policy.accuracy.kind) {
    case Accuracy::Kind::kNative:
      return "native";
    case Accuracy::Kind::kBits:
      return "bits=" + std::to_string(policy.accuracy.bits);
    case Accuracy::Kind::kCorrect:
      return "correct";
  }
  return "unknown";
}

[[nodiscard]] std::string gauge_text(Gauge gauge, Scalar scalar) {
  const std::string parts = is_complex(scalar) ? " of each part" : "";
  return (gauge == Gauge::kEntry ? "|A||B|" : "||a_i|| ||b_j||") + parts;
}

}  // namespace

std::string explain(const Plan& plan) {
  const problem::Shape& shape = plan.shape;
  const Schedule& schedule = plan.schedule;
  const product::DeviceFacts& facts = schedule.facts;
  const Stage& first = plan.first();
  std::string text;
  const TakeFact fact = [&text](const char* name, const std::string& value) {
    text += name;
    text.append(14 - std::string_view(name).size(), ' ');
    text += value + '\n';
  };
  fact("problem", std::string(to_string(shape.scalar)) + "  m = " + std::to_string(shape.m) +
                      ", n = " + std::to_string(shape.n) + ", k = " + std::to_string(shape.k));
  if (schedule.batch != Batch{}) {
    fact("batch", std::to_string(schedule.batch.num_products) + " products" +
                      (schedule.batch.has_device_arrays ? ", found by arrays in device memory" : ""));
  }
  fact("accuracy", accuracy_text(plan.policy));
  fact("scheme", std::string(to_string(first.scheme)));
  fact("bound", number(first.bound) + " " + gauge_text(first.gauge, shape.scalar) + "  (2^" +
                    number(std::log2(first.bound)) + ")");
  fact("gauge", first.is_correct ? "none: correctly rounded" : std::string(to_string(first.gauge)));
  first.explain(plan, Stages(plan.stages).subspan(1), fact);
  if (is_on_device(plan)) {
    fact("device",
         std::to_string(facts.device) + ", compute capability " + std::to_string(facts.compute_capability / 10) + "." +
             std::to_string(facts.compute_capability % 10) + ", " + std::to_string(facts.num_sms) + " multiprocessors");
  } else {
    fact("threads", std::to_string(facts.num_threads));
  }
  fact("workspace", std::to_string(schedule.workspace_bytes) + " bytes");
  fact("predicted", number(schedule.seconds) + " s");
  for (const std::string& refusal : plan.refusals) fact("refused", refusal);
  return text;
}

}  // namespace kizami::plan
