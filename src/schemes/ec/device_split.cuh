// SPDX-License-Identifier: MIT
// The split of FP32 operands on the device: its launches, and the decision of a call. Where lines are short both
// operands are one launch: the first blocks are of A, the others of B. Long lines across memory have a launch of their
// own, in which a lane holds twice as much and half as many CTAs share a multiprocessor; but where a cluster holds them as
// a whole (device_held_lines.cuh), again both operands are one, which begins with lines across memory.
//
// The second split of a call is the same kernel in fewer CTAs, each of which takes blocks until none is left: it reads
// the reports of the first split, and ends if its planes will do.
//
// The kernels of a batch are the same with OperandOfBatch (device_batch_split.cuh): CTAs (x, y) have product y.
#pragma once

#include <algorithm>
#include <cstddef>
#include <new>
#include <string>
#include <type_traits>

#include "base/cluster_sm90.cuh"
#include "base/cuda_status.hpp"
#include "base/int_math.hpp"
#include "base/overlapped_launch.hpp"
#include "device/state.cuh"
#include "num/ec_range.hpp"
#include "schemes/ec/device_held_lines.cuh"
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

/// What a block that decides shares; it is filled before the reports are there.
struct DecisionShared {
  alignas(16) std::byte state[sizeof(device::DeviceState)];  ///< of a call that has not decided yet
  std::uint32_t flags;                                       ///< of all reports
  std::uint32_t a_nonfinite;
  std::uint32_t b_nonfinite;

  /// By all threads, before the wait for the split.
  __device__ void begin() {
    for (unsigned w = threadIdx.x; w < sizeof state / sizeof(std::uint32_t); w += kThreads)
      reinterpret_cast<std::uint32_t*>(state)[w] = 0;  // the padding as well: read_device_outcome() copies it
    __syncthreads();
    if (threadIdx.x != 0) return;
    new (state) device::DeviceState();
    flags = a_nonfinite = b_nonfinite = 0;
  }
};

/// The stage of a call, read from the reports by all threads of a block.
struct Decided {
  int stage;
  std::uint32_t a_nonfinite;
  std::uint32_t b_nonfinite;
};

template <class AnyJob>
[[nodiscard]] __device__ Decided decide(const AnyJob& job, DecisionShared& shared) {
  const EcDecision& decision = job.decision;
  const bool holds_by_profiles = decision.profiles != nullptr && decision.profiles->holds != 0;
  const auto* const quads = reinterpret_cast<const uint4*>(reports_of_product(decision.reports, job));
  std::uint32_t flags = 0;
  std::uint32_t a_nonfinite = 0;
  std::uint32_t b_nonfinite = 0;
  const auto count = [&](std::uint32_t bits) {
    const product::EcReport report = product::EcReport::from_bits(bits);
    flags |= report.flags();
    a_nonfinite += report.a_nonfinite();
    b_nonfinite += report.b_nonfinite();
  };
#pragma unroll 1
  for (int q = thread_index(); q * product::kEcReportsInQuad < decision.num_reports; q += kQuadsAtOnce * kThreads) {
    uint4 of_thread[kQuadsAtOnce] = {};
#pragma unroll
    for (int x = 0; x < kQuadsAtOnce; ++x) {
      const int at = q + x * kThreads;
      if (x == 0 || at * product::kEcReportsInQuad < decision.num_reports) of_thread[x] = quads[at];
    }
#pragma unroll
    for (int x = 0; x < kQuadsAtOnce; ++x) {  // what is behind the last report is nothing
      const int left = decision.num_reports - (q + x * kThreads) * product::kEcReportsInQuad;
      count(of_thread[x].x);
      count(left > 1 ? of_thread[x].y : 0);
      count(left > 2 ? of_thread[x].z : 0);
      count(left > 3 ? of_thread[x].w : 0);
    }
  }
  flags = __reduce_or_sync(kWholeWarp, flags);
  a_nonfinite = __reduce_add_sync(kWholeWarp, a_nonfinite);
  b_nonfinite = __reduce_add_sync(kWholeWarp, b_nonfinite);
  __syncthreads();  // `shared` has begun
  if (threadIdx.x % 32 == 0 && (flags | a_nonfinite | b_nonfinite) != 0) {
    atomicOr(&shared.flags, flags);
    atomicAdd(&shared.a_nonfinite, a_nonfinite);
    atomicAdd(&shared.b_nonfinite, b_nonfinite);
  }
  __syncthreads();
  const std::uint32_t of_a = shared.flags & num::kEcAllFlags;
  const std::uint32_t of_b = decision.is_of_both ? of_a : shared.flags >> 4;
  const bool f16_holds = num::ec_f16_holds(of_a, of_b) || holds_by_profiles;
  const bool tf32_holds = num::ec_tf32_holds(of_a, of_b);
  const bool first_holds = decision.formats[0] == EcFormat::kF16 ? f16_holds : tf32_holds;
  Decided decided{-1, shared.a_nonfinite, decision.is_of_both ? shared.a_nonfinite : shared.b_nonfinite};
  if (first_holds || !decision.checks_range) {
    decided.stage = 0;
  } else if (tf32_holds && decision.num_stages > 1) {
    decided.stage = 1;
  }
  return decided;
}

