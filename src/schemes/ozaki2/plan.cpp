// SPDX-License-Identifier: MIT
#include "schemes/ozaki2/plan.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/int_math.hpp"
#include "device/batch_buffers.hpp"
#include "num/crt_table.hpp"
#include "plan/cheapest.hpp"
#include "plan/chunks.hpp"
#include "plan/text.hpp"
#include "schemes/ozaki2/buffers.hpp"
#include "schemes/ozaki2/device_buffers.hpp"
#include "schemes/ozaki2/device_seconds.hpp"
#include "schemes/ozaki2/ladder.hpp"
#include "schemes/ozaki2/strassen.hpp"

namespace kizami::ozaki2 {

Status plan_ozaki2_numerics(plan::Plan& plan) {
  const Policy& policy = plan.policy;
  const Scalar scalar = plan.shape.scalar;
  const num::Ring ring = plan::ring_of(scalar);
  const std::int64_t k = std::max<std::int64_t>(plan::num_terms(plan.shape), 1);
  const double target = num::target_bound(policy.accuracy, scalar, k);
  const bool is_dd = scalar == Scalar::kDD;
  const double budget = num::truncation_budget(target, scalar);
  const std::int64_t terms = is_dd ? num::kDoubleDoubleTerms * k : k;  // of the splitting errors
  Ozaki2Stage& stage = plan::edit_stage<Ozaki2Stage>(plan);
  stage.gauge = policy.gauge;
  stage.bound = target;

  const double rounding = num::result_rounding(scalar);
  const double narrowing = real_of(scalar) == Scalar::kF32 ? rounding : 0.0;
  const double pairwise = num::fp64_pairwise_bound(k) + narrowing;
  const double compensated = num::fp64_compensated_bound(k) + narrowing;
  stage.fp64_summation = pairwise <= target ? num::Fp64Summation::kPairwise : num::Fp64Summation::kCompensated;
  // For double-doubles the long accumulator takes the place of FP64 arithmetic, and has no error.
  const bool can_use_fp64 = policy.allow_fp64_arithmetic && (is_dd || std::min(pairwise, compensated) <= target);

  if (policy.forced_moduli != 0) {
    if (!has_rung(ring, policy.forced_moduli, terms)) {
      return {StatusCode::kUnsupported,
              "moduli = " + std::to_string(policy.forced_moduli) + " cannot carry k = " + std::to_string(plan.shape.k)};
    }
    stage.ladder = forced_ladder(ring, policy.forced_moduli, terms);
    stage.gauge = Gauge::kNorm;
    const double truncation = num::truncation_norm_bound(stage.ladder.rungs[0].norm_limit, terms) * num::kSlackUp;
    stage.bound = truncation + (1.0 + truncation) * rounding;
    return {};
  }
  if (policy.accuracy.kind == Accuracy::Kind::kCorrect && is_dd) {
    return {StatusCode::kUnsupported, "accuracy correct rounds to f32, f64, c64 or c128, not to dd; ask for bits=100"};
  }
  if (policy.accuracy.kind == Accuracy::Kind::kCorrect) {
    stage.is_correct = true;
    stage.gauge = Gauge::kEntry;
    stage.ladder = correct_ladder(ring, k, scalar);
    return {};
  }
  if (policy.gauge == Gauge::kNorm) {
    stage.ladder = norm_ladder(ring, terms, budget);
  } else {
    stage.ladder = certified_ladder(ring, terms, is_dd ? 0.5 * budget : budget);
    stage.has_certificate = stage.ladder.num_rungs > 0;
    if (policy.accuracy.kind == Accuracy::Kind::kNative) stage.ladder.repair_shift = num::kNativeRepairShift;
  }
  // Without a certificate the one rung is enough for any data.
  stage.has_fp64 = can_use_fp64 && (stage.has_certificate || stage.ladder.num_rungs == 0);
  if (stage.ladder.num_rungs == 0) {
    plan.refusals.push_back("ozaki2: no count of moduli up to " + std::to_string(num::max_moduli(ring)) + " reaches " +
                            plan::short_number(target) + " at k = " + std::to_string(plan.shape.k));
    if (!stage.has_fp64) {
      return {StatusCode::kAccuracyUnreachable,
              "scheme ozaki2: no count of moduli up to " + std::to_string(num::max_moduli(ring)) + " guarantees " +
                  plan::short_number(target) + " at k = " + std::to_string(plan.shape.k)};
    }
  }
  return {};
}

std::size_t product_bytes(const plan::Plan& plan) {
  base::Carver counter;
  if (plan::is_on_device(plan)) {
    static_cast<void>(carve_device(counter, plan));
  } else {
    static_cast<void>(carve(counter, plan));
  }
  return counter.bytes();
}
namespace {

using product::kPadBytes;

/// That of all of them, side by side as far as the limit admits it.
[[nodiscard]] std::size_t booked_bytes(const plan::Plan& plan, std::size_t limit) {
  const std::size_t bytes = product_bytes(plan);
  return plan::is_on_device(plan) ? device::device_batch_bytes(plan.shape, plan.schedule.batch, bytes, limit) : bytes;
}

/// Shrinks one step: k first, since a further block of k costs nothing but adds residues; then lines.
bool shrink(plan::Chunk& chunk) {
  std::int64_t& longer = chunk.mc >= chunk.nc ? chunk.mc : chunk.nc;
  return (chunk.kc > 4096 && plan::halve(chunk.kc, 4096, kPadBytes)) ||
         (longer > 256 && plan::halve(longer, 256, kPadBytes)) || plan::halve(chunk.kc, 512, kPadBytes) ||
         plan::halve(longer, 16, 1) || plan::halve(chunk.kc, kPadBytes, kPadBytes) || plan::halve(longer, 1, 1);
}
/// On a device lines are padded to kDeviceLinePad whatever the chunk: lines down to that, then k.
bool shrink_on_device(plan::Chunk& chunk) {
  std::int64_t& longer = chunk.mc >= chunk.nc ? chunk.mc : chunk.nc;
  return (longer > 4096 && plan::halve(longer, 4096, device::kDeviceLinePad)) ||
         (chunk.kc > 4096 && plan::halve(chunk.kc, 4096, device::kDeviceInnerPad)) ||
         plan::halve(longer, device::kDeviceLinePad, device::kDeviceLinePad) ||
         plan::halve(chunk.kc, device::kDeviceInnerPad, device::kDeviceInnerPad);
}

bool shrink_certificate(plan::Chunk& chunk) {
  std::int64_t& longer = chunk.mc >= chunk.nc ? chunk.mc : chunk.nc;
  return plan::halve(longer, 1, 1);
}

/// Chunks for one engine within the limit. @return 0, or the least workspace that this engine needs, above the limit
std::size_t plan_chunks(plan::Plan& plan) {
  const problem::Shape& shape = plan.shape;
  const bool is_default_limit = plan.policy.workspace_limit_bytes == 0;
  const bool is_device = plan::is_on_device(plan);
  const std::size_t wanted = plan.policy.workspace_limit_bytes;
  const std::size_t limit = is_device           ? device::workspace_limit(wanted, plan.schedule.facts)
                            : !is_default_limit ? wanted
                                                : plan::kDefaultWorkspaceLimit;
  plan::Chunk& main = plan::edit_stage<Ozaki2Stage>(plan).chunk;
  plan::Chunk& certificate = plan::edit_stage<Ozaki2Stage>(plan).certificate;
  main = {shape.m, shape.n,
          base::round_up(std::min(shape.k, product::kBlockMaxI8), is_device ? device::kDeviceInnerPad : kPadBytes)};
  certificate = {1, 1, shape.k};
  while (booked_bytes(plan, limit) > limit) {
    if (is_device ? shrink_on_device(main) : shrink(main)) continue;
    // On a device line statistics may exceed the default; on the host a product without terms, which takes none of it.
    if (is_default_limit && (is_device || plan::is_empty(shape))) break;
    return booked_bytes(plan, limit);
  }
  const std::size_t granted = std::max(limit, booked_bytes(plan, limit));
  certificate = {shape.m, shape.n, shape.k};
  while (booked_bytes(plan, granted) > granted && shrink_certificate(certificate)) {
  }
  plan.schedule.product_bytes = product_bytes(plan);
  plan.schedule.workspace_bytes = booked_bytes(plan, granted);
  return 0;
}

/// Every kind of product that the plan may launch: the main pass at each rung, further blocks of k, the certificate.
std::vector<product::ProductDesc> planned_products(const plan::Plan& plan) {
  std::vector<product::ProductDesc> products;
  const plan::Chunk& chunk = ozaki2_of(plan).chunk;
  if (plan::is_on_device(plan)) {
    if (plan::is_empty(plan.shape)) return products;
    for (int r = 0; r < ozaki2_of(plan).ladder.num_rungs; ++r) {
      const int count = ozaki2_of(plan).ladder.rungs[static_cast<std::size_t>(r)].num_moduli;
      products.push_back(device_main_product(plan, chunk, count));
    }
    if (ozaki2_of(plan).has_certificate) {
      base::Carver counter;
      const certify::SampledBuffers buffers = carve_device(counter, plan).sampled;
      products.push_back(certify::device_sampled_product(certificate_plan(plan), buffers,
                                                         ozaki2_of(plan).certificate.mc, buffers.cols_at_once));
    }
    return products;
  }
  for (int r = 0; r < ozaki2_of(plan).ladder.num_rungs; ++r) {
    products.push_back(main_product(plan, chunk, ozaki2_of(plan).ladder.rungs[static_cast<std::size_t>(r)].num_moduli));
    if (plan.shape.k <= chunk.kc) continue;
    products.push_back(products.back());
    products.back().epilogue = product::Epilogue::kReduceAdd;
  }
  if (ozaki2_of(plan).has_certificate && plan.shape.k > 0) {
    const std::int64_t length = std::min(plan::num_terms(plan.shape), product::kBlockMaxI8);
    products.push_back(certify::sampled_product(plan.shape, certify::kSampledTile, certify::kSampledTile, length));
    products.push_back(
        certify::block_product(plan.shape, certify::kBlockTile, certify::kBlockTile, certify::kBlocksPerLaunch));
  }
  return products;
}

/// Seconds of one thread, without what a call takes by itself.
HostSeconds host_work(const plan::Plan& plan) {
  const product::ProcessorRates& rates = plan.schedule.facts.processor;
  const bool has_parts = is_complex(plan.shape.scalar);
  const auto m = static_cast<double>(plan.shape.m);
  const auto n = static_cast<double>(plan.shape.n);
  const auto k = static_cast<double>(base::round_up(plan.shape.k, has_parts ? 32 : 16));  // kComputedElems
  const double elements = (has_parts ? 2.0 : 1.0) * m * n;
  const int num_moduli = ozaki2_of(plan).ladder.rungs[0].num_moduli;
  const int num_planes = num::num_planes(plan::ring_of(plan.shape.scalar), num_moduli);
  HostSeconds work;
  work.split = rates.split_seconds * num_planes * (m + n) * k;
  work.certificate = ozaki2_of(plan).has_certificate ? rates.certificate_seconds * elements : 0.0;
  work.crt = (num_moduli <= 16 ? rates.narrow_crt_seconds : rates.wide_crt_seconds) * elements;
  return work;
}

/// Seconds of the launches that the certificate makes beyond those of a whole C, where the workspace leaves it few
/// lines at a time.
double extra_certificate_seconds(const plan::Plan& plan) {
  if (!ozaki2_of(plan).has_certificate || plan::is_empty(plan.shape)) return 0.0;
  const plan::Chunk& chunk = ozaki2_of(plan).certificate;
  const auto tiles = [&](std::int64_t mc, std::int64_t nc) {
    const auto along = [](std::int64_t extent, std::int64_t part) {
      return static_cast<double>(base::ceil_div(extent, std::min(part, certify::kSampledTile)));
    };
    return along(plan.shape.m, mc) * along(plan.shape.n, nc);
  };
  const double extra = tiles(chunk.mc, chunk.nc) - tiles(plan.shape.m, plan.shape.n);
  if (extra <= 0) return 0.0;
  const product::ProductDesc tile = certify::sampled_product(
      plan.shape, std::min(chunk.mc, certify::kSampledTile), std::min(chunk.nc, certify::kSampledTile),
      std::min(plan::num_terms(plan.shape), product::kBlockMaxI8));
  const auto answer = ozaki2_of(plan).engine->query(tile, plan.schedule.facts);
  const auto* const offer = std::get_if<product::Offer>(&answer);
  return offer == nullptr ? 0.0 : extra * offer->seconds;
}

/// Leaves the lowest rungs.
void truncate(num::Ladder& ladder, int most_rungs) {
  for (int r = most_rungs; r < ladder.num_rungs; ++r) ladder.rungs[static_cast<std::size_t>(r)] = {};
  ladder.num_rungs = std::min(ladder.num_rungs, most_rungs);
}

/// Seconds of the plan with its engine, or why the engine refuses.
std::variant<double, product::Refusal> predict(const plan::Plan& plan) {
  if (ozaki2_of(plan).ladder.num_rungs == 0) return 0.0;
  // The first refusal of anything planned counts; the base rung is asked about first, and its time is the prediction.
  double seconds = -1.0;
  for (const product::ProductDesc& desc : planned_products(plan)) {
    const auto answer = ozaki2_of(plan).engine->query(desc, plan.schedule.facts);
    if (const auto* refusal = std::get_if<product::Refusal>(&answer)) return *refusal;
    if (seconds < 0) seconds = std::get<product::Offer>(answer).seconds;
  }
  if (plan::is_on_device(plan) && plan::is_empty(plan.shape)) return 0.0;
  const plan::Chunk& chunk = ozaki2_of(plan).chunk;
  const auto passes = [](std::int64_t extent, std::int64_t part) {
    return static_cast<double>(extent == 0 ? 0 : base::ceil_div(extent, part));
  };
  const double gain = ozaki2_of(plan).takes_strassen ? strassen_gain_seconds(plan) : 0.0;
  return seconds * passes(plan.shape.m, chunk.mc) * passes(plan.shape.n, chunk.nc) * passes(plan.shape.k, chunk.kc) -
         gain + (plan::is_on_device(plan) ? device_phase_seconds(plan) : host_seconds(plan).sum());
}

/// Chunks of C for Strassen's products within the limit: all rows and as many columns as fit, or else half of the rows and
/// so on; or with rows for columns. @return whether there are any
bool fit_strassen(plan::Plan& plan, std::size_t limit, bool cuts_columns) {
  constexpr std::int64_t kLeastLines = 2048;
  constexpr std::int64_t kPad = 2 * device::kDeviceLinePad;  // of halves
  plan::Chunk& chunk = plan::edit_stage<Ozaki2Stage>(plan).chunk;
  plan::Chunk most = {plan.shape.m, plan.shape.n, chunk.kc};
  do {
    chunk = most;
    do {
      if (booked_bytes(plan, limit) <= limit) return true;
    } while (plan::halve(cuts_columns ? chunk.nc : chunk.mc, kLeastLines, kPad));
  } while (plan::halve(cuts_columns ? most.mc : most.nc, kLeastLines, kPad));
  return false;
}

[[nodiscard]] bool is_one_chunk(const plan::Plan& plan) {
  const plan::Chunk& chunk = ozaki2_of(plan).chunk;
  return chunk.mc >= plan.shape.m && chunk.nc >= plan.shape.n;
}

/// Takes Strassen's products where they are quicker and what they need is within the limit. A C that is one chunk without
/// them is not cut for them: the same plan makes a triangle, which is of one chunk (why_no_part()).
/// @param seconds  without them; then with them
void plan_strassen(plan::Plan& plan, double& seconds) {
  if (!plan::is_on_device(plan) || !may_take_strassen(plan)) return;
  const std::size_t limit = device::workspace_limit(plan.policy.workspace_limit_bytes, plan.schedule.facts);
  const std::size_t granted = std::max(limit, plan.schedule.workspace_bytes);
  const plan::Plan whole = plan;
  for (const bool cuts_columns : {true, false}) {
    plan::Plan candidate = whole;
    plan::edit_stage<Ozaki2Stage>(candidate).takes_strassen = true;
    if (!fit_strassen(candidate, granted, cuts_columns) || !may_take_strassen(candidate)) continue;
    if (is_one_chunk(whole) && !is_one_chunk(candidate)) continue;
    const auto predicted = predict(candidate);
    const auto* const sooner = std::get_if<double>(&predicted);
    if (sooner == nullptr || *sooner >= seconds) continue;
    seconds = *sooner;
    candidate.schedule.product_bytes = product_bytes(candidate);
    candidate.schedule.workspace_bytes = booked_bytes(candidate, granted);
    plan = std::move(candidate);
  }
}

}  // namespace

HostSeconds host_seconds(const plan::Plan& plan) {
  HostSeconds seconds = host_work(plan);
  const int threads = useful_threads(plan);
  for (double* phase : {&seconds.split, &seconds.certificate, &seconds.crt}) *phase /= threads;
  seconds.certificate += extra_certificate_seconds(plan);
  seconds.call = is_complex(plan.shape.scalar) ? 4e-6 : 2e-6;
  return seconds;
}

int useful_threads(const plan::Plan& plan) {
  // Below, threads take longer to wake than they save.
  const double least_work = 10 * plan.schedule.facts.processor.thread_start_seconds;
  const bool is_small = ozaki2_of(plan).ladder.num_rungs > 0 && host_work(plan).sum() < least_work;
  return is_small ? 1 : plan.schedule.facts.num_threads;
}

std::optional<plan::Plan> strassen_plan_of_block(const plan::Plan& plan, int parts) {
  if (!plan::is_on_device(plan) || ozaki2_of(plan).takes_strassen || !is_one_chunk(plan) || !may_take_strassen(plan))
    return std::nullopt;
  const std::size_t limit = device::workspace_limit(plan.policy.workspace_limit_bytes, plan.schedule.facts);
  const std::size_t granted = std::max(limit, plan.schedule.workspace_bytes);
  plan::Plan candidate = plan;
  plan::edit_stage<Ozaki2Stage>(candidate).takes_strassen = true;
  if (booked_bytes(candidate, granted) > granted || !may_take_strassen(candidate)) return std::nullopt;
  if (strassen_gain_of_block_seconds(candidate, parts) <= 0.0) return std::nullopt;
  candidate.schedule.seconds -= strassen_gain_seconds(candidate);
  candidate.schedule.product_bytes = product_bytes(candidate);
  candidate.schedule.workspace_bytes = booked_bytes(candidate, granted);
  return candidate;
}

namespace {

/// Whether an engine makes what its host says, who cannot know the rung: then it has one, unless the host may wait for the
/// certificate.
bool has_one_rung(const plan::Plan& plan, const product::Engine& engine) {
  return plan::is_on_device(plan) && !engine.reads_num_products() && !plan.policy.may_sync;
}

}  // namespace

EngineAnswer plan_ozaki2_on_engine(plan::Plan& plan) {
  const int most_rungs = has_one_rung(plan, *ozaki2_of(plan).engine) ? 1 : plan.policy.max_rungs;
  if (most_rungs > 0) truncate(plan::edit_stage<Ozaki2Stage>(plan).ladder, most_rungs);
  if (const std::size_t needed = plan_chunks(plan); needed > 0) return WantedWorkspace{needed};
  auto predicted = predict(plan);
  if (const auto* refusal = std::get_if<product::Refusal>(&predicted)) return *refusal;
  plan_strassen(plan, std::get<double>(predicted));
  return std::get<double>(predicted);
}

Status plan_ozaki2_schedule(plan::Plan& plan, const plan::Environment& environment) {
  if (plan.policy.engine == EngineName::kNativeBlas) {
    return {StatusCode::kUnsupported, "engine native_blas carries scheme native only, not ozaki2"};
  }
  plan::Cheapest cheapest(plan);
  // What has one rung of a ladder gives other bits than the rest, and FP64 arithmetic where they have a higher rung: whoever wants the same bits
  // everywhere gets it by its name, or where nobody else is.
  const bool wants_ladder = ozaki2_of(plan).ladder.num_rungs > 1 && plan.policy.max_rungs != 1 &&
                            plan.policy.reproducibility != Reproducibility::kNotGuaranteed;
  std::vector<const product::Engine*> engines(environment.engines.begin(), environment.engines.end());
  const auto lesser = std::stable_partition(engines.begin(), engines.end(), [&](const product::Engine* engine) {
    return !wants_ladder || !has_one_rung(plan, *engine);
  });
  bool has_ladder = false;
  for (auto at = engines.begin(); at != engines.end(); ++at) {
    if (at == lesser) has_ladder = cheapest.has_offer();
    const product::Engine* const engine = *at;
    const std::string_view name = engine->name();
    if (!cheapest.may_be(name)) continue;
    if (has_ladder) {
      cheapest.refuses(name, "has one rung of the ladder, unless sync = allowed, and so other bits");
      continue;
    }
    plan::Plan candidate = plan;
    plan::edit_stage<Ozaki2Stage>(candidate).engine = engine;
    const EngineAnswer answer = plan_ozaki2_on_engine(candidate);
    if (const auto* const wanted = std::get_if<WantedWorkspace>(&answer)) {
      cheapest.wants_workspace(name, wanted->bytes);
      continue;
    }
    if (const auto* const refusal = std::get_if<product::Refusal>(&answer)) {
      cheapest.refuses(name, refusal->reason);
      continue;
    }
    const double of_one = std::get<double>(answer);
    candidate.schedule.seconds = plan::is_on_device(candidate)
                                     ? device_batch_seconds(candidate, of_one)
                                     : of_one * static_cast<double>(plan.schedule.batch.num_products);
    cheapest.offers(name, std::move(candidate));
  }
  return std::move(cheapest).take(plan, Scheme::kOzaki2);
}

namespace {

Status validate(const problem::Shape& shape, const Policy& policy, product::MemorySpace space) {
  const int max_moduli = num::max_moduli(plan::ring_of(shape.scalar));
  if (policy.forced_moduli != 0 && (policy.forced_moduli < num::kMinModuli || policy.forced_moduli > max_moduli)) {
    return {StatusCode::kInvalidArgument, "moduli = " + std::to_string(policy.forced_moduli) + ", must be 0 or in " +
                                              std::to_string(num::kMinModuli) + ".." + std::to_string(max_moduli) +
                                              " for " + std::string(to_string(shape.scalar))};
  }
  // A device call returns before anything is known of the elements, unless it may wait. Slices of ozaki1 wait or do
  // without.
  const bool has_fixed_bound =
      policy.gauge == Gauge::kNorm || policy.forced_moduli != 0 || policy.scheme == Scheme::kOzaki1;
  const bool is_on_device = space == product::MemorySpace::kDevice;
  if (is_on_device && !policy.may_sync && !policy.allow_fp64_arithmetic && !has_fixed_bound) {
    return {StatusCode::kUnsupported,
            "fp64 = refuse, must be allow in gauge entry unless sync = allowed, for operands in device memory"};
  }
  return {};
}

plan::SchemeWish wish(const plan::Plan& plan) {
  if (plan.policy.scheme == Scheme::kOzaki2) return {plan::SchemeWish::Kind::kNamed};
  return {plan.policy.scheme == Scheme::kAuto ? plan::SchemeWish::Kind::kMaybe : plan::SchemeWish::Kind::kNever};
}

Status plan_all(plan::Plan& plan, const plan::Environment& environment) {
  KIZAMI_RETURN_IF_ERROR(plan_ozaki2_numerics(plan));
  return plan_ozaki2_schedule(plan, environment);
}

}  // namespace

const plan::SchemePlanner kOzaki2Planner{validate, wish, plan_all};

}  // namespace kizami::ozaki2
