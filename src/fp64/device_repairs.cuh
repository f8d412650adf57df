// SPDX-License-Identifier: MIT
// The pairs of the list, where C is large: the bits of device_pair.cuh, with lanes of a warp that take chains of
// several pairs.
//
// A pair reads two whole lines. Where those of an operand lie across memory, each element is alone in its 32 bytes: so
// a block takes pairs of one band of 16 such lines together, whose elements share them. The list is dealt in the order
// of bands: of N pairs block b of G takes places N b / G to N (b + 1) / G, whole bands where they are small beside
// that, so that balance holds whether pairs are everywhere, or all in one row or column. Where a pair lies follows from
// the list as a set. Few pairs are dealt to few blocks, for what they take is latency, and other kernels may have the
// multiprocessors of the others.
//
// Every block walks through the list twice: pairs of each band are counted, then those of its places gathered in shared
// memory, once for every kPairsOfWalk of them. Then its warps have elements on their way in rings of their own
// (device_line_ring.cuh), a lane for a chain of a pair. Where few warps are needed, they have longer rings.
//
// A compensated sum runs over all terms in order. One warp of a team adds, a lane a sum; the others make products and
// their errors for it. A block is two teams, whose warps that add are of different quarters of the multiprocessor.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "base/cluster_sm90.cuh"
#include "base/int_math.hpp"
#include "fp64/device_compensated_sum.cuh"
#include "fp64/device_line_ring.cuh"
#include "fp64/device_pair.cuh"
#include "fp64/repair_place.hpp"

namespace kizami::fp64 {

inline constexpr int kRepairThreads = 256;
inline constexpr int kRepairWarps = kRepairThreads / kWarpSize;
inline constexpr int kRingStages = 24;  ///< of all warps together
inline constexpr int kBandLines = 16;
inline constexpr int kMaxBands = 2048;   ///< more lines: wider bands
inline constexpr int kPairsAtOnce = 32;  ///< whose chains are summed before the next pairs'
inline constexpr int kPairsOfWarp = kPairsAtOnce / kRepairWarps;
inline constexpr int kTeams = 2;  ///< of a block: compensated sums
inline constexpr int kTeamWarps = kRepairWarps / kTeams;
inline constexpr int kProductWarps = kTeamWarps - 1;  ///< of a team; the last warp adds
inline constexpr int kProductStages = kRingStages / (kTeams * kProductWarps);
static_assert(kProductWarps * kProductStages <= 32, "a bit each");
inline constexpr int kPairsOfWalk = 192;  ///< that a walk through the list is meant to gather
inline constexpr int kMaxPairsOfWalk =
    kRepairThreads;  ///< should hashes be uneven: further ones by the warp that finds them
/// Pairs of a block that take hardly longer than one: chains of eight pairs are lanes for eight warps, and a lane that
/// adds compensated sums keeps as many others waiting as are there.
template <class T, num::Fp64Summation kSummation>
inline constexpr int kFewPairs = kSummation == num::Fp64Summation::kPairwise ? 8
                                 : kIsComplex<T>                             ? 16
                                                                             : 32;
/// A further walk must have so many elements of a line to pay: else a warp a pair, without any walk.
inline constexpr std::int64_t kLengthOfWalk = 32;

/// A pair of the block, and the powers of two that its lines are multiplied by.
struct Repair {
  device::Pair pair;
  std::int32_t a_shift;
  std::int32_t b_shift;
};

struct RepairShared {
  alignas(16) unsigned char ring[kRingStages * kStageBytes];
  double chains[2][kPairsAtOnce][kWarpSize + 1];  ///< [form or, with one form, 32 chains][pair][chain of 32]
  Repair repairs[kMaxPairsOfWalk];
  std::uint64_t keys[kMaxPairsOfWalk];
  std::uint32_t before[kMaxBands + 1];  ///< pairs of each band, then of all bands before
  std::uint32_t of_warps[kRepairWarps];
  std::uint32_t num_pairs;
  std::uint64_t has_products[kRepairWarps][kProductStages];  ///< mbarriers of a warp's stages: of each team by rank
  std::uint64_t is_added[kRepairWarps][kProductStages];
};

template <class T, num::Fp64Summation kSummation>
class Repairs {
 public:
  __device__ Repairs(const DeviceCall<T>& call, RepairShared& shared)
      : call_(call),
        shared_(shared),
        num_repairs_(static_cast<std::int64_t>(call.state->num_repairs)),
        num_blocks_(min(std::int64_t{gridDim.x}, base::ceil_div(num_repairs_, std::int64_t{kFewPairs<T, kSummation>}))),
        has_bands_of_a_(is_strided(call.a) || !is_strided(call.b)) {
    const std::int64_t num_lines = (has_bands_of_a_ ? call.a : call.b).num_lines;
    while (num_lines > std::int64_t{kMaxBands} << line_bits_) ++line_bits_;
    most_whole_ = static_cast<std::uint32_t>(min(std::int64_t{kPairsAtOnce}, 2 * pairs_of_block()));
  }

