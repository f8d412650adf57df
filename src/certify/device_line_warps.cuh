// SPDX-License-Identifier: MIT
// The warps that look at a line together, in all blocks of a cluster, of which each has a piece of the line in its
// shared memory: what they know of it they merge through distributed shared memory. Or in one block that has it whole.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "base/cluster_sm90.cuh"
#include "certify/device_line_stats.cuh"
#include "certify/quick_range.hpp"
#include "device/padding.hpp"
#include "device/panel.cuh"
#include "device/state.hpp"

namespace kizami::certify::kernels {

inline constexpr int kMaxCluster = 16;
static_assert(kMaxCluster * device::kPanelLength == device::kMaxSinglePassLength);

/// Whether the blocks of such panels are of no cluster.
template <class T, class P>
inline constexpr bool kTakesWholeLines = std::is_same_v<P, device::WholeLines<T>>;

/// What the warps of a line send each other, in every block of the cluster: two messages of 16 bytes.
template <class T, class P = device::Panel<T>>
struct Mailbox {
  static constexpr int kSenders = (kTakesWholeLines<T, P> ? 1 : kMaxCluster) * P::kWarpsPerLine;
  static_assert(kSenders <= 32, "a lane reads one");
  std::uint64_t barriers[2][P::kLines];
  uint4 messages[2][P::kLines][kSenders];
};

[[nodiscard]] __device__ inline Range merge_over_warp(const Range& value) {
  Range all;
  all.max_high = __reduce_max_sync(~0u, value.max_high);
  all.low_bits = __reduce_or_sync(~0u, value.low_bits);
  all.lsb = __reduce_min_sync(~0u, value.lsb);
  return all;
}
template <class V>
[[nodiscard]] __device__ V merge_over_warp(V value) {
#pragma unroll
  for (int bit = 16; bit != 0; bit /= 2) value.merge(value.shuffled(bit));
  return value;
}

/// The warps of a line, in all blocks of its cluster.
template <class T, class P = device::Panel<T>>
class LineWarps {
 public:
  /// All threads of all blocks of the cluster call it.
  __device__ LineWarps(Mailbox<T, P>& mailbox, int cluster, int rank)
      : mailbox_(mailbox),
        cluster_(kTakesWholeLines<T, P> ? 1 : cluster),
        rank_(rank),
        warp_(static_cast<int>(threadIdx.x) / 32) {
    if (cluster_ == 1) return;
    if (threadIdx.x == 0) {
      for (std::uint64_t(&of_round)[kLines] : mailbox.barriers) {
        for (std::uint64_t& barrier : of_round) {
          base::barrier_init(base::shared_address(&barrier), 1);
          base::barrier_arrive_expect(base::shared_address(&barrier), 16u * static_cast<unsigned>(num_senders()));
        }
      }
      base::barrier_init_fence();
    }
    base::cluster_arrive_relaxed();
  }
  /// Waits until the other blocks can receive; once before the first merge.
  __device__ void wait_for_cluster() const {
    if (cluster_ != 1) base::cluster_wait();
  }

  /// Merges what the warps' lanes know; every lane returns the result. @range round 0 or 1, each once
  template <class V>
  [[nodiscard]] __device__ V merge(V value, int round) const {
    static_assert(sizeof(V) <= 16);
    value = merge_over_warp(value);
    if (is_alone()) return value;
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int line = warp_ / kWarpsPerLine;
    uint4& place = mailbox_.messages[round][line][rank_ * kWarpsPerLine + warp_ % kWarpsPerLine];
    uint4 message{};
    memcpy(&message, &value, sizeof value);
    if (cluster_ == 1) {  // the warps of a line are in one block
      if (lane == 0) place = message;
      sync_warps_of(line);
    } else {
      const std::uint32_t barrier = base::shared_address(&mailbox_.barriers[round][line]);
      if (lane < cluster_)
        base::store_at(base::shared_address(&place), barrier, static_cast<std::uint32_t>(lane), message);
      base::barrier_wait(barrier, 0);
    }
    V part{};
    if (lane < num_senders()) memcpy(&part, &mailbox_.messages[round][line][lane], sizeof part);
    return merge_over_warp(part);
  }

 private:
  static constexpr int kLines = P::kLines;
  static constexpr int kWarpsPerLine = P::kWarpsPerLine;

