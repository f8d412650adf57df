// SPDX-License-Identifier: MIT
// The kernel of the last rung and its launch, see device.hpp.
#pragma once

#include "fp64/device.hpp"

#include <algorithm>
#include <bit>
#include <complex>
#include <string>

#include "base/overlapped_launch.hpp"
#include "device/effort_word.cuh"
#include "device/learned_look.cuh"
#include "fp64/device_pair.cuh"
#include "fp64/device_repairs.cuh"
#include "fp64/device_tile.cuh"

namespace kizami::fp64 {
namespace {

using num::Fp64Summation;

/// 64 x 64 sums a block, as many levels as its shared memory holds: k <= 8192 where that is 227 KB.
using LargeTile = TileShape<8, 4, 2, 16>;
constexpr int kLargeTileLevels = 6;
/// 32 x 32 sums a block: any k, and more blocks where C is small.
using DeepTile = TileShape<4, 2, 2, 8>;
constexpr int kDeepTileLevels = kMaxLevels - 1;  // the last sum of all is not held
/// 16 x 32 sums a block, where the levels of a deep tile need more shared memory than there is.
using NarrowTile = TileShape<2, 2, 2, 8>;
/// 64 x 32 compensated sums a block.
using CompensatedTile = TileShape<4, 4, 4, 16>;

/// Shared memory of a multiprocessor that each of its blocks costs beside its own.
constexpr int kReservedBytes = 1024;
/// With all that some device gives, any k; and what every device gives.
static_assert(DeepTile::bytes(kDeepTileLevels) <= kRepairSharedBytes);
constexpr int kLeastBlockBytes = 99 * 1024;
static_assert(NarrowTile::bytes(22) <= kLeastBlockBytes && CompensatedTile::bytes(1) <= kLeastBlockBytes);  // k <= 2^29
constexpr int kMaxBlocksPerMultiprocessor = 2;

/// What a call leaves to this rung, its list of repairs aside.
struct Exceptions {
  bool is_all;
  bool has_nonfinite_rows;
  bool has_nonfinite_cols;

  explicit __device__ Exceptions(const device::DeviceState& state)
      : is_all(state.selection.rung < 0),
        has_nonfinite_rows(state.nonfinite_rows != 0),
        has_nonfinite_cols(state.nonfinite_cols != 0) {
    const bool is_answered = (state.is_scaling_only != 0) | (state.takes_signs != 0);
    if (is_answered) is_all = has_nonfinite_rows = has_nonfinite_cols = false;
  }
  __device__ Exceptions(bool all, bool nonfinite_rows, bool nonfinite_cols)
      : is_all(all), has_nonfinite_rows(nonfinite_rows), has_nonfinite_cols(nonfinite_cols) {}