  /// By all threads of all blocks.
  __device__ void answer() {
    const std::int64_t num_walks = base::ceil_div(pairs_of_block(), std::int64_t{kPairsOfWalk});
    if ((num_walks - 1) * kLengthOfWalk > call_.a.length) return answer_repairs(call_);
    if (blockIdx.x >= num_blocks_ || first_place(1, 0) == first_place(1, 1)) return;
    count_bands();
    for (std::int64_t walk = 0; walk < num_walks; ++walk) {
      gather(first_place(num_walks, walk), first_place(num_walks, walk + 1));
      sort();
      if constexpr (kSummation == num::Fp64Summation::kPairwise) {
        for (int done = 0; done < num_ordinary_;) {
          const int num_pairs = pairs_at_once(done);
          sum_pairwise(done, num_pairs);
          done += num_pairs;
        }
      } else {
        sum_compensated();
      }
      for (int p = num_ordinary_ + warp(); p < num_ordinary_ + num_single_; p += kRepairWarps)
        answer_pair(call_, shared_.repairs[p].pair.row, shared_.repairs[p].pair.col);
    }
  }

 private:
  static constexpr int kForms = static_cast<int>(problem::kTerms<T>);

  [[nodiscard]] __device__ static bool is_strided(const problem::Lines<T>& lines) {
    return lines.inner_stride > lines.line_stride;
  }
  [[nodiscard]] __device__ static int thread() { return static_cast<int>(threadIdx.x); }
  [[nodiscard]] __device__ static int warp() { return thread() / kWarpSize; }

  // ---- who answers which pair ---------------------------------------------------------------------------------------

  [[nodiscard]] __device__ std::int64_t line_of(const device::Pair& pair) const {
    return has_bands_of_a_ ? pair.row : pair.col;
  }
  /// On average.
  [[nodiscard]] __device__ std::int64_t pairs_of_block() const { return base::ceil_div(num_repairs_, num_blocks_); }
  /// The first place of a walk of this block.
  [[nodiscard]] __device__ std::uint32_t first_place(std::int64_t num_walks, std::int64_t walk) const {
    return static_cast<std::uint32_t>(num_repairs_ * (blockIdx.x * num_walks + walk) / (num_blocks_ * num_walks));
  }
  [[nodiscard]] __device__ std::uint32_t place_of(const device::Pair& pair) const {
    const std::int64_t band = line_of(pair) >> line_bits_;
    const std::uint32_t first = shared_.before[band];
    const std::uint32_t count = shared_.before[band + 1] - first;
    return first + (count <= most_whole_ ? count / 2 : place_of_hash(pair_hash(pair.row, pair.col), count));
  }

