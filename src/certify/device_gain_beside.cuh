// SPDX-License-Identifier: MIT
// The gain of equilibration beside the rungs of all pairs, of which it needs nothing: one cluster of blocks, which has
// multiprocessors to itself before block_rungs takes all others. The blocks of block_rungs that have to wait for these are the last
// ones, which have a tile fewer where tiles do not come out even (docs/adr/0027-kernels-side-by-side.md).
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/cluster_sm90.cuh"
#include "base/overlapped_launch.hpp"
#include "certify/device_equilibration_gain.cuh"
#include "certify/device_second_look.hpp"
#include "certify/device_second_look_grid.cuh"
#include "num/rung.hpp"

namespace kizami::certify::second_look {

/// Blocks of a cluster: so many, or twice as many where the device has room and multiprocessors have a tile fewer.
inline constexpr int kPortableCluster = 8;
inline constexpr int kGainThreads = 512;
/// Shared memory of a block, for as many elements of its lines as fit: a multiprocessor brings 32 bytes for each element of a line across
/// memory, which takes as long as all else.
inline constexpr int kGainBytes = 208 * 1024;

/// Whether the gain may be wanted by a call of which something is known.
template <class T>
[[nodiscard]] bool may_want_gain(const SecondLook<T>& look) {
  num::Selection expected;
  expected.rung = look.expected_rung;  // none: as if there were no rung
  return look.has_digits && !look.wants_all_pairs && num::may_equilibrate(look.ladder, expected);
}

/// One cluster of so many blocks, of which each line has a team. They share the exponents, their range and the gains in global memory,
/// and nothing in one another's.
template <class T, int kBlocks>
__global__ void __launch_bounds__(kGainThreads, 1) find_gain_beside(const __grid_constant__ SecondLook<T> look) {
  constexpr int kTeams = plan::kNumGains / kBlocks;
  base::begin_in_cluster(nullptr, 0);
  base::let_next_run_beside();
  if (!is_wanted(*look.state)) return;
  extern __shared__ __align__(16) std::byte kept_elements[];
  __shared__ GainShared<kTeams> shared;
  const std::int32_t gain = find_equilibration_gain<8, kGainThreads / kTeams>(
      look, shared, reinterpret_cast<T*>(kept_elements), kGainBytes / kTeams / static_cast<int>(sizeof(T)), [] {
        __syncwarp();
        base::cluster_sync();
      });
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    look.state->gain = gain;
    look.state->has_gain = 1;
  }
}

/// Lets a kernel have its shared memory and so many blocks in a cluster. @return whether the device has room for one
template <class T, int kBlocks>
[[nodiscard]] bool prepare_gain_beside() {
  const auto kernel = find_gain_beside<T, kBlocks>;
  cudaError_t error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kGainBytes);
  if (error == cudaSuccess && kBlocks > kPortableCluster)
    error = cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim = {kBlocks, 1, 1};
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(kBlocks);
  config.blockDim = dim3(kGainThreads);
  config.dynamicSmemBytes = kGainBytes;
  config.attrs = &attribute;
  config.numAttrs = 1;
  int clusters = 0;
  if (error == cudaSuccess) error = cudaOccupancyMaxActiveClusters(&clusters, kernel, &config);
  static_cast<void>(cudaGetLastError());  // without room the second look finds the gain, and no call fails for it
  return error == cudaSuccess && clusters > 0;
}

/// The blocks of the largest cluster that a device has room for, or 0; asked once.
template <class T>
[[nodiscard]] int most_gain_blocks(int device) {
  static std::array<std::atomic<int>, 64> known{};  // and one more
  const bool is_remembered = device >= 0 && device < static_cast<int>(known.size());
  int more = is_remembered ? known[static_cast<std::size_t>(device)].load() : 0;
  if (more != 0) return more - 1;
  const bool has_few = prepare_gain_beside<T, kPortableCluster>();
  const bool has_many = prepare_gain_beside<T, 2 * kPortableCluster>();
  more = 1 + (has_many ? 2 * kPortableCluster : has_few ? kPortableCluster : 0);
  if (is_remembered) known[static_cast<std::size_t>(device)] = more;
  return more - 1;
}

/// How many blocks find the gain beside the rungs; 0: none. @param num_spare  multiprocessors that have a tile fewer
template <class T>
[[nodiscard]] int num_gain_blocks(const SecondLook<T>& look, int device, std::int64_t num_spare) {
  if (!may_want_gain(look)) return 0;
  const int most = most_gain_blocks<T>(device);
  return num_spare < most ? std::min(most, kPortableCluster) : most;
}

/// Enqueues the kernel. @range blocks: num_gain_blocks(), not 0
template <class T>
Status launch_gain_beside(const SecondLook<T>& look, int blocks, product::Queue queue) {
  const auto* const kernel = reinterpret_cast<const void*>(
      blocks == kPortableCluster ? find_gain_beside<T, kPortableCluster> : find_gain_beside<T, 2 * kPortableCluster>);
  SecondLook<T> parameter = look;
  return base::launch_overlapped_clusters("find_gain_beside", kernel, static_cast<unsigned>(blocks), kGainThreads,
                                          blocks, kGainBytes, queue, &parameter);
}

}  // namespace kizami::certify::second_look