  [[nodiscard]] __device__ bool has_nonfinite() const { return has_nonfinite_rows | has_nonfinite_cols; }
  [[nodiscard]] __device__ bool is_any() const { return is_all | has_nonfinite(); }
};

/// Answers them, by all threads of a grid of blocks along x.
template <class T, Fp64Summation kSummation, class Shape>
__device__ void answer(const DeviceCall<T>& call, const Exceptions& exceptions, const TileMemory<Shape>& memory) {
  if (exceptions.is_all) answer_all_pairs<T, kSummation, Shape>(call, memory);
  if (exceptions.has_nonfinite())
    answer_nonfinite_lines(call, exceptions.has_nonfinite_rows, exceptions.has_nonfinite_cols);
}

template <class T, Fp64Summation kSummation, class Shape>
__global__ void __launch_bounds__(kThreads, kMaxBlocksPerMultiprocessor)
    answer_exceptions_sm90(int num_levels, const __grid_constant__ DeviceCall<T> call) {
  extern __shared__ double2 shared_memory[];
  base::follow_previous_kernel();
  // Nearly every call has nothing to do here and waits for this: all is loaded at once, and one branch ends it.
  const device::DeviceState& state = *call.state;
  const bool is_scaling_only = state.is_scaling_only != 0;
  const bool takes_signs = state.takes_signs != 0;
  const bool has_repairs = state.num_repairs != 0 && !call.has_answered_repairs;
  const Exceptions exceptions(state);
  if (blockIdx.x == 0 && threadIdx.x < kWarpSize && !is_scaling_only) {
    device::tell_effort(call.effort, call.c.rows, call.c.cols);
    if (threadIdx.x == 0) device::tell_look(call.look, state);
  }
  if (is_scaling_only | takes_signs | !(exceptions.is_any() | has_repairs)) return;
  if (has_repairs && !exceptions.is_all) answer_repairs(call);
  answer<T, kSummation>(call, exceptions, TileMemory<Shape>(reinterpret_cast<double*>(shared_memory), num_levels));
}

/// Levels of the binary counter that hold a sum at some time, the last sum of all aside.
int levels_of(std::int64_t num_terms) {
  const std::int64_t num_chains = base::ceil_div(num_terms, num::kFp64ChainLength);
  return num_chains == 0 ? 0 : std::bit_width(static_cast<std::uint64_t>(num_chains - 1));
}

/// Calls launch<summation, shape of tiles>(limits of the device, levels): the tiles for a call by a kernel that has
/// `kernel_bytes` of shared memory beside theirs.
template <class T, class Launch>
Status launch_with_tiles(const DeviceCall<T>& call, int kernel_bytes, int num_sms, const Launch& launch) {
  if (call.c.rows == 0 || call.c.cols == 0) return {};
  base::DeviceLimits limits;
  KIZAMI_RETURN_IF_ERROR(base::find_device_limits(limits));
  if (call.summation == Fp64Summation::kCompensated)
    return launch.template operator()<Fp64Summation::kCompensated, CompensatedTile>(limits, 0);
  const int num_levels = levels_of(call.a.num_terms());
  const int most_bytes = limits.shared_bytes - kernel_bytes;
  const std::int64_t num_large_tiles = base::ceil_div(call.c.rows, LargeTile::kTileRows) *
                                       base::ceil_div(call.c.cols * problem::kTerms<T>, LargeTile::kTileCols);
  if (num_levels <= kLargeTileLevels && LargeTile::bytes(num_levels) <= most_bytes && num_large_tiles >= num_sms)
    return launch.template operator()<Fp64Summation::kPairwise, LargeTile>(limits, num_levels);
  if (DeepTile::bytes(num_levels) <= most_bytes)
    return launch.template operator()<Fp64Summation::kPairwise, DeepTile>(limits, num_levels);
  if (NarrowTile::bytes(num_levels) <= most_bytes)
    return launch.template operator()<Fp64Summation::kPairwise, NarrowTile>(limits, num_levels);
  return {StatusCode::kUnsupported, "k = " + std::to_string(call.a.length) +
                                        " has too many chains of FP64 sums for the " +
                                        std::to_string(limits.shared_bytes) + " bytes of shared memory of a block"};
}

/// Launches a kernel of the rung on its levels and arguments.
/// @param kernel_bytes shared memory of a block beside that of its tiles  @param least_bytes of that of its tiles
template <class Shape, class... Arguments>
Status launch(const char* what, void (*kernel)(int, Arguments...), const base::DeviceLimits& limits, int kernel_bytes,
              int least_bytes, int num_levels, int num_sms, product::Queue queue, const Arguments&... arguments) {
  const int levels = std::max(num_levels, 1);  // the epilogue works in the first
  const int bytes = std::max(Shape::bytes(levels), least_bytes);
  const int of_multiprocessor = limits.shared_bytes + kReservedBytes;
  const int blocks =
      std::clamp(of_multiprocessor / (bytes + kernel_bytes + kReservedBytes), 1, kMaxBlocksPerMultiprocessor) * num_sms;
  // Always the same number: calls of other threads that need more or less do not disturb.
  KIZAMI_RETURN_IF_ERROR(base::cuda_status(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, limits.shared_bytes - kernel_bytes),
      "shared memory of the FP64 rung"));
  return base::launch_overlapped(what, kernel, blocks, kThreads, static_cast<std::size_t>(bytes), queue, levels,
                                 arguments...);
}

}  // namespace

template <class T>
Status answer_exceptions(const DeviceCall<T>& call, int num_sms, product::Queue queue) {
  return launch_with_tiles(
      call, 0, num_sms, [&]<Fp64Summation kSummation, class Shape>(const base::DeviceLimits& limits, int num_levels) {
        return launch<Shape>("the FP64 rung", answer_exceptions_sm90<T, kSummation, Shape>, limits, 0, 0, num_levels,
                             num_sms, queue, call);
      });
}

template <class T>
Status answer_repairs(const DeviceCall<T>& call, int num_sms, product::Queue queue) {
  if (call.c.rows == 0 || call.c.cols == 0) return {};
  const auto kernel = call.summation == Fp64Summation::kPairwise ? answer_repairs_sm90<T, Fp64Summation::kPairwise>
                                                                 : answer_repairs_sm90<T, Fp64Summation::kCompensated>;
  constexpr int kBytes = static_cast<int>(sizeof(RepairShared));
  static_assert(kBytes <= kRepairSharedBytes);
  KIZAMI_RETURN_IF_ERROR(base::cuda_status(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes), "shared memory of repairs"));
  return base::launch_overlapped("repairs", kernel, num_sms, kRepairThreads, kBytes, queue, call);
}

}  // namespace kizami::fp64

/// In one file for each type: together they take a minute to compile.
#define KIZAMI_INSTANTIATE_DEVICE_RUNG(T)                                                                 \
  template ::kizami::Status kizami::fp64::answer_repairs<T>(const ::kizami::fp64::DeviceCall<T>&, int,    \
                                                            ::kizami::product::Queue);                    \
  template ::kizami::Status kizami::fp64::answer_exceptions<T>(const ::kizami::fp64::DeviceCall<T>&, int, \
                                                               ::kizami::product::Queue)