  /// Calls visit(pair, is_there) for the whole list, by all lanes of each warp together.
  template <class Visit>
  __device__ __forceinline__ void walk_list(const Visit& visit) const {
    constexpr int kAtOnce = 4;  // loads before the first use
#pragma unroll 1
    for (std::int64_t first = thread(); first - thread() < num_repairs_; first += kAtOnce * kRepairThreads) {
      device::Pair pairs[kAtOnce];
#pragma unroll
      for (int u = 0; u < kAtOnce; ++u) pairs[u] = call_.repairs[min(first + u * kRepairThreads, num_repairs_ - 1)];
#pragma unroll
      for (int u = 0; u < kAtOnce; ++u) visit(pairs[u], first + u * kRepairThreads < num_repairs_);
    }
  }

  /// Pairs of all bands before each.
  __device__ void count_bands() {
    for (int band = thread(); band <= kMaxBands; band += kRepairThreads) shared_.before[band] = 0;
    __syncthreads();
    walk_list([&](const device::Pair& pair, bool is_there) {
      if (is_there) atomicAdd(&shared_.before[line_of(pair) >> line_bits_], 1u);
    });
    __syncthreads();
    constexpr int kOfThread = kMaxBands / kRepairThreads;
    std::uint32_t* const of_thread = shared_.before + thread() * kOfThread;
    std::uint32_t counts[kOfThread];
    std::uint32_t sum = 0;
#pragma unroll
    for (int i = 0; i < kOfThread; ++i) sum += counts[i] = of_thread[i];
    std::uint32_t up_to = sum;
    for (int distance = 1; distance < kWarpSize; distance *= 2) {
      const std::uint32_t x = __shfl_up_sync(kAllLanes, up_to, distance);
      if (lane_index() >= distance) up_to += x;
    }
    if (lane_index() == kWarpSize - 1) shared_.of_warps[warp()] = up_to;
    __syncthreads();
    std::uint32_t before = up_to - sum;
    for (int w = 0; w < warp(); ++w) before += shared_.of_warps[w];
#pragma unroll
    for (int i = 0; i < kOfThread; ++i) {
      of_thread[i] = before;
      before += counts[i];
    }
    if (thread() == kRepairThreads - 1) shared_.before[kMaxBands] = before;
    __syncthreads();
  }

  /// The pairs of these places in shared_.repairs. Those beyond its capacity are answered at once.
  __device__ void gather(std::uint32_t first, std::uint32_t end) {
    __syncthreads();  // all have left those of the walk before
    if (thread() == 0) shared_.num_pairs = 0;
    __syncthreads();
    walk_list([&](const device::Pair& pair, bool is_there) {
      bool is_beyond = false;
      if (is_there) {
        const std::uint32_t place = place_of(pair);
        if (place >= first && place < end) {
          const std::uint32_t at = atomicAdd(&shared_.num_pairs, 1u);
          is_beyond = at >= kMaxPairsOfWalk;
          if (!is_beyond) shared_.repairs[at].pair = pair;
        }
      }
      for (unsigned left = __ballot_sync(kAllLanes, is_beyond); left != 0; left &= left - 1) {
        const int source = __ffs(static_cast<int>(left)) - 1;
        const std::int64_t row = __shfl_sync(kAllLanes, pair.row, source);
        const std::int64_t col = __shfl_sync(kAllLanes, pair.col, source);
        if (call_.a_stats[row].is_finite && call_.b_stats[col].is_finite) answer_pair(call_, row, col);
      }
    });
    __syncthreads();
  }

