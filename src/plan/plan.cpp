// SPDX-License-Identifier: MIT
#include "plan/plan.hpp"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/int_math.hpp"
#include "num/crt_table.hpp"
#include "plan/buffers.hpp"
#include "plan/device_batch.hpp"
#include "plan/device_buffers.hpp"
#include "plan/device_ec.hpp"
#include "plan/device_model.hpp"
#include "plan/device_native.hpp"
#include "plan/device_ozaki1.hpp"
#include "plan/ladder.hpp"
#include "plan/ozaki1.hpp"
#include "problem/batch.hpp"

namespace kizami::plan {
namespace {

using product::kPadBytes;

/// Policy::ec: the longest promotion interval, and the largest shift: remainders stay below the numbers they are of.
constexpr int kMaxPromotionK = 65536;
constexpr int kMaxRemainderShift = 12;

/// What scheme ec cannot do whatever the shape, and wishes that belong to it alone.
Status validate_ec(const problem::Shape& shape, const Policy& policy) {
  const auto refuse = [](StatusCode code, const std::string& reason) { return Status(code, reason); };
  if (policy.scheme != Scheme::kEc) {
    if (policy.ec != ErrorCorrection{}) {
      return refuse(StatusCode::kUnsupported, "variant = " + std::string(to_string(policy.ec.variant)) +
                                                  " and its settings need scheme ec, got " +
                                                  std::string(to_string(policy.scheme)));
    }
    if (policy.engine == EngineName::kTcModel && policy.scheme != Scheme::kOzaki1) {
      return refuse(StatusCode::kUnsupported,
                    "engine tc_model carries schemes ec and ozaki1 only, not " + std::string(to_string(policy.scheme)));
    }
    return {};
  }
  const int promotion_k = policy.ec.promotion_k;
  if (promotion_k < 0 || promotion_k > kMaxPromotionK || promotion_k % product::kIntervalUnit != 0) {
    return refuse(StatusCode::kInvalidArgument, "promotion_k = " + std::to_string(promotion_k) +
                                                    ", must be 0 or a multiple of 16 up to " +
                                                    std::to_string(kMaxPromotionK));
  }
  if (policy.ec.remainder_shift < -1 || policy.ec.remainder_shift > kMaxRemainderShift) {
    return refuse(StatusCode::kInvalidArgument, "remainder_shift = " + std::to_string(policy.ec.remainder_shift) +
                                                    ", must be in -1.." + std::to_string(kMaxRemainderShift));
  }
  if (real_of(shape.scalar) != Scalar::kF32) {
    return refuse(StatusCode::kUnsupported,
                  "scheme ec: computes f32 and c64, got " + std::string(to_string(shape.scalar)) + "; use ozaki2");
  }
  if (policy.reproducibility == Reproducibility::kEngineToEngine) {
    return refuse(StatusCode::kUnsupported,
                  "scheme ec: rounds inside the tensor core, which reproducibility engine excludes");
  }
  if (policy.ec.karatsuba && (!is_complex(shape.scalar) || policy.gauge != Gauge::kNorm)) {
    return refuse(StatusCode::kUnsupported, "karatsuba: gauge = " + std::string(to_string(policy.gauge)) + " for " +
                                                std::string(to_string(shape.scalar)) +
                                                ", must be norm for c64: its imaginary part cancels");
  }
  if (policy.accuracy.kind == Accuracy::Kind::kCorrect) {
    return refuse(StatusCode::kAccuracyUnreachable, "scheme ec: rounds more than once, accuracy correct needs ozaki2");
  }
  if (policy.forced_moduli != 0) {
    return refuse(StatusCode::kUnsupported,
                  "moduli = " + std::to_string(policy.forced_moduli) + " needs scheme ozaki2, got ec");
  }
  return {};
}

Status validate_policy(const problem::Shape& shape, const Policy& policy) {
  const auto invalid = [](const std::string& name, std::int64_t value, const std::string& limit) {
    return Status(StatusCode::kInvalidArgument, name + " = " + std::to_string(value) + ", must be " + limit);
  };
  const int max_bits = num::significand_bits_guaranteed(shape.scalar);
  if (policy.accuracy.kind == Accuracy::Kind::kBits && (policy.accuracy.bits < 1 || policy.accuracy.bits > max_bits)) {
    return invalid("bits", policy.accuracy.bits,
                   "in 1.." + std::to_string(max_bits) + " for " + std::string(to_string(shape.scalar)));
  }
  if (policy.threads < 0) return invalid("threads", policy.threads, ">= 0");
  if (policy.max_rungs < 0) return invalid("max_rungs", policy.max_rungs, ">= 0");
  const int max_moduli = num::max_moduli(ring_of(shape.scalar));
  if (policy.forced_moduli != 0 && (policy.forced_moduli < num::kMinModuli || policy.forced_moduli > max_moduli)) {
    return invalid("moduli", policy.forced_moduli,
                   "0 or in " + std::to_string(num::kMinModuli) + ".." + std::to_string(max_moduli) + " for " +
                       std::string(to_string(shape.scalar)));
  }
  const bool is_native =
      policy.scheme == Scheme::kNative || (policy.scheme == Scheme::kAuto && policy.engine == EngineName::kNativeBlas);
  if (policy.forced_moduli != 0 && is_native) {
    return {StatusCode::kUnsupported,
            "moduli = " + std::to_string(policy.forced_moduli) + " needs scheme ozaki2, got native"};
  }
  KIZAMI_RETURN_IF_ERROR(validate_slices(shape, policy));
  return validate_ec(shape, policy);
}

[[nodiscard]] bool is_on_device(const Plan& plan) { return plan.schedule.facts.space == product::MemorySpace::kDevice; }

/// What a device call cannot do: it returns before anything is known of the elements, unless it may wait.
Status validate_device_policy(const problem::Shape& shape, const Policy& policy) {
  const auto unsupported = [](const std::string& argument, const std::string& limit) {
    return Status(StatusCode::kUnsupported, argument + ", must be " + limit + ", for operands in device memory");
  };
  if (shape.scalar == Scalar::kDD) return unsupported("scalar = dd", "f32, f64, c64 or c128");
  if (policy.accuracy.kind == Accuracy::Kind::kCorrect) return unsupported("accuracy = correct", "native or bits=N");
  if (!policy.may_sync && policy.reject_nonfinite)
    return unsupported("reject_nonfinite = true", "false unless may_sync = true");
  const bool has_fixed_bound =
      policy.gauge == Gauge::kNorm || policy.forced_moduli != 0 || policy.scheme == Scheme::kOzaki1;
  if (!policy.may_sync && !policy.allow_fp64_arithmetic && !has_fixed_bound)
    return unsupported("allow_fp64_arithmetic = false", "true in gauge entry unless may_sync = true");
  return {};
}

std::string bound_text(double bound) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", bound);
  return text;
}

/// Native BLAS: the largest block of k whose bound meets the target.
Status plan_native(Plan& plan) {
  if (plan.policy.accuracy.kind == Accuracy::Kind::kCorrect) {
    return {StatusCode::kAccuracyUnreachable, "scheme native: rounds more than once, accuracy correct needs ozaki2"};
  }
  if (plan.shape.scalar == Scalar::kDD) {
    return {StatusCode::kUnsupported, "scheme native: the platform BLAS has no double-double product, use ozaki2"};
  }
  const double u = num::unit_roundoff(plan.shape.scalar);
  const std::int64_t terms = is_complex(plan.shape.scalar) ? 2 : 1;
  const std::int64_t k = num_terms(plan.shape);
  const double target = num::target_bound(plan.policy.accuracy, plan.shape.scalar, std::max<std::int64_t>(k, 1));
  double best = num::dot_bound(k, u);
  if (is_on_device(plan)) {
    if (plan.policy.reject_nonfinite) {
      return {StatusCode::kUnsupported,
              "scheme native: cuBLAS does not look for NaN or Inf, reject_nonfinite needs ozaki2 or ec"};
    }
    // One call of the vendor's product, in no known order. Accuracy native takes it for what it is.
    if (plan.policy.accuracy.kind != Accuracy::Kind::kNative && best > target) {
      return {StatusCode::kAccuracyUnreachable, "scheme native: guarantees " + bound_text(best) + " |A||B| at k = " +
                                                    std::to_string(plan.shape.k) + ", wanted " + bound_text(target)};
    }
    plan.numerics.scheme = Scheme::kNative;
    plan.numerics.gauge = plan.policy.gauge;
    plan.numerics.bound = best;
    plan.schedule.native_k_block = plan.shape.k;
    plan.schedule.seconds = device_native_seconds(plan.shape, plan.schedule.batch.num_products);
    return plan_device_native(plan);
  }
  for (const std::int64_t block :
       {std::max<std::int64_t>(k, 1), std::int64_t{512}, std::int64_t{256}, std::int64_t{128}}) {
    const double bound = num::native_blas_bound(k, block, u);
    best = std::min(best, bound);
    if (bound > target) continue;
    plan.numerics.scheme = Scheme::kNative;
    plan.numerics.gauge = plan.policy.gauge;
    plan.numerics.bound = bound;
    plan.schedule.native_k_block = base::ceil_div(block, terms);
    // Multiply-adds a second and thread; docs/perf/cpu_int8.md.
    const double rate = real_of(plan.shape.scalar) == Scalar::kF64 ? 2.4e10 : 5.6e10;
    plan.schedule.seconds = static_cast<double>(terms) * static_cast<double>(plan.shape.m) *
                            static_cast<double>(plan.shape.n) * static_cast<double>(k) /
                            (rate * plan.schedule.facts.num_threads);
    return {};
  }
  return {StatusCode::kAccuracyUnreachable, "scheme native: guarantees " + bound_text(best) + " |A||B| at k = " +
                                                std::to_string(plan.shape.k) + ", wanted " + bound_text(target)};
}

/// The numerics of scheme ozaki2: ladder, bound, order of the FP64 rung.
Status plan_numerics(Plan& plan) {
  const Policy& policy = plan.policy;
  const Scalar scalar = plan.shape.scalar;
  const num::Ring ring = ring_of(scalar);
  const std::int64_t k = std::max<std::int64_t>(num_terms(plan.shape), 1);
  const double target = num::target_bound(policy.accuracy, scalar, k);
  const bool is_dd = scalar == Scalar::kDD;
  const double budget = num::truncation_budget(target, scalar);
  const std::int64_t terms = is_dd ? num::kDoubleDoubleTerms * k : k;  // of the splitting errors
  Numerics& numerics = plan.numerics;
  numerics.scheme = Scheme::kOzaki2;
  numerics.gauge = policy.gauge;
  numerics.bound = target;

  const double rounding = num::result_rounding(scalar);
  const double narrowing = real_of(scalar) == Scalar::kF32 ? rounding : 0.0;
  const double pairwise = num::fp64_pairwise_bound(k) + narrowing;
  const double compensated = num::fp64_compensated_bound(k) + narrowing;
  numerics.fp64_summation = pairwise <= target ? num::Fp64Summation::kPairwise : num::Fp64Summation::kCompensated;
  // For double-doubles the long accumulator takes the place of FP64 arithmetic, and has no error.
  const bool can_use_fp64 = policy.allow_fp64_arithmetic && (is_dd || std::min(pairwise, compensated) <= target);

  if (policy.forced_moduli != 0) {
    if (!has_rung(ring, policy.forced_moduli, terms)) {
      return {StatusCode::kUnsupported,
              "moduli = " + std::to_string(policy.forced_moduli) + " cannot carry k = " + std::to_string(plan.shape.k)};
    }
    numerics.ladder = forced_ladder(ring, policy.forced_moduli, terms);
    numerics.gauge = Gauge::kNorm;
    const double truncation = num::truncation_norm_bound(numerics.ladder.rungs[0].norm_limit, terms) * num::kSlackUp;
    numerics.bound = truncation + (1.0 + truncation) * rounding;
    return {};
  }
  if (policy.accuracy.kind == Accuracy::Kind::kCorrect && is_dd) {
    return {StatusCode::kUnsupported, "accuracy correct rounds to f32, f64, c64 or c128, not to dd; ask for bits=100"};
  }
  if (policy.accuracy.kind == Accuracy::Kind::kCorrect) {
    numerics.is_correct = true;
    numerics.gauge = Gauge::kEntry;
    numerics.ladder = correct_ladder(ring, k, scalar);
    return {};
  }
  if (policy.gauge == Gauge::kNorm) {
    numerics.ladder = norm_ladder(ring, terms, budget);
  } else {
    numerics.ladder = certified_ladder(ring, terms, is_dd ? 0.5 * budget : budget);
    numerics.has_certificate = numerics.ladder.num_rungs > 0;
  }
  // Without a certificate the one rung is enough for any data.
  numerics.has_fp64 = can_use_fp64 && (numerics.has_certificate || numerics.ladder.num_rungs == 0);
  if (numerics.ladder.num_rungs == 0) {
    plan.refusals.push_back("ozaki2: no count of moduli up to " + std::to_string(num::max_moduli(ring)) + " reaches " +
                            bound_text(target) + " at k = " + std::to_string(plan.shape.k));
    if (!numerics.has_fp64) {
      return {StatusCode::kAccuracyUnreachable, "scheme ozaki2: no count of moduli up to " +
                                                    std::to_string(num::max_moduli(ring)) + " guarantees " +
                                                    bound_text(target) + " at k = " + std::to_string(plan.shape.k)};
    }
  }
  return {};
}

/// The workspace of one product.
[[nodiscard]] std::size_t product_bytes(const Plan& plan) {
  base::Carver counter;
  if (is_on_device(plan)) {
    static_cast<void>(carve_device(counter, plan));
  } else {
    static_cast<void>(carve(counter, plan));
  }
  return counter.bytes();
}
/// That of all of them.
[[nodiscard]] std::size_t booked_bytes(const Plan& plan) {
  const std::size_t bytes = product_bytes(plan);
  return is_on_device(plan) ? device_batch_bytes(plan, bytes) : bytes;
}

/// Halves `extent`, keeping multiples of the padding, down to `least`. @return whether it shrank
bool halve(std::int64_t& extent, std::int64_t least, std::int64_t pad = kPadBytes) {
  const std::int64_t half = base::round_up((extent + 1) / 2, least < pad ? 1 : pad);
  if (half >= extent || half < least) return false;
  extent = half;
  return true;
}

/// Shrinks one step: k first, since a further block of k costs nothing but adds residues; then lines.
bool shrink(Chunk& chunk) {
  std::int64_t& longer = chunk.mc >= chunk.nc ? chunk.mc : chunk.nc;
  return (chunk.kc > 4096 && halve(chunk.kc, 4096)) || (longer > 256 && halve(longer, 256)) || halve(chunk.kc, 512) ||
         halve(longer, 16) || halve(chunk.kc, kPadBytes) || halve(longer, 1);
}
/// On a device lines are padded to kDeviceLinePad whatever the chunk: lines down to that, then k.
bool shrink_on_device(Chunk& chunk) {
  std::int64_t& longer = chunk.mc >= chunk.nc ? chunk.mc : chunk.nc;
  return (longer > 4096 && halve(longer, 4096, kDeviceLinePad)) ||
         (chunk.kc > 4096 && halve(chunk.kc, 4096, kDeviceInnerPad)) || halve(longer, kDeviceLinePad, kDeviceLinePad) ||
         halve(chunk.kc, kDeviceInnerPad, kDeviceInnerPad);
}

bool shrink_certificate(Chunk& chunk) {
  std::int64_t& longer = chunk.mc >= chunk.nc ? chunk.mc : chunk.nc;
  return halve(longer, 1);
}

/// Chunks for one engine within the limit. @return 0, or the least workspace that this engine needs, above the limit
std::size_t plan_chunks(Plan& plan) {
  const problem::Shape& shape = plan.shape;
  const bool is_default_limit = plan.policy.workspace_limit_bytes == 0;
  const bool is_device = is_on_device(plan);
  const std::size_t limit = !is_default_limit ? plan.policy.workspace_limit_bytes
                            : is_device       ? plan.schedule.facts.memory_bytes / 4
                                              : kDefaultWorkspaceLimit;
  Chunk& main = plan.schedule.chunk;
  Chunk& certificate = plan.schedule.certificate;
  main = {shape.m, shape.n,
          base::round_up(std::min(shape.k, product::kBlockMaxI8), is_device ? kDeviceInnerPad : kPadBytes)};
  certificate = {1, 1, shape.k};
  while (booked_bytes(plan) > limit) {
    if (is_device ? shrink_on_device(main) : shrink(main)) continue;
    if (is_default_limit) break;  // line statistics alone exceed it: extreme shapes get what they need
    return booked_bytes(plan);
  }
  const std::size_t granted = std::max(limit, booked_bytes(plan));
  certificate = {shape.m, shape.n, shape.k};
  while (booked_bytes(plan) > granted && shrink_certificate(certificate)) {
  }
  plan.schedule.product_bytes = product_bytes(plan);
  plan.schedule.workspace_bytes = booked_bytes(plan);
  return 0;
}

/// Lines of one pass of scheme ec, within the limit or what scheme ozaki2 was granted above it.
Status plan_ec_chunk(Plan& plan) {
  const std::size_t limit =
      plan.policy.workspace_limit_bytes == 0 ? kDefaultWorkspaceLimit : plan.policy.workspace_limit_bytes;
  const std::size_t granted = std::max(limit, plan.schedule.workspace_bytes);
  Chunk& chunk = plan.schedule.ec_chunk;
  while (booked_bytes(plan) > granted) {
    std::int64_t& longer = chunk.mc >= chunk.nc ? chunk.mc : chunk.nc;
    if (!halve(longer, 1)) break;
  }
  plan.schedule.workspace_bytes = booked_bytes(plan);
  if (plan.policy.workspace_limit_bytes == 0 || plan.schedule.workspace_bytes <= granted) return {};
  return {StatusCode::kWorkspaceTooSmall, "workspace limit = " + std::to_string(limit) + " bytes, must be >= " +
                                              std::to_string(plan.schedule.workspace_bytes) + " for scheme ec here"};
}

/// Every kind of product that the plan may launch: the main pass at each rung, further blocks of k, the certificate.
std::vector<product::ProductDesc> planned_products(const Plan& plan) {
  std::vector<product::ProductDesc> products;
  const Chunk& chunk = plan.schedule.chunk;
  if (is_on_device(plan)) {
    if (is_empty(plan.shape)) return products;
    for (int r = 0; r < plan.numerics.ladder.num_rungs; ++r) {
      const int count = plan.numerics.ladder.rungs[static_cast<std::size_t>(r)].num_moduli;
      products.push_back(device_main_product(plan, chunk, count));
    }
    if (plan.numerics.has_certificate) {
      base::Carver counter;
      const SampledBuffers buffers = carve_device(counter, plan).sampled;
      products.push_back(device_sampled_product(plan, buffers, plan.schedule.certificate.mc, buffers.cols_at_once));
    }
    return products;
  }
  for (int r = 0; r < plan.numerics.ladder.num_rungs; ++r) {
    products.push_back(main_product(plan, chunk, plan.numerics.ladder.rungs[static_cast<std::size_t>(r)].num_moduli));
    if (plan.shape.k <= chunk.kc) continue;
    products.push_back(products.back());
    products.back().epilogue = product::Epilogue::kReduceAdd;
  }
  if (plan.numerics.has_certificate && plan.shape.k > 0) {
    const std::int64_t length = std::min(num_terms(plan.shape), product::kBlockMaxI8);
    products.push_back(sampled_product(plan, kSampledTile, kSampledTile, length));
    products.push_back(block_product(plan, kBlockTile, kBlockTile, kBlocksPerLaunch));
  }
  return products;
}

/// Seconds of everything but the INT8 products, at the lowest rung: split, certificate, CRT. docs/perf/cpu_int8.md.
double phase_seconds(const Plan& plan) {
  constexpr double kSplitSeconds = 1.0e-9;       // an element and plane
  constexpr double kNarrowCrtSeconds = 65e-9;    // an element of C, up to 16 moduli
  constexpr double kWideCrtSeconds = 120e-9;     // beyond
  constexpr double kCertificateSeconds = 13e-9;  // an element of C
  const auto m = static_cast<double>(plan.shape.m);
  const auto n = static_cast<double>(plan.shape.n);
  const int num_moduli = plan.numerics.ladder.rungs[0].num_moduli;
  const int num_planes = num::num_planes(ring_of(plan.shape.scalar), num_moduli);
  const double parts = is_complex(plan.shape.scalar) ? 2.0 : 1.0;
  const double per_element = parts * ((num_moduli <= 16 ? kNarrowCrtSeconds : kWideCrtSeconds) +
                                      (plan.numerics.has_certificate ? kCertificateSeconds : 0.0));
  const double split = kSplitSeconds * num_planes * (m + n) * static_cast<double>(plan.shape.k);
  return (split + per_element * m * n) / plan.schedule.facts.num_threads;
}

/// Leaves the lowest rungs.
void truncate(num::Ladder& ladder, int most_rungs) {
  for (int r = most_rungs; r < ladder.num_rungs; ++r) ladder.rungs[static_cast<std::size_t>(r)] = {};
  ladder.num_rungs = std::min(ladder.num_rungs, most_rungs);
}

/// Seconds of the plan with its engine, or why the engine refuses.
std::variant<double, product::Refusal> predict(const Plan& plan) {
  if (plan.numerics.ladder.num_rungs == 0) return 0.0;
  // The first refusal of anything planned counts; the base rung is asked about first, and its time is the prediction.
  double seconds = -1.0;
  for (const product::ProductDesc& desc : planned_products(plan)) {
    const auto answer = plan.schedule.engine->query(desc, plan.schedule.facts);
    if (const auto* refusal = std::get_if<product::Refusal>(&answer)) return *refusal;
    if (seconds < 0) seconds = std::get<product::Offer>(answer).seconds;
  }
  if (is_on_device(plan) && is_empty(plan.shape)) return 0.0;
  const Chunk& chunk = plan.schedule.chunk;
  const auto passes = [](std::int64_t extent, std::int64_t part) {
    return static_cast<double>(extent == 0 ? 0 : base::ceil_div(extent, part));
  };
  return seconds * passes(plan.shape.m, chunk.mc) * passes(plan.shape.n, chunk.nc) * passes(plan.shape.k, chunk.kc) +
         (is_on_device(plan) ? device_phase_seconds(plan) : phase_seconds(plan));
}

/// The quickest, by their predictions, of the engines that may be used and do not refuse; of equal ones the first.
Status plan_engine(Plan& plan, const Environment& environment) {
  if (plan.policy.engine == EngineName::kNativeBlas) {
    return {StatusCode::kUnsupported, "engine native_blas carries scheme native only, not ozaki2"};
  }
  std::optional<Plan> best;
  std::vector<std::string> refusals = plan.refusals;
  std::size_t least = 0;  // over the engines that want more than the limit; one of less scratch may still do
  for (const product::Engine* engine : environment.engines) {
    if (plan.policy.engine != EngineName::kAuto && to_string(plan.policy.engine) != engine->name()) continue;
    Plan candidate = plan;
    candidate.schedule.engine = engine;
    // An engine that makes what its host says has one rung, unless the host may wait for the certificate.
    const bool has_one_rung = is_on_device(plan) && !engine->reads_num_products() && !plan.policy.may_sync;
    const int most_rungs = has_one_rung ? 1 : plan.policy.max_rungs;
    if (most_rungs > 0) truncate(candidate.numerics.ladder, most_rungs);
    const std::string name(engine->name());
    if (const std::size_t needed = plan_chunks(candidate); needed > 0) {
      least = least == 0 ? needed : std::min(least, needed);
      refusals.push_back(name + ": needs a workspace of " + std::to_string(needed) + " bytes");
      continue;
    }
    const auto predicted = predict(candidate);
    if (const auto* refusal = std::get_if<product::Refusal>(&predicted)) {
      refusals.push_back(name + ": " + refusal->reason);
      continue;
    }
    candidate.schedule.seconds = std::get<double>(predicted) * static_cast<double>(plan.schedule.batch.num_products);
    const auto slower = [](const Plan& x) {
      return std::string(x.schedule.engine->name()) + ": predicted " + bound_text(x.schedule.seconds) + " s";
    };
    if (best.has_value() && best->schedule.seconds <= candidate.schedule.seconds) {
      refusals.push_back(slower(candidate));
      continue;
    }
    if (best.has_value()) refusals.push_back(slower(*best));
    best = std::move(candidate);
  }
  if (best.has_value()) {
    plan = *std::move(best);
    plan.refusals = std::move(refusals);
    return {};
  }
  plan.refusals = std::move(refusals);
  if (least > 0) {
    return {StatusCode::kWorkspaceTooSmall, "workspace limit = " + std::to_string(plan.policy.workspace_limit_bytes) +
                                                " bytes, must be >= " + std::to_string(least) + " for this shape"};
  }
  std::string reason = "no engine named " + std::string(to_string(plan.policy.engine)) + " here can multiply";
  for (const std::string& refusal : plan.refusals) reason += "; " + refusal;
  return {StatusCode::kUnsupported, reason};
}

/// The stages of scheme ec and its engine. @range the numerics and the chunks of scheme ozaki2 are planned
Status plan_ec(Plan& plan, const Environment& environment) {
  const ErrorCorrection& wishes = plan.policy.ec;
  const std::int64_t k = std::max<std::int64_t>(num_terms(plan.shape), 1);
  const double target = num::target_bound(plan.policy.accuracy, plan.shape.scalar, k);
  EcNumerics& ec = plan.numerics.ec;
  ec.checks_range = wishes.check_range && !wishes.karatsuba;
  ec.is_karatsuba = wishes.karatsuba;
  double bound = target;
  double best = 1e300;
  const bool is_named = wishes.variant != EcVariant::kAuto;
  for (const EcVariant variant : {wishes.variant, EcVariant::kScaled, EcVariant::kScaledTf32}) {
    if (variant == EcVariant::kAuto) continue;
    if (ec.num_stages > 0 && (!ec.checks_range || variant == wishes.variant)) continue;
    EcStage stage;
    stage.recipe = ec_recipe(variant, wishes);
    stage.core = ec_tensor_core(wishes.tensor_core, stage.recipe.type);
    stage.error = num::ec_bound(ec_error_terms(stage.recipe, stage.core), ec_terms(plan)) + kEcUnderflowError;
    if (ec.is_karatsuba && !stage.recipe.scales_lines) {
      return {StatusCode::kUnsupported,
              "karatsuba: variant " + std::string(to_string(variant)) + " does not scale lines, must be one that does"};
    }
    if (ec.is_karatsuba) stage.error = ec_karatsuba_bound(stage.recipe, stage.error, plan.shape.k);
    best = std::min(best, stage.error);
    // What range errors may take: all that is left; of a variant that the caller names whatever its bound, 8 u.
    const bool is_waived =
        is_named && variant == wishes.variant && plan.policy.accuracy.kind == Accuracy::Kind::kNative;
    double budget = target - stage.error;
    if (is_waived && budget <= 0) {
      budget = 8.0 * num::unit_roundoff(plan.shape.scalar);
      bound = std::max(bound, stage.error + budget);
    }
    if (!is_waived && budget <= 0) {
      plan.refusals.push_back("ec " + std::string(to_string(variant)) + ": guarantees " + bound_text(stage.error) +
                              " |A||B| at k = " + std::to_string(plan.shape.k) + ", wanted " + bound_text(target));
      if (is_named && variant == wishes.variant) break;
      continue;
    }
    if (!ec.checks_range) bound = stage.error;
    stage.allowance = ec_allowance(stage.recipe, budget);
    ec.stages[static_cast<std::size_t>(ec.num_stages++)] = stage;
  }
  if (ec.num_stages == 0) {
    return {StatusCode::kAccuracyUnreachable, "scheme ec: guarantees " + bound_text(best) + " |A||B| at k = " +
                                                  std::to_string(plan.shape.k) + ", wanted " + bound_text(target)};
  }
  plan.numerics.scheme = Scheme::kEc;
  plan.numerics.bound = bound;
  plan.schedule.ec_chunk = {plan.shape.m, plan.shape.n, plan.shape.k};

  std::string reason = "no engine here can multiply for scheme ec";
  for (const product::FloatEngine* engine : environment.float_engines) {
    if (plan.policy.engine != EngineName::kAuto && to_string(plan.policy.engine) != engine->name()) continue;
    std::string refusal;
    double seconds = 0;
    for (int s = ec.num_stages - 1; s >= 0 && refusal.empty(); --s) {
      const auto answer = engine->query(ec_product(plan, s), plan.schedule.facts);
      if (const auto* const refused = std::get_if<product::Refusal>(&answer)) {
        refusal = refused->reason;
      } else {
        seconds = std::get<product::Offer>(answer).seconds;  // of the first stage in the end
      }
    }
    if (refusal.empty()) {
      plan.schedule.float_engine = engine;
      plan.schedule.seconds = seconds;
      return plan_ec_chunk(plan);
    }
    plan.refusals.push_back(std::string(engine->name()) + ": " + refusal);
    reason += "; " + plan.refusals.back();
  }
  return {StatusCode::kUnsupported, reason};
}

/// Whether the planner may choose scheme ec by itself: on a device, where no bits are promised. Its predictions are of operands
/// within range; others cost more, and are as accurate.
[[nodiscard]] bool may_be_ec(const Plan& plan) {
  const Policy& policy = plan.policy;
  return is_on_device(plan) && policy.scheme == Scheme::kAuto && real_of(plan.shape.scalar) == Scalar::kF32 &&
         policy.reproducibility == Reproducibility::kNotGuaranteed && policy.forced_moduli == 0 &&
         policy.accuracy.kind != Accuracy::Kind::kCorrect;
}

/// Scheme ec: scheme ozaki2 of the same accuracy, which stands behind it, and then its own stages.
Status plan_ec_over_ozaki2(Plan& plan, const Environment& environment) {
  if (is_on_device(plan)) return plan_device_ec(plan, environment);
  const Policy policy = plan.policy;
  plan.policy.engine = EngineName::kAuto;
  if (!policy.ec.karatsuba) plan.policy.gauge = Gauge::kEntry;  // the stronger one, which the certificate needs
  KIZAMI_RETURN_IF_ERROR(plan_numerics(plan));
  KIZAMI_RETURN_IF_ERROR(plan_engine(plan, environment));
  plan.policy = policy;
  if (policy.engine != EngineName::kAuto && policy.engine != EngineName::kTcModel) {
    return {StatusCode::kUnsupported, "engine " + std::string(to_string(policy.engine)) +
                                          " carries no floating-point products, which scheme ec needs"};
  }
  return plan_ec(plan, environment);
}

/// Scheme ozaki1: behind a certificate scheme ozaki2 of the same accuracy, and then its own slices.
Status plan_ozaki1(Plan& plan, const Environment& environment) {
  if (is_on_device(plan)) return plan_device_ozaki1(plan, environment);
  if (wants_certificate(plan.policy)) {
    const EngineName engine = plan.policy.engine;
    if (plan.policy.slices.format != SliceFormat::kInt8) plan.policy.engine = EngineName::kAuto;
    KIZAMI_RETURN_IF_ERROR(plan_numerics(plan));
    KIZAMI_RETURN_IF_ERROR(plan_engine(plan, environment));
    plan.policy.engine = engine;
  }
  KIZAMI_RETURN_IF_ERROR(plan_slice_numerics(plan));
  return plan_slice_schedule(plan, environment);
}

}  // namespace

