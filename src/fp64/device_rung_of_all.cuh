// SPDX-License-Identifier: MIT
// The last rung of a batch in one launch: every block finds the calls that have something left, and all blocks answer these
// one after another.
#pragma once

#include "fp64/device_calls.hpp"
#include "fp64/device_rung.cuh"

namespace kizami::fp64 {
namespace {

/// What a block knows of a batch.
template <class T>
struct OpenCalls {
  static constexpr int kWords = static_cast<int>(DeviceCalls<T>::kMost / 32);
  DeviceCall<T> call;             ///< that is answered
  std::uint32_t is_open[kWords];  ///< a bit a call
};

template <class T, Fp64Summation kSummation, class Shape>
__global__ void __launch_bounds__(kThreads, kMaxBlocksPerMultiprocessor)
    answer_exceptions_of_all_sm90(int num_levels, const __grid_constant__ DeviceCalls<T> calls) {
  extern __shared__ double2 shared_memory[];
  __shared__ alignas(16) unsigned char open_memory[sizeof(OpenCalls<T>)];  // DeviceCall is no trivial type
  OpenCalls<T>& open = *reinterpret_cast<OpenCalls<T>*>(open_memory);
  base::follow_previous_kernel();
  const DeviceCall<T>& first = calls.first;
  if (threadIdx.x < OpenCalls<T>::kWords) open.is_open[threadIdx.x] = 0;
  __syncthreads();
  bool is_any = false;
  for (std::int64_t i = threadIdx.x; i < calls.num_calls; i += kThreads) {
    if (!Exceptions(first.state[i]).is_any()) continue;
    atomicOr(&open.is_open[i / 32], 1U << i % 32);
    is_any = true;
  }
  if (blockIdx.x == 0 && threadIdx.x < kWarpSize && first.state->is_scaling_only == 0)
    device::tell_effort(first.effort, first.c.rows, first.c.cols);
  if (__syncthreads_or(is_any) == 0) return;
  for (int word = 0; word < OpenCalls<T>::kWords; ++word) {
    for (std::uint32_t left = open.is_open[word]; left != 0; left &= left - 1) {
      if (threadIdx.x == 0) open.call = calls.at(word * 32 + __ffs(static_cast<int>(left)) - 1);
      __syncthreads();
      const DeviceCall<T>& call = open.call;
      answer<T, kSummation>(call, Exceptions(*call.state),
                            TileMemory<Shape>(reinterpret_cast<double*>(shared_memory), num_levels));
      __syncthreads();
    }
  }
}

}  // namespace

template <class T>
Status answer_exceptions_of_all(const DeviceCalls<T>& calls, int num_sms, product::Queue queue) {
  constexpr int kKernelBytes = (static_cast<int>(sizeof(OpenCalls<T>)) + 15) / 16 * 16;
  static_assert(NarrowTile::bytes(22) + kKernelBytes <= kLeastBlockBytes &&
                CompensatedTile::bytes(1) + kKernelBytes <= kLeastBlockBytes);
  return launch_with_tiles(
      calls.first, kKernelBytes, num_sms,
      [&]<Fp64Summation kSummation, class Shape>(const base::DeviceLimits& limits, int num_levels) {
        return launch<Shape>("the FP64 rung of a batch", answer_exceptions_of_all_sm90<T, kSummation, Shape>, limits,
                             kKernelBytes, 0, num_levels, num_sms, queue, calls);
      });
}

}  // namespace kizami::fp64

/// In one file for each type, as KIZAMI_INSTANTIATE_DEVICE_RUNG.
#define KIZAMI_INSTANTIATE_DEVICE_RUNG_OF_ALL(T)                                                                  \
  template ::kizami::Status kizami::fp64::answer_exceptions_of_all<T>(const ::kizami::fp64::DeviceCalls<T>&, int, \
                                                                      ::kizami::product::Queue)