  /// First the ordinary pairs in the order of lines, then single ones: those whose terms may underflow, and zeros.
  __device__ void sort() {
    enum class Class : std::uint8_t { kOrdinary, kSingle, kNonfinite };
    const int num_pairs = min(static_cast<int>(shared_.num_pairs), kMaxPairsOfWalk);
    const bool is_there = thread() < num_pairs;
    Repair repair{};
    Class its_class = Class::kNonfinite;
    if (is_there) {
      repair.pair = shared_.repairs[thread()].pair;
      const num::LineStats& row = call_.a_stats[repair.pair.row];
      const num::LineStats& col = call_.b_stats[repair.pair.col];
      if (row.is_finite && col.is_finite) {
        const bool is_single = may_underflow(row, col) || row.is_zero() || col.is_zero();
        its_class = is_single ? Class::kSingle : Class::kOrdinary;
      }
      repair.a_shift = line_shift(row);
      repair.b_shift = line_shift(col);
    }
    const std::uint64_t key =
        static_cast<std::uint64_t>(its_class) << 48 | static_cast<std::uint64_t>(line_of(repair.pair));
    shared_.keys[thread()] = key;
    num_ordinary_ = __syncthreads_count(is_there && its_class == Class::kOrdinary);
    num_single_ = __syncthreads_count(is_there && its_class == Class::kSingle);
    int rank = 0;
#pragma unroll 4
    for (int p = 0; p < num_pairs; ++p) {
      const std::uint64_t other = shared_.keys[p];
      rank += other < key || (other == key && p < thread()) ? 1 : 0;
    }
    if (is_there) shared_.repairs[rank] = repair;
    __syncthreads();
  }

  // ---- what a pair is -----------------------------------------------------------------------------------------------

  using Wide = WideOf<T>;

  /// The elements of a pair of lines as the sums take them: scaled, in FP64.
  class ScaledPair {
   public:
    __device__ __forceinline__ ScaledPair(const DeviceCall<T>& call, const Repair& repair)
        : a_(headroom_factors(repair.a_shift)),
          b_(headroom_factors(repair.b_shift)),
          a_is_conjugated_(call.a.is_conjugated),
          b_is_conjugated_(call.b.is_conjugated) {}
    [[nodiscard]] __device__ __forceinline__ Wide of_a(const T& x) const { return scaled(x, a_is_conjugated_, a_); }
    [[nodiscard]] __device__ __forceinline__ Wide of_b(const T& y) const { return scaled(y, b_is_conjugated_, b_); }

   private:
    [[nodiscard]] __device__ __forceinline__ static Wide scaled(const T& x, bool is_conjugated,
                                                                const num::ScaleFactors& by) {
      const problem::Lines<T> line{&x, 1, 1, 0, 0, is_conjugated};
      if constexpr (kIsComplex<T>) {
        return {line.term(0, 0) * by.first * by.second, line.term(0, 1) * by.first * by.second};
      } else {
        return line.term(0, 0) * by.first * by.second;
      }
    }

    num::ScaleFactors a_;
    num::ScaleFactors b_;
    bool a_is_conjugated_;
    bool b_is_conjugated_;
  };

  [[nodiscard]] __device__ static constexpr problem::RealForm real_form(int form) {
    if (kForms == 1) return problem::RealForm::kPlain;
    return form == 0 ? problem::RealForm::kRealPart : problem::RealForm::kImagPart;
  }
  /// visit(t, of_a, of_b): the factors of the terms of an element in one form.
  template <class Visit>
  __device__ __forceinline__ static void for_terms(int form, const Wide& x, const Wide& y, const Visit& visit) {
    const problem::Lines<Wide> a{&x, 1, 1, 0, 0, false};
    const problem::Lines<Wide> b{&y, 1, 1, 0, 0, false};
#pragma unroll
    for (int t = 0; t < kForms; ++t) visit(t, a.term(0, t), problem::term(b, real_form(form), 0, t));
  }

  /// One chain of fused multiply-adds in each form.
  struct Chains {
    double sums[kForms] = {};
    __device__ __forceinline__ void add(const Wide& x, const Wide& y) {
#pragma unroll
      for (int form = 0; form < kForms; ++form)
        for_terms(form, x, y, [&](int, double a, double b) { sums[form] = fma(a, b, sums[form]); });
    }
  };