  [[nodiscard]] __device__ int num_senders() const { return cluster_ * kWarpsPerLine; }
  __device__ static void sync_warps_of(int line) {
    if constexpr (kTakesWholeLines<T, P>) {  // by numbers that the compiler knows: of others it takes all 16
#pragma unroll
      for (int l = 0; l < kLines; ++l) {
        if (line == l) base::named_barrier_sync(1 + l, 32 * kWarpsPerLine);
      }
    } else {
      base::named_barrier_sync(1 + line, 32 * kWarpsPerLine);
    }
  }
  [[nodiscard]] __device__ bool is_alone() const { return cluster_ == 1 && kWarpsPerLine == 1; }

  Mailbox<T, P>& mailbox_;
  int cluster_;
  int rank_;
  int warp_;
};

/// Range, and about the sum of all magnitudes: the same number in all warps of a line, whatever it is.
struct Sight {
  Range range;
  std::uint32_t magnitudes = 0;  ///< the high word of an FP64 number

  [[nodiscard]] __device__ double sum() const { return __hiloint2double(static_cast<int>(magnitudes), 0); }
};
[[nodiscard]] __device__ inline Sight merge_over_warp(const Sight& value) {
  Sight all{merge_over_warp(value.range), value.magnitudes};
#pragma unroll
  for (int bit = 16; bit != 0; bit /= 2) {
    const double other = __hiloint2double(static_cast<int>(__shfl_xor_sync(~0u, all.magnitudes, bit)), 0);
    all.magnitudes = static_cast<std::uint32_t>(__double2hiint(all.sum() + other));
  }
  return all;
}

/// What the first look at a line finds.
struct LineRange {
  Range range;
  int exponent;       ///< num::kNoExponent of a line that is zero or not finite
  double magnitudes;  ///< about the sum of all, the same in all warps of the line
};

/// What a warp finds in its part of a line. @param magnitudes  the sum of those that this lane has
template <class T, class ForPairs>
[[nodiscard]] __device__ Range range_of_pairs(const ForPairs& for_pairs, RealOf<T>& magnitudes) {
  constexpr int kTerms = device::Element<T>::kTerms;
  constexpr std::uint32_t kNotZero = 1;  // who asks for low bits wants no more
  QuickRange<RealOf<T>> quick;
  RealOf<T> sums[2] = {};
  for_pairs([&](const device::Element<T>(&elements)[2]) {
#pragma unroll
    for (int i = 0; i < 2 * kTerms; ++i) {
      const RealOf<T> x = elements[i / kTerms].number[i % kTerms];
      quick.observe(x);
      sums[i % 2] += fabs(x);
    }
  });
  magnitudes = sums[0] + sums[1];
  if (__all_sync(~0u, quick.is_known())) return {quick.max_high(), kNotZero, quick.lsb()};
  Range range;
  for_pairs([&](const device::Element<T>(&elements)[2]) {
    for (int i = 0; i < 2 * kTerms; ++i) range.observe(elements[i / kTerms].term[i % kTerms]);
  });
  return range;
}

/// The first look, by all warps of a line. @param for_pairs calls its argument with every pair of elements of this
/// warp's part
template <class T, class P, class ForPairs>
[[nodiscard]] __device__ LineRange first_look(const problem::Lines<T>& lines, std::int64_t line,
                                              const LineWarps<T, P>& line_warps, const ForPairs& for_pairs) {
  constexpr int kTerms = device::Element<T>::kTerms;
  RealOf<T> magnitudes;
  Sight sight{range_of_pairs<T>(for_pairs, magnitudes)};
  sight.magnitudes = static_cast<std::uint32_t>(__double2hiint(static_cast<double>(magnitudes)));
  line_warps.wait_for_cluster();
  sight = line_warps.merge(sight, 0);
  const Range& range = sight.range;
  MaxBits largest;
  if (range.is_subnormal()) {  // seldom: every warp looks at the whole line
    for (std::int64_t h = static_cast<int>(threadIdx.x) % 32; h < lines.length; h += 32) {
      const device::Element<T> e = device::load_element(lines.data + line * lines.line_stride + h * lines.inner_stride);
      for (int t = 0; t < kTerms; ++t) largest.merge({device::magnitude_bits(e.term[t])});
    }
    largest = merge_over_warp(largest);
  }
  return {range, line_exponent(range, largest), sight.sum()};
}

}  // namespace kizami::certify::kernels