/// Writes the state of a call, or of this block's product, that has decided, by the first warp of a block.
template <class AnyJob, class T>
__device__ void write_state(const AnyJob& job, const Decided& decided, const T& alpha, DecisionShared& shared) {
  const EcDecision& decision = job.decision;
  if (threadIdx.x == 0) {
    auto& state = *reinterpret_cast<device::DeviceState*>(shared.state);
    state.is_scaling_only = alpha == T{0} ? 1 : 0;
    state.takes_signs = device::takes_signs(alpha) ? 1 : 0;
    state.ec_stage = decided.stage;
    state.ec_product = state.takes_signs != 0 ? -1 : decided.stage;
    state.selection.rung = decided.stage < 0 ? -1 : 0;
    if (decided.stage < 0) state.selection.num_repaired = decision.num_pairs;
    state.nonfinite_rows = decision.is_transposed ? decided.b_nonfinite : decided.a_nonfinite;
    state.nonfinite_cols = decision.is_transposed ? decided.a_nonfinite : decided.b_nonfinite;
    if (decision.made_product != nullptr) *decision.made_product = state.ec_product == 1 ? 1 : -1;
  }
  __syncwarp();
  constexpr unsigned kWords = sizeof(device::DeviceState) / sizeof(uint4);
  static_assert(kWords <= 32 && sizeof(device::DeviceState) % sizeof(uint4) == 0);
  if (threadIdx.x < kWords)
    reinterpret_cast<uint4*>(state_of_product(job))[threadIdx.x] =
        reinterpret_cast<const uint4*>(shared.state)[threadIdx.x];
}

template <EcFormat kFormat, int kHeldUnits, class AnyJob>
__device__ void split_block(const AnyJob& job, unsigned at, Shared& shared) {
  using T = typename AnyJob::Element;
  const num::EcRangeLimits& limits = job.observation.limits;
  const auto [is_a, block] = job.place_of(at);
  const auto& o = is_a ? job.a : job.b;
  if (o.is_across != 0) {
    split_across<T, kFormat, kHeldUnits>(o, block, is_a, limits, shared);
  } else if (o.reads_quads()) {
    split_along<T, kFormat, kQuadsOfUnit, true>(o, block, is_a, limits, shared);
  } else {
    split_along<T, kFormat, kQuadsOfUnit, false>(o, block, is_a, limits, shared);
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
  if (threadIdx.x == 0)
    reports_of_product(job.observation.reports, job)[blockIdx.x] = product::EcReport::from_bits(report);
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
    is_shared = (job.place_of(blockIdx.x).is_a ? job.a : job.b).is_shared != 0;
    if (is_shared && blockIdx.y != 0) return;  // all CTAs of the cluster, which has one operand
  }
  if (threadIdx.x == 0) shared.report = 0;
  if (job.observation.profiles != nullptr && blockIdx.x == 0) clear_profiles(*job.observation.profiles);
  __syncthreads();
  split_block<kFormat, kHeldUnits>(job, blockIdx.x, shared);
  write_report(job, is_shared, shared.report);
}

/// The same where lines across memory are held as a whole: of one product of real numbers.
template <EcFormat kFormat>
__global__ void __launch_bounds__(kThreads, kHeldCtas)
    split_held_ec_smxx(const __grid_constant__ Job<float, Operand> job) {
  extern __shared__ __align__(128) std::byte memory[];
  HeldShared& shared = *reinterpret_cast<HeldShared*>(memory);
  base::begin_in_cluster(&shared, sizeof shared);
  base::follow_previous_kernel();
  if (job.alpha.load() == 0) return;
  if (threadIdx.x == 0) shared.report = 0;
  if (job.observation.profiles != nullptr && blockIdx.x == 0) clear_profiles(*job.observation.profiles);
  __syncthreads();
  const auto [is_a, block] = job.place_of(blockIdx.x);
  const Operand& o = is_a ? job.a : job.b;
  const num::EcRangeLimits& limits = job.observation.limits;
  if (o.is_across == 0) {
    if (o.reads_quads()) {
      split_along<float, kFormat, kQuadsOfLane, true>(o, block, is_a, limits, shared);
    } else {
      split_along<float, kFormat, kQuadsOfLane, false>(o, block, is_a, limits, shared);
    }
  } else {
    split_held_across<kFormat>(o, block, is_a, limits, shared);
  }
  write_report(job, false, shared.report);
}