  /// Of elements [first, first + count) of a repair a lane, by one of `num_warps` warps.
  __device__ __forceinline__ Chains sum_terms(const Repair& repair, std::int64_t first, std::int64_t count,
                                              int num_warps) const {
    const int num_stages = kRingStages / num_warps;
    const ScaledPair pair(call_, repair);
    Chains chains;
    walk_lines(call_.a, call_.b, repair.pair, first, count, shared_.ring + warp() * num_stages * kStageBytes,
               num_stages, [&](const T& x, const T& y) { chains.add(pair.of_a(x), pair.of_b(y)); });
    return chains;
  }
  /// Of 2, 4 or 8: as few as have enough lanes, with rings as long as that leaves.
  [[nodiscard]] __device__ static int warps_for(std::int64_t num_lanes) {
    return num_lanes <= 2 * kWarpSize ? 2 : num_lanes <= 4 * kWarpSize ? 4 : kRepairWarps;
  }

  __device__ void write(const Repair& repair, const double (&sums)[kForms]) const {
    const int shift = -(repair.a_shift + repair.b_shift);
    ScaledOf<T> product;
    if constexpr (kIsComplex<T>) {
      product.re = num::make_scaled(sums[0], shift);
      product.im = num::make_scaled(sums[1], shift);
    } else {
      product = num::make_scaled(sums[0], shift);
    }
    write_element(call_, repair.pair.row, repair.pair.col,
                  [&](T alpha, T beta, T old) { return num::finish(product, alpha, beta, old); });
  }

  // ---- chains, combined pairwise ------------------------------------------------------------------------------------

  static constexpr int kChainsAtOnce = 2 * kWarpSize / kForms;
  [[nodiscard]] __device__ double& chain_at(int form, int p, int chain) const {
    return shared_.chains[kForms == 1 ? chain / kWarpSize : form][p][chain % kWarpSize];
  }

  /// How many pairs from `done` on are answered at once: whole bands, unless these would be few.
  [[nodiscard]] __device__ int pairs_at_once(int done) const {
    const int left = num_ordinary_ - done;
    if (left <= kPairsAtOnce) return left;
    const int at = done + 1 + lane_index();
    const std::int64_t band = line_of(shared_.repairs[at].pair) / kBandLines;
    const bool begins_band = band != line_of(shared_.repairs[at - 1].pair) / kBandLines;
    const int whole_bands = kWarpSize - __clz(static_cast<int>(__ballot_sync(kAllLanes, begins_band)));
    return whole_bands >= kPairsAtOnce / 2 ? whole_bands : kPairsAtOnce;
  }

  __device__ __forceinline__ void sum_pairwise(int first_pair, int num_pairs) {
    const std::int64_t num_chains = base::ceil_div(call_.a.num_terms(), num::kFp64ChainLength);
    PairwiseCounter counters[kPairsOfWarp][kForms];
#pragma unroll 1
    for (std::int64_t first = 0; first < num_chains; first += kChainsAtOnce) {
      sum_chains(first_pair, num_pairs, first, static_cast<int>(min(std::int64_t{kChainsAtOnce}, num_chains - first)));
      __syncthreads();
#pragma unroll 1
      for (int c = 0; c < kChainsAtOnce && first + c < num_chains; c += kWarpSize) {
#pragma unroll
        for (int p = 0; p < kPairsOfWarp; ++p) {
          if (p * kRepairWarps + warp() >= num_pairs) continue;
#pragma unroll
          for (int form = 0; form < kForms; ++form)
            counters[p][form].push(chain_at(form, p * kRepairWarps + warp(), c + lane_index()), first + c, num_chains);
        }
      }
      __syncthreads();
    }
    if (lane_index() == 0) {
#pragma unroll
      for (int p = 0; p < kPairsOfWarp; ++p) {
#pragma unroll
        for (int form = 0; form < kForms; ++form)
          chain_at(form, p * kRepairWarps + warp(), 0) = counters[p][form].sum();
      }
    }
    __syncthreads();
    if (thread() < num_pairs) {
      double sums[kForms];
#pragma unroll
      for (int form = 0; form < kForms; ++form) sums[form] = chain_at(form, thread(), 0);
      write(shared_.repairs[first_pair + thread()], sums);
    }
    __syncthreads();
  }

