// SPDX-License-Identifier: MIT
// The split of FP32 operands on the device: its launches, and the decision of a call. Where lines are short both
// operands are one launch: the first blocks are of A, the others of B. Long lines across memory have a launch of their
// own, in which a lane holds twice as much and half as many CTAs share a multiprocessor.
//
// The second split of a call is the same kernel in fewer CTAs, each of which takes blocks until none is left: it reads
// the reports of the first split, and ends if its planes will do.
//
// The kernels of a batch are the same with OperandOfBatch (device_batch_split.cuh): CTAs (x, y) have product y.
#pragma once

#include <algorithm>
#include <string>

#include "base/cluster_sm90.cuh"
#include "base/cuda_status.hpp"
#include "base/int_math.hpp"
#include "base/overlapped_launch.hpp"
#include "device/state.cuh"
#include "num/ec_range.hpp"
#include "schemes/ec/device_lines.cuh"
#include "schemes/ec/device_split.hpp"

namespace kizami::ec {
namespace {

// ---- the decision ----

/// What this block's product has of an array of reports.
template <class Report, class AnyJob>
[[nodiscard]] __device__ Report* reports_of_product(Report* reports, const AnyJob& job) {
  if constexpr (AnyJob::kIsBatch) reports += blockIdx.y * job.together.reports_step;
  return reports;
}

/// What this block's product has of the states of a decision.
template <class AnyJob>
[[nodiscard]] __device__ device::DeviceState* state_of_product(const AnyJob& job) {
  device::DeviceState* state = job.decision.state;
  if constexpr (AnyJob::kIsBatch) state += blockIdx.y;
  return state;
}

/// The stage of a call, read from the reports by all threads of a block.
struct Decided {
  int stage;
  std::uint32_t a_nonfinite;
  std::uint32_t b_nonfinite;
};

template <class AnyJob>
[[nodiscard]] __device__ Decided decide(const AnyJob& job, std::uint32_t (&shared)[3 * kWarps]) {
  const EcDecision& decision = job.decision;
  std::uint32_t flags = 0;
  std::uint32_t a_nonfinite = 0;
  std::uint32_t b_nonfinite = 0;
#pragma unroll 1  // little code: small products wait for it, and it is not in the instruction cache
  for (int r = thread_index(); r < decision.num_reports; r += kReportsAtOnce * kThreads) {
    const auto* const reports = reports_of_product(decision.reports, job) + r;
    product::EcReport of_thread[kReportsAtOnce];
#pragma unroll
    for (int x = 0; x < kReportsAtOnce; ++x) {
      if (x == 0 || r + x * kThreads < decision.num_reports) of_thread[x] = reports[x * kThreads];
    }
#pragma unroll
    for (const product::EcReport& report : of_thread) {
      flags |= report.flags();
      a_nonfinite += report.a_nonfinite();
      b_nonfinite += report.b_nonfinite();
    }
  }
  flags = __reduce_or_sync(kWholeWarp, flags);
  a_nonfinite = __reduce_add_sync(kWholeWarp, a_nonfinite);
  b_nonfinite = __reduce_add_sync(kWholeWarp, b_nonfinite);
  const unsigned warp = threadIdx.x / 32;
  if (threadIdx.x % 32 == 0) {
    shared[3 * warp] = flags;
    shared[3 * warp + 1] = a_nonfinite;
    shared[3 * warp + 2] = b_nonfinite;
  }
  __syncthreads();
  Decided decided{-1, 0, 0};
  flags = 0;
  for (int w = 0; w < kWarps; ++w) {
    flags |= shared[3 * w];
    decided.a_nonfinite += shared[3 * w + 1];
    decided.b_nonfinite += shared[3 * w + 2];
  }
  __syncthreads();  // `shared` may be written again
  if (decision.is_of_both) {
    flags |= flags << 4;
    decided.b_nonfinite = decided.a_nonfinite;
  }
  if (!decision.checks_range) decided.stage = 0;
  for (int s = 0; s < decision.num_stages && decided.stage < 0; ++s) {
    const bool is_f16 = decision.formats[s] == EcFormat::kF16;
    bool holds = is_f16 ? num::ec_f16_holds(flags & 0xF, flags >> 4) : num::ec_tf32_holds(flags & 0xF, flags >> 4);
    if (is_f16 && !holds && decision.profiles != nullptr) holds = decision.profiles->holds != 0;
    if (holds) decided.stage = s;
  }
  return decided;
}

/// Writes the state of a call, or of this block's product, that has decided.
template <class AnyJob, class T>
__device__ void write_state(const AnyJob& job, const Decided& decided, const T& alpha) {
  const EcDecision& decision = job.decision;
  device::DeviceState fresh;
  fresh.is_scaling_only = alpha == T{0} ? 1 : 0;
  fresh.takes_signs = device::takes_signs(alpha) ? 1 : 0;
  fresh.ec_stage = decided.stage;
  fresh.ec_product = fresh.takes_signs != 0 ? -1 : decided.stage;
  fresh.selection.rung = decided.stage < 0 ? -1 : 0;
  if (decided.stage < 0) fresh.selection.num_repaired = decision.num_pairs;
  fresh.nonfinite_rows = decision.is_transposed ? decided.b_nonfinite : decided.a_nonfinite;
  fresh.nonfinite_cols = decision.is_transposed ? decided.a_nonfinite : decided.b_nonfinite;
  device::write_state(state_of_product(job), fresh);
  if (decision.made_product != nullptr) *decision.made_product = fresh.ec_product == 1 ? 1 : -1;
}

template <EcFormat kFormat, int kHeldUnits, class AnyJob>
__device__ void split_block(const AnyJob& job, unsigned at, Shared& shared) {
  using T = typename AnyJob::Element;
  const num::EcRangeLimits& limits = job.observation.limits;
  const bool is_a = at < job.blocks_of_a;
  const auto& o = is_a ? job.a : job.b;
  const unsigned block = is_a ? at : at - job.blocks_of_a;
  if (o.is_across != 0) {
    split_across<T, kFormat, kHeldUnits>(o, block, is_a, limits, shared);
  } else if (o.reads_quads()) {
    split_along<T, kFormat, true>(o, block, is_a, limits, shared);
  } else {
    split_along<T, kFormat, false>(o, block, is_a, limits, shared);
  }
}

/// By the threads of a block.
__device__ void clear_profiles(num::EcProfiles& profiles) {
  constexpr unsigned kWords = sizeof(num::EcProfiles) / sizeof(std::uint32_t);
  static_assert(kWords <= kThreads);
  if (threadIdx.x < kWords) reinterpret_cast<std::uint32_t*>(&profiles)[threadIdx.x] = 0;
}

/// A block a CTA, which reports it: of an operand that all products of a batch have, once, for all of them.
template <EcFormat kFormat, int kHeldUnits, class AnyJob>
__global__ void __launch_bounds__(kThreads, 4 - kHeldUnits) split_ec_smxx(const __grid_constant__ AnyJob job) {
  using T = typename AnyJob::Element;
  __shared__ Shared shared;
  base::begin_in_cluster(&shared, sizeof shared);
  base::follow_previous_kernel();
  if (job.alpha.load() == T{0}) return;
  bool is_shared = false;
  if constexpr (AnyJob::kIsBatch) {
    is_shared = (blockIdx.x < job.blocks_of_a ? job.a : job.b).is_shared != 0;
    if (is_shared && blockIdx.y != 0) return;  // all CTAs of the cluster, which has one operand
  }
  if (threadIdx.x == 0) shared.report = 0;
  if (job.observation.profiles != nullptr && blockIdx.x == 0) clear_profiles(*job.observation.profiles);
  __syncthreads();
  split_block<kFormat, kHeldUnits>(job, blockIdx.x, shared);
  if (job.observation.reports == nullptr) return;
  __syncthreads();
  if constexpr (AnyJob::kIsBatch) {
    if (is_shared) {
      for (int product = static_cast<int>(threadIdx.x); product < job.together.num_products; product += kThreads)
        job.observation.reports[product * job.together.reports_step + blockIdx.x] =
            product::EcReport::from_bits(shared.report);
      return;
    }
  }
  if (threadIdx.x == 0)
    reports_of_product(job.observation.reports, job)[blockIdx.x] = product::EcReport::from_bits(shared.report);
}

/// Decides; where the planes are to be made again, a CTA takes blocks until none is left.
template <EcFormat kFormat, int kHeldUnits, class AnyJob>
__global__ void __launch_bounds__(kThreads, 4 - kHeldUnits) decide_ec_smxx(const __grid_constant__ AnyJob job) {
  using T = typename AnyJob::Element;
  __shared__ Shared shared;
  __shared__ std::uint32_t words[3 * kWarps];
  base::begin_in_cluster(&shared, sizeof shared);
  base::follow_previous_kernel();
  const T alpha = job.alpha.load();
  Decided decided{0, 0, 0};
  if (alpha != T{0}) decided = decide(job, words);
  if (blockIdx.x == 0 && threadIdx.x == 0) write_state(job, decided, alpha);
  if (decided.stage != 1) return;
    // The CTAs of a cluster have neighbouring blocks, all of one operand.
#pragma unroll 1
  for (unsigned at = blockIdx.x; at < job.num_blocks; at += gridDim.x) {
    split_block<kFormat, kHeldUnits>(job, at, shared);
    base::cluster_sync();  // `shared` is free again, for others as well
  }
}

// ---- the host's part ----

/// Lines of a unit across memory: 16 where at most two CTAs then hold a line, for a larger cluster waits longer for the
/// last of its CTAs (docs/perf/h200_ec.md).
inline int unit_shift_of(const Operand& o) {
  constexpr std::int64_t kOfWarps = std::int64_t{kWarps} * kUnit;
  return o.length > kOfWarps && o.length <= 4 * kOfWarps ? 4 : 5;
}

/// @param num_products that have such an operand each, in one launch
template <class T>
Operand operand_of(const DeviceEcSplit<T>& task, bool is_a, std::int64_t num_products = 1) {
  constexpr int kTerms = static_cast<int>(problem::kTerms<T>);
  const problem::Lines<T>& lines = task.lines;
  Operand o{};
  o.data = reinterpret_cast<const float*>(lines.data);
  o.forms = kIsComplex<T> && is_a ? 2 : 1;
  o.num_lines = lines.num_lines * o.forms;
  o.length = lines.num_terms();
  o.line_stride = lines.line_stride * kTerms;
  o.inner_stride = lines.inner_stride * kTerms;
  o.planes = task.planes;
  o.row_stride = task.row_stride;
  o.scales = task.scales;
  o.stats = task.stats;
  o.is_conjugated = lines.is_conjugated;
  o.is_across = lines.inner_stride > lines.line_stride && lines.num_lines > 1;
  o.is_aligned = lines.inner_stride == 1 && o.line_stride % 4 == 0 && o.length % 4 == 0 &&
                 reinterpret_cast<std::uintptr_t>(lines.data) % 16 == 0;
  o.unit_shift = unit_shift_of(o);
  // Enough warps to hold a line; more where lines are few and would leave multiprocessors idle.
  constexpr std::int64_t kManyBlocks = 256;
  const auto is_too_few = [&](std::int64_t warps) {
    return o.length > warps * 128 * kHeldQuads ||
           (o.length > warps * 128 * 2 && num_products * o.num_lines * warps < kManyBlocks * kWarps);
  };
  o.warps_per_line = 1;
  while (o.warps_per_line < kWarps && is_too_few(o.warps_per_line)) o.warps_per_line *= 2;
  return o;
}

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

/// CTAs of a decision. Few, for each reads all reports; of each product of a batch, so that the device holds those of all:
/// a multiprocessor three.
template <class AnyJob>
[[nodiscard]] std::int64_t most_deciding(const AnyJob& job, int num_sms, int cluster) {
  constexpr std::int64_t kOfMultiprocessor = 3;
  std::int64_t at_once = num_sms;
  if constexpr (AnyJob::kIsBatch) at_once = kOfMultiprocessor * num_sms / job.together.num_products;
  return std::max<std::int64_t>(at_once / cluster, 1) * cluster;
}

/// Launches a job: of a first split, whose reports follow those before it, or of a decision.
template <EcFormat kFormat, int kHeldUnits, class AnyJob>
Status launch(AnyJob job, int num_sms, int& num_reports, product::Queue queue) {
  const int cluster = std::max(cluster_of(job.a), cluster_of(job.b));
  const std::int64_t blocks_of_a = blocks_of(job.a, cluster);
  const std::int64_t blocks = blocks_of_a + blocks_of(job.b, cluster);
  if (blocks > INT32_MAX - num_reports) {
    return {StatusCode::kInvalidArgument, "the split of " + std::to_string(job.a.num_lines) + " and " +
                                              std::to_string(job.b.num_lines) + " lines needs " +
                                              std::to_string(blocks) + " blocks, must be below 2^31"};
  }
  job.blocks_of_a = static_cast<unsigned>(blocks_of_a);
  job.num_blocks = static_cast<unsigned>(blocks);
  const bool is_decision = job.decision.state != nullptr;
  std::int64_t ctas = blocks;
  if (is_decision) {
    ctas = std::max<std::int64_t>(std::min(blocks, most_deciding(job, num_sms, cluster)), cluster);
  } else {
    if (job.observation.reports != nullptr) job.observation.reports += num_reports;
    num_reports += static_cast<int>(blocks);
  }
  auto* kernel = &split_ec_smxx<kFormat, kHeldUnits, AnyJob>;
  if constexpr (kFormat == EcFormat::kTf32) {  // what decisions make again
    if (is_decision) kernel = &decide_ec_smxx<kFormat, kHeldUnits, AnyJob>;
  }
  const dim3 grid(static_cast<unsigned>(ctas),
                  AnyJob::kIsBatch ? static_cast<unsigned>(job.together.num_products) : 1U);
  void* argument = &job;
  return base::enqueue_overlapped("the split of FP32 operands", reinterpret_cast<const void*>(kernel), grid,
                                  dim3(kThreads), cluster, 0, queue, &argument);
}

/// Long lines across memory alone, the rest together.
template <EcFormat kFormat, class AnyJob>
Status split_both(const AnyJob& both, int num_sms, int& num_reports, product::Queue queue) {
  AnyJob rest = both;
  for (const bool is_a : {true, false}) {
    auto& o = is_a ? rest.a : rest.b;
    if (!is_long_across(o)) continue;
    AnyJob alone = rest;
    (is_a ? alone.b : alone.a).num_lines = 0;
    (is_a ? alone.b : alone.a).is_across = 0;
    KIZAMI_RETURN_IF_ERROR((launch<kFormat, 2>(alone, num_sms, num_reports, queue)));
    o.num_lines = 0;
    o.is_across = 0;
  }
  if (rest.a.num_lines + rest.b.num_lines == 0) return {};
  return launch<kFormat, 1>(rest, num_sms, num_reports, queue);
}

/// Launches the split of a job that has its operands.
template <class AnyJob>
Status launch_split(AnyJob& job, EcFormat format, const EcObservation& observation, int num_sms, int& num_reports,
                    product::Queue queue) {
  num_reports = 0;
  job.observation = observation;
  return format == EcFormat::kF16 ? split_both<EcFormat::kF16>(job, num_sms, num_reports, queue)
                                  : split_both<EcFormat::kTf32>(job, num_sms, num_reports, queue);
}

/// Launches a decision. @param place_operands gives the job its operands, where there is something to split
template <class AnyJob, class PlaceOperands>
Status launch_decision(AnyJob& job, const EcDecision& decision, int num_sms, product::Queue queue,
                       const PlaceOperands& place_operands) {
  job.decision = decision;
  int num_reports = 0;
  if (decision.num_stages == 1) {
    job.a.warps_per_line = job.b.warps_per_line = 1;
    return launch<EcFormat::kTf32, 1>(job, 1, num_reports, queue);
  }
  place_operands();
  if (is_long_across(job.a) || is_long_across(job.b))
    return launch<EcFormat::kTf32, 2>(job, num_sms, num_reports, queue);
  return launch<EcFormat::kTf32, 1>(job, num_sms, num_reports, queue);
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
  return launch_split(job, format, observation, num_sms, num_reports, queue);
}

template <class T>
Status device_ec_decide(const EcDecision& decision, const DeviceEcSplit<T>& a, const DeviceEcSplit<T>& b,
                        Factor<T> alpha, int num_sms, product::Queue queue) {
  Job<T, Operand> job{};
  job.alpha = alpha;
  return launch_decision(job, decision, num_sms, queue, [&] {
    job.a = operand_of(a, true);
    job.b = operand_of(b, false);
  });
}

}  // namespace kizami::ec

/// In one file for each type: together they take minutes to compile.
#define KIZAMI_INSTANTIATE_EC_SPLIT(T)                                                                               \
  template ::kizami::Status kizami::ec::device_ec_split<T>(                                                          \
      const ::kizami::ec::DeviceEcSplit<T>&, const ::kizami::ec::DeviceEcSplit<T>&, ::kizami::product::EcFormat,     \
      const ::kizami::ec::EcObservation&, ::kizami::Factor<T>, int, int&, ::kizami::product::Queue);                 \
  template ::kizami::Status kizami::ec::device_ec_decide<T>(                                                         \
      const ::kizami::ec::EcDecision&, const ::kizami::ec::DeviceEcSplit<T>&, const ::kizami::ec::DeviceEcSplit<T>&, \
      ::kizami::Factor<T>, int, ::kizami::product::Queue)
