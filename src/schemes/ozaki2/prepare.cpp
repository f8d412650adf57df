// SPDX-License-Identifier: MIT
#include "schemes/ozaki2/prepare.hpp"

#include "base/instantiate.hpp"
#include "base/int_math.hpp"
#include "product/product.hpp"
#include "schemes/ozaki2/residues.hpp"
#include "schemes/ozaki2/stage.hpp"
#include "schemes/prepare.hpp"

namespace kizami::ozaki2 {

template <class T>
Status prepare_ozaki2(const plan::Plan& plan, const problem::Lines<T>& lines, schemes::Prepared& prepared) {
  const Ozaki2Stage& stage = ozaki2_of(plan);
  if (stage.ladder.num_rungs == 0) return schemes::nothing_to_prepare(Scheme::kOzaki2);
  if (stage.is_correct) {
    return {StatusCode::kUnsupported,
            "accuracy correct chooses its moduli from both operands: nothing can be prepared"};
  }
  const num::Rung& rung = stage.ladder.rungs[0];
  const int planes = num::num_planes(plan::ring_of(plan.shape.scalar), rung.num_moduli);
  prepared.row_stride = base::round_up(lines.length, product::kPadBytes);
  prepared.digit_stride = base::round_up(lines.num_terms(), product::kPadBytes);
  KIZAMI_RETURN_IF_ERROR(schemes::allocate(prepared, [&](base::Carver& carver) {
    prepared.stats = carver.take<num::LineStats>(lines.num_lines);
    prepared.planes = carver.take<std::int8_t>(planes, lines.num_lines, prepared.row_stride);
    if (stage.has_certificate) prepared.digits = carver.take<std::int8_t>(lines.num_lines, prepared.digit_stride);
  }));
  KIZAMI_RETURN_IF_ERROR(schemes::gather(plan, lines, prepared));
  make_residue_planes(lines, prepared.stats, nullptr, 0, lines.length, rung, plan.schedule.facts.num_threads,
                      prepared.planes, prepared.row_stride, lines.num_lines * prepared.row_stride);
  schemes::sample(plan, ozaki2_of(plan).ladder.rungs[0].allowance, lines, prepared);
  return {};
}

#define KIZAMI_INSTANTIATE(T) \
  template Status prepare_ozaki2<T>(const plan::Plan&, const problem::Lines<T>&, schemes::Prepared&)

KIZAMI_FOR_EACH_ELEMENT(KIZAMI_INSTANTIATE);
#undef KIZAMI_INSTANTIATE

}  // namespace kizami::ozaki2