  static constexpr int kChainElements = static_cast<int>(num::kFp64ChainLength) / kForms;

  /// These chains of these pairs, in shared_.chains: the pairs of a chain in neighbouring lanes.
  __device__ __forceinline__ void sum_chains(int first_pair, int num_pairs, std::int64_t first_chain, int num_chains) {
    static_assert(kChainElements % kStageElements == 0);
    const int num_lanes = num_pairs * num_chains;
    const int num_warps = warps_for(num_lanes);
    if (warp() >= num_warps) return;
#pragma unroll 1
    for (int first = warp() * kWarpSize; first < num_lanes; first += num_warps * kWarpSize) {
      const int item = min(first + lane_index(), num_lanes - 1);  // lanes beyond do as the last one, to no end
      const int chain = item / num_pairs;
      const int p = item % num_pairs;
      const std::int64_t begin = (first_chain + chain) * kChainElements;
      const Chains chains = sum_terms(shared_.repairs[first_pair + p], begin,
                                      min(std::int64_t{kChainElements}, call_.a.length - begin), num_warps);
      if (first + lane_index() < num_lanes) {
#pragma unroll
        for (int form = 0; form < kForms; ++form) chain_at(form, p, chain) = chains.sums[form];
      }
    }
  }

  // ---- compensated sums ---------------------------------------------------------------------------------------------

  // The elements come step by step, kStageElements of every pair, to the warps that make products, in turns. The
  // products take the place of the elements, whose stage is free again when they are added.
  static constexpr int kSumsOfWarp = kWarpSize / kForms;
  static constexpr int kProductsOfStage = kStageElements * kForms;
  static_assert(kSummedAtOnce == kStageElements);
  static_assert(kProductsOfStage * kWarpSize * sizeof(Product) <= kStageBytes);

  /// All ordinary pairs, neighbours in neighbouring lanes.
  __device__ __forceinline__ void sum_compensated() {
    const int num_rounds = base::ceil_div(num_ordinary_, kTeams * kSumsOfWarp);
    for (int round = 0; round < num_rounds; ++round) {
      const int first = num_ordinary_ * round / num_rounds;
      sum_by_teams(first, num_ordinary_ * (round + 1) / num_rounds - first);
    }
  }

  [[nodiscard]] __device__ static int team() { return warp() / kTeamWarps; }
  /// The last one of a team adds. The warps of a quarter of a multiprocessor, every fourth, have different ranks.
  [[nodiscard]] __device__ static int rank() {
    static_assert(kTeams == 2 && kTeamWarps == 4);
    return (warp() + team()) % kTeamWarps;
  }
  /// Of a warp of this team among the barriers of all.
  [[nodiscard]] __device__ static int place_of_rank(int rank) { return team() * kTeamWarps + rank; }
  /// A stage of a warp of this team.
  [[nodiscard]] __device__ unsigned char* stage_of(int rank, int stage) const {
    return shared_.ring + ((team() * kProductWarps + rank) * kProductStages + stage) * kStageBytes;
  }

  /// So many pairs at most: kTeams * kSumsOfWarp. By all warps.
  __device__ __forceinline__ void sum_by_teams(int first, int num_pairs) {
    make_barriers();
    const int begin = first + num_pairs * team() / kTeams;
    const int end = first + num_pairs * (team() + 1) / kTeams;
    if (begin == end) return;
    // Sums of one form are neighbours.
    const int form = lane_index() / kSumsOfWarp;
    const int p = begin + lane_index() % kSumsOfWarp;
    const Repair& repair = shared_.repairs[min(p, end - 1)];  // lanes beyond do as the last one, to no end
    if (rank() < kProductWarps) return make_products(repair, form);
    const CompensatedSum sum = add_products();
    const double of_lane = sum.high + sum.low;
    double sums[kForms];
#pragma unroll
    for (int of = 0; of < kForms; ++of)
      sums[of] = __shfl_sync(kAllLanes, of_lane, of * kSumsOfWarp + lane_index() % kSumsOfWarp);
    if (p < end && form == 0) write(repair, sums);
  }

