// SPDX-License-Identifier: MIT
// Plans scheme ozaki2: ladder and bound, chunks within the workspace limit, the quickest engine.
#pragma once

#include <cstddef>
#include <optional>
#include <variant>

#include "kizami/status.hpp"
#include "plan/plan.hpp"
#include "schemes/ozaki2/stage.hpp"

namespace kizami::ozaki2 {

extern const plan::SchemePlanner kOzaki2Planner;

/// Ladder, bound, order of the FP64 rung. @status kUnsupported; kAccuracyUnreachable: no count of moduli guarantees the
/// accuracy
[[nodiscard]] Status plan_ozaki2_numerics(plan::Plan& plan);

/// The quickest, by their predictions, of the engines that may be used and do not refuse; of equal ones the first.
/// @status kUnsupported: no engine, with the reason of each; kWorkspaceTooSmall
[[nodiscard]] Status plan_ozaki2_schedule(plan::Plan& plan, const plan::Environment& environment);

/// What an engine makes of a plan: the seconds of one product, why it refuses, or the workspace that it needs above the
/// limit.
struct WantedWorkspace {
  std::size_t bytes = 0;
};
using EngineAnswer = std::variant<double, product::Refusal, WantedWorkspace>;
/// Plans the rungs and chunks of ozaki2_of(plan).engine.
[[nodiscard]] EngineAnswer plan_ozaki2_on_engine(plan::Plan& plan);

/// Of a block that devices share and whose operands come over links, the last one in so many parts: the plan with
/// Strassen's products and all of C in one chunk, where that is quicker than what the plan has, within its workspace limit
/// (strassen_gain_of_block_seconds()). Nothing where the plan stays.
[[nodiscard]] std::optional<plan::Plan> strassen_plan_of_block(const plan::Plan& plan, int parts);

/// Seconds on the host at the lowest rung, as predicted: everything but the INT8 products. docs/perf/cpu_int8.md.
struct HostSeconds {
  double call = 0;  ///< whatever the shape
  double split = 0;
  double certificate = 0;
  double crt = 0;
  [[nodiscard]] double sum() const { return call + split + certificate + crt; }
};
/// @range a plan with an engine
[[nodiscard]] HostSeconds host_seconds(const plan::Plan& plan);

/// Threads for the phases of one product: one where the work is too little for more.
[[nodiscard]] int useful_threads(const plan::Plan& plan);

/// The workspace of one product. @units bytes
[[nodiscard]] std::size_t product_bytes(const plan::Plan& plan);

}  // namespace kizami::ozaki2
