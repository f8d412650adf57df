// SPDX-License-Identifier: MIT
// The split of lines of at most 8192 terms in FP16, whose elements wait in shared memory until the largest of their line is known. They
// come there by copies that hold no register, and all that is done with them is done in short loops: a call alone finds the kernel's
// code in no cache, and waits for every line of it (docs/perf/h200_ec.md).
//   along memory   1, 2, 4 or 8 warps of a CTA take a line, as in split_along();
//   across memory  a cluster takes 16 lines, of which each CTA has 512 or 1024 terms (HeldTerms). A warp has units of 16 lines x 64 terms, a
//                  lane 32 terms of a line, as in split_across(), and exchanges what it makes where the unit was.
// Lines here are those in memory: of a complex one both forms are made, whose magnitudes are the same.
#pragma once

#include <cstdint>
#include <type_traits>

#include "base/async_copies.cuh"
#include "base/cluster_sm90.cuh"
#include "schemes/ec/device_lines.cuh"
#include "schemes/ec/judged_parts.hpp"

namespace kizami::ec {
namespace {

constexpr int kHeldLines = 16;      ///< of a cluster
constexpr int kHeldUnitTerms = 64;  ///< of a line, two lanes' parts
constexpr int kHeldUnits = HeldTerms::kMostOfCta / kHeldUnitTerms;
constexpr int kHeldTermsOfWarp = 2048;  ///< along, at most
constexpr int kHeldCtas =
    3;  ///< on a multiprocessor; one more where no lines lie across memory and shared memory holds as many

/// Elements follow.
struct HeldShared {
  alignas(128) float largest[kWarps][kUnit];  ///< of a warp's part of a line; likewise below
  float smallest[kWarps][kUnit];
  Counts counts[kHeldUnits][kUnit];              ///< of each unit
  alignas(16) float parts[kMostCluster][kUnit];  ///< of a CTA's part of a line, from every CTA of the cluster
  std::uint64_t has_parts;                       ///< mbarrier of `parts`
  std::uint32_t report;                          ///< bits of the EcReport of this block

