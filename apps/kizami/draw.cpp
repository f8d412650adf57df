// SPDX-License-Identifier: MIT
#include "draw.hpp"

#include <algorithm>
#include <cmath>

#include "check/matrix_spec.hpp"

namespace kizami::cli {

using check::Case;
using check::MatrixSpec;

void draw_type_and_ops(Draw& draw, Case& c) {
  c.scalar = draw.of({Scalar::kF32, Scalar::kF64, Scalar::kC64, Scalar::kC128});
  for (Op* const op : {&c.op_a, &c.op_b})
    *op = draw.of({Op::kNone, Op::kTranspose, Op::kConjTranspose, Op::kConjugate});
}

void draw_layout(Draw& draw, Case& c) {
  if (draw.one_in(2)) c.layout = Layout::kRowMajor;
  if (draw.one_in(3)) c.ld_pad = draw.integer(1, 70);
  if (draw.one_in(3)) c.offset = draw.integer(1, 15);
}

Accuracy random_bits(Draw& draw, Scalar scalar) {
  const int max_bits = real_of(scalar) == Scalar::kF32 ? 23 : 52;
  return Accuracy::at_bits(static_cast<int>(draw.integer(1, max_bits)));
}

Case first_printable(Draw& draw, const std::function<Case()>& draw_case) {
  for (;;) {
    Case c = draw_case();
    c.seed = static_cast<std::uint64_t>(draw.integer(1, 1000000));
    const Result<Case> parsed = check::parse_case(check::print(c));
    if (parsed.ok()) return parsed.value();
  }
}

std::int64_t random_extent(Draw& draw) {
  if (draw.one_in(40)) return 0;
  if (draw.one_in(4)) return draw.of<std::int64_t>({15, 16, 17, 31, 33, 63, 64, 65, 127, 128, 129});
  return draw.integer(1, draw.one_in(3) ? 60 : 12);
}

double random_factor(Draw& draw, bool may_be_infinite) {
  if (draw.one_in(3)) return draw.of({1.0, 1.0, -1.0, 0.0});
  if (draw.one_in(25)) return may_be_infinite ? draw.of({HUGE_VAL, -HUGE_VAL, std::nan("")}) : std::nan("");
  return draw.integer(-64, 64) * std::ldexp(0.125, static_cast<int>(draw.one_in(5) ? draw.integer(-60, 60) : 0));
}

MatrixSpec random_spec(Draw& draw, Scalar scalar, check::Shape shape, bool may_be_nonfinite) {
  const auto classes = check::class_inventory();
  for (;;) {
    const check::ClassInfo& info =
        classes[static_cast<std::size_t>(draw.integer(0, static_cast<std::int64_t>(classes.size()) - 1))];
    MatrixSpec spec = check::default_spec(info.id);
    for (int p = 0; p < info.num_params; ++p) {
      const check::ParamInfo& param = info.params[static_cast<std::size_t>(p)];
      if (draw.one_in(2)) continue;
      const double hi = std::min(param.hi, std::max(8.0, 4.0 * std::fabs(param.default_value)));
      const double value = draw.uniform(param.lo, std::max(param.lo, hi));
      spec.params[static_cast<std::size_t>(p)] = param.integral ? std::floor(value) : std::floor(value * 16) / 16;
    }
    if (draw.one_in(4)) spec.scale_exp = static_cast<int>(draw.integer(-40, 40));
    if (draw.one_in(12)) spec.scale_exp = static_cast<int>(draw.integer(-1100, 1000));
    if (is_complex(scalar) && draw.one_in(4))
      spec.parts = draw.of({check::FilledParts::kReal, check::FilledParts::kImaginary});
    if (is_complex(scalar) && draw.one_in(6)) spec.imag_exp = static_cast<int>(draw.integer(-300, 60));
    if (may_be_nonfinite && draw.one_in(8)) {
      using P = check::Placement;
      P placement;
      placement.kind = draw.of({P::Kind::kNaN, P::Kind::kPosInf, P::Kind::kNegInf});
      placement.place =
          draw.of({P::Place::kCorner, P::Place::kEdge, P::Place::kMiddle, P::Place::kLast, P::Place::kAll});
      if (is_complex(scalar)) placement.part = draw.of({check::Part::kReal, check::Part::kImaginary});
      spec.placements.push_back(placement);
    }
    if (check::validate(spec, scalar, shape.rows, shape.cols).ok()) return spec;
  }
}

Slicing random_slices(Draw& draw, Scalar scalar, bool is_engine_free) {
  Slicing slices;
  if (is_engine_free && draw.one_in(4))
    slices.format = draw.of({SliceFormat::kFp16, SliceFormat::kBf16, SliceFormat::kE4m3, SliceFormat::kE5m2});
  const bool is_int8 = slices.format == SliceFormat::kInt8;
  if (is_int8) slices.split = draw.of({SliceSplit::kAuto, SliceSplit::kTruncated, SliceSplit::kNearest});
  if (draw.one_in(3)) {
    slices.num_slices = static_cast<int>(draw.one_in(4) ? kUntilZero : draw.integer(1, is_int8 ? 12 : 8));
    if (draw.one_in(3)) slices.num_diagonals = kAllPairs;
  }
  slices.sums = draw.of({SliceSums::kAuto, SliceSums::kPairs, SliceSums::kGrouped, SliceSums::kBlocked});
  if (is_complex(scalar))
    slices.complex_form = draw.of({ComplexForm::kAuto, ComplexForm::kKaratsuba, ComplexForm::kEnlarged});
  return slices;
}

}  // namespace kizami::cli
