// SPDX-License-Identifier: MIT
// What both schemes that prepare operands do alike: memory, statistics of the lines, sampled digits.
#pragma once

#include <string>

#include "base/carver.hpp"
#include "certify/digits.hpp"
#include "certify/statistics.hpp"
#include "fp64/nonfinite.hpp"
#include "kizami/policy.hpp"
#include "kizami/status.hpp"
#include "num/rung.hpp"
#include "plan/plan.hpp"
#include "problem/lines.hpp"
#include "schemes/prepared.hpp"

namespace kizami::schemes {

/// Of a scheme that splits nothing once.
[[nodiscard]] inline Status nothing_to_prepare(Scheme scheme) {
  return {StatusCode::kUnsupported,
          "scheme " + std::string(to_string(scheme)) + " without moduli has nothing to prepare; ask for scheme ozaki2"};
}

/// Memory for all arrays. @param carve void(base::Carver&), which takes them
template <class Carve>
[[nodiscard]] Status allocate(Prepared& prepared, const Carve& carve) {
  base::Carver counter;
  carve(counter);
  prepared.memory = base::AlignedBuffer(counter.bytes());
  if (!prepared.memory.ok()) {
    return {StatusCode::kOutOfMemory,
            "prepared operand: " + std::to_string(counter.bytes()) + " bytes refused by the system"};
  }
  base::Carver carver(prepared.memory.data());
  carve(carver);
  return {};
}

/// Fills `stats`. @status kNonFinite as the policy wants
template <class T>
[[nodiscard]] Status gather(const plan::Plan& plan, const problem::Lines<T>& lines, Prepared& prepared) {
  certify::gather_statistics(lines, nullptr, plan.schedule.facts.num_threads, prepared.stats);
  if (!plan.policy.reject_nonfinite) return {};
  return fp64::reject_nonfinite(prepared.side, prepared.stats, lines.num_lines);
}

/// Fills `digits`, if there are any. @param allowance of the lowest rung
template <class T>
void sample(const plan::Plan& plan, float allowance, const problem::Lines<T>& lines, Prepared& prepared) {
  if (prepared.digits == nullptr) return;
  certify::make_sampled_digits(lines, prepared.stats, num::sample_stride(allowance, lines.num_terms()),
                               plan.schedule.facts.num_threads, prepared.digits, prepared.digit_stride);
}

}  // namespace kizami::schemes
