// SPDX-License-Identifier: MIT
// The decision of a call of scheme ec, by every block of a kernel, each of which reads all reports of the first split. What is left to do where the
// planes of the first split will not do is done by the same kernel, before the product:
//   second stage    the planes are made again in its format. What the largest of a line is, the first split has told
//                   (num::LineStats), so each element is read once, and warps need not know of each other.
//   FP64 rung       answers all of C where no format holds, and lines with NaN or Inf: elements that the product leaves alone. So
//                   nothing stands behind the product, for which every call would wait. A call whose host looks at the decision
//                   before C is written has that rung behind it instead.
//
// The kernel of a batch is the same with OperandOfBatch: CTAs (x, y) have product y. Its FP64 rung is a launch of its own.
#pragma once

#include <algorithm>
#include <complex>
#include <cstddef>
#include <new>
#include <type_traits>

#include "base/overlapped_launch.hpp"
#include "device/effort_word.cuh"
#include "device/state.cuh"
#include "fp64/device_rung.cuh"
#include "num/ec_range.hpp"
#include "schemes/ec/device_decide.hpp"
#include "schemes/ec/device_lines.cuh"
#include "schemes/ec/device_operand.cuh"

namespace kizami::ec {
namespace {

constexpr int kDecidingThreads = fp64::kThreads;
constexpr int kDecidingWarps = kDecidingThreads / 32;

/// AnyOperand: Operand, or OperandOfBatch; a and b are those of the second stage.
template <class T, class AnyOperand>
struct DecisionJob {
  using Element = T;
  static constexpr bool kIsBatch = AnyOperand::kIsBatch;
  AnyOperand a;
  AnyOperand b;
  Factor<T> alpha;
  EcDecision decision;
  EcTogether together;  ///< of a batch
};

// ---- what is decided ----

/// What the reports of a product say together.
struct ReportSums {
  std::uint32_t bits;  ///< of any
  std::uint32_t a_nonfinite;
  std::uint32_t b_nonfinite;
};

/// What a block that decides shares.
struct DecisionShared {
  alignas(16) std::byte state[sizeof(device::DeviceState)];  ///< of a call that has not decided yet
  ReportSums sums;                                           ///< zero

