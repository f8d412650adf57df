// SPDX-License-Identifier: MIT
// The first split of FP32 operands on the device: its launches. Lines of FP16 that fit on chip wait in shared memory (device_held_lines.cuh): both
// operands are one launch, which begins with lines across memory. Others wait in registers, as far as these reach (device_lines.cuh), likewise
// in one launch, but for long lines across memory: these have a launch of their own, in which a lane holds twice as much and half as many CTAs
// share a multiprocessor.
//
// The kernels of a batch are the same with OperandOfBatch (device_batch_split.cuh): CTAs (x, y) have product y.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <type_traits>

#include "base/cluster_sm90.cuh"
#include "base/cuda_status.hpp"
#include "base/int_math.hpp"
#include "base/overlapped_launch.hpp"
#include "num/ec_range.hpp"
#include "schemes/ec/device_held_lines.cuh"
#include "schemes/ec/device_lines.cuh"
#include "schemes/ec/device_split.hpp"

namespace kizami::ec {
namespace {

// ---- the kernels ----

/// AnyOperand: Operand, or OperandOfBatch.
template <class T, class AnyOperand>
struct Job {
  using Element = T;
  static constexpr bool kIsBatch = AnyOperand::kIsBatch;
  AnyOperand a;
  AnyOperand b;
  unsigned blocks_of_first;  ///< of a, or of b where it begins
  unsigned num_blocks;
  bool begins_with_b;
  bool takes_turns;  ///< clusters of both operands, as long as there are both; else the first operand is first
  Factor<T> alpha;
  EcObservation observation;  ///< its reports are those of this launch
  EcTogether together;        ///< of a batch

