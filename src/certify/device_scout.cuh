// SPDX-License-Identifier: MIT
// Before operands are split: does the sampled certificate stand a chance, and the lowest rung? A few terms of a few
// lines tell what the call had better make first (device::Look). Only time hangs on the answer, no bit:
// docs/accuracy/certificate.md, theorem 2.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "base/cluster_sm90.cuh"
#include "device/line.cuh"
#include "device/state.hpp"
#include "kizami/host_device.hpp"
#include "num/exponent.hpp"
#include "num/rung.hpp"
#include "problem/lines.hpp"

namespace kizami::certify {

inline constexpr int kScoutCluster = 8;
inline constexpr int kScoutThreads = 256;
/// Of each operand, spread over all; a warp takes one.
inline constexpr int kScoutLines = kScoutCluster * kScoutThreads / 32 / 2;
inline constexpr int kScoutTerms = 512;  ///< of a line, at most
/// A certificate has a chance where weights are below a share of what it allows: the pairs that are looked at are not
/// those that need most, and those need the more, the wider the terms of their lines are spread. The measure of that is
/// K ||x||_2^2 / ||x||_1^2, of both lines: 3 where terms are normal or uniform, 13 for exprand:phi=1, hundreds for
/// phi=2.
struct ScoutChance {
  float narrow;  ///< where the spread is at most `limit`
  float wide;
  float limit;

  [[nodiscard]] KIZAMI_HOST_DEVICE constexpr float of_spread(float spread) const {
    return spread > limit ? wide : narrow;
  }
};
inline constexpr ScoutChance kChanceOfSample{0.35F, 0.05F, 8.0F};
inline constexpr ScoutChance kChanceOfLowestRung{0.2F, 0.08F, 200.0F};
static_assert(kScoutLines == 32);

template <class T>
struct Scout {
  problem::Lines<T> a;
  problem::Lines<T> b;
  float allowance;             ///< of the lowest rung
  std::int64_t sample_stride;  ///< of the sampled certificate
};

/// What the terms of a line are relative to the largest of them.
struct ScoutedLine {
  float norm2;
  float norm1;
  float digits;  ///< sum of the digits that it has in the sampled certificate
  float count;   ///< of terms
};
struct ScoutShared {
  std::uint64_t barrier;
  alignas(16) ScoutedLine lines[2 * kScoutLines];
};

[[nodiscard]] __device__ inline float sum_of_lanes(float x) {
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) x += __shfl_xor_sync(~0u, x, distance);
  return x;
}

/// By one warp. All 0 for a line that is zero, subnormal or not finite, as far as it looks.
template <class T>
[[nodiscard]] __device__ ScoutedLine scout_line(const problem::Lines<T>& lines, std::int64_t stride, int index) {
  constexpr int kTerms = device::Element<T>::kTerms;
  constexpr int kOfLane = kScoutTerms / kTerms / 32;
  const std::int64_t line = (lines.num_lines - 1) * index / (kScoutLines - 1);
  const std::int64_t sampled = lines.length / stride;
  const std::int64_t spacing = max(std::int64_t{1}, sampled / (32 * kOfLane));
  const auto count = static_cast<int>(min(std::int64_t{32 * kOfLane}, sampled / spacing));
  const T* const from = lines.data + line * lines.line_stride;
  device::Element<T> elements[kOfLane];
#pragma unroll
  for (int u = 0; u < kOfLane; ++u) {
    const int j = min(static_cast<int>(threadIdx.x) % 32 + 32 * u, count - 1);
    elements[u] = device::load_element(from + j * spacing * stride * lines.inner_stride);
  }
  std::uint32_t most = 0;
#pragma unroll
  for (int u = 0; u < kOfLane * kTerms; ++u)
    most = max(most, static_cast<std::uint32_t>(__double2hiint(fabs(elements[u / kTerms].term[u % kTerms]))));
  most = __reduce_max_sync(~0u, most);
  if (most >= 0x7FE00000u || most < 0x00200000u) return {};
  const double unit = num::power_of_two(1023 - static_cast<int>(most >> 20));
  float sum = 0;
  float squares = 0;
  float digits = 0;
#pragma unroll
  for (int u = 0; u < kOfLane * kTerms; ++u) {
    const bool is_there = static_cast<int>(threadIdx.x) % 32 + u / kTerms * 32 < count;
    const float x = is_there ? static_cast<float>(fabs(elements[u / kTerms].term[u % kTerms]) * unit) : 0.0F;
    sum += x;
    squares += x * x;
    digits += floorf(64.0F * x);
  }
  return {sqrtf(sum_of_lanes(squares)), sum_of_lanes(sum), sum_of_lanes(digits) / 64.0F,
          static_cast<float>(count * kTerms)};
}