/// Decides; where the planes are to be made again, a CTA takes blocks until none is left.
template <EcFormat kFormat, int kHeldUnits, class AnyJob>
__global__ void __launch_bounds__(kThreads, 4 - kHeldUnits) decide_ec_smxx(const __grid_constant__ AnyJob job) {
  using T = typename AnyJob::Element;
  __shared__ Shared shared;
  __shared__ DecisionShared of_decision;
  base::begin_in_cluster(&shared, sizeof shared);
  of_decision.begin();
  base::follow_previous_kernel();
  const T alpha = job.alpha.load();
  Decided decided{0, 0, 0};
  if (alpha != T{0}) decided = decide(job, of_decision);
  if (blockIdx.x == 0 && threadIdx.x < 32) write_state(job, decided, alpha, of_decision);
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
/// @param held_quads that a lane holds along the lines
template <class T>
Operand operand_of(const DeviceEcSplit<T>& task, bool is_a, std::int64_t num_products = 1,
                   int held_quads = kQuadsOfUnit) {
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
  const auto warps_that_hold = [&](int quads) {
    std::int32_t warps = 1;
    const auto is_too_few = [&] {
      return o.length > std::int64_t{warps} * 128 * quads ||
             (o.length > std::int64_t{warps} * 128 * 2 && num_products * o.num_lines * warps < kManyBlocks * kWarps);
    };
    while (warps < kWarps && is_too_few()) warps *= 2;
    return warps;
  };
  o.warps_per_line = warps_that_hold(held_quads);
  o.parts_per_line = warps_that_hold(kQuadsOfUnit);  // whatever is held: flags hang on them
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

/// Launches a job: of a first split, whose reports follow those before it, or of a decision.
template <EcFormat kFormat, int kHeldUnits, class AnyJob>
Status launch(AnyJob job, int num_sms, int& num_reports, product::Queue queue) {
  const int cluster = std::max(cluster_of(job.a), cluster_of(job.b));
  std::int64_t blocks = 0;
  KIZAMI_RETURN_IF_ERROR(deal_blocks(job, cluster, num_reports, blocks));
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

/// Makes an operand one whose lines, if they are across memory, a cluster holds as a whole; false: no cluster does, lines are no
/// neighbours, or smaller clusters do as well.
inline bool place_held(Operand& o) {
  if (o.is_across == 0) return true;
  if (o.line_stride != 1 || o.length <= HeldTerms::kOfCta || o.length > kMostCluster * HeldTerms::kOfCta) return false;
  o.unit_shift = 4;
  return true;
}

/// launch() of a first split whose operands place_held() has placed, one of them across memory, or both.
template <EcFormat kFormat>
Status launch_held_lines(Job<float, Operand> job, int num_sms, int& num_reports, product::Queue queue) {
  const Operand& across = job.a.is_across != 0 ? job.a : job.b;
  const int cluster = HeldTerms::ranks_of(across.length);
  job.begins_with_b = job.a.is_across == 0;
  std::int64_t ctas = 0;
  KIZAMI_RETURN_IF_ERROR(deal_blocks(job, cluster, 0, ctas));
  num_reports = static_cast<int>(ctas);
  // Blocks that are all there at once, and take longer, begin at once; others mix with those that take less.
  job.takes_turns = job.blocks_of_first > static_cast<unsigned>(kHeldCtas * num_sms);
  const auto kernel = &split_held_ec_smxx<kFormat>;
  KIZAMI_RETURN_IF_ERROR(base::cuda_status(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(sizeof(HeldShared))),
      "shared memory of the split of FP32 operands"));
  void* argument = &job;
  return base::enqueue_overlapped("the split of FP32 operands", reinterpret_cast<const void*>(kernel),
                                  dim3(static_cast<unsigned>(ctas)), dim3(kThreads), cluster, sizeof(HeldShared), queue,
                                  &argument);
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
  if constexpr (std::is_same_v<T, float>) {
    job.a = operand_of(a, true, 1, kQuadsOfLane);
    job.b = operand_of(b, false, 1, kQuadsOfLane);
    const bool is_any_across = job.a.is_across != 0 || job.b.is_across != 0;
    if (format == EcFormat::kF16 && is_any_across && place_held(job.a) && place_held(job.b)) {
      job.observation = observation;
      return launch_held_lines<EcFormat::kF16>(job, num_sms, num_reports, queue);
    }
  }
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
