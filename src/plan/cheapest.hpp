// SPDX-License-Identifier: MIT
// The choice of an engine for one scheme: the quickest of the plans that engines make possible, and why the others are
// not it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kizami/status.hpp"
#include "plan/plan.hpp"

namespace kizami::plan {

class Cheapest {
 public:
  /// @param plan what all candidates start from
  explicit Cheapest(const Plan& plan) : policy_(plan.policy), refusals_(plan.refusals) {}

  /// Whether the caller's choice of an engine leaves this one.
  [[nodiscard]] bool may_be(std::string_view engine) const;
  /// Whether any has offered.
  [[nodiscard]] bool has_offer() const { return best_.has_value(); }
  /// An engine that needs more workspace than the limit. @units bytes
  void wants_workspace(std::string_view engine, std::size_t needed);
  void refuses(std::string_view engine, const std::string& reason);
  /// A plan with its predicted seconds. Of equally quick ones the first is taken.
  /// @param name of the engine, and what tells its candidates apart
  void offers(std::string_view name, Plan candidate);
  /// Makes the quickest candidate the plan; the refusals become those of all engines, whatever comes of it.
  /// @status kWorkspaceTooSmall: an engine would do with a larger limit; kUnsupported: no engine, with the reason of
  ///         each
  [[nodiscard]] Status take(Plan& plan, Scheme scheme) &&;

 private:
  Policy policy_;
  std::vector<std::string> refusals_;  ///< those of the plan before, too
  std::string reasons_;
  std::size_t least_ = 0;  ///< workspace, over the engines that want more than the limit; 0: none does
  std::optional<Plan> best_;
  std::string best_name_;
};

}  // namespace kizami::plan
