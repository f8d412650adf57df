// SPDX-License-Identifier: MIT
// One launch of the planned engine.
#pragma once

#include <string>
#include <variant>

#include "kizami/status.hpp"
#include "plan/plan.hpp"
#include "product/product.hpp"

namespace kizami::exec {

/// Runs a product of the kind that the planner asked the engine about.
/// @status kInternal: the engine refuses what it had offered
[[nodiscard]] inline Status launch(const plan::Plan& plan, const product::ProductDesc& desc,
                                   const product::Pointers& pointers, std::byte* workspace) {
  const product::Engine& engine = *plan.schedule.engine;
  const auto answer = engine.query(desc, plan.schedule.facts);
  if (const auto* const refusal = std::get_if<product::Refusal>(&answer)) {
    return {StatusCode::kInternal,
            "engine " + std::string(engine.name()) + " refused a planned product: " + refusal->reason};
  }
  return engine.run(desc, std::get<product::Offer>(answer), pointers, workspace);
}

}  // namespace kizami::exec
