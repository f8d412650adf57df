// SPDX-License-Identifier: MIT
#include "plan/cheapest.hpp"

#include <algorithm>
#include <utility>

#include "plan/text.hpp"

namespace kizami::plan {
namespace {

[[nodiscard]] std::string slower(const std::string& name, const Plan& plan) {
  return name + ": predicted " + short_number(plan.schedule.seconds) + " s";
}

}  // namespace

bool Cheapest::may_be(std::string_view engine) const {
  return policy_.engine == EngineName::kAuto || to_string(policy_.engine) == engine;
}

void Cheapest::wants_workspace(std::string_view engine, std::size_t needed) {
  least_ = least_ == 0 ? needed : std::min(least_, needed);
  refuses(engine, "needs a workspace of " + std::to_string(needed) + " bytes");
}

void Cheapest::refuses(std::string_view engine, const std::string& reason) {
  std::string refusal = std::string(engine) + ": " + reason;
  if (std::find(refusals_.begin(), refusals_.end(), refusal) != refusals_.end()) return;  // of another candidate
  reasons_ += "; " + refusal;
  refusals_.push_back(std::move(refusal));
}

void Cheapest::offers(std::string_view name, Plan candidate) {
  if (best_.has_value() && best_->schedule.seconds <= candidate.schedule.seconds) {
    refusals_.push_back(slower(std::string(name), candidate));
    return;
  }
  if (best_.has_value()) refusals_.push_back(slower(best_name_, *best_));
  best_ = std::move(candidate);
  best_name_ = name;
}

Status Cheapest::take(Plan& plan, Scheme scheme) && {
  const bool has_best = best_.has_value();
  if (has_best) plan = *std::move(best_);
  plan.refusals = std::move(refusals_);
  if (has_best) return {};
  if (least_ > 0) {
    const std::size_t limit = policy_.workspace_limit_bytes;
    return {StatusCode::kWorkspaceTooSmall,
            "workspace limit = " + std::to_string(limit == 0 ? kDefaultWorkspaceLimit : limit) + " bytes" +
                (limit == 0 ? " (the default)" : "") + ", must be >= " + std::to_string(least_) + " for this shape"};
  }
  const std::string named =
      policy_.engine == EngineName::kAuto ? "" : "named " + std::string(to_string(policy_.engine)) + " ";
  return {StatusCode::kUnsupported,
          "no engine " + named + "here can multiply for scheme " + std::string(to_string(scheme)) + reasons_};
}

}  // namespace kizami::plan
