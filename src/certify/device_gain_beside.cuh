// SPDX-License-Identifier: MIT
// The gain of equilibration beside the rungs of all pairs, of which it needs nothing: one cluster of blocks, which has
// multiprocessors to itself before block_rungs takes all others. The blocks of block_rungs that have to wait for these are the last
// ones, which have a tile fewer where tiles do not come out even (docs/adr/0027-kernels-side-by-side.md).
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "base/cluster_sm90.cuh"
#include "base/overlapped_launch.hpp"
#include "certify/device_equilibration_gain.cuh"
#include "certify/device_second_look.hpp"
#include "certify/device_second_look_grid.cuh"
#include "num/rung.hpp"

namespace kizami::certify::second_look {

inline constexpr int kGainCluster = 8;
inline constexpr int kGainThreads = 512;
inline constexpr int kGainTeams = plan::kNumGains / kGainCluster;  ///< of a block: each line has a team
/// Shared memory of a team, for as many elements of its line as fit: eight multiprocessors bring 32 bytes for each element of a
/// line across memory, which holds the time.
inline constexpr int kKeptBytes = 26 * 1024;
inline constexpr std::size_t kGainBytes = kGainTeams * kKeptBytes;

/// Whether the launches find the gain beside the rungs.
template <class T>
[[nodiscard]] bool has_gain_beside(const SecondLook<T>& look) {
  num::Selection expected;
  expected.rung = look.expected_rung;  // none: as if there were no rung
  return look.has_digits && !look.wants_all_pairs && num::may_equilibrate(look.ladder, expected);
}

/// One cluster. Its blocks share the exponents, their range and the gains in global memory, and nothing in one another's.
template <class T>
__global__ void __launch_bounds__(kGainThreads, 1) find_gain_beside(const __grid_constant__ SecondLook<T> look) {
  base::begin_in_cluster(nullptr, 0);
  base::let_next_run_beside();
  if (!is_wanted(*look.state)) return;
  extern __shared__ __align__(16) std::byte kept_elements[];
  __shared__ GainShared<kGainTeams> shared;
  const std::int32_t gain = find_equilibration_gain<8, kGainThreads / kGainTeams>(
      look, shared, reinterpret_cast<T*>(kept_elements), static_cast<int>(kKeptBytes / sizeof(T)), [] {
        __syncwarp();
        base::cluster_sync();
      });
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    look.state->gain = gain;
    look.state->has_gain = 1;
  }
}

}  // namespace kizami::certify::second_look
