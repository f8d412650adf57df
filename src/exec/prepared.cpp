// SPDX-License-Identifier: MIT
#include "exec/prepared.hpp"

#include <string>

#include "base/carver.hpp"
#include "base/fp_environment.hpp"
#include "base/int_math.hpp"
#include "exec/nonfinite.hpp"
#include "product/product.hpp"
#include "split/digits.hpp"
#include "split/residues.hpp"
#include "split/statistics.hpp"

namespace kizami::exec {
namespace {

void carve(base::Carver& carver, const plan::Plan& plan, Prepared& prepared) {
  const int planes = num::num_planes(plan::ring_of(plan.shape.scalar), plan.numerics.ladder.rungs[0].num_moduli);
  prepared.stats = carver.take<num::LineStats>(prepared.num_lines);
  prepared.planes = carver.take<std::int8_t>(planes, prepared.num_lines, prepared.row_stride);
  if (plan.numerics.has_certificate)
    prepared.digits = carver.take<std::int8_t>(prepared.num_lines, prepared.digit_stride);
}

}  // namespace

template <class T>
Status prepare(const plan::Plan& plan, Side side, const problem::Lines<T>& lines, Prepared& prepared) {
  const base::FpEnvironmentGuard guard;
  if (plan.numerics.scheme != Scheme::kOzaki2 || plan.numerics.ladder.num_rungs == 0) {
    return {StatusCode::kUnsupported, "scheme " + std::string(to_string(plan.numerics.scheme)) +
                                          " without moduli has nothing to prepare; ask for scheme ozaki2"};
  }
  if (plan.numerics.is_correct) {
    return {StatusCode::kUnsupported,
            "accuracy correct chooses its moduli from both operands: nothing can be prepared"};
  }
  prepared.scalar = plan.shape.scalar;
  prepared.side = side;
  prepared.num_lines = lines.num_lines;
  prepared.length = lines.length;
  prepared.numerics_hash = plan::numerics_hash(plan);
  prepared.row_stride = base::round_up(lines.length, product::kPadBytes);
  prepared.digit_stride = base::round_up(lines.num_terms(), product::kPadBytes);
  base::Carver counter;
  carve(counter, plan, prepared);
  prepared.memory = base::AlignedBuffer(counter.bytes());
  if (!prepared.memory.ok()) {
    return {StatusCode::kOutOfMemory,
            "prepared operand: " + std::to_string(counter.bytes()) + " bytes refused by the system"};
  }
  base::Carver carver(prepared.memory.data());
  carve(carver, plan, prepared);

  const int threads = plan.schedule.facts.num_threads;
  split::gather_statistics(lines, nullptr, threads, prepared.stats);
  if (plan.policy.reject_nonfinite) KIZAMI_RETURN_IF_ERROR(reject_nonfinite(side, prepared.stats, lines.num_lines));
  split::make_residue_planes(lines, prepared.stats, nullptr, 0, lines.length, plan.numerics.ladder.rungs[0], threads,
                             prepared.planes, prepared.row_stride, lines.num_lines * prepared.row_stride);
  if (prepared.digits != nullptr) {
    split::make_sampled_digits(lines, prepared.stats, split::sample_stride(lines.num_terms()), threads, prepared.digits,
                               prepared.digit_stride);
  }
  return {};
}

#define KIZAMI_INSTANTIATE(T) template Status prepare<T>(const plan::Plan&, Side, const problem::Lines<T>&, Prepared&)

KIZAMI_INSTANTIATE(float);
KIZAMI_INSTANTIATE(double);
KIZAMI_INSTANTIATE(std::complex<float>);
KIZAMI_INSTANTIATE(std::complex<double>);
#undef KIZAMI_INSTANTIATE

}  // namespace kizami::exec
