// SPDX-License-Identifier: MIT
// The split of FP32 lines across memory that a cluster holds as a whole: 16 lines of at most 8192 terms, of which each CTA has
// 1024 (HeldTerms). They come to shared memory 16 bytes at a time where they are aligned, with no register under way, and from there to
// a lane as split_across() has them: 32 terms of a line, two units a warp.
#pragma once

#include <cstdint>
#include <type_traits>

#include "base/async_copies.cuh"
#include "base/cluster_sm90.cuh"
#include "schemes/ec/device_lines.cuh"
#include "schemes/ec/judged_parts.hpp"

namespace kizami::ec {
namespace {

constexpr int kHeldCtas = 2;  ///< on a multiprocessor
constexpr int kUnitsOfWarp = 2;
constexpr int kQuadsOfLane = kUnitsOfWarp * kQuadsOfUnit;  ///< of lines along memory, in the same launch
constexpr int kHeldElements = kWarps * kUnitsOfWarp * kUnit * kUnit;
constexpr int kHeldLines = 16;  ///< of a cluster
static_assert(kHeldElements / kHeldLines == HeldTerms::kOfCta);

struct HeldShared {
  union {
    alignas(128) float elements[kHeldElements];
    uint4 exchange[kWarps][kUnit * 8];  ///< when lanes have their terms; see Shared
  };
  float largest[kWarps][kUnit];  ///< of a warp's part of a line; likewise below
  float smallest[kWarps][kUnit];
  Counts counts[kUnitsOfWarp][kWarps][kUnit];    ///< of each unit
  alignas(16) float parts[kMostCluster][kUnit];  ///< of a CTA's part of a line, from every CTA of the cluster
  std::uint64_t has_parts;                       ///< mbarrier of `parts`
  std::uint32_t report;                          ///< bits of the EcReport of this block
};

/// Where an element is in HeldShared: lines of a term are neighbours, and lanes that read terms 32 apart find other banks.
[[nodiscard]] __device__ int held_at(int term, int line) {
  return (term >> 1) * 32 + ((term ^ (term >> 5)) & 1) * kHeldLines + line;
}

/// Asks for the elements of this CTA, kLines neighbours at a time, zeros beyond the operand. By all threads.
template <int kLines>
__device__ void bring_elements(const Operand& o, int first_line, const HeldTerms& terms, float* to) {
  constexpr int kStep = kThreads * kLines / kHeldLines;  // terms
  const int line = kLines * thread_index() % kHeldLines;
  const int first = kLines * thread_index() / kHeldLines;
  const int bytes = 4 * min(max(static_cast<int>(o.num_lines) - first_line - line, 0), kLines);
  const float* const from = o.data + first_line + line;
#pragma unroll 4
  for (int local = first; local < HeldTerms::kOfCta; local += kStep) {
    const int term = terms.term(local);
    const bool is_there = term < static_cast<int>(o.length) && bytes > 0;
    base::copy_to_shared<4 * kLines>(base::shared_address(to + held_at(local, line)),
                                     is_there ? from + term * o.inner_stride : o.data, is_there ? bytes : 0);
  }
}

/// split_across() of lines that are neighbours, in units of 16, by clusters of HeldTerms::ranks_of() CTAs.
template <EcFormat kFormat>
__device__ void split_held_across(const Operand& o, unsigned block, bool is_a, const num::EcRangeLimits& limits,
                                  HeldShared& shared) {
  constexpr std::integral_constant<int, 4> kShift;
  static_assert(1 << kShift == kHeldLines);
  constexpr int kUnitTerms = kUnit << (5 - kShift);  // of a line, two lanes' parts
  const unsigned ranks = base::cluster_size();
  const unsigned rank = base::cluster_rank();
  begin_to_receive(shared, ranks);
  const int warp = thread_index() / 32;
  const int lane = thread_index() % 32;
  const UnitPlace place = place_in_unit(kShift, lane);
  const int first_line = static_cast<int>(block / ranks) * kHeldLines;
  const int i = first_line + place.line;
  const bool has_line = i < o.num_lines;
  const int length = static_cast<int>(o.length);
  const HeldTerms terms(static_cast<int>(ranks), static_cast<int>(rank));
  // The first local term of unit u of a warp, whose terms are neighbours in the line.
  const auto local_of = [](int u, int of_warp) { return (u * kWarps + of_warp) * kUnitTerms; };

  if (reinterpret_cast<std::uintptr_t>(o.data) % 16 == 0 && o.inner_stride % 4 == 0) {
    bring_elements<4>(o, first_line, terms, shared.elements);
  } else {
    bring_elements<1>(o, first_line, terms, shared.elements);
  }
  base::close_copies();
  base::wait_for_copies<0>();
  __syncthreads();
  float x[kUnitsOfWarp][kUnit];
  float largest = 0;
#pragma unroll
  for (int u = 0; u < kUnitsOfWarp; ++u) {
    const float* const mine = shared.elements + held_at(local_of(u, warp) + place.part * kUnit, place.line);
#pragma unroll
    for (int e = 0; e < kUnit; ++e) {
      // held_at() exchanges halves of 32 words from one term to the next.
      x[u][e] = mine[e / 2 * 32 + (e % 2 == 0 ? 0 : place.part == 0 ? kHeldLines : -kHeldLines)];
      largest = larger(largest, x[u][e]);
    }
  }
  largest = over_parts(kShift, largest, larger);
  shared.largest[warp][lane] = largest;
  __syncthreads();
  if (warp < static_cast<int>(ranks)) {
#pragma unroll
    for (int w = 0; w < kWarps; ++w) largest = larger(largest, shared.largest[w][lane]);
  }
  largest = largest_of_cluster(shared, ranks, rank, warp, lane, largest);
  const std::int32_t scale = scale_of<kFormat>(largest);
  const bool is_skipped = scale == num::kSkipLine;
  const Scaling scaling(scale);

  Counts counts[kUnitsOfWarp];
  float smallest = kNoneSmall;
#pragma unroll
  for (int u = 0; u < kUnitsOfWarp; ++u) {
    const int first_part = terms.term(local_of(u, warp)) / kUnit;
    Glance<kFormat> glance(limits);
    store_unit<kFormat>(o, kShift, first_line, first_part, x[u], scaling, shared.exchange[warp], glance);
    counts[u].dense = glance.take_dense();
    if ((first_part + place.part) * kUnit < length) smallest = fminf(smallest, glance.smallest(limits));
  }
  if (__any_sync(kWholeWarp, !is_skipped && has_line && smallest == kUnknown)) {
    const Reader<float> reader(o, i);
    std::uint32_t code = kAllZero;
#pragma unroll
    for (int u = 0; u < kUnitsOfWarp; ++u) {
      const int part = terms.term(local_of(u, warp)) / kUnit + place.part;
      load_part<float>(o, reader, has_line, part, x[0]);
#pragma unroll
      for (int e = 0; e < kUnit; ++e) look_again(x[0][e], part * kUnit + e < length, scaling, limits, code, counts[u]);
    }
    smallest = smallest_of(code, scaling);
  }
#pragma unroll
  for (int u = 0; u < kUnitsOfWarp; ++u) shared.counts[u][warp][lane] = sum_over_parts(kShift, counts[u]);
  shared.smallest[warp][lane] = over_parts(kShift, smallest, fminf);
  if (!end_lines(o, shared, i, has_line && lane < kHeldLines, rank, is_a, scale, largest, kFormat)) return;
  smallest = kNoneSmall;
  for (int w = 0; w < kWarps; ++w) smallest = fminf(smallest, shared.smallest[w][lane]);
  for (int part = 0; part < terms.num_parts(); ++part) {
    Counts of_part;
    for (int u = 0; u < kUnitsOfWarp; ++u) {
      for (int w = 0; w < kWarps; ++w) {
        if (terms.part(local_of(u, w)) == part) of_part.add(shared.counts[u][w][lane]);
      }
    }
    const std::int64_t there =
        terms_of_part(length, std::int64_t{terms.first_part() + part} * kLongLineRun, kLongLineRun, kLongLineStep);
    judge(shared.report, is_a, limits, largest, smallest, of_part, static_cast<int>(there), kLongLineParts, o.length);
  }
}

}  // namespace
}  // namespace kizami::ec
