// SPDX-License-Identifier: MIT
// Coefficients fitted to docs/perf/h200_call.md and lab/results/h200: each phase is its bytes or operations at a rate
// that it reaches when large, and a time that it takes when small. Rates of other cards are beside those of an H200; where
// FP64 is weak, its instructions hold split and CRT.
#include "schemes/ozaki2/device_seconds.hpp"

#include <algorithm>
#include <cstddef>
#include <variant>

#include "base/code_capability.hpp"
#include "base/int_math.hpp"
#include "certify/device_certificate_plan.hpp"
#include "device/batch_buffers.hpp"
#include "fp64/device_seconds.hpp"
#include "num/digit_blocks.hpp"
#include "schemes/ozaki2/device_buffers.hpp"

namespace kizami::ozaki2 {
namespace {

// FP64 instructions: of a real number that is split, and of an element and a plane of it, 54 of a CRT of 14 planes
// (src/model/program.cpp).
constexpr double kSplitInstructions = 5;
constexpr double kCrtInstructions = 54.0 / 14;
// Instructions of a CRT of 14 planes in four limbs by the code of its kernel for sm_90a: 456 in the loop that makes two
// elements, 128 of them dot products of bytes and 20 of FP64; the others load, transpose and scale.
constexpr double kLimbInstructions = 240.0 / 14;
constexpr double kLimbFp64Instructions = 12;

[[nodiscard]] double fp64_seconds(double instructions, const product::RelativeRates& rates) {
  constexpr double kInstructionsPerSecond = 33.5e12 / 2;  // of an H200, outside of tensor cores
  return instructions / (kInstructionsPerSecond * rates.fp64);
}

/// What an element and a plane of it take of a multiprocessor's arithmetic.
[[nodiscard]] double crt_in_pieces(const product::DeviceFacts& facts, int planes) {
  return fp64_seconds(planes * kCrtInstructions, facts.rates);
}
[[nodiscard]] double crt_in_limbs(const product::DeviceFacts& facts, int planes) {
  constexpr double kIntegersPerCycle = 64;
  return std::max(planes * kLimbInstructions / (kIntegersPerCycle * facts.num_sms * facts.clock_hz),
                  fp64_seconds(kLimbFp64Instructions, facts.rates));
}
[[nodiscard]] double crt_arithmetic_seconds(const product::DeviceFacts& facts, int planes) {
  return crt_takes_limbs(facts) ? crt_in_limbs(facts, planes) : crt_in_pieces(facts, planes);
}

/// What a plan counts for the certificate.
[[nodiscard]] double counted_certificate_seconds(const plan::Plan& plan) {
  return certify::device_certificate_seconds(plan.shape, ozaki2_of(plan).ladder, plan.schedule.facts.rates,
                                             compares_in_product(plan),
                                             /*has_clipped_sums=*/compares_in_product(plan));
}

}  // namespace

bool crt_takes_limbs(const product::DeviceFacts& facts) {
  if (!base::code_has_crt_by_fp64(facts.code_capability)) return true;
  constexpr int kUsualPlanes = 14;
  return crt_in_limbs(facts, kUsualPlanes) < crt_in_pieces(facts, kUsualPlanes);
}

double device_phase_seconds(const plan::Plan& plan) {
  const auto m = static_cast<double>(plan.shape.m);
  const auto n = static_cast<double>(plan.shape.n);
  const auto k = static_cast<double>(plan.shape.k);
  const double element = size_bytes(plan.shape.scalar);
  const bool is_in_parts = is_complex(plan.shape.scalar);
  const int planes = num::num_planes(plan::ring_of(plan.shape.scalar), ozaki2_of(plan).ladder.rungs[0].num_moduli);

  constexpr double kUntakenSeconds = 7e-6;  // begin, second look, residues of another rung, FP64 rung
  // FP32 numbers are held by instructions: as many for each as for FP64 ones of twice the bytes.
  const double split_bytes_per_second = plan.shape.scalar == Scalar::kF32 ? 2.2e12 : 2.7e12;
  const double split_seconds = is_in_parts ? 11e-6 : 3e-6;
  const double passes = splits_in_one_pass(plan) ? 1.0 : 3.0;  // over the operands; two for the statistics
  // Fewer lines than have warps everywhere, where statistics come first: 256 x 256 x 65536 (gemm.jsonl, 624b0fbe).
  constexpr double kFewLines = 768;
  const double few = passes > 1 ? std::min(1.0, (m + n) / kFewLines) : 1.0;
  const product::RelativeRates& rates = plan.schedule.facts.rates;
  const double split =
      std::max((m + n) * k * (passes * element + planes) / (few * split_bytes_per_second * rates.memory),
               fp64_seconds((m + n) * k * (is_in_parts ? 2 : 1) * kSplitInstructions, rates));
  double seconds = kUntakenSeconds + split + split_seconds;
  if (has_device_phases(
          plan)) {  // bodies of tile kernels are bound by instructions, beside the bytes that are counted anyway
    constexpr double kResiduesPerSecond = 6e11;
    constexpr double kLaunchSeconds = 25e-6;
    seconds += ((m + n) * k + m * n) * planes / kResiduesPerSecond + kLaunchSeconds;
  }

  const double crt_bytes_per_second = is_in_parts ? 2.6e12 : 3.4e12;
  const double crt_seconds = is_in_parts ? 12e-6 : 4e-6;
  seconds += std::max(m * n * (planes + element) / (crt_bytes_per_second * rates.memory),
                      m * n * crt_arithmetic_seconds(plan.schedule.facts, planes)) +
             crt_seconds;

  return ozaki2_of(plan).has_certificate ? seconds + counted_certificate_seconds(plan) : seconds;
}

double device_batch_seconds(const plan::Plan& plan, double seconds_of_one) {
  const plan::Schedule& schedule = plan.schedule;
  const int lanes = device::batch_lanes(plan.shape, schedule.batch, schedule.product_bytes, schedule.workspace_bytes);
  // Of 8 side by side: 16 products of 1024 (lab/results/h200/batch.jsonl, 537947b4).
  const double most_hidden = is_complex(plan.shape.scalar) ? 22e-6 : 12e-6;
  const double hidden = most_hidden * (lanes - 1) / (device::kMostBatchLanes - 1);
  return std::max(seconds_of_one - hidden, seconds_of_one / 2) * static_cast<double>(schedule.batch.num_products);
}

namespace {

[[nodiscard]] double parts_of(const plan::Plan& plan) { return is_complex(plan.shape.scalar) ? 2.0 : 1.0; }
[[nodiscard]] double pairs_of(const plan::Plan& plan) {
  return static_cast<double>(plan.shape.m) * static_cast<double>(plan.shape.n);
}
/// Elements of both operands.
[[nodiscard]] double elements_of(const plan::Plan& plan) {
  return (static_cast<double>(plan.shape.m) + static_cast<double>(plan.shape.n)) * static_cast<double>(plan.shape.k);
}

/// Whether calls begin on blocks where elements are wide, by a scout or by what the call before needed: no sampled
/// product comes first, the split makes digits, and planes of that rung if its integers have two words.
[[nodiscard]] bool begins_on_blocks(const plan::Plan& plan) { return has_scout(plan) || learns_look(plan); }

/// Digits of all blocks, their products, the rungs of all pairs. Where the lowest rung is enough, tiles end early.
[[nodiscard]] double second_look_seconds(const plan::Plan& plan, bool ends_early) {
  const bool has_parts = is_complex(plan.shape.scalar);
  const double ops = 2.0 * parts_of(plan) * pairs_of(plan) * static_cast<double>(plan.shape.k);
  const double block_ops_per_second = num::blocks_of_scale(plan.shape.k, has_parts ? 2 : 1) == 2 ? 7.2e14 : 4.4e14;
  constexpr double kPartThatIsRead = 0.43;
  const product::RelativeRates& rates = plan.schedule.facts.rates;
  const double rungs = ops * (ends_early ? kPartThatIsRead : 1.0) / (block_ops_per_second * rates.int8);
  const double bytes = elements_of(plan) * size_bytes(plan.shape.scalar);
  const double sampled = ops / ((has_parts ? 2.4e15 : 3.6e15) * rates.int8);
  // What the plan counts: a margin, or samples where lines are not judged by themselves; a call multiplies them unless it begins on blocks.
  const double counted = compares_in_product(plan) ? counted_certificate_seconds(plan) : sampled;
  if (!begins_on_blocks(plan)) return 40e-6 + bytes / (2.4e12 * rates.memory) + rungs + sampled - counted;
  return 10e-6 + bytes / (6.5e12 * rates.memory) + rungs - counted;
}

/// One INT8 pass over C at a rung, in all its chunks. 0: the engine does not say
[[nodiscard]] double product_seconds(const plan::Plan& plan, int num_moduli) {
  const plan::Chunk& chunk = ozaki2_of(plan).chunk;
  const auto answer = ozaki2_of(plan).engine->query(device_main_product(plan, chunk, num_moduli), plan.schedule.facts);
  const auto* const offer = std::get_if<product::Offer>(&answer);
  const auto passes = [](std::int64_t extent, std::int64_t part) {
    return static_cast<double>(base::ceil_div(extent, part));
  };
  return offer == nullptr ? 0.0
                          : offer->seconds * passes(plan.shape.m, chunk.mc) * passes(plan.shape.n, chunk.nc) *
                                passes(plan.shape.k, chunk.kc);
}

/// Counts of moduli that need a further piece are bound by what rounds their sums.
[[nodiscard]] double crt_seconds(const plan::Plan& plan, int num_moduli) {
  const num::Ring ring = plan::ring_of(plan.shape.scalar);
  const int few_moduli = ring == num::Ring::kReal ? 14 : 15;
  const double planes_per_second = (num_moduli <= few_moduli ? 2.2e12 : 1.5e12) * plan.schedule.facts.rates.memory;
  const int planes = num::num_planes(ring, num_moduli);
  return pairs_of(plan) * std::max(planes / planes_per_second, crt_arithmetic_seconds(plan.schedule.facts, planes));
}

/// Planes of that rung, beside those of the lowest unless it begins without them, and what products and CRT take above
/// that one's.
[[nodiscard]] double climb_seconds(const plan::Plan& plan, int rung) {
  const num::Ladder& ladder = ozaki2_of(plan).ladder;
  const num::Ring ring = plan::ring_of(plan.shape.scalar);
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
  return elements_of(plan) * split / plan.schedule.facts.rates.memory + product_seconds(plan, moduli) -
         product_seconds(plan, lowest) + crt_seconds(plan, moduli) - crt_seconds(plan, lowest);
}

/// The look whether equilibration would gain.
[[nodiscard]] double gain_seconds(const plan::Plan& plan) {
  constexpr double kStartSeconds = 20e-6;
  constexpr double kBytesPerSecond = 12e12;  // of operands
  return kStartSeconds +
         elements_of(plan) * size_bytes(plan.shape.scalar) / (kBytesPerSecond * plan.schedule.facts.rates.memory);
}

/// The balance of the inner index, and the second look that it asks for.
[[nodiscard]] double equilibration_seconds(const plan::Plan& plan) {
  constexpr double kBytesPerSecond = 1.5e12;  // of operands, some times over
  return elements_of(plan) * size_bytes(plan.shape.scalar) / (kBytesPerSecond * plan.schedule.facts.rates.memory) +
         second_look_seconds(plan, false);
}

/// Beyond the plan, of one product; without exceptions.
[[nodiscard]] double of_one_product(const plan::Plan& plan, const Effort& effort) {
  const num::Ladder& ladder = ozaki2_of(plan).ladder;
  if (ladder.num_rungs == 0) return 0;
  const bool ends_early = effort.rung == 0 && !effort.is_equilibrated;
  double seconds = effort.has_second_look ? second_look_seconds(plan, ends_early) : 0.0;
  if (effort.is_equilibrated) seconds += equilibration_seconds(plan);
  if (effort.rung < 0) return seconds + fp64::device_seconds_of_all(plan.shape, plan.schedule.facts.rates);
  const int rung = std::min(effort.rung, ladder.num_rungs - 1);
  if (ladder.may_equilibrate && rung > num::kEquilibrationCost) seconds += gain_seconds(plan);
  return rung > 0 || effort.is_equilibrated ? seconds + climb_seconds(plan, rung) : seconds;
}

}  // namespace

double device_seconds_beyond(const plan::Plan& plan, const Effort& effort) {
  const bool are_shared =
      repairs_have_own_kernel(plan) && ozaki2_of(plan).fp64_summation == num::Fp64Summation::kPairwise;
  const double exceptions = effort.rung < 0 ? 0.0
                                            : fp64::device_seconds_of_elements(plan.shape, plan.schedule.facts.rates,
                                                                               effort.num_exceptions, are_shared);
  return std::max(of_one_product(plan, effort), 0.0) * static_cast<double>(plan.schedule.batch.num_products) +
         exceptions;
}

}  // namespace kizami::ozaki2
