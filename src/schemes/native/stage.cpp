// SPDX-License-Identifier: MIT
#include "schemes/native/stage.hpp"

#include <string>

#include "plan/text.hpp"
#include "schemes/native/plan.hpp"

namespace kizami::native {
namespace {

/// What becomes of operands that the bound is not certain for.
[[nodiscard]] std::string beyond_text(const plan::Plan& plan, plan::Stages behind) {
  if (plan::is_on_device(plan)) return "nobody looks at the elements";
  if (!behind.empty()) return "other operands: " + behind[0]->brief() + ", bound " + plan::number(behind[0]->bound);
  return is_native_by_name(plan.policy) ? "the outcome says whether that is certain" : "other operands: refused";
}

}  // namespace

std::string_view NativeStage::engine_name() const {
  return device_engine != nullptr ? device_engine->name() : engine->name();
}

bool NativeStage::answers_all(const plan::Plan& plan) const {
  return plan::is_on_device(plan) || is_native_by_name(plan.policy);
}

void NativeStage::add_numerics(const plan::Plan& plan, plan::Stages behind, plan::NumericsHash& hash) const {
  hash.add(0);  // no certificate, no FP64 rung
  if (behind.empty()) return;
  plan::Plan rest = plan;
  rest.stages.assign(behind.begin(), behind.end());
  hash.add(plan::numerics_hash(rest));
}

void NativeStage::explain(const plan::Plan& plan, plan::Stages behind, const plan::TakeFact& fact) const {
  fact("bound holds", "where nothing overflows or underflows on the way; " + beyond_text(plan, behind));
  fact("k blocks", std::to_string(k_block));
  fact("engine", std::string(engine_name()));
}

}  // namespace kizami::native
