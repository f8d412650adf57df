// SPDX-License-Identifier: MIT
#include "campaign.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "check/matrix_spec.hpp"
#include "check/random.hpp"

namespace kizami::cli {
namespace {

using check::Case;
using check::MatrixSpec;
using check::Which;

/// The random stream of campaigns; operands use others.
constexpr std::uint32_t kCampaignStream = 0xCA;

class Draw {
 public:
  Draw(std::uint64_t seed, std::int64_t index) : random_(seed, kCampaignStream, index & 0xFFFFFFFF, index >> 32) {}

  /// Uniform in [lo, hi].
  std::int64_t integer(std::int64_t lo, std::int64_t hi) {
    return lo + static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(hi - lo + 1)));
  }
  bool one_in(std::int64_t n) { return integer(1, n) == 1; }
  template <class T>
  T of(std::initializer_list<T> choices) {
    return choices.begin()[integer(0, static_cast<std::int64_t>(choices.size()) - 1)];
  }
  double uniform(double lo, double hi) { return lo + (hi - lo) * random_.uniform(20); }

 private:
  check::AddressedRandom random_;
};

/// Mostly small and odd, around the blocks of 16 lines and 64 elements, sometimes empty.
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

/// Values of the type's range: exponents that FP32 operands can hold too.
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

/// Slices of scheme ozaki1, mostly those that a planner would choose.
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

Policy random_policy(Draw& draw, Scalar scalar, bool is_plain) {
  Policy policy;
  const int max_bits = real_of(scalar) == Scalar::kF32 ? 23 : 52;
  if (draw.one_in(3)) policy.accuracy = Accuracy::at_bits(static_cast<int>(draw.integer(1, max_bits)));
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
  for (;;) {
    Case c;
    c.scalar = draw.of({Scalar::kF32, Scalar::kF64, Scalar::kC64, Scalar::kC128});
    const auto op = [&] { return draw.of({Op::kNone, Op::kTranspose, Op::kConjTranspose, Op::kConjugate}); };
    c.op_a = op();
    c.op_b = op();
    c.m = random_extent(draw);
    c.n = random_extent(draw);
    c.k = draw.one_in(30) ? draw.integer(200, 1500) : random_extent(draw);
    if (draw.one_in(2)) c.layout = Layout::kRowMajor;
    if (draw.one_in(3)) c.ld_pad = draw.integer(1, 70);
    if (draw.one_in(3)) c.offset = draw.integer(1, 15);
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
    c.seed = static_cast<std::uint64_t>(draw.integer(1, 1000000));
    // The grammar has the last word: rounding of alpha and beta, and what it does not print.
    const Result<Case> parsed = check::parse_case(check::print(c));
    if (parsed.ok()) return parsed.value();
  }
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
