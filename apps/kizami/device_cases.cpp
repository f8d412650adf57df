// SPDX-License-Identifier: MIT
#include "device_cases.hpp"

#include <algorithm>
#include <cstddef>

#include "check/matrix_spec.hpp"
#include "draw.hpp"

namespace kizami::cli {
namespace {

using check::BatchForm;
using check::Case;
using check::MatrixSpec;
using check::Which;

void draw_shape(Draw& draw, Case& c) {
  const auto all = [&](auto extent) {
    for (std::int64_t* const dim : {&c.m, &c.n, &c.k}) *dim = extent();
  };
  const std::int64_t size = draw.integer(1, 300);
  all([&] { return random_extent(draw); });
  if (size <= 1) {  // large
    all([&] { return draw.integer(500, 900); });
  } else if (size <= 3) {  // long in one direction: chunks of k, many tiles
    std::int64_t* const dims[] = {&c.m, &c.n, &c.k};
    *dims[draw.integer(0, 2)] = draw.integer(2000, 20000);
  } else if (size <= 9) {
    all([&] { return draw.integer(200, 600); });
  } else if (size <= 60) {
    all([&] { return draw.integer(1, 260); });
  } else if (size <= 80) {
    c.k = draw.integer(200, 1500);
  }
}

/// Slices in floating point are the software tensor core's on the host, which takes seconds for a billion terms.
void limit_floating_slices(Case& c) {
  constexpr std::int64_t kMaxTerms = 1 << 20, kExtents = 100;
  const bool is_floating = c.policy.scheme == Scheme::kOzaki1 && c.policy.slices.format != SliceFormat::kInt8;
  if (!is_floating || c.m * c.n * c.k <= kMaxTerms) return;
  for (std::int64_t* const dim : {&c.m, &c.n, &c.k}) *dim = 1 + *dim % kExtents;
}

/// Wishes of scheme ozaki1.
void draw_slices(Draw& draw, Scalar scalar, Policy& policy) {
  policy.scheme = Scheme::kOzaki1;
  policy.slices = random_slices(draw, scalar, policy.engine == EngineName::kAuto);
  Slicing& slices = policy.slices;
  if (draw.one_in(2) && slices.num_slices == 0) slices.num_slices = static_cast<int>(draw.integer(2, 8));
  if (slices.num_slices > 0 && draw.one_in(8)) slices.one_scale = true;
  if (slices.complex_form == ComplexForm::kKaratsuba) policy.gauge = Gauge::kNorm;
  const bool may_be_fused = !is_complex(scalar) && slices.format == SliceFormat::kInt8 && slices.num_slices >= 2 &&
                            slices.num_slices <= 4 && slices.num_diagonals == 0;
  if (may_be_fused && draw.one_in(2)) slices.sums = SliceSums::kFused;
  const bool is_counted = slices.num_slices == kUntilZero || (slices.num_slices == 0 && policy.gauge == Gauge::kEntry);
  if (is_counted) policy.may_sync = !draw.one_in(40);
}

/// Schemes that round as their hardware does.
void draw_rounding_scheme(Draw& draw, Scalar scalar, Policy& policy) {
  policy.reproducibility = Reproducibility::kNotGuaranteed;
  if (draw.one_in(3)) {
    policy.scheme = Scheme::kNative;
  } else if (real_of(scalar) == Scalar::kF32 && draw.one_in(2)) {
    policy.scheme = Scheme::kEc;
    if (draw.one_in(2)) policy.ec.variant = draw.of({EcVariant::kScaled, EcVariant::kScaledTf32});
    if (draw.one_in(4)) policy.ec.promotion_k = draw.of({32, 64, 128});
  }
}

Policy draw_policy(Draw& draw, Scalar scalar) {
  Policy policy;
  if (draw.one_in(3)) policy.accuracy = random_bits(draw, scalar);
  if (draw.one_in(4)) policy.gauge = Gauge::kNorm;
  if (draw.one_in(12)) {
    draw_rounding_scheme(draw, scalar, policy);
    return policy;
  }
  if (draw.one_in(2)) {
    using E = EngineName;
    policy.engine = draw.of({E::kHopper, E::kHopper, E::kHopper, E::kCublasLt, E::kCublasLt, E::kTile});
  }
  if (draw.one_in(policy.engine == EngineName::kCublasLt ? 2 : 10)) policy.may_sync = true;
  if (draw.one_in(4)) {
    draw_slices(draw, scalar, policy);
  } else if (draw.one_in(10)) {
    policy.forced_moduli = static_cast<int>(draw.integer(2, is_complex(scalar) ? 27 : 49));
  } else if (draw.one_in(10)) {
    policy.max_rungs = static_cast<int>(draw.integer(1, 4));
  } else if (draw.one_in(80)) {
    policy.accuracy = Accuracy::correct();
  }
  if (draw.one_in(25)) policy.allow_fp64_arithmetic = false;
  if (draw.one_in(25)) policy.reject_nonfinite = true;
  if (!policy.allow_fp64_arithmetic || policy.reject_nonfinite) policy.may_sync = policy.may_sync || !draw.one_in(10);
  return policy;
}

}  // namespace

std::size_t random_workspace(Draw& draw, const Case& c) {
  const std::int64_t m = c.m + 128, n = c.n + 128, k = c.k + 128;
  const std::int64_t bytes = (is_complex(c.scalar) ? 3 : 1) * 16 * (m * k + n * k + m * n);
  // cuBLASLt's own workspace does not shrink.
  const std::int64_t least = c.policy.engine == EngineName::kHopper || c.policy.engine == EngineName::kTile ? 1 : 33;
  return static_cast<std::size_t>((least << 20) + bytes / draw.integer(1, 8));
}

Case random_device_case(std::uint64_t seed, std::int64_t index) {
  Draw draw(seed, index, kDeviceCampaignStream);
  return first_printable(draw, [&] {
    Case c;
    draw_type_and_ops(draw, c);
    draw_shape(draw, c);
    draw_layout(draw, c);
    c.policy = draw_policy(draw, c.scalar);
    limit_floating_slices(c);
    // cuBLAS bounds its error within its range only, and places NaN in complex numbers as it likes.
    const bool is_tame = !may_promise_bits(c.policy);
    if (!is_tame && draw.one_in(2)) {
      c.alpha = random_factor(draw, false);
      c.beta = random_factor(draw, true);
      if (is_complex(c.scalar) && draw.one_in(2)) {
        c.alpha_imag = random_factor(draw, false);
        c.beta_imag = random_factor(draw, true);
      }
    }
    for (const Which which : {Which::kA, Which::kB, Which::kC}) {
      MatrixSpec& spec = which == Which::kA ? c.a : which == Which::kB ? c.b : c.c;
      spec = is_tame ? check::default_spec(draw.of({check::MatrixClass::kRandn, check::MatrixClass::kRands}))
                     : random_spec(draw, c.scalar, check::shape_of(c, which), true);
    }
    c.has_device_factors = draw.one_in(6);
    if (draw.one_in(12) && c.m * c.n + (c.m + c.n) * c.k <= 60000) {
      c.num_products = draw.integer(2, 6);
      c.batch_form = draw.of({BatchForm::kStrides, BatchForm::kPointers, BatchForm::kDevicePointers});
    }
    if (draw.one_in(8)) c.policy.workspace_limit_bytes = random_workspace(draw, c);
    return c;
  });
}

Policy host_policy(const Case& spec) {
  Policy policy = spec.policy;
  // Without waiting cuBLASLt cannot know which rung the elements chose: it has one, and FP64 arithmetic.
  if (policy.engine == EngineName::kCublasLt && !policy.may_sync && policy.scheme != Scheme::kOzaki1)
    policy.max_rungs = 1;
  policy.engine = EngineName::kAuto;
  policy.may_sync = false;
  policy.workspace_limit_bytes = 0;
  policy.threads = 1;
  if (policy.slices.sums == SliceSums::kFused) policy.slices.sums = SliceSums::kAuto;
  return policy;
}

bool may_promise_bits(const Policy& policy) {
  return policy.reproducibility == Reproducibility::kEngineToEngine && policy.scheme != Scheme::kNative &&
         policy.scheme != Scheme::kEc;
}

bool promise_same_bits(const Plan& x, const Plan& y) {
  const bool is_exact = x.scheme() == Scheme::kOzaki2 || x.scheme() == Scheme::kOzaki1;
  return is_exact && x.scheme() == y.scheme() && x.numerics_hash() == y.numerics_hash();
}

}  // namespace kizami::cli
