// SPDX-License-Identifier: MIT
// The pairs of the list, where C is large: the bits of device_pair.cuh, read in another order.
//
// A pair alone reads two whole lines, and those of one operand are often strided: of each 32 bytes that come from memory it
// uses one element. So pairs whose lines of that operand are neighbours are answered together. A block takes pairs of a band of
// 16 lines, which are whole cache lines, and 16 of them at a time:
//
//   global memory -> a few elements of 32 chains, of the band's lines and of the pairs' other lines, in shared memory
//                 -> chains in registers: a warp has two pairs, a lane a chain of each
//
// Who takes what follows from the list alone: a band with many pairs is dealt out to several blocks.
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
inline constexpr int kMaxBands = 2048;       ///< more lines: pairs one by one
inline constexpr int kPairsOfPart = 32;      ///< about as many pairs of a band are dealt to a block at a time
inline constexpr int kMaxPairsOfPart = 256;  ///< should the deal be uneven: further ones one by one
inline constexpr int kPairsAtOnce = 16;
inline constexpr int kPairsOfWarp = kPairsAtOnce / (kRepairThreads / kWarpSize);

/// A pair of a part: its line of the banded operand, relative to the band, and its line of the other one.
struct BandPair {
  std::int64_t other;
  int in_band;
};

template <class T>
struct RepairShape {
  static constexpr int kElements = 32 / static_cast<int>(sizeof(T));  ///< of a chain, in a stage: a sector of a line
  static constexpr int kChainElements = static_cast<int>(num::kFp64ChainLength / problem::kTerms<T>);
  static constexpr int kStagesOfChain = kChainElements / kElements;
  static constexpr int kBandStride = kBandLines + 1;  ///< lanes, one chain each, meet different banks
};

template <class T>
struct RepairStage {
  T band[RepairShape<T>::kElements * kWarpSize * RepairShape<T>::kBandStride];  ///< [element][chain][line]
  T other[kPairsAtOnce * RepairShape<T>::kElements * kWarpSize];                ///< [pair][element][chain]
};

template <class T>
struct RepairMemory {
  static constexpr int kStages = 3;
  RepairStage<T> stages[kStages];
  std::uint32_t parts[kMaxBands + 1];  ///< of the bands before: first pairs of each band, then parts
  BandPair pairs[kMaxPairsOfPart];
  std::uint32_t num_pairs;
};

/// Copies an element that is there, else a zero.
template <class T>
__device__ __forceinline__ void copy_element(T* to, const T* from, bool is_there) {
  const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(to));
  const int bytes = is_there ? static_cast<int>(sizeof(T)) : 0;
  asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(address), "l"(from), "n"(sizeof(T)), "r"(bytes)
               : "memory");
}

template <class T>
class Repairs {
  using Shape = RepairShape<T>;
  static constexpr int kForms = static_cast<int>(problem::kTerms<T>);

 public:
  __device__ Repairs(const DeviceCall<T>& call, RepairMemory<T>& memory)
      : call_(call),
        memory_(memory),
        num_repairs_(static_cast<std::int64_t>(call.state->num_repairs)),
        is_band_of_a_(is_strided(call.a) || !is_strided(call.b)),
        band_lines_(is_band_of_a_ ? call.a : call.b),
        other_lines_(is_band_of_a_ ? call.b : call.a),
        num_bands_(base::ceil_div(band_lines_.num_lines, std::int64_t{kBandLines})) {}

  /// By all threads of all blocks.
  __device__ void answer() {
    if (num_bands_ > kMaxBands || call_.summation != num::Fp64Summation::kPairwise) return answer_repairs(call_);
    deal();
    for (std::uint32_t part = blockIdx.x; part < memory_.parts[num_bands_]; part += gridDim.x) {
      const int band = band_of(part);
      const std::uint32_t first = memory_.parts[band];
      gather(band, part - first, memory_.parts[band + 1] - first);
      const int num_pairs = static_cast<int>(std::min<std::uint32_t>(memory_.num_pairs, kMaxPairsOfPart));
      for (int done = 0; done < num_pairs; done += kPairsAtOnce)
        answer_pairs(std::int64_t{band} * kBandLines, memory_.pairs + done, min(kPairsAtOnce, num_pairs - done));
      __syncthreads();
    }
  }