  [[nodiscard]] __device__ float* elements() { return reinterpret_cast<float*>(this + 1); }
};
static_assert(sizeof(HeldShared) % 128 == 0);

/// Terms of a line that each of its warps may have, along.
[[nodiscard]] __host__ __device__ constexpr int held_terms_of_warp(std::int64_t length, int warps) {
  return static_cast<int>((length + warps * kJudgedRun - 1) / (warps * kJudgedRun)) * kJudgedRun;
}

/// Four terms of a line from term k on in one of its forms (DeviceEcSplit); real ones have one. What is behind the line stays zero, without sign.
template <class T, class AnyOperand>
[[nodiscard]] __device__ float4 in_form(const AnyOperand& o, int form, const float4& x, int k) {
  if constexpr (!kIsComplex<T>) return x;
  const Form of(o.forms, form, o.is_conjugated != 0);
  const int length = static_cast<int>(o.length);
  const float2 first = k < length ? of.formed(make_float2(x.x, x.y)) : make_float2(0, 0);
  const float2 second = k + 2 < length ? of.formed(make_float2(x.z, x.w)) : make_float2(0, 0);
  return make_float4(first.x, first.y, second.x, second.y);
}

/// What is known of a line but for its parts: by one thread.
template <class AnyOperand>
__device__ void say_of_line(const AnyOperand& o, std::int64_t i, bool is_a, std::int32_t scale, float largest,
                            std::uint32_t& report) {
  for (int form = 0; form < o.forms; ++form) o.own_scales()[i * o.forms + form] = scale;
  store_stats(o, i * o.forms, scale, product::ec_top_exponent(EcFormat::kF16), largest == 0);
  if (scale == num::kSkipLine) count_nonfinite(report, is_a);
}

// ---- along memory ----

template <class T, class AnyOperand>
__device__ void split_held_along(const AnyOperand& o, unsigned block, bool is_a, const num::EcRangeLimits& limits,
                                 HeldShared& shared) {
  constexpr EcFormat kFormat = EcFormat::kF16;
  constexpr int kTerms = static_cast<int>(problem::kTerms<T>);
  const int warp = thread_index() / 32;
  const int lane = thread_index() % 32;
  const int width = o.warps_per_line;
  const int place = warp % width;
  const int length = static_cast<int>(o.length);
  const std::int64_t i = static_cast<std::int64_t>(block) * (kWarps / width) + warp / width;
  const bool has_line = i < o.num_lines;
  const int terms = held_terms_of_warp(length, width);
  float* const mine = shared.elements() + warp * terms + lane * 4;
  // Quad q of a lane: four terms from here on.
  const auto first_of = [&](int q) { return (q / 2 * width + place) * kJudgedRun + q % 2 * 128 + lane * 4; };
  constexpr int kBlock = static_cast<int>(product::ec_block_length(kFormat));
  const int end = (length + kBlock - 1) / kBlock * kBlock;  // of the line with its padding
  const int quads = has_line ? terms / 128 : 0;

  const float* const line = o.elements() + i * o.line_stride;
  const bool reads_quads = o.reads_quads();
#pragma unroll 2
  for (int q = 0; q < quads; ++q) {
    const int k = first_of(q);
    const std::uint32_t to = base::shared_address(mine + q * 128);
    if (reads_quads) {
      base::copy_to_shared<16>(to, k < length ? line + k : line, k < length ? 16 : 0);
    } else {
#pragma unroll
      for (int e = 0; e < 4; e += kTerms)
        base::copy_to_shared<4 * kTerms>(to + 4 * e, k + e < length ? line + (k + e) / kTerms * o.inner_stride : line,
                                         k + e < length ? 4 * kTerms : 0);
    }
  }
  base::close_copies();
  base::wait_for_copies<0>();  // each lane reads what it has brought
  const auto quad = [&](int q) { return *reinterpret_cast<const float4*>(mine + q * 128); };

  float largest = 0;
#pragma unroll 4
  for (int q = 0; q < quads; ++q) {
    const float4 x = quad(q);
    largest = larger(larger(largest, larger(x.x, x.y)), larger(x.z, x.w));
  }
  largest = largest_of_line(shared, width, warp, lane, largest);
  const std::int32_t scale = scale_of<kFormat>(largest);
  const bool is_skipped = scale == num::kSkipLine;
  const Scaling scaling(scale);
  std::int8_t* const row = o.own_planes() + i * o.forms * o.row_stride;
  // Run x of the warp is run x width + place of the line: of part x % parts of the warp's, which are judged by a lane each.
  const int parts = kJudgedParts / width;
  Glance<kFormat> glance(limits);
  Glance<kFormat> unseen(limits);
  Counts counts;
#pragma unroll 2
  for (int q = 0; q < quads; ++q) {
    const int k = first_of(q);
    if (k < end) {
      const float4 x = quad(q);
      const auto store = [&](int form, Glance<kFormat>& seen) {
        float4 y = in_form<T>(o, form, x, k);
        if (scaling.needs_rest())
          y = make_float4(scaling.rest(y.x), scaling.rest(y.y), scaling.rest(y.z), scaling.rest(y.w));
        store_four<kFormat>(row + form * o.row_stride, k, y, scaling, seen);
      };
      store(0, glance);
      if (kIsComplex<T> && o.forms == 2) store(1, unseen);
    }
    if (q % 2 == 0) continue;
    const std::uint32_t dense = __reduce_add_sync(kWholeWarp, glance.take_dense());
    if ((q / 2 & (parts - 1)) == lane) counts.dense += dense;
  }
  if (!has_line) return;
  float smallest = glance.smallest(limits);
  if (__any_sync(kWholeWarp, !is_skipped && smallest == kUnknown)) {
    std::uint32_t code = kAllZero;
#pragma unroll 1
    for (int q = 0; q < quads; ++q) {
      const float4 x = quad(q);
      const int left = length - first_of(q);
      look_again(x.x, left > 0, scaling, limits, code, counts);
      look_again(x.y, left > 1, scaling, limits, code, counts);
      look_again(x.z, left > 2, scaling, limits, code, counts);
      look_again(x.w, left > 3, scaling, limits, code, counts);
    }
    smallest = smallest_of(code, scaling);
    counts.not_full = __reduce_add_sync(kWholeWarp, counts.not_full);
  }
  // Numbers that are not negative are in the order of their bits.
  smallest = __uint_as_float(__reduce_min_sync(kWholeWarp, __float_as_uint(smallest)));
  if (lane == 0 && place == 0) say_of_line(o, i, is_a, scale, largest, shared.report);
  if (!is_skipped && lane < parts)
    judge(shared.report, is_a, limits, largest, smallest, counts, lane * width + place, length);
}

// ---- across memory ----

/// Where terms are: those of real lines are neighbours, two terms in 32 words, which lanes that read terms 32 apart find in other banks; both
/// of a complex element are.
template <class T>
[[nodiscard]] __device__ int held_at(int term, int line) {
  if constexpr (kIsComplex<T>) return (term >> 1) * 32 + line * 2;
  return (term >> 1) * 32 + ((term ^ (term >> 5)) & 1) * kHeldLines + line;
}

/// Asks for the elements of this CTA, kLines neighbours at a time, zeros beyond the operand. By all threads.
template <class T, int kLines, class AnyOperand>
__device__ void bring_elements(const AnyOperand& o, int first_line, const HeldTerms& terms, float* to) {
  constexpr int kTerms = static_cast<int>(problem::kTerms<T>);
  constexpr int kBytes = 4 * kTerms;
  constexpr int kStep = kThreads * kLines / kHeldLines;  // elements
  constexpr int kOfRun = kJudgedRun / kTerms;
  static_assert(kOfRun % kStep == 0);
  const int line = kLines * thread_index() % kHeldLines;
  const int first = kLines * thread_index() / kHeldLines;
  const int bytes = kBytes * min(max(static_cast<int>(o.num_lines) - first_line - line, 0), kLines);
  const float* const elements = o.elements();
#pragma unroll 1
  for (int run = 0; run < terms.count(); run += kJudgedRun) {
    const int element = terms.term(run) / kTerms + first;  // a run's terms are neighbours
    const float* from = elements + (first_line + line) * kTerms + element * o.inner_stride;
    const int left = bytes > 0 ? static_cast<int>(o.length) / kTerms - element : 0;
#pragma unroll 4
    for (int h = 0; h < kOfRun; h += kStep, from += kStep * o.inner_stride) {
      const int at = held_at<T>(run + (h + first) * kTerms, line);
      base::copy_to_shared<kBytes * kLines>(base::shared_address(to + at), h < left ? from : elements,
                                            h < left ? bytes : 0);
    }
  }
}

/// What a lane has of a unit: 32 terms of a line in shared memory.
template <class T>
struct HeldPart {
  const float* at;
  int odd;  ///< real: from an even term's place to that of the odd one behind it