  struct Place {
    bool is_a;
    unsigned block;  ///< of its operand
  };
  [[nodiscard]] __device__ Place place_of(unsigned at) const {
    const unsigned of_second = num_blocks - blocks_of_first;
    const unsigned of_either = min(blocks_of_first, of_second);
    if (takes_turns && at < 2 * of_either) {
      const unsigned cluster = base::cluster_size();
      const unsigned turn = at / cluster;
      return {(turn % 2 == 0) != begins_with_b, turn / 2 * cluster + at % cluster};
    }
    if (takes_turns) return {(blocks_of_first > of_second) != begins_with_b, at - of_either};
    const bool is_first = at < blocks_of_first;
    return {is_first != begins_with_b, is_first ? at : at - blocks_of_first};
  }
};

template <EcFormat kFormat, int kHeldUnits, class AnyJob>
__device__ void split_block(const AnyJob& job, unsigned at, Shared& shared) {
  using T = typename AnyJob::Element;
  const num::EcRangeLimits& limits = job.observation.limits;
  const auto [is_a, block] = job.place_of(at);
  const auto& o = is_a ? job.a : job.b;
  if (o.is_across != 0) {
    split_across<T, kFormat, kHeldUnits>(o, block, is_a, limits, shared);
  } else if (o.reads_quads()) {
    split_along<T, kFormat, true>(o, block, is_a, limits, shared);
  } else {
    split_along<T, kFormat, false>(o, block, is_a, limits, shared);
  }
}

/// By all threads of a block that has split what it had to.
template <class AnyJob>
__device__ void write_report(const AnyJob& job, bool is_shared, const std::uint32_t& report) {
  if (job.observation.reports == nullptr) return;
  __syncthreads();
  if constexpr (AnyJob::kIsBatch) {
    if (is_shared) {
      for (int product = static_cast<int>(threadIdx.x); product < job.together.num_products; product += kThreads)
        job.observation.reports[product * job.together.reports_step + blockIdx.x] =
            product::EcReport::from_bits(report);
      return;
    }
  }
  product::EcReport* reports = job.observation.reports;
  if constexpr (AnyJob::kIsBatch) reports += blockIdx.y * job.together.reports_step;
  if (threadIdx.x == 0) reports[blockIdx.x] = product::EcReport::from_bits(report);
}

/// Whether a block of an operand that all products of a batch have is another product's: it is split once, and reported for all of them.
template <class AnyJob>
[[nodiscard]] __device__ bool is_of_another(const AnyJob& job, bool& is_shared) {
  is_shared = false;
  if constexpr (AnyJob::kIsBatch) is_shared = (job.place_of(blockIdx.x).is_a ? job.a : job.b).is_shared != 0;
  return is_shared && blockIdx.y != 0;
}

/// By all threads of a block, behind the wait for what was before.
template <class AnyJob>
__device__ void begin_report(const AnyJob& job, std::uint32_t& report) {
  if (threadIdx.x == 0) report = 0;
  if (job.observation.profiles != nullptr && blockIdx.x == 0) clear_profiles(*job.observation.profiles);
  __syncthreads();
}

/// A block a CTA, which reports it.
template <EcFormat kFormat, int kHeldUnits, class AnyJob>
__global__ void __launch_bounds__(kThreads, 4 - kHeldUnits) split_ec_smxx(const __grid_constant__ AnyJob job) {
  using T = typename AnyJob::Element;
  __shared__ Shared shared;
  base::begin_in_cluster(&shared, sizeof shared);
  base::follow_previous_kernel();
  bool is_shared = false;
  if (job.alpha.load() == T{0} || is_of_another(job, is_shared))
    return;  // all CTAs of the cluster, which has one operand
  begin_report(job, shared.report);
  split_block<kFormat, kHeldUnits>(job, blockIdx.x, shared);
  write_report(job, is_shared, shared.report);
}

/// The same where lines wait in shared memory, see place_held(). kHasAcross: some lie across memory; else more blocks share a multiprocessor.
template <class AnyJob, bool kHasAcross>
__global__ void __launch_bounds__(kThreads, kHasAcross ? kHeldCtas : kHeldCtas + 1)
    split_ec_held_smxx(const __grid_constant__ AnyJob job) {
  using T = typename AnyJob::Element;
  extern __shared__ __align__(128) std::byte memory[];
  HeldShared& shared = *reinterpret_cast<HeldShared*>(memory);
  base::begin_in_cluster(&shared, sizeof shared);
  base::follow_previous_kernel();
  bool is_shared = false;
  if (job.alpha.load() == T{0} || is_of_another(job, is_shared)) return;
  begin_report(job, shared.report);
  const auto [is_a, block] = job.place_of(blockIdx.x);
  const auto& o = is_a ? job.a : job.b;
  const num::EcRangeLimits& limits = job.observation.limits;
  if (kHasAcross && o.is_across != 0) {
    split_held_across<T>(o, block, is_a, limits, shared);
  } else {
    split_held_along<T>(o, block, is_a, limits, shared);
  }
  write_report(job, is_shared, shared.report);
}

// ---- the host's part ----

/// CTAs that share the lines of a unit, so that a warp has one unit.
inline int cluster_of(const Operand& o) {
  const std::int64_t of_cta = std::int64_t{kWarps} * kUnit * (kUnit >> o.unit_shift);
  int cluster = 1;
  while (o.is_across != 0 && cluster < kMostCluster && o.length > cluster * of_cta) {
    cluster *= 2;
  }
  return cluster;
}

/// Whether more terms of a line are across memory than a cluster holds at a unit a warp.
inline bool is_long_across(const Operand& o) {
  return o.is_across != 0 && o.length > std::int64_t{kMostCluster} * kWarps * kUnit;
}

inline std::int64_t blocks_of(const Operand& o, int cluster) {
  if (o.num_lines == 0) return 0;
  if (o.is_across != 0) return ceil_div(o.num_lines, std::int64_t{1} << o.unit_shift) * cluster;
  return base::round_up(ceil_div(o.num_lines, kWarps / o.warps_per_line), cluster);
}

/// Deals the blocks of a job to clusters. @param blocks their number, which reports are as many as
template <class AnyJob>
Status deal_blocks(AnyJob& job, int cluster, int num_reports, std::int64_t& blocks) {
  const std::int64_t blocks_of_a = blocks_of(job.a, cluster);
  const std::int64_t blocks_of_b = blocks_of(job.b, cluster);
  blocks = blocks_of_a + blocks_of_b;
  if (blocks > INT32_MAX - num_reports) {
    return {StatusCode::kInvalidArgument, "the split of " + std::to_string(job.a.num_lines) + " and " +
                                              std::to_string(job.b.num_lines) + " lines needs " +
                                              std::to_string(blocks) + " blocks, must be below 2^31"};
  }
  job.blocks_of_first = static_cast<unsigned>(job.begins_with_b ? blocks_of_b : blocks_of_a);
  job.num_blocks = static_cast<unsigned>(blocks);
  return {};
}

/// Blocks of a launch: those of a product, and of all products of a batch.
template <class AnyJob>
[[nodiscard]] dim3 grid_of(const AnyJob& job) {
  return {job.num_blocks, AnyJob::kIsBatch ? static_cast<unsigned>(job.together.num_products) : 1U};
}

/// Launches a job, whose reports follow those before it.
template <EcFormat kFormat, int kHeldUnits, class AnyJob>
Status launch(AnyJob job, int& num_reports, product::Queue queue) {
  const int cluster = std::max(cluster_of(job.a), cluster_of(job.b));
  std::int64_t blocks = 0;
  KIZAMI_RETURN_IF_ERROR(deal_blocks(job, cluster, num_reports, blocks));
  if (job.observation.reports != nullptr) job.observation.reports += num_reports;
  num_reports += static_cast<int>(blocks);
  const auto kernel = &split_ec_smxx<kFormat, kHeldUnits, AnyJob>;
  void* argument = &job;
  return base::enqueue_overlapped("the split of FP32 operands", reinterpret_cast<const void*>(kernel), grid_of(job),
                                  dim3(kThreads), cluster, 0, queue, &argument);
}

/// Makes an operand one whose lines a cluster, or warps of a CTA, hold, for split_ec_held_smxx(): its num_lines become those in memory.
/// @param num_products that have such an operand each  @return false: lines are too long, or across memory and no neighbours
template <class T>
bool place_held(const problem::Lines<T>& lines, std::int64_t num_products, Operand& o) {
  if (o.length > HeldTerms::kMost || (o.is_across != 0 && lines.line_stride != 1)) return false;
  o.unit_shift = 4;
  o.num_lines = lines.num_lines;
  o.warps_per_line = warps_of_line(o, num_products, kHeldTermsOfWarp);
  return true;
}

/// Shared memory of a block for the elements of an operand.
[[nodiscard]] inline std::size_t held_bytes(const Operand& o) {
  if (o.num_lines == 0) return 0;
  const int terms = o.is_across != 0 ? kHeldLines * HeldTerms(static_cast<int>(o.length), 0).count()
                                     : kWarps * held_terms_of_warp(o.length, o.warps_per_line);
  return sizeof(float) * static_cast<std::size_t>(terms);
}

/// launch() of a first split in FP16 whose operands place_held() has placed.
template <class AnyJob>
Status launch_held_lines(AnyJob job, int num_sms, int& num_reports, product::Queue queue) {
  const bool is_across = job.a.is_across != 0 || job.b.is_across != 0;
  const int cluster = is_across ? HeldTerms::ranks_of((job.a.is_across != 0 ? job.a : job.b).length) : 1;
  job.begins_with_b = is_across && job.a.is_across == 0;
  std::int64_t ctas = 0;
  KIZAMI_RETURN_IF_ERROR(deal_blocks(job, cluster, 0, ctas));
  num_reports = static_cast<int>(ctas);
  constexpr std::size_t kMostBytes = sizeof(HeldShared) + sizeof(float) * kWarps * kHeldTermsOfWarp;
  static_assert(kHeldLines * HeldTerms::kMostOfCta <= kWarps * kHeldTermsOfWarp &&
                kHeldCtas * (kMostBytes + 1024) <= 228 * 1024);
  const std::size_t bytes = sizeof(HeldShared) + std::max(held_bytes(job.a), held_bytes(job.b));
  // Blocks that are all there at once, and take longer, begin at once; others mix with those that take less.
  job.takes_turns = job.blocks_of_first > static_cast<unsigned>(kHeldCtas * num_sms);
  const auto kernel = is_across ? &split_ec_held_smxx<AnyJob, true> : &split_ec_held_smxx<AnyJob, false>;
  KIZAMI_RETURN_IF_ERROR(base::cuda_status(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(kMostBytes)),
      "shared memory of the split of FP32 operands"));
  // All of it, as the product behind has: a multiprocessor that divides its memory anew waits until it is empty.
  KIZAMI_RETURN_IF_ERROR(base::cuda_status(
      cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxShared),
      "shared memory of the split of FP32 operands"));
  void* argument = &job;
  return base::enqueue_overlapped("the split of FP32 operands", reinterpret_cast<const void*>(kernel), grid_of(job),
                                  dim3(kThreads), cluster, bytes, queue, &argument);
}