 private:
  [[nodiscard]] __device__ static bool is_strided(const problem::Lines<T>& lines) {
    return lines.inner_stride > lines.line_stride;
  }
  [[nodiscard]] __device__ std::int64_t band_line(const plan::Pair& pair) const {
    return is_band_of_a_ ? pair.row : pair.col;
  }
  [[nodiscard]] __device__ std::int64_t other_line(const plan::Pair& pair) const {
    return is_band_of_a_ ? pair.col : pair.row;
  }

  /// Parts of every band, in the order of bands.
  __device__ void deal() {
    const int thread = static_cast<int>(threadIdx.x);
    for (int band = thread; band <= num_bands_; band += kRepairThreads) memory_.parts[band] = 0;
    __syncthreads();
    for (std::int64_t p = thread; p < num_repairs_; p += kRepairThreads)
      atomicAdd(&memory_.parts[band_line(call_.repairs[p]) / kBandLines], 1u);
    __syncthreads();
    if (thread < kWarpSize) {
      std::uint32_t before = 0;
      for (int first = 0; first <= num_bands_; first += kWarpSize) {
        const int band = first + thread;
        const std::uint32_t pairs = band < num_bands_ ? memory_.parts[band] : 0;
        const std::uint32_t parts = base::ceil_div(pairs, std::uint32_t{kPairsOfPart});
        std::uint32_t up_to = parts;
        for (int distance = 1; distance < kWarpSize; distance *= 2) {
          const std::uint32_t x = __shfl_up_sync(kAllLanes, up_to, distance);
          if (thread >= distance) up_to += x;
        }
        if (band <= num_bands_) memory_.parts[band] = before + up_to - parts;
        before += __shfl_sync(kAllLanes, up_to, kWarpSize - 1);
      }
    }
    __syncthreads();
  }

  [[nodiscard]] __device__ int band_of(std::uint32_t part) const {
    int low = 0;
    int high = static_cast<int>(num_bands_);
    while (high - low > 1) {
      const int middle = (low + high) / 2;
      (memory_.parts[middle] <= part ? low : high) = middle;
    }
    return low;
  }

  /// The pairs of a part in memory_.pairs. Those beyond its capacity, and those whose terms may underflow or whose product is
  /// zero, are answered at once.
  __device__ void gather(int band, std::uint32_t part, std::uint32_t num_parts) {
    if (threadIdx.x == 0) memory_.num_pairs = 0;
    __syncthreads();
    for (std::int64_t first = 0; first < num_repairs_; first += kRepairThreads) {
      const std::int64_t p = first + static_cast<std::int64_t>(threadIdx.x);
      bool is_single = false;
      plan::Pair pair{};
      if (p < num_repairs_) {
        pair = call_.repairs[p];
        const std::int64_t line = band_line(pair);
        const std::int64_t other = other_line(pair);
        const auto hash = static_cast<std::uint32_t>(other) * 0x9E3779B1u >> 16;
        if (line / kBandLines == band && hash % num_parts == part) {
          const num::LineStats& row = call_.a_stats[pair.row];
          const num::LineStats& col = call_.b_stats[pair.col];
          if (row.is_finite && col.is_finite) {
            is_single = may_underflow(row, col) || row.is_zero() || col.is_zero();
            if (!is_single) {
              const std::uint32_t at = atomicAdd(&memory_.num_pairs, 1u);
              if (at < kMaxPairsOfPart) {
                memory_.pairs[at] = {other, static_cast<int>(line % kBandLines)};
              } else {
                is_single = true;
              }
            }
          }
        }
      }
      for (unsigned left = __ballot_sync(kAllLanes, is_single); left != 0; left &= left - 1) {
        const int source = __ffs(static_cast<int>(left)) - 1;
        answer_pair(call_, __shfl_sync(kAllLanes, pair.row, source), __shfl_sync(kAllLanes, pair.col, source));
      }
    }
    __syncthreads();
  }

