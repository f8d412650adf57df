// SPDX-License-Identifier: MIT
// Does the sampled certificate stand a chance, and the lowest rung? A few terms of a few lines tell what the split had better make
// (plan::Look). Only time hangs on the answer, no bit: docs/accuracy/certificate.md, theorem 2.
//
// The first kScouts blocks of threads of a kernel look at some lines each, and the last one of them decides; all blocks may wait for the
// decision, since those run before them. No lines of a block of threads are put off: its copies are under way meanwhile.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "num/exponent.hpp"
#include "num/rung.hpp"
#include "plan/device_state.hpp"
#include "plan/second_look_buffers.hpp"
#include "problem/lines.hpp"
#include "split/device_line.cuh"

namespace kizami::split::device {

inline constexpr int kScoutThreads = 256;
inline constexpr int kScouts = plan::kScoutLines / (kScoutThreads / 32);  ///< blocks of threads; a warp takes a line
inline constexpr int kScoutTerms = 512;                                   ///< of a line, at most

[[nodiscard]] __device__ inline float sum_of_lanes(float x) {
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) x += __shfl_xor_sync(~0u, x, distance);
  return x;
}

/// By one warp, of the index-th line of so many that are spread over all. All 0 for a line that is zero, subnormal or not finite, as far
/// as it looks.
template <class T>
[[nodiscard]] __device__ plan::ScoutedLine scout_line(const problem::Lines<T>& lines, int index, int num_scouted) {
  constexpr int kTerms = Element<T>::kTerms;
  constexpr int kOfLane = kScoutTerms / kTerms / 32;
  const std::int64_t line = (lines.num_lines - 1) * index / (num_scouted - 1);
  const std::int64_t stride = num::sample_stride(lines.length * kTerms);
  const std::int64_t sampled = lines.length / stride;
  const std::int64_t spacing = max(std::int64_t{1}, sampled / (32 * kOfLane));
  const auto count = static_cast<int>(min(std::int64_t{32 * kOfLane}, sampled / spacing));
  const T* const from = lines.data + line * lines.line_stride;
  Element<T> elements[kOfLane];
#pragma unroll
  for (int u = 0; u < kOfLane; ++u) {
    const int j = min(static_cast<int>(threadIdx.x) % 32 + 32 * u, count - 1);
    elements[u] = load_element(from + j * spacing * stride * lines.inner_stride);
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

/// What most pairs of the scouted lines want, by all threads of a block. As if the terms of two lines knew nothing of one another:
/// (|a|.|b|) = ||a||_1 ||b||_1 / K.
template <class T>
[[nodiscard]] __device__ plan::Look look_of(const plan::ScoutedLine* scouted, std::int64_t length, float allowance) {
  constexpr int kHalf = plan::kScoutLines / 2;
  constexpr int kOfThread = kHalf * kHalf / kScoutThreads;
  const std::int64_t num_terms = length * Element<T>::kTerms;
  const auto terms = static_cast<float>(num_terms);
  const float sampled = terms / static_cast<float>(num::sample_stride(num_terms));
  int refused_by_sample = 0;
  int refused = 0;
  for (int round = 0; round < kOfThread; ++round) {
    const int pair = round * kScoutThreads + static_cast<int>(threadIdx.x);
    const auto load = [&](int line) {
      const float4 x = __ldcg(reinterpret_cast<const float4*>(scouted + line));
      return plan::ScoutedLine{x.x, x.y, x.z, x.w};
    };
    const plan::ScoutedLine a = load(pair % kHalf);
    const plan::ScoutedLine b = load(kHalf + pair / kHalf);
    const float weight = (a.norm2 * b.norm1 + b.norm2 * a.norm1) / allowance * sqrtf(terms * a.count);
    refused_by_sample += weight * terms > 0.35F * sampled * a.digits * b.digits ? 1 : 0;
    refused += weight > 0.125F * a.norm1 * b.norm1 ? 1 : 0;
  }
  constexpr int kFew = kHalf * kHalf / 10;
  const auto sum = [](int x) {  // of all threads
    int all = 0;
    for (int bit = 0; 1 << bit <= kOfThread; ++bit) all += __syncthreads_count(x >> bit & 1) << bit;
    return all;
  };
  if (sum(refused_by_sample) <= kFew) return plan::Look::kSample;
  return sum(refused) <= kFew ? plan::Look::kBlocks : plan::Look::kBlocksFirst;
}

/// One of the first kScouts blocks of kScoutThreads: sees its lines, and decides if it is the last.
/// @param allowance of the lowest rung
template <class T>
__device__ void scout(const problem::Lines<T>& a, const problem::Lines<T>& b, float allowance,
                      plan::ScoutedLine* scouted, plan::DeviceState& state) {
  constexpr int kHalf = plan::kScoutLines / 2;
  const int line = static_cast<int>(blockIdx.x) * (kScoutThreads / 32) + static_cast<int>(threadIdx.x) / 32;
  const plan::ScoutedLine found = line < kHalf ? scout_line(a, line, kHalf) : scout_line(b, line - kHalf, kHalf);
  if (threadIdx.x % 32 == 0) {
    scouted[line] = found;
    __threadfence();
  }
  __shared__ bool is_last;
  __syncthreads();
  if (threadIdx.x == 0) is_last = atomicAdd(&state.num_scouts, 1u) == kScouts - 1;
  __syncthreads();
  if (!is_last) return;
  __threadfence();
  const plan::Look look = look_of<T>(scouted, a.length, allowance);
  if (threadIdx.x == 0) {
    state.look = look;
    state.num_sampled_products = look == plan::Look::kSample ? 1 : 0;
    atomicExch(&state.published_look, 1u + static_cast<std::uint32_t>(look));
  }
}

/// Waits for what the scouts decide. By one thread: the word is all that it needs, and no fence.
[[nodiscard]] __device__ inline plan::Look wait_for_look(const plan::DeviceState& state) {
  const volatile std::uint32_t& published = state.published_look;
  std::uint32_t word = published;
  while (word == 0) {
    __nanosleep(100);
    word = published;
  }
  return static_cast<plan::Look>(word - 1);
}

}  // namespace kizami::split::device
