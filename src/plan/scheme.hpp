// SPDX-License-Identifier: MIT
// How the planner sees a scheme. The one list of them is exec/schemes.hpp.
#pragma once

#include <string>

#include "kizami/policy.hpp"
#include "kizami/status.hpp"
#include "problem/problem.hpp"
#include "product/product.hpp"

namespace kizami::plan {

struct Plan;
struct Environment;

/// Whether a policy wants a scheme.
struct SchemeWish {
  enum class Kind {
    kNever,
    kMaybe,  ///< if it is the quickest
    kNamed,  ///< no other one
  };
  Kind kind = Kind::kNever;
  std::string reason = {};  ///< of kNever, where a user may wonder
};

/// All functions are pure.
struct SchemePlanner {
  /// Wishes that belong to the scheme alone, and what it cannot do whatever the machine; asked of every policy.
  /// @status kInvalidArgument, kUnsupported, kAccuracyUnreachable
  Status (*validate)(const problem::Shape& shape, const Policy& policy, product::MemorySpace space);
  SchemeWish (*wish)(const Plan& plan);
  /// Adds the stages of the scheme to a plan that has none, with chunks, engines, workspace and predicted seconds.
  /// @status kUnsupported, kAccuracyUnreachable, kWorkspaceTooSmall, with the reason
  Status (*plan)(Plan& plan, const Environment& environment);
};

}  // namespace kizami::plan