  /// Begins the copies of the elements first_element, ... of 32 chains. Each thread copies one element of every few chains of a line of
  /// the band, and of a chain of every few pairs.
  __device__ __forceinline__ void load(RepairStage<T>& stage, std::int64_t first_line, const BandPair* pairs,
                                       int num_pairs, std::int64_t first_element) const {
    constexpr int kElements = Shape::kElements;
    const int thread = static_cast<int>(threadIdx.x);
    const problem::Lines<T> band = band_lines_;  // in registers
    const problem::Lines<T> other = other_lines_;
    {
      constexpr int kChainStep = kRepairThreads / (kBandLines * kElements);
      const bool lines_are_neighbours = is_strided(band);
      const int line = lines_are_neighbours ? thread % kBandLines : thread / kElements % kBandLines;
      const int element = lines_are_neighbours ? thread / kBandLines % kElements : thread % kElements;
      const int first_chain = thread / (kBandLines * kElements);
      const bool is_there = first_line + line < band.num_lines;
      std::int64_t h = first_element + first_chain * Shape::kChainElements + element;
      const T* from = band.data + (first_line + line) * band.line_stride + h * band.inner_stride;
      T* to = stage.band + (element * kWarpSize + first_chain) * Shape::kBandStride + line;
#pragma unroll
      for (int chain = 0; chain < kWarpSize; chain += kChainStep) {
        copy_element(to + chain * Shape::kBandStride, is_there && h < band.length ? from : band.data,
                     is_there && h < band.length);
        h += kChainStep * Shape::kChainElements;
        from += kChainStep * Shape::kChainElements * band.inner_stride;
      }
    }
    constexpr int kPairStep = kRepairThreads / (kWarpSize * kElements);
    const int element = thread % kElements;
    const int chain = thread / kElements % kWarpSize;
    const std::int64_t h = first_element + chain * Shape::kChainElements + element;
    const bool is_there = h < other.length;
    const T* const from = other.data + h * other.inner_stride;
    T* const to = stage.other + element * kWarpSize + chain;
    for (int pair = thread / (kWarpSize * kElements); pair < num_pairs; pair += kPairStep) {
      copy_element(to + pair * kElements * kWarpSize,
                   is_there ? from + pairs[pair].other * other.line_stride : other.data, is_there);
    }
  }

  struct Scaling {
    num::ScaleFactors a;
    num::ScaleFactors b;
  };

  /// Chains of a pair in 32 of its terms' places, a lane each.
  __device__ __forceinline__ void add(const RepairStage<T>& stage, int pair, int in_band, const Scaling& scaling,
                                      double (&chains)[kForms]) const {
    constexpr problem::RealForm kOfForm[2] = {kForms == 1 ? problem::RealForm::kPlain : problem::RealForm::kRealPart,
                                              problem::RealForm::kImagPart};
    const int lane = lane_index();
#pragma unroll
    for (int element = 0; element < Shape::kElements; ++element) {
      const int at = element * kWarpSize + lane;
      const T in = stage.band[at * Shape::kBandStride + in_band];
      const T out = stage.other[pair * Shape::kElements * kWarpSize + at];
      const problem::Lines<T> a{is_band_of_a_ ? &in : &out, 1, 1, 0, 0, call_.a.is_conjugated};
      const problem::Lines<T> b{is_band_of_a_ ? &out : &in, 1, 1, 0, 0, call_.b.is_conjugated};
#pragma unroll
      for (int t = 0; t < kForms; ++t) {
        const double x = a.term(0, t) * scaling.a.first * scaling.a.second;
#pragma unroll
        for (int form = 0; form < kForms; ++form) {
          const double y = problem::term(b, kOfForm[form], 0, t) * scaling.b.first * scaling.b.second;
          chains[form] = fma(x, y, chains[form]);
        }
      }
    }
  }

