// SPDX-License-Identifier: MIT
// The gain of equilibration by the warps that find rungs (device_rung_finders_sm90.cuh), which have nothing to do while
// the first tile of their block is added. It needs nothing of the rungs, and the second look would wait for it. All
// blocks gather exponents; those that see soon enough that all have done so measure lines. Nobody waits for a block
// that may not run yet: the second look takes the gains if all lines are measured, and else finds them itself, the same
// integers. In a kernel of its own, for its code makes sums 4 % slower.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "base/cluster_sm90.cuh"
#include "certify/device_equilibration_gain.cuh"
#include "certify/device_second_look.hpp"
#include "certify/device_second_look_grid.cuh"
#include "device/state.hpp"
#include "num/rung.hpp"

namespace kizami::certify::second_look {

/// One of kTeam threads of a block, which meet at a named barrier.
template <class T, int kTeam, int kBarrier>
class GainBeside {
 public:
  __device__ __forceinline__ GainBeside(int thread, const SecondLook<T>& look, LineShared& shared)
      : thread_(thread), look_(look), shared_(shared) {}

  /// This block's part of the exponents.
  __device__ __forceinline__ void gather() const {
    device::DeviceState& state = *look_.state;
    constexpr int kWarps = kTeam / 32;
    gather_relative_exponents<T>({look_.a, look_.a_lines.stats, look_.a_lines.inner_shift},
                                 {look_.b, look_.b_lines.stats, look_.b_lines.inner_shift},
                                 std::int64_t{blockIdx.x} * kWarps + thread_ / 32, std::int64_t{gridDim.x} * kWarps,
                                 &state.least_difference, &state.most_difference);
    __threadfence();
    sync();
    if (thread_ == 0) {
      __threadfence();
      atomicAdd(&state.num_gathered, 1u);
    }
  }

  /// This block's lines, unless they are measured or exponents are missing. @param tries  looks whether they are there
  __device__ __forceinline__ void measure(int tries) {
    if (is_measured_) return;
    if (!base::named_barrier_all(kBarrier, kTeam, thread_ != 0 || has_exponents(tries))) return;
    __threadfence();  // what other blocks have gathered is read behind
    is_measured_ = true;
    std::uint32_t count = 0;
#pragma unroll 1
    for (int s = static_cast<int>(blockIdx.x); s < kGainLines; s += static_cast<int>(gridDim.x), ++count)
      measure_gain<kTeam, kAtOnce>(look_, s, shared_, thread_, [] { sync(); });
    if (thread_ == 0 && count != 0) atomicAdd(&look_.state->num_measured, count);
  }

 private:
  /// loads before the first use: little code, for that of sums and rungs goes on meanwhile
  static constexpr int kAtOnce = 4;

  __device__ static __forceinline__ void sync() { base::named_barrier_sync(kBarrier, kTeam); }
  /// Whether all blocks have gathered.
  [[nodiscard]] __device__ __forceinline__ bool has_exponents(int tries) const {
    const volatile std::uint32_t& count = look_.state->num_gathered;
    for (; tries > 0; --tries) {
      if (count == gridDim.x) return true;
      __nanosleep(100);
    }
    return false;
  }

  int thread_;
  const SecondLook<T>& look_;
  LineShared& shared_;
  bool is_measured_ = false;
};

}  // namespace kizami::certify::second_look
