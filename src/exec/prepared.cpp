// SPDX-License-Identifier: MIT
#include "exec/prepared.hpp"

#include <string>

#include "base/carver.hpp"
#include "base/fp_environment.hpp"
#include "base/int_math.hpp"
#include "certify/digits.hpp"
#include "certify/statistics.hpp"
#include "fp64/nonfinite.hpp"
#include "product/product.hpp"
#include "schemes/ozaki1/plan.hpp"
#include "schemes/ozaki1/split.hpp"
#include "schemes/ozaki2/residues.hpp"
#include "schemes/ozaki2/stage.hpp"

namespace kizami::exec {
namespace {

[[nodiscard]] ozaki1::SlicedForm sliced_form(const plan::Plan& plan) {
  return ozaki1::sliced_form(is_complex(plan.shape.scalar), ozaki1::ozaki1_of(plan).numerics.complex_form);
}

void carve(base::Carver& carver, const plan::Plan& plan, schemes::Prepared& prepared) {
  if (plan.first().scheme == Scheme::kOzaki1) {
    const ozaki1::SlicedForm form = sliced_form(plan);
    prepared.stats = carver.take<num::LineStats>(prepared.num_lines);
    const int parts = prepared.side == Side::kA ? form.num_parts : form.b_parts();
    prepared.planes = carver.take<std::int8_t>(parts, prepared.num_lines, prepared.num_slices, prepared.row_stride);
    if (ozaki1::ozaki1_of(plan).numerics.ladder.num_rungs > 0)
      prepared.digits = carver.take<std::int8_t>(prepared.num_lines, prepared.digit_stride);
    return;
  }
  const int planes =
      num::num_planes(plan::ring_of(plan.shape.scalar), ozaki2::ozaki2_of(plan).ladder.rungs[0].num_moduli);
  prepared.stats = carver.take<num::LineStats>(prepared.num_lines);
  prepared.planes = carver.take<std::int8_t>(planes, prepared.num_lines, prepared.row_stride);
  if (ozaki2::ozaki2_of(plan).has_certificate)
    prepared.digits = carver.take<std::int8_t>(prepared.num_lines, prepared.digit_stride);
}

/// What cannot be prepared.
Status validate(const plan::Plan& plan) {
  if (plan.first().scheme == Scheme::kOzaki1) {
    const ozaki1::SliceNumerics& slices = ozaki1::ozaki1_of(plan).numerics;
    if (slices.format == SliceFormat::kInt8 && !slices.until_zero && !slices.one_scale) return {};
    return {StatusCode::kUnsupported,
            "scheme ozaki1 prepares slices of int8, of a number that does not depend on the "
            "data, with a scale for each line"};
  }
  if (plan.first().scheme != Scheme::kOzaki2 || ozaki2::ozaki2_of(plan).ladder.num_rungs == 0) {
    return {StatusCode::kUnsupported, "scheme " + std::string(to_string(plan.first().scheme)) +
                                          " without moduli has nothing to prepare; ask for scheme ozaki2"};
  }
  if (ozaki2::ozaki2_of(plan).is_correct) {
    return {StatusCode::kUnsupported,
            "accuracy correct chooses its moduli from both operands: nothing can be prepared"};
  }
  return {};
}

/// The slices of the lowest rung.
template <class T>
Status make_slices(const plan::Plan& plan, const problem::Lines<T>& lines, const schemes::Prepared& prepared) {
  const ozaki1::SliceNumerics& slices = ozaki1::ozaki1_of(plan).numerics;
  const ozaki1::SlicedForm form = sliced_form(plan);
  base::AlignedBuffer memory(static_cast<std::size_t>(lines.num_lines) * sizeof(std::int32_t));
  if (!memory.ok())
    return {StatusCode::kOutOfMemory,
            "line exponents: " + std::to_string(memory.size()) + " bytes refused by the system"};
  auto* const exponents = reinterpret_cast<std::int32_t*>(memory.data());
  for (std::int64_t i = 0; i < lines.num_lines; ++i) {
    const num::LineStats& line = prepared.stats[i];
    exponents[i] = !line.is_finite ? num::kSkipLine : line.is_zero() ? 0 : line.exponent;
  }
  const bool is_b = prepared.side == Side::kB;
  const std::int64_t row = prepared.num_slices * prepared.row_stride;
  for (int part = 0; part < (is_b ? form.b_parts() : form.num_parts); ++part) {
    ozaki1::make_slices(lines, is_b ? form.b_terms[part] : form.a_terms[part], exponents, 0, lines.length, slices.rule,
                        prepared.num_slices, is_b, plan.schedule.facts.num_threads,
                        prepared.planes + part * lines.num_lines * row, row, prepared.row_stride);
  }
  return {};
}

}  // namespace

template <class T>
Status prepare(const plan::Plan& plan, Side side, const problem::Lines<T>& lines, schemes::Prepared& prepared) {
  const base::FpEnvironmentGuard guard;
  KIZAMI_RETURN_IF_ERROR(validate(plan));
  const bool is_sliced = plan.first().scheme == Scheme::kOzaki1;
  prepared.scalar = plan.shape.scalar;
  prepared.side = side;
  prepared.num_lines = lines.num_lines;
  prepared.length = lines.length;
  prepared.numerics_hash = plan::prepared_hash(plan);
  prepared.row_stride =
      is_sliced ? ozaki1::slice_stride(plan, lines.length) : base::round_up(lines.length, product::kPadBytes);
  prepared.num_slices = is_sliced ? ozaki1::ozaki1_of(plan).numerics.rungs[0].num_slices : 0;
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
  certify::gather_statistics(lines, nullptr, threads, prepared.stats);
  if (plan.policy.reject_nonfinite)
    KIZAMI_RETURN_IF_ERROR(fp64::reject_nonfinite(side, prepared.stats, lines.num_lines));
  if (is_sliced) {
    KIZAMI_RETURN_IF_ERROR(make_slices(plan, lines, prepared));
  } else {
    ozaki2::make_residue_planes(lines, prepared.stats, nullptr, 0, lines.length,
                                ozaki2::ozaki2_of(plan).ladder.rungs[0], threads, prepared.planes, prepared.row_stride,
                                lines.num_lines * prepared.row_stride);
  }
  if (prepared.digits != nullptr) {
    certify::make_sampled_digits(lines, prepared.stats, num::sample_stride(lines.num_terms()), threads, prepared.digits,
                                 prepared.digit_stride);
  }
  return {};
}

#define KIZAMI_INSTANTIATE(T) \
  template Status prepare<T>(const plan::Plan&, Side, const problem::Lines<T>&, schemes::Prepared&)

KIZAMI_INSTANTIATE(float);
KIZAMI_INSTANTIATE(double);
KIZAMI_INSTANTIATE(std::complex<float>);
KIZAMI_INSTANTIATE(std::complex<double>);
#undef KIZAMI_INSTANTIATE

}  // namespace kizami::exec