  /// Answers up to kPairsAtOnce pairs of a band.
  __device__ void answer_pairs(std::int64_t first_line, const BandPair* pairs, int num_pairs) {
    constexpr int kStages = RepairMemory<T>::kStages;
    constexpr int kWarps = kRepairThreads / kWarpSize;
    const int warp = static_cast<int>(threadIdx.x) / kWarpSize;
    const std::int64_t num_chains = base::ceil_div(call_.a.num_terms(), num::kFp64ChainLength);
    const std::int64_t num_groups = base::ceil_div(num_chains, std::int64_t{kWarpSize});
    const std::int64_t num_loads = num_groups * Shape::kStagesOfChain;
    const auto first_element = [&](std::int64_t load) {
      return load / Shape::kStagesOfChain * kWarpSize * Shape::kChainElements +
             load % Shape::kStagesOfChain * Shape::kElements;
    };
    const auto begin_load = [&](std::int64_t load_index) {
      if (load_index < num_loads) {
        load(memory_.stages[load_index % kStages], first_line, pairs, num_pairs, first_element(load_index));
      }
      asm volatile("cp.async.commit_group;" ::: "memory");
    };
    const auto row_of = [&](const BandPair& pair) { return is_band_of_a_ ? first_line + pair.in_band : pair.other; };
    const auto col_of = [&](const BandPair& pair) { return is_band_of_a_ ? pair.other : first_line + pair.in_band; };

    Scaling scaling[kPairsOfWarp];
    double chains[kPairsOfWarp][kForms] = {};
    PairwiseCounter counters[kPairsOfWarp][kForms];
#pragma unroll
    for (int p = 0; p < kPairsOfWarp; ++p) {
      const int pair = p * kWarps + warp;
      if (pair >= num_pairs) continue;
      scaling[p] = {headroom_factors(line_shift(call_.a_stats[row_of(pairs[pair])])),
                    headroom_factors(line_shift(call_.b_stats[col_of(pairs[pair])]))};
    }
    for (int ahead = 0; ahead < kStages - 1; ++ahead) begin_load(ahead);
    for (std::int64_t step = 0; step < num_loads; ++step) {
      asm volatile("cp.async.wait_group %0;" ::"n"(kStages - 2) : "memory");
      __syncthreads();  // and all are done with the stage before this one
      begin_load(step + kStages - 1);
      const RepairStage<T>& stage = memory_.stages[step % kStages];
      const bool ends_chains = step % Shape::kStagesOfChain == Shape::kStagesOfChain - 1;
#pragma unroll
      for (int p = 0; p < kPairsOfWarp; ++p) {
        const int pair = p * kWarps + warp;
        if (pair >= num_pairs) continue;
        add(stage, pair, pairs[pair].in_band, scaling[p], chains[p]);
        if (!ends_chains) continue;
#pragma unroll
        for (int form = 0; form < kForms; ++form) {
          counters[p][form].push(chains[p][form], step / Shape::kStagesOfChain * kWarpSize, num_chains);
          chains[p][form] = 0;
        }
      }
    }
    asm volatile("cp.async.wait_group 0;" ::: "memory");
    __syncthreads();
#pragma unroll
    for (int p = 0; p < kPairsOfWarp; ++p) {
      const int pair = p * kWarps + warp;
      if (pair >= num_pairs || lane_index() != 0) continue;
      const std::int64_t row = row_of(pairs[pair]);
      const std::int64_t col = col_of(pairs[pair]);
      const int shift = -(line_shift(call_.a_stats[row]) + line_shift(call_.b_stats[col]));
      ScaledOf<T> product;
      if constexpr (kIsComplex<T>) {
        product.re = num::make_scaled(counters[p][0].sum(), shift);
        product.im = num::make_scaled(counters[p][kForms - 1].sum(), shift);
      } else {
        product = num::make_scaled(counters[p][0].sum(), shift);
      }
      write_element(call_, row, col, [&](T alpha, T beta, T old) { return num::finish(product, alpha, beta, old); });
    }
  }

  const DeviceCall<T>& call_;
  RepairMemory<T>& memory_;
  std::int64_t num_repairs_;
  bool is_band_of_a_;
  problem::Lines<T> band_lines_;
  problem::Lines<T> other_lines_;
  std::int64_t num_bands_;
};

template <class T>
__global__ void __launch_bounds__(kRepairThreads, kRepairBlocksPerSm)
    answer_repairs_sm90(const __grid_constant__ DeviceCall<T> call) {
  extern __shared__ double2 shared_memory[];
  base::follow_previous_kernel();
  const plan::DeviceState& state = *call.state;
  if (state.is_scaling_only != 0 || state.selection.rung < 0 || state.num_repairs == 0) return;
  Repairs<T>(call, *reinterpret_cast<RepairMemory<T>*>(shared_memory)).answer();
}

}  // namespace kizami::fp64
