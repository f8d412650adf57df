// SPDX-License-Identifier: MIT
#include "exec/prepared.hpp"

#include "base/fp_environment.hpp"
#include "base/instantiate.hpp"
#include "schemes/ozaki1/prepare.hpp"
#include "schemes/ozaki2/prepare.hpp"
#include "schemes/prepare.hpp"

namespace kizami::exec {

template <class T>
Status prepare(const plan::Plan& plan, Side side, const problem::Lines<T>& lines, schemes::Prepared& prepared) {
  const base::FpEnvironmentGuard guard;
  prepared.scalar = plan.shape.scalar;
  prepared.side = side;
  prepared.num_lines = lines.num_lines;
  prepared.length = lines.length;
  prepared.numerics_hash = plan::prepared_hash(plan);
  const Scheme scheme = plan.first().scheme;
  if (scheme == Scheme::kOzaki1) return ozaki1::prepare_ozaki1(plan, lines, prepared);
  if (scheme == Scheme::kOzaki2) return ozaki2::prepare_ozaki2(plan, lines, prepared);
  return schemes::nothing_to_prepare(scheme);
}

#define KIZAMI_INSTANTIATE(T) \
  template Status prepare<T>(const plan::Plan&, Side, const problem::Lines<T>&, schemes::Prepared&)

KIZAMI_FOR_EACH_ELEMENT(KIZAMI_INSTANTIATE);
#undef KIZAMI_INSTANTIATE

}  // namespace kizami::exec
