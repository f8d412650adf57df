// SPDX-License-Identifier: MIT
#include "exec/outcome.hpp"

#include <algorithm>

namespace kizami::exec {

void add_outcome(const Outcome& one, Outcome& all) {
  const bool is_first = all.engine == "none";
  if (one.engine != "none") {
    const bool is_behind = one.scheme == Scheme::kOzaki2 || (!is_first && all.scheme == Scheme::kOzaki2);
    all.scheme = is_behind ? Scheme::kOzaki2 : one.scheme;
    all.variant = is_behind ? EcVariant::kAuto : std::max(all.variant, one.variant);
    all.gauge = one.gauge;
    if (is_first) all.engine = one.engine;
  }
  all.bound = std::max(all.bound, one.bound);
  all.is_conditional = all.is_conditional || one.is_conditional;
  all.moduli = std::max(all.moduli, one.moduli);
  all.slices = std::max(all.slices, one.slices);
  all.rung = std::max(all.rung, one.rung);
  all.equilibrated = all.equilibrated || one.equilibrated;
  all.repaired += one.repaired;
  all.nonfinite_rows += one.nonfinite_rows;
  all.nonfinite_cols += one.nonfinite_cols;
}

}  // namespace kizami::exec