  __device__ void make_barriers() {
    __syncthreads();
    constexpr int kBarriers = kRepairWarps * kProductStages;
    if (thread() < 2 * kBarriers) {
      const std::uint32_t barrier = base::shared_address(
          thread() < kBarriers ? &shared_.has_products[0][thread()] : &shared_.is_added[0][thread() - kBarriers]);
      if (has_barriers_) base::barrier_invalidate(barrier);
      base::barrier_init(barrier, 1);
    }
    has_barriers_ = true;
    __syncthreads();
  }

  [[nodiscard]] __device__ std::int64_t num_steps() const {
    return base::ceil_div(call_.a.length, std::int64_t{kStageElements});
  }

  /// Products of every kProductWarps-th step, of a pair and a form a lane.
  __device__ __forceinline__ void make_products(const Repair& repair, int form) {
    const std::int64_t length = call_.a.length;
    const LaneLines<T> a(call_.a, repair.pair.row, 0, length);
    const LaneLines<T> b(call_.b, repair.pair.col, 0, length);
    const ScaledPair pair(call_, repair);
    const std::int64_t end = num_steps();
    const auto copy = [&](std::int64_t step, int stage) {
      const std::int64_t at = step * kStageElements;
      if (step < end) {
        const bool is_whole = at + kStageElements <= length;
        const std::uint32_t to = shared_address(stage_of(rank(), stage));
        a.copy(at, is_whole, to);
        b.copy(at, is_whole, to + kStageLineBytes);
      }
      close_copies();  // an empty group too: so many are always behind the oldest
    };
    std::uint32_t phases = 0;
    const auto wait_for_adds = [&](int stage) {
      base::barrier_wait(base::shared_address(&shared_.is_added[place_of_rank(rank())][stage]), phases >> stage & 1);
      phases ^= 1u << stage;
    };
#pragma unroll 1
    for (int stage = 0; stage < kProductStages; ++stage) copy(rank() + stage * kProductWarps, stage);
    int stage = 0;
    int last = kProductStages - 1;  // the stage before
#pragma unroll 1
    for (std::int64_t step = rank(); step < end; step += kProductWarps) {
      if (step >= kProductWarps) {
        wait_for_adds(last);
        copy(step + (kProductStages - 1) * kProductWarps, last);
      } else {
        close_copies();
      }
      wait_for_copies<kProductStages - 1>();
      __syncwarp();
      unsigned char* const memory = stage_of(rank(), stage);
      T x[kStageElements];
      T y[kStageElements];
      a.read(memory, x);
      b.read(memory + kStageLineBytes, y);
      __syncwarp();  // all have read it
      Product* const to = reinterpret_cast<Product*>(memory) + lane_index();
      const std::int64_t left = length - step * kStageElements;
      const auto make = [&](const auto& is_element) {
#pragma unroll
        for (int e = 0; e < kStageElements; ++e) {
          const Wide of_a = is_element(e) ? pair.of_a(x[e]) : Wide{};
          const Wide of_b = is_element(e) ? pair.of_b(y[e]) : Wide{};
#pragma unroll
          for (int of = 0; of < kForms; ++of) {
            for_terms(of, of_a, of_b, [&](int t, double u, double v) {
              if (of == form) to[(e * kForms + t) * kWarpSize] = Product(u, v);
            });
          }
        }
      };
      if (left >= kStageElements) {
        make([](int) { return true; });
      } else {
        make([left](int e) { return e < left; });  // what is added instead of others changes no sum
      }
      __syncwarp();
      if (lane_index() == 0)
        base::barrier_arrive(base::shared_address(&shared_.has_products[place_of_rank(rank())][stage]));
      last = stage;
      stage = stage + 1 == kProductStages ? 0 : stage + 1;
    }
    if (rank() < end) wait_for_adds(last);
    wait_for_copies<0>();
  }