Result<Plan> make(const problem::Shape& shape, const Policy& policy, const Environment& environment,
                  const Batch& batch) {
  KIZAMI_RETURN_IF_ERROR(problem::validate_shape(shape.m, shape.n, shape.k));
  KIZAMI_RETURN_IF_ERROR(validate_policy(shape, policy));
  KIZAMI_RETURN_IF_ERROR(problem::validate_num_products(batch.num_products));
  Plan plan;
  plan.shape = shape;
  plan.policy = policy;
  plan.schedule.facts = environment.facts;
  plan.schedule.batch = batch;
  if (policy.threads > 0) plan.schedule.facts.num_threads = policy.threads;
  if (is_on_device(plan)) KIZAMI_RETURN_IF_ERROR(validate_device_policy(shape, policy));

  if (policy.scheme == Scheme::kEc) {
    KIZAMI_RETURN_IF_ERROR(plan_ec_over_ozaki2(plan, environment));
    return plan;
  }
  if (policy.scheme == Scheme::kOzaki1) {
    KIZAMI_RETURN_IF_ERROR(plan_ozaki1(plan, environment));
    return plan;
  }
  const bool is_native_forced = policy.scheme == Scheme::kNative || policy.engine == EngineName::kNativeBlas;
  const bool may_be_native = policy.scheme == Scheme::kAuto && policy.engine == EngineName::kAuto &&
                             policy.forced_moduli == 0 && policy.reproducibility == Reproducibility::kNotGuaranteed;
  if (policy.scheme == Scheme::kNative && policy.engine != EngineName::kAuto &&
      policy.engine != EngineName::kNativeBlas) {
    return Status(StatusCode::kUnsupported,
                  "engine " + std::string(to_string(policy.engine)) + " carries scheme ozaki2 only, not native");
  }
  if (is_native_forced && policy.scheme != Scheme::kOzaki2) {
    if (!environment.has_native_blas) return Status(StatusCode::kUnsupported, "scheme native: no BLAS in this build");
    KIZAMI_RETURN_IF_ERROR(plan_native(plan));
    return plan;
  }
  Plan native = plan;
  const Status native_status = plan_native(native);
  const bool has_native = may_be_native && environment.has_native_blas && native_status.ok();
  if (policy.scheme == Scheme::kAuto && !has_native) {
    plan.refusals.push_back(
        !may_be_native ? "native: its bits depend on library and threads; reproducibility or the engine excludes it"
        : native_status.ok() ? "native: no BLAS in this build"
                             : native_status.reason());
  }
  Plan ec = plan;
  const bool has_ec = may_be_ec(plan) && plan_device_ec(ec, environment).ok();
  Status status = plan_numerics(plan);
  if (status.ok()) status = plan_engine(plan, environment);
  std::vector<Plan*> candidates;  // of equally quick ones the first
  if (has_native) candidates.push_back(&native);
  if (has_ec) candidates.push_back(&ec);
  if (status.ok()) candidates.push_back(&plan);
  if (candidates.empty()) return status;
  Plan& best = **std::min_element(candidates.begin(), candidates.end(), [](const Plan* x, const Plan* y) {
    return x->schedule.seconds < y->schedule.seconds;
  });
  if (!status.ok()) best.refusals.push_back(status.reason());
  for (const Plan* other : candidates) {
    if (other == &best) continue;
    best.refusals.push_back(
        std::string(to_string(other->numerics.scheme)) + ": predicted " + bound_text(other->schedule.seconds) + " s, " +
        std::string(to_string(best.numerics.scheme)) + " " + bound_text(best.schedule.seconds) + " s");
  }
  return std::move(best);
}

}  // namespace kizami::plan