  __device__ HeldPart(const float* elements, int local, const UnitPlace& place)
      : at(elements + held_at<T>(local + place.part * kUnit, place.line)),
        odd(place.part == 0 ? kHeldLines : -kHeldLines) {}
  /// Terms 2 pair and 2 pair + 1.
  [[nodiscard]] __device__ float2 operator[](int pair) const {
    if constexpr (kIsComplex<T>) return *reinterpret_cast<const float2*>(at + pair * 32);
    return make_float2(at[pair * 32], at[pair * 32 + odd]);
  }
};

/// What a lane has of a unit, in registers.
struct UnitTerms {
  float2 pairs[kUnit / 2];
};

/// Splits a unit in one of its forms, whose first part of each line is first_part, and stores its blocks, 128 bytes of four lanes at a time.
/// @param exchange where 16 bytes p of what lane l makes are at 8 l + (p ^ l % 8)
template <class T, class AnyOperand>
__device__ void store_held_unit(const AnyOperand& o, int form, int first_line, int first_part, const UnitTerms& x,
                                const Scaling& scaling, uint4* exchange, Glance<EcFormat::kF16>& glance) {
  constexpr int kShift = 4;
  const int lane = thread_index() % 32;
  const int first_term = (first_part + place_in_unit(kShift, lane).part) * kUnit;
  __syncwarp();  // what was there has been read
#pragma unroll
  for (int piece = 0; piece < 4; ++piece) {
    Quad<EcFormat::kF16> quads[2];
#pragma unroll
    for (int q = 0; q < 2; ++q) {
      const float2 one = x.pairs[piece * 4 + q * 2];
      const float2 two = x.pairs[piece * 4 + q * 2 + 1];
      float4 four = in_form<T>(o, form, make_float4(one.x, one.y, two.x, two.y), first_term + piece * 8 + q * 4);
      if (scaling.needs_rest())
        four = make_float4(scaling.rest(four.x), scaling.rest(four.y), scaling.rest(four.z), scaling.rest(four.w));
      const float y[4] = {scaling.most(four.x), scaling.most(four.y), scaling.most(four.z), scaling.most(four.w)};
      quads[q] = split_four<EcFormat::kF16>(y, glance);
    }
    exchange[8 * lane + (piece ^ lane % 8)] = make_uint4(quads[0].hi.x, quads[0].hi.y, quads[1].hi.x, quads[1].hi.y);
    exchange[8 * lane + ((piece + 4) ^ lane % 8)] =
        make_uint4(quads[0].lo.x, quads[0].lo.y, quads[1].lo.x, quads[1].lo.y);
  }
  __syncwarp();
  std::int8_t* const planes = o.own_planes();
#pragma unroll 2
  for (int four = 0; four < 8; ++four) {
    const int from = four * 4 + lane / 8;
    const UnitPlace place = place_in_unit(kShift, from);
    const int part = first_part + place.part;
    const int line = first_line + place.line;
    if (line >= o.num_lines || part * kUnit >= static_cast<int>(o.length)) continue;
    std::int8_t* const to =
        planes + (std::int64_t{line} * o.forms + form) * o.row_stride + part * product::kEcBlockBytes + lane % 8 * 16;
    *reinterpret_cast<uint4*>(to) = exchange[8 * from + (lane % 8 ^ from % 8)];
  }
}

/// split_across() of lines that are neighbours, by clusters of HeldTerms::ranks_of() CTAs.
template <class T, class AnyOperand>
__device__ void split_held_across(const AnyOperand& o, unsigned block, bool is_a, const num::EcRangeLimits& limits,
                                  HeldShared& shared) {
  constexpr EcFormat kFormat = EcFormat::kF16;
  constexpr int kShift = 4;
  static_assert(1 << kShift == kHeldLines && kHeldLines * kHeldUnitTerms == kUnit * kUnit &&
                product::ec_block_length(kFormat) == kUnit);
  const unsigned ranks = base::cluster_size();
  const unsigned rank = base::cluster_rank();
  if (ranks > 1) begin_to_receive(shared, ranks);
  const int warp = thread_index() / 32;
  const int lane = thread_index() % 32;
  const UnitPlace place = place_in_unit(kShift, lane);
  const int first_line = static_cast<int>(block / ranks) * kHeldLines;
  const int i = first_line + place.line;
  const bool has_line = i < o.num_lines;
  const int length = static_cast<int>(o.length);
  const HeldTerms terms(length, static_cast<int>(rank));
  const int units = terms.count() / kHeldUnitTerms;

  if (reinterpret_cast<std::uintptr_t>(o.elements()) % 16 == 0 && o.inner_stride % 4 == 0) {
    bring_elements<T, 4 / static_cast<int>(problem::kTerms<T>)>(o, first_line, terms, shared.elements());
  } else {
    bring_elements<T, 1>(o, first_line, terms, shared.elements());
  }
  base::close_copies();
  base::wait_for_copies<0>();
  __syncthreads();
  float largest = 0;
#pragma unroll 1
  for (int unit = warp; unit < units; unit += kWarps) {
    const HeldPart<T> x(shared.elements(), unit * kHeldUnitTerms, place);
#pragma unroll 4
    for (int pair = 0; pair < kUnit / 2; ++pair) largest = larger(largest, larger(x[pair].x, x[pair].y));
  }
  largest = over_parts(kShift, largest, larger);
  shared.largest[warp][lane] = largest;
  __syncthreads();
  if (warp < static_cast<int>(ranks) || ranks == 1) {
#pragma unroll 4
    for (int w = 0; w < kWarps; ++w) largest = larger(largest, shared.largest[w][lane]);
  }
  if (ranks > 1) largest = largest_of_cluster(shared, ranks, rank, warp, lane, largest);
  const std::int32_t scale = scale_of<kFormat>(largest);
  const bool is_skipped = scale == num::kSkipLine;
  const Scaling scaling(scale);

  float smallest = kNoneSmall;
#pragma unroll 1
  for (int unit = warp; unit < units; unit += kWarps) {
    float* const elements = shared.elements() + unit * kHeldUnitTerms * kHeldLines;
    const HeldPart<T> part(elements, 0, place);
    UnitTerms x;
#pragma unroll
    for (int pair = 0; pair < kUnit / 2; ++pair) x.pairs[pair] = part[pair];
    // Halves of planes take the place of the elements, which all lanes have.
    auto* const exchange = reinterpret_cast<uint4*>(elements);
    const int first_part = terms.term(unit * kHeldUnitTerms) / kUnit;
    Glance<kFormat> glance(limits);
    store_held_unit<T>(o, 0, first_line, first_part, x, scaling, exchange, glance);
    if constexpr (kIsComplex<T>) {
      Glance<kFormat> unseen(limits);
      if (o.forms == 2) store_held_unit<T>(o, 1, first_line, first_part, x, scaling, exchange, unseen);
    }
    const int first = (first_part + place.part) * kUnit;
    float least = first < length ? glance.smallest(limits) : kNoneSmall;
    Counts counts{glance.take_dense(), 0};
    if (__any_sync(kWholeWarp, !is_skipped && has_line && least == kUnknown)) {
      std::uint32_t code = kAllZero;
#pragma unroll
      for (int pair = 0; pair < kUnit / 2; ++pair) {
        look_again(x.pairs[pair].x, first + 2 * pair < length, scaling, limits, code, counts);
        look_again(x.pairs[pair].y, first + 2 * pair + 1 < length, scaling, limits, code, counts);
      }
      least = smallest_of(code, scaling);
    }
    smallest = fminf(smallest, least);
    shared.counts[unit][lane] = sum_over_parts(kShift, counts);
  }
  shared.smallest[warp][lane] = over_parts(kShift, smallest, fminf);
  __syncthreads();
  if (ranks > 1 && thread_index() == 0)
    base::barrier_invalidate(base::shared_address(&shared.has_parts));  // all have waited
  if (rank == 0 && thread_index() < kHeldLines && has_line) say_of_line(o, i, is_a, scale, largest, shared.report);
  // A part of a line for each of the first threads, whose lanes have that line already.
  const int part = thread_index() / kHeldLines;
  if (part >= terms.num_parts() || !has_line || is_skipped) return;
  smallest = kNoneSmall;
#pragma unroll 4
  for (int w = 0; w < kWarps; ++w) smallest = fminf(smallest, shared.smallest[w][lane]);
  Counts of_part;
  constexpr int kUnitsOfRun = kJudgedRun / kHeldUnitTerms;
#pragma unroll 1
  for (int first = part * kUnitsOfRun; first < units; first += terms.num_parts() * kUnitsOfRun) {
#pragma unroll
    for (int unit = first; unit < first + kUnitsOfRun; ++unit) of_part.add(shared.counts[unit][lane]);
  }
  judge(shared.report, is_a, limits, largest, smallest, of_part, terms.first_part() + part, length);
}

}  // namespace
}  // namespace kizami::ec