/// Long lines across memory alone, the rest together.
template <EcFormat kFormat, class AnyJob>
Status split_both(const AnyJob& both, int& num_reports, product::Queue queue) {
  AnyJob rest = both;
  for (const bool is_a : {true, false}) {
    auto& o = is_a ? rest.a : rest.b;
    if (!is_long_across(o)) continue;
    AnyJob alone = rest;
    (is_a ? alone.b : alone.a).num_lines = 0;
    (is_a ? alone.b : alone.a).is_across = 0;
    KIZAMI_RETURN_IF_ERROR((launch<kFormat, 2>(alone, num_reports, queue)));
    o.num_lines = 0;
    o.is_across = 0;
  }
  if (rest.a.num_lines + rest.b.num_lines == 0) return {};
  return launch<kFormat, 1>(rest, num_reports, queue);
}

/// Launches the split of a job that has its operands. @param held the same, whose operands place_held() has placed; null: they cannot be
template <class AnyJob>
Status launch_split(AnyJob job, const AnyJob* held, EcFormat format, const EcObservation& observation, int num_sms,
                    int& num_reports, product::Queue queue) {
  num_reports = 0;
  if (format == EcFormat::kF16 && held != nullptr) {
    AnyJob placed = *held;
    placed.observation = observation;
    return launch_held_lines(placed, num_sms, num_reports, queue);
  }
  job.observation = observation;
  return format == EcFormat::kF16 ? split_both<EcFormat::kF16>(job, num_reports, queue)
                                  : split_both<EcFormat::kTf32>(job, num_reports, queue);
}

}  // namespace

template <class T>
Status device_ec_split(const DeviceEcSplit<T>& a, const DeviceEcSplit<T>& b, EcFormat format,
                       const EcObservation& observation, Factor<T> alpha, int num_sms, int& num_reports,
                       product::Queue queue) {
  Job<T, Operand> job{};
  job.alpha = alpha;
  job.a = operand_of(a, true);
  job.b = operand_of(b, false);
  Job<T, Operand> held = job;
  const bool is_held = place_held(a.lines, 1, held.a) && place_held(b.lines, 1, held.b);
  return launch_split(job, is_held ? &held : nullptr, format, observation, num_sms, num_reports, queue);
}

}  // namespace kizami::ec

/// In one file for each type: together they take minutes to compile.
#define KIZAMI_INSTANTIATE_EC_SPLIT(T)                                                                           \
  template ::kizami::Status kizami::ec::device_ec_split<T>(                                                      \
      const ::kizami::ec::DeviceEcSplit<T>&, const ::kizami::ec::DeviceEcSplit<T>&, ::kizami::product::EcFormat, \
      const ::kizami::ec::EcObservation&, ::kizami::Factor<T>, int, int&, ::kizami::product::Queue)
