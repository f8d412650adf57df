// SPDX-License-Identifier: MIT
#include "plan/device_effort.hpp"

#include <algorithm>
#include <cstddef>
#include <variant>

#include "base/int_math.hpp"
#include "num/digit_blocks.hpp"
#include "plan/device_buffers.hpp"
#include "plan/device_ec.hpp"

namespace kizami::plan {
namespace {

[[nodiscard]] double parts_of(const Plan& plan) { return is_complex(plan.shape.scalar) ? 2.0 : 1.0; }
[[nodiscard]] double pairs_of(const Plan& plan) {
  return static_cast<double>(plan.shape.m) * static_cast<double>(plan.shape.n);
}
/// Elements of both operands.
[[nodiscard]] double elements_of(const Plan& plan) {
  return (static_cast<double>(plan.shape.m) + static_cast<double>(plan.shape.n)) * static_cast<double>(plan.shape.k);
}

/// Whether calls begin on blocks where elements are wide, by a scout or by what the call before needed: no sampled product comes first, the
/// split makes digits, and planes of that rung if its integers have two words.
[[nodiscard]] bool begins_on_blocks(const Plan& plan) { return has_scout(plan) || learns_look(plan); }

/// Digits of all blocks, their products, the rungs of all pairs. Where the lowest rung is enough, tiles end early.
[[nodiscard]] double second_look_seconds(const Plan& plan, bool ends_early) {
  const bool has_parts = is_complex(plan.shape.scalar);
  const double ops = 2.0 * parts_of(plan) * pairs_of(plan) * static_cast<double>(plan.shape.k);
  const double block_ops_per_second = num::blocks_of_scale(plan.shape.k, has_parts ? 2 : 1) == 2 ? 7.2e14 : 4.4e14;
  constexpr double kPartThatIsRead = 0.43;
  const double rungs = ops * (ends_early ? kPartThatIsRead : 1.0) / block_ops_per_second;
  const double bytes = elements_of(plan) * size_bytes(plan.shape.scalar);
  if (!begins_on_blocks(plan)) return 40e-6 + bytes / 2.4e12 + rungs;
  const double sampled_ops_per_second = has_parts ? 2.4e15 : 3.6e15;
  return 10e-6 + bytes / 6.5e12 + rungs - ops / sampled_ops_per_second;
}

/// One INT8 pass over C at a rung, in all its chunks. 0: the engine does not say
[[nodiscard]] double product_seconds(const Plan& plan, int num_moduli) {
  const Chunk& chunk = plan.schedule.chunk;
  const auto answer = plan.schedule.engine->query(device_main_product(plan, chunk, num_moduli), plan.schedule.facts);
  const auto* const offer = std::get_if<product::Offer>(&answer);
  const auto passes = [](std::int64_t extent, std::int64_t part) {
    return static_cast<double>(base::ceil_div(extent, part));
  };
  return offer == nullptr ? 0.0
                          : offer->seconds * passes(plan.shape.m, chunk.mc) * passes(plan.shape.n, chunk.nc) *
                                passes(plan.shape.k, chunk.kc);
}

/// Counts of moduli that need a further piece are bound by what rounds their sums.
[[nodiscard]] double crt_seconds(const Plan& plan, int num_moduli) {
  const num::Ring ring = ring_of(plan.shape.scalar);
  const int few_moduli = ring == num::Ring::kReal ? 14 : 15;
  const double planes_per_second = num_moduli <= few_moduli ? 2.2e12 : 1.5e12;
  return pairs_of(plan) * num::num_planes(ring, num_moduli) / planes_per_second;
}

/// Planes of that rung, beside those of the lowest unless it begins without them, and what products and CRT take above that one's.
[[nodiscard]] double climb_seconds(const Plan& plan, int rung) {
  const num::Ladder& ladder = plan.numerics.ladder;
  const num::Ring ring = ring_of(plan.shape.scalar);
  const num::Rung& of_rung = ladder.rungs[static_cast<std::size_t>(rung)];
  const int lowest = ladder.rungs[0].num_moduli;
  const int moduli = of_rung.num_moduli;
  const int planes_of_lowest = num::num_planes(ring, lowest);
  const int planes = num::num_planes(ring, moduli);
  constexpr double kPlaneBytesPerSecond = 3e12;  // of one pass
  constexpr double kSplitBytesPerSecond = 2.7e12;
  double split = 0;
  if (begins_on_blocks(plan) && of_rung.norm_limit < 0x1p62) {
    split = (planes - planes_of_lowest) / kPlaneBytesPerSecond;
  } else {
    split = (static_cast<double>(size_bytes(plan.shape.scalar)) + planes) / kSplitBytesPerSecond;
    if (begins_on_blocks(plan)) split -= planes_of_lowest / kPlaneBytesPerSecond;
  }
  return elements_of(plan) * split + product_seconds(plan, moduli) - product_seconds(plan, lowest) +
         crt_seconds(plan, moduli) - crt_seconds(plan, lowest);
}

/// The look whether equilibration would gain.
[[nodiscard]] double gain_seconds(const Plan& plan) {
  constexpr double kStartSeconds = 20e-6;
  constexpr double kBytesPerSecond = 12e12;  // of operands
  return kStartSeconds + elements_of(plan) * size_bytes(plan.shape.scalar) / kBytesPerSecond;
}

/// The balance of the inner index, and the second look that it asks for.
[[nodiscard]] double equilibration_seconds(const Plan& plan) {
  constexpr double kBytesPerSecond = 1.5e12;  // of operands, some times over
  return elements_of(plan) * size_bytes(plan.shape.scalar) / kBytesPerSecond + second_look_seconds(plan, false);
}

/// C in FP64 arithmetic outside of tensor cores.
[[nodiscard]] double fp64_seconds(const Plan& plan) {
  constexpr double kFlopsPerSecond = 15e12;
  const double products = is_complex(plan.shape.scalar) ? 4.0 : 1.0;
  return 2.0 * products * pairs_of(plan) * static_cast<double>(plan.shape.k) / kFlopsPerSecond;
}

/// Elements one by one: of one of the two lines a sector is read for each element, for either part in each part. Repairs of large C
/// share them with those of neighbouring lines (fp64::answer_repairs()).
[[nodiscard]] double exception_seconds(const Plan& plan, std::int64_t num_exceptions) {
  const bool are_shared =
      repairs_have_own_kernel(plan) && plan.numerics.fp64_summation == num::Fp64Summation::kPairwise;
  const double bytes_per_second = are_shared ? 3e12 : 1.8e12;
  constexpr double kSectorBytes = 32;
  const double bytes = kSectorBytes * parts_of(plan) * parts_of(plan) * static_cast<double>(plan.shape.k);
  return static_cast<double>(num_exceptions) * bytes / bytes_per_second;
}

/// Beyond the plan, of one product; without exceptions.
[[nodiscard]] double ozaki2_seconds(const Plan& plan, const Effort& effort) {
  const num::Ladder& ladder = plan.numerics.ladder;
  if (ladder.num_rungs == 0) return 0;
  const bool ends_early = effort.rung == 0 && !effort.is_equilibrated;
  double seconds = effort.has_second_look ? second_look_seconds(plan, ends_early) : 0.0;
  if (effort.is_equilibrated) seconds += equilibration_seconds(plan);
  if (effort.rung < 0) return seconds + fp64_seconds(plan);
  const int rung = std::min(effort.rung, ladder.num_rungs - 1);
  if (ladder.may_equilibrate && rung > num::kEquilibrationCost) seconds += gain_seconds(plan);
  return rung > 0 || effort.is_equilibrated ? seconds + climb_seconds(plan, rung) : seconds;
}

[[nodiscard]] double ec_seconds(const Plan& plan, const Effort& effort) {
  if (effort.stage < 0) return fp64_seconds(plan);
  const EcNumerics& ec = plan.numerics.ec;
  if (effort.stage == 0 || effort.stage >= ec.num_stages) return 0;
  // The split again, into twice the bytes, and the product of that stage for the first one's.
  constexpr double kSplitBytesPerSecond = 3.2e12;
  constexpr double kSplitBytes = 12;  // read and written, of a term
  const auto seconds = [&](int stage) {
    const product::FloatProductDesc desc = device_ec_product(plan, ec.stages[static_cast<std::size_t>(stage)], false);
    const auto answer = plan.schedule.ec_engine->query(desc, plan.schedule.facts);
    const auto* const offer = std::get_if<product::Offer>(&answer);
    return offer == nullptr ? 0.0 : offer->seconds;
  };
  return seconds(effort.stage) - seconds(0) + elements_of(plan) * parts_of(plan) * kSplitBytes / kSplitBytesPerSecond;
}

}  // namespace

double device_seconds(const Plan& plan, const Effort& effort) {
  const Scheme scheme = plan.numerics.scheme;
  if (is_empty(plan.shape) || (scheme != Scheme::kOzaki2 && scheme != Scheme::kEc)) return plan.schedule.seconds;
  const bool is_fp64 = scheme == Scheme::kEc ? effort.stage < 0 : effort.rung < 0;
  const double product = scheme == Scheme::kEc ? ec_seconds(plan, effort) : ozaki2_seconds(plan, effort);
  const double exceptions = is_fp64 ? 0.0 : exception_seconds(plan, effort.num_exceptions);
  return plan.schedule.seconds + std::max(product, 0.0) * static_cast<double>(plan.schedule.batch.num_products) +
         exceptions;
}

}  // namespace kizami::plan
