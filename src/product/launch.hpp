// SPDX-License-Identifier: MIT
// One launch of a planned product.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <variant>

#include "base/phase_range.hpp"
#include "kizami/status.hpp"
#include "product/product.hpp"

namespace kizami::product {

/// Runs a product of the kind that the planner asked the engine about.
/// @status kInternal: the engine refuses what it had offered, or asks for more scratch than was booked
[[nodiscard]] inline Status launch(const Engine& engine, const DeviceFacts& facts, const ProductDesc& desc,
                                   const Pointers& pointers, std::span<std::byte> workspace, Queue queue = nullptr) {
  const base::PhaseRange phase(base::Phase::kProduct);
  const auto answer = engine.query(desc, facts);
  if (const auto* const refusal = std::get_if<Refusal>(&answer)) {
    return {StatusCode::kInternal,
            "engine " + std::string(engine.name()) + " refused a planned product: " + refusal->reason};
  }
  const auto& offer = std::get<Offer>(answer);
  if (offer.workspace_bytes > workspace.size()) {
    return {StatusCode::kInternal, "engine " + std::string(engine.name()) + " asks for " +
                                       std::to_string(offer.workspace_bytes) + " bytes of scratch, booked were " +
                                       std::to_string(workspace.size())};
  }
  return engine.run(desc, offer, pointers, workspace.data(), queue);
}

}  // namespace kizami::product