  /// A lane's products, kSummedAtOnce by kSummedAtOnce.
  class ProductSteps {
   public:
    __device__ __forceinline__ explicit ProductSteps(const Repairs& repairs) : repairs_(repairs) {}

    __device__ __forceinline__ void take(Product (&products)[kSummedAtOnce]) {
      if (part_ == 0)
        base::barrier_wait(base::shared_address(&repairs_.shared_.has_products[place_of_rank(from_)][stage_]),
                           phases_ >> bit() & 1);
      const auto* const of_lane = reinterpret_cast<const Product*>(repairs_.stage_of(from_, stage_)) + lane_index();
#pragma unroll
      for (int i = 0; i < kSummedAtOnce; ++i) products[i] = of_lane[(part_ * kSummedAtOnce + i) * kWarpSize];
      if (++part_ < kForms) return;
      part_ = 0;
      __syncwarp();
      if (lane_index() == 0)
        base::barrier_arrive(base::shared_address(&repairs_.shared_.is_added[place_of_rank(from_)][stage_]));
      phases_ ^= 1u << bit();
      if (++from_ == kProductWarps) {
        from_ = 0;
        stage_ = stage_ + 1 == kProductStages ? 0 : stage_ + 1;
      }
    }

   private:
    [[nodiscard]] __device__ int bit() const { return from_ * kProductStages + stage_; }

    const Repairs& repairs_;
    int part_ = 0;  ///< of a stage
    int from_ = 0;
    int stage_ = 0;
    std::uint32_t phases_ = 0;
  };

  /// The sum of a lane's products, by the last warp of a team. Three places take turns: products are added in one,
  /// errors in that of those before, and the next ones are on their way to the third.
  [[nodiscard]] __device__ __forceinline__ CompensatedSum add_products() {
    CompensatedSum sum;
    const std::int64_t end = num_steps() * kForms;
    ProductSteps steps(*this);
    SummedProducts places[3];
    steps.take(places[0].products);
    const auto add_places = [&](const auto& is_next_there) {
#pragma unroll
      for (int turn = 0; turn < 3; ++turn) {
        SummedProducts& next = places[(turn + 1) % 3];
        if (is_next_there(turn)) {
          steps.take(next.products);
        } else {  // zeros change no sum
#pragma unroll
          for (Product& product : next.products) product = Product();
        }
        sum.add(places[turn], places[(turn + 2) % 3]);
      }
    };
    std::int64_t step = 0;
#pragma unroll 1
    for (; step + 3 < end; step += 3) add_places([](int) { return true; });
    add_places([&](int turn) { return step + turn + 1 < end; });
    sum.add_errors(places[2]);
    return sum;
  }

  const DeviceCall<T>& call_;
  RepairShared& shared_;
  std::int64_t num_repairs_;
  std::int64_t num_blocks_;  ///< that the list is dealt to
  bool has_bands_of_a_;
  int line_bits_ = 4;         ///< lines of a band, where pairs are counted
  std::uint32_t most_whole_;  ///< pairs of a band that is not dealt to several blocks
  int num_ordinary_ = 0;
  int num_single_ = 0;
  bool has_barriers_ = false;
  static_assert(kBandLines == 1 << 4);
};

/// The call's summation is kSummation: kernels apart, for the registers of one are not those of the other.
template <class T, num::Fp64Summation kSummation>
__global__ void __launch_bounds__(kRepairThreads, 1) answer_repairs_sm90(const __grid_constant__ DeviceCall<T> call) {
  extern __shared__ double2 shared_memory[];
  base::let_next_run_beside();  // it writes other elements of C than the list's, and nothing that is read here
  const device::DeviceState& state = *call.state;
  if (state.is_scaling_only != 0 || state.takes_signs != 0 || state.selection.rung < 0 || state.num_repairs == 0)
    return;
  Repairs<T, kSummation>(call, *reinterpret_cast<RepairShared*>(shared_memory)).answer();
}

}  // namespace kizami::fp64
