// SPDX-License-Identifier: MIT
// The pairs of the list, where C is large: a warp each, as in device_pair.cuh, but dealt to blocks by neighbouring lines.
//
// A pair alone reads two whole lines, and those of one operand are often strided: of each 128 bytes that come from memory it
// uses one element. So a block takes pairs of a band of 16 lines of that operand, which are whole cache lines: its warps find
// in the cache what the others have fetched. Who takes what follows from the list alone; a band with many pairs is dealt out to
// several blocks.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "base/int_math.hpp"
#include "fp64/device_pair.cuh"

namespace kizami::fp64 {

inline constexpr int kRepairThreads = 256;
inline constexpr int kRepairBlocksPerSm = 2;
inline constexpr int kBandLines = 16;
inline constexpr int kMaxBands = 4096;       ///< more lines: pairs in the order of the list
inline constexpr int kPairsOfPart = 16;      ///< about as many pairs of a band are dealt to a block at a time
inline constexpr int kMaxPairsOfPart = 256;  ///< should the deal be uneven: further ones by the warp that finds them

struct RepairShared {
  std::uint32_t parts[kMaxBands + 1];  ///< pairs of each band, then parts of the bands before
  plan::Pair pairs[kMaxPairsOfPart];
  std::uint32_t num_pairs;
};

template <class T>
class Repairs {
 public:
  __device__ Repairs(const DeviceCall<T>& call, RepairShared& shared)
      : call_(call),
        shared_(shared),
        num_repairs_(static_cast<std::int64_t>(call.state->num_repairs)),
        has_bands_of_a_(is_strided(call.a) || !is_strided(call.b)),
        num_bands_(base::ceil_div((has_bands_of_a_ ? call.a : call.b).num_lines, std::int64_t{kBandLines})) {}

  /// By all threads of all blocks.
  __device__ void answer() {
    if (num_bands_ > kMaxBands) return answer_repairs(call_);
    deal();
    for (std::uint32_t part = blockIdx.x; part < shared_.parts[num_bands_]; part += gridDim.x) {
      const int band = band_of(part);
      const std::uint32_t first = shared_.parts[band];
      gather(band, part - first, shared_.parts[band + 1] - first);
      const int num_pairs = min(static_cast<int>(shared_.num_pairs), kMaxPairsOfPart);
      for (int p = static_cast<int>(threadIdx.x) / kWarpSize; p < num_pairs; p += kRepairThreads / kWarpSize)
        answer_pair(call_, shared_.pairs[p].row, shared_.pairs[p].col);
      __syncthreads();
    }
  }

 private:
  [[nodiscard]] __device__ static bool is_strided(const problem::Lines<T>& lines) {
    return lines.inner_stride > lines.line_stride;
  }
  [[nodiscard]] __device__ std::int64_t band_of_pair(const plan::Pair& pair) const {
    return (has_bands_of_a_ ? pair.row : pair.col) / kBandLines;
  }

  /// Parts of every band, in the order of bands.
  __device__ void deal() {
    const int thread = static_cast<int>(threadIdx.x);
    for (int band = thread; band <= num_bands_; band += kRepairThreads) shared_.parts[band] = 0;
    __syncthreads();
    for (std::int64_t p = thread; p < num_repairs_; p += kRepairThreads)
      atomicAdd(&shared_.parts[band_of_pair(call_.repairs[p])], 1u);
    __syncthreads();
    if (thread < kWarpSize) {
      std::uint32_t before = 0;
      for (int first = 0; first <= num_bands_; first += kWarpSize) {
        const int band = first + thread;
        const std::uint32_t pairs = band < num_bands_ ? shared_.parts[band] : 0;
        const std::uint32_t parts = base::ceil_div(pairs, std::uint32_t{kPairsOfPart});
        std::uint32_t up_to = parts;
        for (int distance = 1; distance < kWarpSize; distance *= 2) {
          const std::uint32_t x = __shfl_up_sync(kAllLanes, up_to, distance);
          if (thread >= distance) up_to += x;
        }
        if (band <= num_bands_) shared_.parts[band] = before + up_to - parts;
        before += __shfl_sync(kAllLanes, up_to, kWarpSize - 1);
      }
    }
    __syncthreads();
  }

  /// The last band whose parts begin at or before this one.
  [[nodiscard]] __device__ int band_of(std::uint32_t part) const {
    int low = 0;
    int high = static_cast<int>(num_bands_);
    while (high - low > 1) {
      const int middle = (low + high) / 2;
      (shared_.parts[middle] <= part ? low : high) = middle;
    }
    return low;
  }

  /// The pairs of a part in shared_.pairs; those beyond its capacity are answered at once.
  __device__ void gather(int band, std::uint32_t part, std::uint32_t num_parts) {
    if (threadIdx.x == 0) shared_.num_pairs = 0;
    __syncthreads();
    for (std::int64_t first = 0; first < num_repairs_; first += kRepairThreads) {
      const std::int64_t p = first + static_cast<std::int64_t>(threadIdx.x);
      const plan::Pair pair = p < num_repairs_ ? call_.repairs[p] : plan::Pair{};
      bool has_no_place = false;
      if (p < num_repairs_ && band_of_pair(pair) == band) {
        const auto other = static_cast<std::uint32_t>(has_bands_of_a_ ? pair.col : pair.row);
        const bool is_ours = (other * 0x9E3779B1u >> 16) % num_parts == part;
        if (is_ours && call_.a_stats[pair.row].is_finite && call_.b_stats[pair.col].is_finite) {
          const std::uint32_t at = atomicAdd(&shared_.num_pairs, 1u);
          has_no_place = at >= kMaxPairsOfPart;
          if (!has_no_place) shared_.pairs[at] = pair;
        }
      }
      for (unsigned left = __ballot_sync(kAllLanes, has_no_place); left != 0; left &= left - 1) {
        const int source = __ffs(static_cast<int>(left)) - 1;
        answer_pair(call_, __shfl_sync(kAllLanes, pair.row, source), __shfl_sync(kAllLanes, pair.col, source));
      }
    }
    __syncthreads();
  }

  const DeviceCall<T>& call_;
  RepairShared& shared_;
  std::int64_t num_repairs_;
  bool has_bands_of_a_;
  std::int64_t num_bands_;
};

template <class T>
__global__ void __launch_bounds__(kRepairThreads, kRepairBlocksPerSm)
    answer_repairs_sm90(const __grid_constant__ DeviceCall<T> call) {
  __shared__ RepairShared shared;
  base::follow_previous_kernel();
  const plan::DeviceState& state = *call.state;
  if (state.is_scaling_only != 0 || state.selection.rung < 0 || state.num_repairs == 0) return;
  Repairs<T>(call, shared).answer();
}

}  // namespace kizami::fp64
