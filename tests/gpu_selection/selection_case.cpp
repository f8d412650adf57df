// SPDX-License-Identifier: MIT
#include "gpu_selection/selection_case.hpp"

#include <cmath>

#include "check/matrix_spec.hpp"
#include "device_cases.hpp"
#include "draw.hpp"

namespace kizami::gpu_test {
namespace {

using check::Case;
using check::MatrixClass;
using check::MatrixSpec;
using cli::Draw;

void draw_shape(Draw& draw, Case& c) {
  for (std::int64_t* const dim : {&c.m, &c.n, &c.k})
    *dim = draw.one_in(3) ? draw.integer(1, 130) : cli::random_extent(draw);
  const std::int64_t size = draw.integer(1, 40);
  if (size <= 6) {
    c.m = draw.integer(100, 400);
    c.n = draw.integer(100, 400);
  } else if (size <= 12) {
    c.k = draw.integer(1000, 3000);
  } else if (size <= 22) {
    c.k = draw.integer(65, 600);
  }
}

[[nodiscard]] MatrixSpec spec_of(MatrixClass cls, double parameter) {
  MatrixSpec spec = check::default_spec(cls);
  spec.params[0] = parameter;
  return spec;
}

/// Both operands: exponents of the same kind, or of any two.
void draw_operands(Draw& draw, Case& c) {
  const auto phi = [&] { return std::floor(draw.uniform(0, 6) * 16) / 16; };
  const auto span = [&] { return static_cast<double>(draw.one_in(4) ? 400 : draw.integer(0, 400)); };
  const std::int64_t kind = draw.integer(1, 12);
  if (kind <= 5) {
    c.a = spec_of(MatrixClass::kExprand, phi());
    c.b = spec_of(MatrixClass::kExprand, draw.one_in(2) ? c.a.params[0] : phi());
  } else if (kind == 6) {
    c.a = c.b = spec_of(MatrixClass::kGradeInner, span());
  } else if (kind == 7) {
    for (MatrixSpec* const spec : {&c.a, &c.b}) {
      const double exponents = span();  // drawn first by every compiler
      *spec = spec_of(draw.of({MatrixClass::kGradeRows, MatrixClass::kGradeCols}), exponents);
    }
  } else if (kind == 8) {
    c.a = spec_of(MatrixClass::kHuge, static_cast<double>(draw.integer(0, 200)));
    c.b = draw.one_in(2) ? c.a : spec_of(MatrixClass::kExprand, phi());
  } else if (kind == 9) {
    c.a = c.b = spec_of(MatrixClass::kEvil, static_cast<double>(draw.integer(0, 200)));
  } else {
    for (const check::Which which : {check::Which::kA, check::Which::kB})
      (which == check::Which::kA ? c.a : c.b) = cli::random_spec(draw, c.scalar, check::shape_of(c, which), true);
    return;
  }
  for (MatrixSpec* const spec : {&c.a, &c.b}) {
    if (is_complex(c.scalar) && draw.one_in(4))
      spec->parts = draw.of({check::FilledParts::kReal, check::FilledParts::kImaginary});
    if (draw.one_in(10)) spec->scale_exp = static_cast<int>(draw.integer(-1000, 900));
    if (!draw.one_in(12)) continue;
    using P = check::Placement;
    P placement;
    placement.kind = draw.of({P::Kind::kNaN, P::Kind::kPosInf, P::Kind::kNegInf});
    placement.place = draw.of({P::Place::kCorner, P::Place::kEdge, P::Place::kMiddle, P::Place::kLast});
    if (is_complex(c.scalar)) placement.part = draw.of({check::Part::kReal, check::Part::kImaginary});
    spec->placements.push_back(placement);
  }
}

[[nodiscard]] Policy draw_policy(Draw& draw, Scalar scalar) {
  Policy policy;
  policy.scheme = Scheme::kOzaki2;
  policy.engine = EngineName::kHopper;
  if (draw.one_in(8)) {
    policy.engine = EngineName::kCublasLt;
    policy.may_sync = true;  // else it has one rung
  } else if (draw.one_in(10)) {
    policy.may_sync = true;
  }
  if (draw.one_in(2)) policy.accuracy = cli::random_bits(draw, scalar);
  if (draw.one_in(10)) policy.gauge = Gauge::kNorm;
  if (draw.one_in(8)) policy.max_rungs = static_cast<int>(draw.integer(1, 4));
  return policy;
}

}  // namespace

Case random_selection_case(std::uint64_t seed, std::int64_t index) {
  Draw draw(seed, index, cli::kSelectionCampaignStream);
  return cli::first_printable(draw, [&] {
    Case c;
    cli::draw_type_and_ops(draw, c);
    draw_shape(draw, c);
    cli::draw_layout(draw, c);
    c.policy = draw_policy(draw, c.scalar);
    if (draw.one_in(4)) {
      c.alpha = cli::random_factor(draw, false);
      c.beta = cli::random_factor(draw, true);
      if (is_complex(c.scalar)) c.alpha_imag = cli::random_factor(draw, false);
    }
    c.has_device_factors = draw.one_in(6);
    draw_operands(draw, c);
    if (draw.one_in(8)) c.policy.workspace_limit_bytes = cli::random_workspace(draw, c);
    return c;
  });
}

}  // namespace kizami::gpu_test
