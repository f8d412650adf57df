// SPDX-License-Identifier: MIT
#include <cstdint>

#include "plan/plan.hpp"

namespace kizami::plan {
namespace {

[[nodiscard]] NumericsHash hash_of_problem(const Plan& plan) {
  NumericsHash hash;
  hash.add(static_cast<std::uint64_t>(plan.shape.scalar));
  hash.add(static_cast<std::uint64_t>(plan.shape.k));
  return hash;
}

}  // namespace

std::uint64_t numerics_hash(const Plan& plan) {
  NumericsHash hash = hash_of_problem(plan);
  hash.add(static_cast<std::uint64_t>(plan.first().scheme));
  plan.first().add_numerics(plan, Stages(plan.stages).subspan(1), hash);
  return hash.value();
}

std::uint64_t prepared_hash(const Plan& plan) {
  NumericsHash hash = hash_of_problem(plan);
  return plan.first().add_preparation(hash) ? hash.value() : numerics_hash(plan);
}

}  // namespace kizami::plan
