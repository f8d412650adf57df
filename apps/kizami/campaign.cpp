// SPDX-License-Identifier: MIT
#include "campaign.hpp"

#include "check/matrix_spec.hpp"
#include "draw.hpp"

namespace kizami::cli {
namespace {

using check::Case;
using check::MatrixSpec;
using check::Which;

Policy random_policy(Draw& draw, Scalar scalar, bool is_plain) {
  Policy policy;
  if (draw.one_in(3)) policy.accuracy = random_bits(draw, scalar);
  if (is_plain && draw.one_in(4)) policy.accuracy = Accuracy::correct();
  const bool is_correct = policy.accuracy.kind == Accuracy::Kind::kCorrect;
  if (!is_correct && draw.one_in(4)) policy.gauge = Gauge::kNorm;
  if (!is_correct && draw.one_in(8))
    policy.forced_moduli = static_cast<int>(draw.integer(2, is_complex(scalar) ? 27 : 49));
  if (!is_correct && policy.forced_moduli == 0 && draw.one_in(10)) policy.scheme = Scheme::kNative;
  if (policy.scheme != Scheme::kNative && draw.one_in(3))
    policy.engine = draw.of({EngineName::kCpuRef, EngineName::kCpuSimd, EngineName::kTile});
  const bool may_be_ec = !is_correct && policy.scheme == Scheme::kAuto && policy.engine == EngineName::kAuto &&
                         policy.forced_moduli == 0 && real_of(scalar) == Scalar::kF32;
  if (may_be_ec && draw.one_in(3)) {
    policy.scheme = Scheme::kEc;
    policy.reproducibility = Reproducibility::kNotGuaranteed;
    if (draw.one_in(2)) {
      policy.ec.variant =
          draw.of({EcVariant::kScaled, EcVariant::kScaledTf32, EcVariant::kHalfhalf, EcVariant::kTf32tf32,
                   EcVariant::kMarkidis, EcVariant::kFeng, EcVariant::kBf16x3, EcVariant::kBf16x6, EcVariant::kBf16x9});
    }
    if (draw.one_in(4)) policy.ec.promotion_k = static_cast<int>(16 * draw.integer(1, 8));
  }
  const bool may_be_sliced = !is_correct && policy.scheme == Scheme::kAuto && policy.forced_moduli == 0;
  if (may_be_sliced && draw.one_in(4)) {
    policy.scheme = Scheme::kOzaki1;
    policy.slices = random_slices(draw, scalar, policy.engine == EngineName::kAuto);
    if (policy.slices.complex_form == ComplexForm::kKaratsuba) policy.gauge = Gauge::kNorm;
  }
  if (draw.one_in(20)) policy.allow_fp64_arithmetic = false;
  if (draw.one_in(20)) policy.reject_nonfinite = true;
  policy.threads = static_cast<int>(draw.integer(0, 4));
  if (draw.one_in(6)) policy.workspace_limit_bytes = static_cast<std::size_t>(draw.integer(1, 64)) << 20;
  return policy;
}

}  // namespace

Case random_case(std::uint64_t seed, std::int64_t index) {
  Draw draw(seed, index);
  return first_printable(draw, [&] {
    Case c;
    draw_type_and_ops(draw, c);
    c.m = random_extent(draw);
    c.n = random_extent(draw);
    c.k = draw.one_in(30) ? draw.integer(200, 1500) : random_extent(draw);
    draw_layout(draw, c);
    const bool is_plain = draw.one_in(2);  // alpha = +-1, beta = 0
    // An infinite alpha shows the sign of a product, which no error bound fixes.
    c.alpha = is_plain ? draw.of({1.0, 1.0, -1.0}) : random_factor(draw, false);
    c.beta = is_plain ? 0.0 : random_factor(draw, true);
    if (is_complex(c.scalar) && !is_plain && draw.one_in(2)) {
      c.alpha_imag = random_factor(draw, false);
      c.beta_imag = random_factor(draw, true);
    }
    c.policy = random_policy(draw, c.scalar, is_plain);
    // The platform BLAS bounds its error within its range only, and places NaN in complex numbers as it likes.
    const bool is_native = c.policy.scheme == Scheme::kNative;
    if (is_native) {
      c.alpha = 1;
      c.beta = c.alpha_imag = c.beta_imag = 0;
    }
    for (const Which which : {Which::kA, Which::kB, Which::kC}) {
      MatrixSpec& spec = which == Which::kA ? c.a : which == Which::kB ? c.b : c.c;
      spec = random_spec(draw, c.scalar, check::shape_of(c, which), !is_native);
      if (is_native) spec = check::default_spec(draw.of({check::MatrixClass::kRandn, check::MatrixClass::kRands}));
    }
    return c;
  });
}

Case shrink(const Case& spec, const std::function<bool(const Case&)>& fails) {
  Case best = spec;
  const auto accept = [&](const Case& candidate) {
    if (candidate == best) return false;
    const Result<Case> parsed = check::parse_case(check::print(candidate));
    if (!parsed.ok() || !fails(parsed.value())) return false;
    best = parsed.value();
    return true;
  };
  const auto try_each = [&](std::int64_t Case::*extent) {
    bool has_shrunk = false;
    for (bool is_smaller = true; is_smaller;) {
      is_smaller = false;
      for (const std::int64_t value : {std::int64_t{1}, best.*extent / 2, best.*extent - 1}) {
        Case candidate = best;
        candidate.*extent = value;
        if (value < 1 || value >= best.*extent || !accept(candidate)) continue;
        is_smaller = has_shrunk = true;
        break;
      }
    }
    return has_shrunk;
  };
  const auto try_change = [&](const auto& change) {
    Case candidate = best;
    change(candidate);
    return accept(candidate);
  };
  for (bool has_changed = true; has_changed;) {
    has_changed = try_each(&Case::m);
    has_changed |= try_each(&Case::n);
    has_changed |= try_each(&Case::k);
    const Case plain;
    const auto reset = [&](auto Case::*member) { return try_change([&](Case& c) { c.*member = plain.*member; }); };
    for (const auto member : {&Case::op_a, &Case::op_b}) has_changed |= reset(member);
    for (const auto member : {&Case::ld_pad, &Case::offset}) has_changed |= reset(member);
    for (const auto member : {&Case::alpha, &Case::beta, &Case::alpha_imag, &Case::beta_imag})
      has_changed |= reset(member);
    has_changed |= reset(&Case::layout);
    has_changed |= try_change([](Case& c) { c = check::product_of_batch(c, 0); });
    has_changed |= try_change([](Case& c) { c = check::product_of_batch(c, c.num_products - 1); });
    has_changed |= reset(&Case::batch_form);
    has_changed |= reset(&Case::has_device_factors);
    has_changed |= reset(&Case::policy);
    const auto reset_policy = [&](auto Policy::*member) {
      return try_change([&](Case& c) { c.policy.*member = plain.policy.*member; });
    };
    has_changed |= reset_policy(&Policy::accuracy);
    has_changed |= reset_policy(&Policy::gauge);
    has_changed |= reset_policy(&Policy::forced_moduli);
    has_changed |= reset_policy(&Policy::ec);
    has_changed |= reset_policy(&Policy::slices);
    has_changed |= reset_policy(&Policy::engine);
    has_changed |= reset_policy(&Policy::threads);
    has_changed |= reset_policy(&Policy::workspace_limit_bytes);
    has_changed |= reset_policy(&Policy::allow_fp64_arithmetic);
    has_changed |= reset_policy(&Policy::max_rungs);
    has_changed |= reset_policy(&Policy::may_sync);
    for (const auto member : {&Case::a, &Case::b, &Case::c}) {
      // Two specs that both fail must not take turns.
      const MatrixSpec ones = check::default_spec(check::MatrixClass::kOnes);
      const bool is_simple = best.*member == ones || best.*member == plain.*member;
      has_changed |= try_change([&](Case& c) { c.*member = ones; }) || (!is_simple && reset(member));
      has_changed |= try_change([&](Case& c) { (c.*member).placements.clear(); });
      has_changed |= try_change([&](Case& c) { (c.*member).scale_exp = 0; });
      has_changed |= try_change([&](Case& c) { (c.*member).imag_exp = 0; });
      has_changed |= try_change([&](Case& c) { (c.*member).parts = check::FilledParts::kBoth; });
    }
    has_changed |= reset(&Case::seed);
  }
  return best;
}

}  // namespace kizami::cli