  /// By all threads, before the wait for the split.
  __device__ void begin() {
    for (unsigned w = threadIdx.x; w < sizeof state / sizeof(std::uint32_t); w += kDecidingThreads)
      reinterpret_cast<std::uint32_t*>(state)[w] = 0;  // the padding as well: read_device_outcome() copies it
    __syncthreads();
    if (threadIdx.x == 0) {
      new (state) device::DeviceState();
      sums = {};
    }
    __syncthreads();
  }
};

struct Decided {
  int stage;  ///< -1: none
  std::uint32_t a_nonfinite;
  std::uint32_t b_nonfinite;
};

/// The stage of a call, or of this block's product, by all threads of a block.
template <class AnyJob>
[[nodiscard]] __device__ Decided decide(const AnyJob& job, DecisionShared& shared) {
  const EcDecision& decision = job.decision;
  const bool holds_by_profiles = decision.profiles != nullptr && decision.profiles->holds != 0;
  const product::EcReport* reports = decision.reports;
  if constexpr (AnyJob::kIsBatch) reports += blockIdx.y * job.together.reports_step;
  // Four reports at a time, and four fours on their way; what is behind the last report is nothing.
  constexpr int kQuadsAtOnce = 4;
  const auto* const quads = reinterpret_cast<const uint4*>(reports);
  std::uint32_t bits = 0;
#pragma unroll 1
  for (int first = static_cast<int>(threadIdx.x); first * product::kEcReportsInQuad < decision.num_reports;
       first += kQuadsAtOnce * kDecidingThreads) {
    uint4 four[kQuadsAtOnce];
#pragma unroll
    for (int x = 0; x < kQuadsAtOnce; ++x) {
      const int q = first + x * kDecidingThreads;
      four[x] = q * product::kEcReportsInQuad < decision.num_reports ? quads[q] : uint4{};
    }
#pragma unroll
    for (int x = 0; x < kQuadsAtOnce; ++x) {
      const int left = decision.num_reports - (first + x * kDecidingThreads) * product::kEcReportsInQuad;
      bits |= four[x].x | (left > 1 ? four[x].y : 0) | (left > 2 ? four[x].z : 0) | (left > 3 ? four[x].w : 0);
    }
  }
  bits = __reduce_or_sync(kWholeWarp, bits);
  if (threadIdx.x % 32 == 0 && bits != 0) atomicOr(&shared.sums.bits, bits);
  __syncthreads();
  const product::EcReport any = product::EcReport::from_bits(shared.sums.bits);
  if ((any.a_nonfinite() | any.b_nonfinite()) != 0) {  // seldom: they are counted
    for (int r = static_cast<int>(threadIdx.x); r < decision.num_reports; r += kDecidingThreads) {
      if (const std::uint32_t count = reports[r].a_nonfinite(); count != 0) atomicAdd(&shared.sums.a_nonfinite, count);
      if (const std::uint32_t count = reports[r].b_nonfinite(); count != 0) atomicAdd(&shared.sums.b_nonfinite, count);
    }
    __syncthreads();
  }
  const ReportSums sums = shared.sums;
  const std::uint32_t of_a = any.flags() & num::kEcAllFlags;
  const std::uint32_t of_b = decision.is_of_both ? of_a : any.flags() >> 4;
  const bool f16_holds = num::ec_f16_holds(of_a, of_b) || holds_by_profiles;
  const bool tf32_holds = num::ec_tf32_holds(of_a, of_b);
  const bool first_holds = decision.formats[0] == EcFormat::kF16 ? f16_holds : tf32_holds;
  Decided decided{-1, sums.a_nonfinite, decision.is_of_both ? sums.a_nonfinite : sums.b_nonfinite};
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
  device::DeviceState* to = decision.state;
  if constexpr (AnyJob::kIsBatch) to += blockIdx.y;
  if (threadIdx.x < kWords)
    reinterpret_cast<uint4*>(to)[threadIdx.x] = reinterpret_cast<const uint4*>(shared.state)[threadIdx.x];
}

// ---- the planes of the second stage ----

/// For each warp 16 bytes p of what lane l makes of a block, at 8 l + (p ^ l % 8).
using Exchange = uint4[kDecidingWarps][kUnit * 8];

/// The scale that a line has in a format, from what the first split has found.
template <EcFormat kFormat, class AnyOperand>
[[nodiscard]] __device__ std::int32_t known_scale(const AnyOperand& o, std::int64_t i) {
  const num::LineStats& stats = o.own_stats()[i / o.forms];
  if (!stats.is_finite) return num::kSkipLine;
  return stats.is_zero() ? 0 : product::ec_top_exponent(kFormat) - stats.exponent;
}

/// Planes and scales of an operand, by warps of which this is one, from `warp` on every num_warps-th piece.
template <class T, EcFormat kFormat, class AnyOperand>
__device__ void make_planes(const AnyOperand& o, std::int64_t warp, std::int64_t num_warps,
                            uint4 (&exchange)[kUnit * 8]) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  Glance<kFormat> unused{num::EcRangeLimits{}};
  if (o.is_across != 0) {  // 32 lines x 32 terms
    constexpr std::integral_constant<int, 5> kShift;
    const std::int64_t groups = ceil_div(o.num_lines, std::int64_t{kUnit});
    const std::int64_t pieces = groups * ceil_div(o.length, std::int64_t{kUnit});
    for (std::int64_t piece = warp; piece < pieces; piece += num_warps) {
      const int part = static_cast<int>(piece / groups);
      const int first_line = static_cast<int>(piece % groups) * kUnit;
      const std::int64_t i = first_line + lane;
      const bool has_line = i < o.num_lines;
      float x[kUnit];
      load_part<T>(o, Reader<T>(o, i), has_line, part, x);
      const std::int32_t scale = has_line ? known_scale<kFormat>(o, i) : num::kSkipLine;
      if (has_line && part == 0) o.own_scales()[i] = scale;
      store_unit<kFormat>(o, kShift, first_line, part, x, Scaling(scale), exchange, unused);
    }
    return;
  }
  constexpr int kQuads = 8;
  constexpr std::int64_t kPiece = std::int64_t{kQuads} * 128;
  constexpr std::int64_t kBlock = product::ec_block_length(kFormat);
  const int end = static_cast<int>(ceil_div(o.length, kBlock) * kBlock);  // of a line with its padding
  const std::int64_t pieces_of_line = ceil_div(o.length, kPiece);
  const bool reads_quads = o.reads_quads();
  for (std::int64_t piece = warp; piece < o.num_lines * pieces_of_line; piece += num_warps) {
    const std::int64_t i = piece / pieces_of_line;
    const int first = static_cast<int>(piece % pieces_of_line * kPiece) + lane * 4;
    const Reader<T> reader(o, i);
    float4 held[kQuads];
#pragma unroll
    for (int q = 0; q < kQuads; ++q) {
      const int k = first + q * 128;
      held[q] = reads_quads ? load_four<T, true>(o, reader, k) : load_four<T, false>(o, reader, k);
    }
    const std::int32_t scale = known_scale<kFormat>(o, i);
    if (first == 0) o.own_scales()[i] = scale;
    const Scaling scaling(scale);
    std::int8_t* const row = o.own_planes() + i * o.row_stride;
#pragma unroll
    for (int q = 0; q < kQuads; ++q) {
      const int k = first + q * 128;
      float4 x = held[q];
      if (scaling.needs_rest())
        x = make_float4(scaling.rest(x.x), scaling.rest(x.y), scaling.rest(x.z), scaling.rest(x.w));
      if (k < end) store_four<kFormat>(row, k, x, scaling, unused);
    }
  }
}

/// By all threads of a grid, or of what a grid has of this block's product.
template <class AnyJob>
__device__ void make_second_planes(const AnyJob& job, Exchange& exchange) {
  using T = typename AnyJob::Element;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const std::int64_t first = std::int64_t{blockIdx.x} * kDecidingWarps + warp;
  const std::int64_t step = std::int64_t{gridDim.x} * kDecidingWarps;
  make_planes<T, EcFormat::kTf32>(job.a, first, step, exchange[warp]);
  make_planes<T, EcFormat::kTf32>(job.b, first, step, exchange[warp]);
}

// ---- the kernels ----

/// The decision, and what is said of it, by all threads of a block.
template <class AnyJob, class T>
[[nodiscard]] __device__ Decided decide_and_tell(const AnyJob& job, const T& alpha, DecisionShared& shared) {
  Decided decided{0, 0, 0};
  if (alpha != T{0}) decided = decide(job, shared);
  if (blockIdx.x == 0 && threadIdx.x < 32) write_state(job, decided, alpha, shared);
  return decided;
}

/// Decides, and makes the planes again where they are to be.
template <class AnyJob>
__global__ void __launch_bounds__(kDecidingThreads) decide_ec_smxx(const __grid_constant__ AnyJob job) {
  __shared__ DecisionShared shared;
  __shared__ Exchange exchange;
  shared.begin();
  base::follow_previous_kernel();
  const Decided decided = decide_and_tell(job, job.alpha.load(), shared);
  if (decided.stage == 1) make_second_planes(job, exchange);
}

/// The same of one product, whose FP64 rung is in it.
template <class T, num::Fp64Summation kSummation, class Shape>
__global__ void __launch_bounds__(kDecidingThreads, fp64::kMaxBlocksPerMultiprocessor)
    decide_and_answer_ec_smxx(int num_levels, const __grid_constant__ DecisionJob<T, Operand> job,
                              const __grid_constant__ fp64::DeviceCall<T> call) {
  extern __shared__ double2 shared_memory[];
  __shared__ DecisionShared shared;
  shared.begin();
  base::follow_previous_kernel();
  const T alpha = job.alpha.load();
  const Decided decided = decide_and_tell(job, alpha, shared);
  if (alpha == T{0}) return;
  if (blockIdx.x == 0 && threadIdx.x < 32) {
    __syncwarp();  // the state is there
    device::tell_effort(call.effort, call.c.rows, call.c.cols);
  }
  if (decided.stage == 0 && (decided.a_nonfinite | decided.b_nonfinite) == 0) return;
  if (decided.stage == 1) make_second_planes(job, *reinterpret_cast<Exchange*>(shared_memory));
  if (device::takes_signs(alpha)) return;
  const bool is_transposed = job.decision.is_transposed;
  const fp64::Exceptions exceptions(decided.stage < 0, (is_transposed ? decided.b_nonfinite : decided.a_nonfinite) != 0,
                                    (is_transposed ? decided.a_nonfinite : decided.b_nonfinite) != 0);
  base::read_no_older_copy();  // of C: the call before may have written it while blocks of this kernel began
  fp64::answer<T, kSummation>(call, exceptions,
                              fp64::TileMemory<Shape>(reinterpret_cast<double*>(shared_memory), num_levels));
}

// ---- the host's part ----

/// Blocks of a decision without an FP64 rung. Few, for each reads all reports; of each product of a batch, so that the device holds those of
/// all.
template <class AnyJob>
[[nodiscard]] unsigned deciding_blocks(const AnyJob& job, int num_sms) {
  if (job.decision.num_stages == 1) return 1;
  if constexpr (AnyJob::kIsBatch) {
    constexpr std::int64_t kOfMultiprocessor = 4;
    return static_cast<unsigned>(std::max<std::int64_t>(kOfMultiprocessor * num_sms / job.together.num_products, 1));
  }
  return static_cast<unsigned>(2 * num_sms);
}

template <class AnyJob>
Status launch_decision(const AnyJob& job, int num_sms, product::Queue queue) {
  unsigned products = 1;
  if constexpr (AnyJob::kIsBatch) products = static_cast<unsigned>(job.together.num_products);
  return base::launch_overlapped("the decision of scheme ec", decide_ec_smxx<AnyJob>,
                                 dim3(deciding_blocks(job, num_sms), products), dim3(kDecidingThreads), 0, queue, job);
}

}  // namespace

