// SPDX-License-Identifier: MIT
// The pairs of the list, where C is large: the bits of device_pair.cuh, with lanes that take pairs instead of chains of one.
//
// A pair alone reads two whole lines, and those of one operand are often strided: of each 128 bytes that come from memory it
// uses one element. So a block takes 16 pairs of a band of 16 lines of that operand, which are whole cache lines: half a warp
// has 16 pairs and a chain of each, and loads the elements of the band at once. Who takes what follows from the list alone; a
// band with many pairs is dealt out to several blocks.
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
inline constexpr int kMaxBands = 4096;   ///< more lines: pairs in the order of the list
inline constexpr int kPairsOfPart = 16;  ///< about as many pairs of a band are dealt to a block at a time
inline constexpr int kPairsAtOnce = 16;
inline constexpr int kPairsOfWarp = kPairsAtOnce / (kRepairThreads / kWarpSize);
/// Each part is a walk through the whole list: pays while the list is at most so many times as long as a line.
inline constexpr std::int64_t kMaxListByLength = 4;
inline constexpr int kMaxPairsOfPart = 256;  ///< should the deal be uneven: further ones by the warp that finds them

struct RepairShared {
  double chains[2][2][kPairsAtOnce][kWarpSize + 1];  ///< [buffer][form][pair][chain]
  std::uint32_t parts[kMaxBands + 1];                ///< pairs of each band, then parts of the bands before
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
    const bool is_long = num_repairs_ > kMaxListByLength * call_.a.length;
    if (is_long || num_bands_ > kMaxBands || call_.summation != num::Fp64Summation::kPairwise)
      return answer_repairs(call_);
    deal();
    for (std::uint32_t part = blockIdx.x; part < shared_.parts[num_bands_]; part += gridDim.x) {
      const int band = band_of(part);
      const std::uint32_t first = shared_.parts[band];
      gather(band, part - first, shared_.parts[band + 1] - first);
      const int num_pairs = min(static_cast<int>(shared_.num_pairs), kMaxPairsOfPart);
      for (int done = 0; done < num_pairs; done += kPairsAtOnce)
        answer_pairs(done, min(kPairsAtOnce, num_pairs - done));
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

  /// The pairs of a part in shared_.pairs. Those beyond its capacity, those whose terms may underflow and zeros are answered at once.
  __device__ void gather(int band, std::uint32_t part, std::uint32_t num_parts) {
    if (threadIdx.x == 0) shared_.num_pairs = 0;
    __syncthreads();
    for (std::int64_t first = 0; first < num_repairs_; first += kRepairThreads) {
      const std::int64_t p = first + static_cast<std::int64_t>(threadIdx.x);
      const plan::Pair pair = p < num_repairs_ ? call_.repairs[p] : plan::Pair{};
      bool is_single = false;
      if (p < num_repairs_ && band_of_pair(pair) == band) {
        const auto other = static_cast<std::uint32_t>(has_bands_of_a_ ? pair.col : pair.row);
        const num::LineStats& row = call_.a_stats[pair.row];
        const num::LineStats& col = call_.b_stats[pair.col];
        if ((other * 0x9E3779B1u >> 16) % num_parts == part && row.is_finite && col.is_finite) {
          is_single = may_underflow(row, col) || row.is_zero() || col.is_zero();
          if (!is_single) {
            const std::uint32_t at = atomicAdd(&shared_.num_pairs, 1u);
            is_single = at >= kMaxPairsOfPart;
            if (!is_single) shared_.pairs[at] = pair;
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

  static constexpr int kForms = static_cast<int>(problem::kTerms<T>);
  static constexpr int kAtOnce = 8;  ///< elements loaded before the first use
  static constexpr int kOfVector = 16 / static_cast<int>(sizeof(T));

  /// Whether elements of a line can be loaded 16 bytes at a time from multiples of kAtOnce on.
  [[nodiscard]] __device__ static bool has_vectors(const problem::Lines<T>& lines) {
    return lines.inner_stride == 1 && reinterpret_cast<std::uintptr_t>(lines.data) % 16 == 0 &&
           lines.line_stride % kOfVector == 0;
  }
  __device__ static __forceinline__ void load(const T* from, std::int64_t inner_stride, bool has_vectors,
                                              T (&elements)[kAtOnce]) {
    if (has_vectors) {
#pragma unroll
      for (int e = 0; e < kAtOnce; e += kOfVector) {
        const uint4 vector = *reinterpret_cast<const uint4*>(from + e);
        memcpy(&elements[e], &vector, sizeof vector);
      }
    } else {
#pragma unroll
      for (int e = 0; e < kAtOnce; ++e) elements[e] = from[e * inner_stride];
    }
  }

  struct Scaling {
    num::ScaleFactors a;
    num::ScaleFactors b;
  };
  /// Adds the terms of one element of both lines.
  __device__ __forceinline__ void add(const T& x, const T& y, const Scaling& scaling, double (&chains)[kForms]) const {
    constexpr problem::RealForm kOfForm[2] = {kForms == 1 ? problem::RealForm::kPlain : problem::RealForm::kRealPart,
                                              problem::RealForm::kImagPart};
    const problem::Lines<T> a{&x, 1, 1, 0, 0, call_.a.is_conjugated};
    const problem::Lines<T> b{&y, 1, 1, 0, 0, call_.b.is_conjugated};
#pragma unroll
    for (int t = 0; t < kForms; ++t) {
      const double of_a = a.term(0, t) * scaling.a.first * scaling.a.second;
#pragma unroll
      for (int form = 0; form < kForms; ++form) {
        const double of_b = problem::term(b, kOfForm[form], 0, t) * scaling.b.first * scaling.b.second;
        chains[form] = fma(of_a, of_b, chains[form]);
      }
    }
  }

  /// Answers up to kPairsAtOnce of shared_.pairs.
  __device__ __forceinline__ void answer_pairs(int first_pair, int num_pairs) {
    constexpr int kWarps = kRepairThreads / kWarpSize;
    constexpr int kSlots = kRepairThreads / kPairsAtOnce;  // chains of each pair at a time
    constexpr int kRounds = kWarpSize / kSlots;            // until a warp has chains to add up
    constexpr auto kChainElements = static_cast<int>(num::kFp64ChainLength / kForms);
    const int warp = static_cast<int>(threadIdx.x) / kWarpSize;
    const int of_thread = static_cast<int>(threadIdx.x) % kPairsAtOnce;
    const int slot = static_cast<int>(threadIdx.x) / kPairsAtOnce;
    const bool is_there = of_thread < num_pairs;
    const plan::Pair pair = shared_.pairs[first_pair + (is_there ? of_thread : 0)];
    const Scaling scaling{headroom_factors(line_shift(call_.a_stats[pair.row])),
                          headroom_factors(line_shift(call_.b_stats[pair.col]))};
    const T* const a = call_.a.data + pair.row * call_.a.line_stride;
    const T* const b = call_.b.data + pair.col * call_.b.line_stride;
    const std::int64_t a_stride = call_.a.inner_stride;
    const std::int64_t b_stride = call_.b.inner_stride;
    const bool a_has_vectors = has_vectors(call_.a);
    const bool b_has_vectors = has_vectors(call_.b);
    const std::int64_t length = call_.a.length;
    const std::int64_t num_chains = base::ceil_div(call_.a.num_terms(), num::kFp64ChainLength);
    PairwiseCounter counters[kPairsOfWarp][kForms];
    int buffer = 0;
#pragma unroll 1
    for (std::int64_t first = 0; first < num_chains; first += kWarpSize) {
#pragma unroll 1
      for (int round = 0; round < kRounds; ++round) {
        const int chain = round * kSlots + slot;
        const std::int64_t begin = (first + chain) * kChainElements;
        const std::int64_t end = is_there ? min(begin + kChainElements, length) : 0;
        double sums[kForms] = {};
        std::int64_t h = begin;
#pragma unroll 1
        for (; h + kAtOnce <= end; h += kAtOnce) {
          T x[kAtOnce];
          T y[kAtOnce];
          load(a + h * a_stride, a_stride, a_has_vectors, x);
          load(b + h * b_stride, b_stride, b_has_vectors, y);
#pragma unroll
          for (int e = 0; e < kAtOnce; ++e) add(x[e], y[e], scaling, sums);
        }
#pragma unroll 1
        for (; h < end; ++h) add(a[h * a_stride], b[h * b_stride], scaling, sums);
#pragma unroll
        for (int form = 0; form < kForms; ++form) shared_.chains[buffer][form][of_thread][chain] = sums[form];
      }
      __syncthreads();  // the other buffer is free: all have left it before they came here
#pragma unroll
      for (int p = 0; p < kPairsOfWarp; ++p) {
        if (p * kWarps + warp >= num_pairs) continue;
#pragma unroll
        for (int form = 0; form < kForms; ++form)
          counters[p][form].push(shared_.chains[buffer][form][p * kWarps + warp][lane_index()], first, num_chains);
      }
      buffer ^= 1;
    }
    if (lane_index() == 0) {
#pragma unroll
      for (int p = 0; p < kPairsOfWarp; ++p) {
        if (p * kWarps + warp < num_pairs) write(shared_.pairs[first_pair + p * kWarps + warp], counters[p]);
      }
    }
    __syncthreads();
  }

  __device__ void write(const plan::Pair& pair, const PairwiseCounter (&counters)[kForms]) const {
    const int shift = -(line_shift(call_.a_stats[pair.row]) + line_shift(call_.b_stats[pair.col]));
    ScaledOf<T> product;
    if constexpr (kIsComplex<T>) {
      product.re = num::make_scaled(counters[0].sum(), shift);
      product.im = num::make_scaled(counters[1].sum(), shift);
    } else {
      product = num::make_scaled(counters[0].sum(), shift);
    }
    write_element(call_, pair.row, pair.col,
                  [&](T alpha, T beta, T old) { return num::finish(product, alpha, beta, old); });
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