/// By all threads of a cluster of kScoutCluster blocks of kScoutThreads. @return in the first thread of all; else
/// nothing
template <class T>
[[nodiscard]] __device__ device::Look scout(const Scout<T>& task, ScoutShared& shared) {
  const auto rank = static_cast<int>(base::cluster_rank());
  const int warp = static_cast<int>(threadIdx.x) / 32;
  if (rank == 0 && threadIdx.x == 0) {
    base::barrier_init(base::shared_address(&shared.barrier), 1);
    base::barrier_arrive_expect(base::shared_address(&shared.barrier), sizeof shared.lines);
    base::barrier_init_fence();
  }
  base::cluster_arrive_relaxed();
  const int line = rank * (kScoutThreads / 32) + warp;
  const ScoutedLine found = scout_line(line < kScoutLines ? task.a : task.b, task.sample_stride,
                                       line < kScoutLines ? line : line - kScoutLines);
  base::cluster_wait();
  if (threadIdx.x % 32 == 0) {
    const uint4 message = {__float_as_uint(found.norm2), __float_as_uint(found.norm1), __float_as_uint(found.digits),
                           __float_as_uint(found.count)};
    base::store_at(base::shared_address(&shared.lines[line]), base::shared_address(&shared.barrier), 0, message);
  }
  if (rank != 0) return {};
  base::barrier_wait(base::shared_address(&shared.barrier), 0);

  // As if the terms of two lines knew nothing of one another: (|a|.|b|) = ||a||_1 ||b||_1 / K.
  const std::int64_t num_terms = task.a.length * device::Element<T>::kTerms;
  const auto terms = static_cast<float>(num_terms);
  const float sampled = terms / static_cast<float>(task.sample_stride);
  int refused_by_sample = 0;
  int refused = 0;
#pragma unroll
  for (int round = 0; round < kScoutLines * kScoutLines / kScoutThreads; ++round) {
    const int pair = round * kScoutThreads + static_cast<int>(threadIdx.x);
    const ScoutedLine a = shared.lines[pair % kScoutLines];
    const ScoutedLine b = shared.lines[kScoutLines + pair / kScoutLines];
    const float weight = (a.norm2 * b.norm1 + b.norm2 * a.norm1) / task.allowance;
    const float share = sqrtf(terms * a.count);
    const float ratio = a.norm2 * b.norm2 / (a.norm1 * b.norm1);
    const float spread = a.count * b.count * ratio * ratio;  // of zero lines NaN
    constexpr ScoutChance kOfSample = kChanceOfSample;       // a copy: device code has no addresses of such constants
    constexpr ScoutChance kOfLowestRung = kChanceOfLowestRung;
    refused_by_sample += __syncthreads_count(
        weight * share * terms > kOfSample.of_spread(spread) * sampled * a.digits * b.digits ? 1 : 0);
    refused += __syncthreads_count(weight * share > kOfLowestRung.of_spread(spread) * a.norm1 * b.norm1 ? 1 : 0);
  }
  constexpr int kFew = kScoutLines * kScoutLines / 10;
  if (refused_by_sample <= kFew) return device::Look::kSample;
  return refused <= kFew ? device::Look::kBlocks : device::Look::kBlocksFirst;
}

}  // namespace kizami::certify