template <class T>
Status device_ec_decide(const EcDecision& decision, const DeviceEcSplit<T>& a, const DeviceEcSplit<T>& b,
                        Factor<T> alpha, int num_sms, product::Queue queue) {
  const DecisionJob<T, Operand> job{operand_of(a, true), operand_of(b, false), alpha, decision, {}};
  return launch_decision(job, num_sms, queue);
}

template <class T>
Status device_ec_decide_batch(const EcTogether& together, const EcDecision& decision, const DeviceEcSplits<T>& a,
                              const DeviceEcSplits<T>& b, Factor<T> alpha, int num_sms, product::Queue queue) {
  const DecisionJob<T, OperandOfBatch> job{operand_of_batch(a, true, together), operand_of_batch(b, false, together),
                                           alpha, decision, together};
  return launch_decision(job, num_sms, queue);
}

template <class T>
Status device_ec_decide_and_answer(const EcDecision& decision, const DeviceEcSplit<T>& a, const DeviceEcSplit<T>& b,
                                   const fp64::DeviceCall<T>& left, int num_sms, product::Queue queue) {
  const DecisionJob<T, Operand> job{operand_of(a, true), operand_of(b, false), left.alpha, decision, {}};
  constexpr int kKernelBytes = static_cast<int>(sizeof(DecisionShared));
  static_assert(fp64::NarrowTile::bytes(22) + kKernelBytes <= fp64::kLeastBlockBytes &&
                fp64::CompensatedTile::bytes(1) + kKernelBytes <= fp64::kLeastBlockBytes);
  return fp64::launch_with_tiles(
      left, kKernelBytes, num_sms,
      [&]<num::Fp64Summation kSummation, class Shape>(const base::DeviceLimits& limits, int num_levels) {
        return fp64::launch<Shape>("the decision of scheme ec", decide_and_answer_ec_smxx<T, kSummation, Shape>, limits,
                                   kKernelBytes, static_cast<int>(sizeof(Exchange)), num_levels, num_sms, queue, job,
                                   left);
      });
}

}  // namespace kizami::ec

/// In one file for each type: together they take minutes to compile.
#define KIZAMI_INSTANTIATE_EC_DECISION(T)                                                                            \
  template ::kizami::Status kizami::ec::device_ec_decide<T>(                                                         \
      const ::kizami::ec::EcDecision&, const ::kizami::ec::DeviceEcSplit<T>&, const ::kizami::ec::DeviceEcSplit<T>&, \
      ::kizami::Factor<T>, int, ::kizami::product::Queue);                                                           \
  template ::kizami::Status kizami::ec::device_ec_decide_batch<T>(                                                   \
      const ::kizami::ec::EcTogether&, const ::kizami::ec::EcDecision&, const ::kizami::ec::DeviceEcSplits<T>&,      \
      const ::kizami::ec::DeviceEcSplits<T>&, ::kizami::Factor<T>, int, ::kizami::product::Queue);                   \
  template ::kizami::Status kizami::ec::device_ec_decide_and_answer<T>(                                              \
      const ::kizami::ec::EcDecision&, const ::kizami::ec::DeviceEcSplit<T>&, const ::kizami::ec::DeviceEcSplit<T>&, \
      const ::kizami::fp64::DeviceCall<T>&, int, ::kizami::product::Queue)
