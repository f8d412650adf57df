// SPDX-License-Identifier: MIT
// The planner: shape + policy + machine + offers of the engines -> Plan. Pure: no allocation of workspace, no device,
// no environment, so it is tested without any. It knows no scheme's name: a plan is a list of stages (plan/stage.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/cloned.hpp"
#include "base/fork_safe.hpp"
#include "kizami/batch.hpp"
#include "kizami/policy.hpp"
#include "kizami/status.hpp"
#include "num/moduli.hpp"
#include "plan/scheme.hpp"
#include "plan/stage.hpp"
#include "problem/problem.hpp"
#include "product/ec_engine.hpp"
#include "product/float_product.hpp"
#include "product/native_engine.hpp"
#include "product/product.hpp"

namespace kizami::plan {

/// Extents of one pass: mc lines of A by nc lines of B over kc elements.
struct Chunk {
  std::int64_t mc = 0;
  std::int64_t nc = 0;
  std::int64_t kc = 0;
};

/// What no stage has to itself. Never changes a bit.
struct Schedule {
  product::DeviceFacts facts;     ///< with num_threads as decided
  Batch batch;                    ///< on a device
  std::size_t product_bytes = 0;  ///< on a device: workspace of one product of the batch; or a vendor's scratch
  std::size_t workspace_bytes = 0;
  double seconds = 0;  ///< predicted, of all products
};

struct Plan {
  problem::Shape shape;
  Policy policy;
  std::vector<base::Cloned<Stage>> stages;  ///< never empty once it is made
  Schedule schedule;
  std::uint32_t serial = 0;           ///< on a device: of the plans of this process; copies have that of the first
  std::vector<std::string> refusals;  ///< what was considered and refused, with reasons

  /// What is tried first; its scheme is that of the plan.
  [[nodiscard]] const Stage& first() const { return *stages.front(); }
};

/// The stage of a type; one that was never planned where the plan has none.
template <class S>
[[nodiscard]] const S& stage_of(const Plan& plan) {
  static constinit base::MadeOnce<S> absent;
  for (const base::Cloned<Stage>& stage : plan.stages) {
    if (stage->scheme == S::kScheme) return static_cast<const S&>(*stage);
  }
  return absent.get();
}
/// The same, to be changed; a new one before all others where the plan has none.
template <class S>
[[nodiscard]] S& edit_stage(Plan& plan) {
  for (base::Cloned<Stage>& stage : plan.stages) {
    if (stage->scheme == S::kScheme) return static_cast<S&>(*stage);
  }
  plan.stages.insert(plan.stages.begin(), base::Cloned<Stage>(std::make_unique<S>()));
  return static_cast<S&>(*plan.stages.front());
}

[[nodiscard]] inline bool is_on_device(const Plan& plan) {
  return plan.schedule.facts.space == product::MemorySpace::kDevice;
}

/// What exists on this machine.
struct Environment {
  product::DeviceFacts facts = {};
  std::span<const product::Engine* const> engines = {};             ///< in order of preference
  std::span<const product::FloatEngine* const> float_engines = {};  ///< likewise
  std::span<const product::EcEngine* const> ec_engines = {};        ///< likewise, of a device
  const product::NativeEngine* native_engine = nullptr;             ///< null: there is none
  const product::NativeDeviceEngine* native_device_engine = nullptr;
  std::span<const SchemePlanner* const> schemes =
      {};  ///< of equally quick ones the first is taken; the last one answers all
};

/// @status see kizami::make_plan
Result<Plan> make(const problem::Shape& shape, const Policy& policy, const Environment& environment,
                  const Batch& batch = {});

/// The plan in words, one fact a line.
[[nodiscard]] std::string explain(const Plan& plan);

/// Seconds of a device call with a plan that had to do this: plan.schedule.seconds where the plan counts on no more,
/// and never less.
[[nodiscard]] inline double device_seconds(const Plan& plan, const Effort& effort) {
  const bool is_scaling_only = plan.shape.m == 0 || plan.shape.n == 0 || plan.shape.k == 0;
  return plan.schedule.seconds + (is_scaling_only ? 0.0 : plan.first().seconds_beyond(plan, effort));
}

/// Hash of everything that fixes the bits.
[[nodiscard]] std::uint64_t numerics_hash(const Plan& plan);
/// Hash of what an operand prepared by a plan depends on: equal for plans that may use it.
[[nodiscard]] std::uint64_t prepared_hash(const Plan& plan);

/// The ring that the products of a type are computed in.
[[nodiscard]] constexpr num::Ring ring_of(Scalar scalar) {
  return is_complex(scalar) ? num::Ring::kComplex : num::Ring::kReal;
}
/// Real terms that make up an element of C, or its real or imaginary part.
[[nodiscard]] constexpr std::int64_t num_terms(const problem::Shape& shape) {
  return is_complex(shape.scalar) ? 2 * shape.k : shape.k;
}

/// No terms or no elements: such a call scales C at most.
[[nodiscard]] constexpr bool is_empty(const problem::Shape& shape) {
  return shape.m == 0 || shape.n == 0 || shape.k == 0;
}

/// Default of Policy::workspace_limit_bytes on the host.
inline constexpr std::size_t kDefaultWorkspaceLimit = std::size_t{1} << 30;

}  // namespace kizami::plan
