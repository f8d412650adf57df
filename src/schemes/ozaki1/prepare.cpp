// SPDX-License-Identifier: MIT
#include "schemes/ozaki1/prepare.hpp"

#include <string>

#include "base/instantiate.hpp"
#include "base/int_math.hpp"
#include "product/product.hpp"
#include "schemes/ozaki1/plan.hpp"
#include "schemes/ozaki1/split.hpp"
#include "schemes/prepare.hpp"

namespace kizami::ozaki1 {
namespace {

template <class T>
Status slice(const plan::Plan& plan, const SlicedForm& form, const problem::Lines<T>& lines,
             const schemes::Prepared& prepared) {
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
    make_slices(lines, is_b ? form.b_terms[part] : form.a_terms[part], exponents, 0, lines.length,
                ozaki1_of(plan).numerics.rule, prepared.num_slices, is_b, plan.schedule.facts.num_threads,
                prepared.planes + part * lines.num_lines * row, row, prepared.row_stride);
  }
  return {};
}

}  // namespace

template <class T>
Status prepare_ozaki1(const plan::Plan& plan, const problem::Lines<T>& lines, schemes::Prepared& prepared) {
  const SliceNumerics& slices = ozaki1_of(plan).numerics;
  if (slices.format != SliceFormat::kInt8 || slices.until_zero || slices.one_scale) {
    return {StatusCode::kUnsupported,
            "scheme ozaki1 prepares slices of int8, of a number that does not depend on the "
            "data, with a scale for each line"};
  }
  const SlicedForm form = sliced_form(is_complex(plan.shape.scalar), slices.complex_form);
  const int parts = prepared.side == Side::kA ? form.num_parts : form.b_parts();
  prepared.num_slices = slices.rungs[0].num_slices;
  prepared.row_stride = slice_stride(plan, lines.length);
  prepared.digit_stride = base::round_up(lines.num_terms(), product::kPadBytes);
  KIZAMI_RETURN_IF_ERROR(schemes::allocate(prepared, [&](base::Carver& carver) {
    prepared.stats = carver.take<num::LineStats>(lines.num_lines);
    prepared.planes = carver.take<std::int8_t>(parts, lines.num_lines, prepared.num_slices, prepared.row_stride);
    if (slices.ladder.num_rungs > 0) prepared.digits = carver.take<std::int8_t>(lines.num_lines, prepared.digit_stride);
  }));
  KIZAMI_RETURN_IF_ERROR(schemes::gather(plan, lines, prepared));
  KIZAMI_RETURN_IF_ERROR(slice(plan, form, lines, prepared));
  schemes::sample(plan, slices.ladder.rungs[0].allowance, lines, prepared);
  return {};
}

#define KIZAMI_INSTANTIATE(T) \
  template Status prepare_ozaki1<T>(const plan::Plan&, const problem::Lines<T>&, schemes::Prepared&)

KIZAMI_FOR_EACH_ELEMENT(KIZAMI_INSTANTIATE);
#undef KIZAMI_INSTANTIATE

}  // namespace kizami::ozaki1
