// SPDX-License-Identifier: MIT
// The split of FP32 operands on the device, line by line. A scale is a maximum over a line, so every element is looked
// at twice; as many as fit are held in registers in between. Two ways, by what is contiguous in memory:
//   along the lines   1, 2, 4 or 8 warps of a CTA take a line, four terms a lane at a time;
//   across them       a cluster takes a few lines. A warp has a unit of 32 lines x 32 terms, or of 16 x 64, of which a
//                     lane has 32 terms of a line, and exchanges it in shared memory so that whole blocks of 128 bytes
//                     go out.
#pragma once

#include "base/cluster_sm90.cuh"
#include "base/int_math.hpp"
#include "schemes/ec/device_terms.cuh"
#include "schemes/ec/judged_parts.hpp"

namespace kizami::ec {
namespace {

// ---- along the lines ----

/// Reads what no other lane of the block reads again: past the L1 cache, in which it would have to wait for a place. The forms
/// of complex lines share their elements.
template <class T, class Value>
[[nodiscard]] __device__ Value load_once(const Value* from) {
  if constexpr (kIsComplex<T>) {
    return *from;
  } else {
    return __ldcg(from);
  }
}

/// Terms k..k+3 of a line, zeros beyond its end.
template <class T, bool kIsAligned>
[[nodiscard]] __device__ float4 load_four(const Operand& o, const Reader<T>& reader, int k) {
  float4 x = make_float4(0, 0, 0, 0);
  const int left = static_cast<int>(o.length) - k;
  if constexpr (kIsAligned) {
    if (left > 0) x = load_once<T>(reinterpret_cast<const float4*>(reader.line + k));
    if (kIsComplex<T> && left > 0) {
      const float2 first = reader.formed(make_float2(x.x, x.y));
      const float2 second = reader.formed(make_float2(x.z, x.w));
      x = make_float4(first.x, first.y, second.x, second.y);
    }
  } else if constexpr (kIsComplex<T>) {
    const float2 first = left > 0 ? reader.element(k / 2) : make_float2(0, 0);
    const float2 second = left > 2 ? reader.element(k / 2 + 1) : make_float2(0, 0);
    x = make_float4(first.x, first.y, second.x, second.y);
  } else {
    const float* const from = reader.line + k * reader.inner_stride;
    const std::int64_t step = reader.inner_stride;
    if (left > 0) x.x = from[0];
    if (left > 1) x.y = from[step];
    if (left > 2) x.z = from[2 * step];
    if (left > 3) x.w = from[3 * step];
  }
  return x;
}

template <EcFormat kFormat>
__device__ void store_four(std::int8_t* row, int k, const float4& x, const Scaling& scaling, Glance<kFormat>& glance) {
  constexpr int kBlock = static_cast<int>(product::ec_block_length(kFormat));
  constexpr int kBlockBytes = static_cast<int>(product::kEcBlockBytes);
  constexpr int kSize = kFormat == EcFormat::kF16 ? 2 : 4;
  const float y[4] = {scaling.most(x.x), scaling.most(x.y), scaling.most(x.z), scaling.most(x.w)};
  const Quad<kFormat> quad = split_four<kFormat>(y, glance);
  std::int8_t* const to = row + static_cast<std::int64_t>(k / kBlock) * kBlockBytes + k % kBlock * kSize;
  using Bytes = typename Quad<kFormat>::Bytes;
  *reinterpret_cast<Bytes*>(to) = quad.hi;
  *reinterpret_cast<Bytes*>(to + kBlockBytes / 2) = quad.lo;
}

/// Of a line along memory, over its `width` neighbouring warps. All threads.
template <class AnyShared>
[[nodiscard]] __device__ float largest_of_line(AnyShared& shared, int width, int warp, int lane, float largest) {
  // As integers magnitudes, infinity and NaN have the order of their bits.
  largest = __uint_as_float(__reduce_max_sync(kWholeWarp, __float_as_uint(largest)));
  if (width > 1) {
    if (lane == 0) shared.largest[0][warp] = largest;
    __syncthreads();
    for (int w = 0; w < width; ++w) largest = larger(largest, shared.largest[0][warp / width * width + w]);
  }
  return largest;
}

/// A warp takes every width-th run of 256 terms, two times four terms a lane, and so whole parts of the line.
template <class T, EcFormat kFormat, bool kIsAligned, class AnyOperand>
__device__ void split_along(const AnyOperand& o, unsigned block, bool is_a, const num::EcRangeLimits& limits,
                            Shared& shared) {
  constexpr int kHeldQuads = kQuadsOfUnit;
  constexpr int kHeldRuns = kHeldQuads / 2;
  static_assert(2 * 128 == kJudgedRun && kHeldRuns <= kJudgedParts && kHeldRuns % 2 == 0);
  const int warp = thread_index() / 32;
  const int lane = thread_index() % 32;
  const int width = o.warps_per_line;
  const int place = warp % width;
  const std::int64_t i = static_cast<std::int64_t>(block) * (kWarps / width) + warp / width;
  const bool has_line = i < o.num_lines;
  const Reader<T> reader(o, i);
  const int first = place * kJudgedRun + lane * 4;
  const int step = width * kJudgedRun;
  const auto held_from = [&](int q) { return first + q / 2 * step + q % 2 * 128; };
  constexpr std::int64_t kBlock = product::ec_block_length(kFormat);
  const int end = has_line ? static_cast<int>(ceil_div(o.length, kBlock) * kBlock) : 0;  // of the line with its padding

  float4 held[kHeldQuads];
  float largest = 0;
  const auto observe = [&](const float4& x) { largest = larger(larger(largest, larger(x.x, x.y)), larger(x.z, x.w)); };
#pragma unroll
  for (int q = 0; q < kHeldQuads; ++q) {
    held[q] = make_float4(0, 0, 0, 0);
    if (has_line) held[q] = load_four<T, kIsAligned>(o, reader, held_from(q));
  }
#pragma unroll
  for (int q = 0; q < kHeldQuads; ++q) observe(held[q]);
#pragma unroll 2
  for (int k = first + kHeldRuns * step; k < end; k += step) {
    observe(load_four<T, kIsAligned>(o, reader, k));
    observe(load_four<T, kIsAligned>(o, reader, k + 128));
  }

  largest = largest_of_line(shared, width, warp, lane, largest);
  const std::int32_t scale = scale_of<kFormat>(largest);
  const bool is_skipped = scale == num::kSkipLine;
  const Scaling scaling(scale);
  std::int8_t* const row = o.own_planes() + i * o.row_stride;
  Glance<kFormat> glance(limits);
  const auto store = [&](int k, float4 x) {
    if (k >= end) return;
    if (scaling.needs_rest())
      x = make_float4(scaling.rest(x.x), scaling.rest(x.y), scaling.rest(x.z), scaling.rest(x.w));
    store_four<kFormat>(row, k, x, scaling, glance);
  };
  std::uint32_t dense_of_runs[kHeldRuns / 2] = {};  // that are held, 16 bits each
#pragma unroll
  for (int q = 0; q < kHeldQuads; ++q) {
    store(held_from(q), held[q]);
    if (q % 2 != 0) dense_of_runs[q / 4] |= glance.take_dense() << 16 * (q / 2 % 2);
  }
  std::uint32_t dense_beyond = 0;  // where eight warps have a line, and so a part each
#pragma unroll 2
  for (int k = first + kHeldRuns * step; k < end; k += step) {
    store(k, load_four<T, kIsAligned>(o, reader, k));
    store(k + 128, load_four<T, kIsAligned>(o, reader, k + 128));
    dense_beyond += glance.take_dense();
  }

  if (!has_line) return;
#pragma unroll
  for (std::uint32_t& two : dense_of_runs) two = __reduce_add_sync(kWholeWarp, two);
  if (end > kHeldRuns * step) dense_beyond = __reduce_add_sync(kWholeWarp, dense_beyond);
  float smallest = glance.smallest(limits);
  Counts counts;
  if (__any_sync(kWholeWarp, !is_skipped && smallest == kUnknown)) {
    std::uint32_t code = kAllZero;
#pragma unroll 1
    for (int k = first; k < static_cast<int>(o.length); k += (k - first) % step == 0 ? 128 : step - 128) {
      const float4 x = load_four<T, kIsAligned>(o, reader, k);
      const int left = static_cast<int>(o.length) - k;
      look_again(x.x, true, scaling, limits, code, counts);
      look_again(x.y, left > 1, scaling, limits, code, counts);
      look_again(x.z, left > 2, scaling, limits, code, counts);
      look_again(x.w, left > 3, scaling, limits, code, counts);
    }
    smallest = smallest_of(code, scaling);
    counts.not_full = __reduce_add_sync(kWholeWarp, counts.not_full);
  }
  // Numbers that are not negative are in the order of their bits.
  smallest = __uint_as_float(__reduce_min_sync(kWholeWarp, __float_as_uint(smallest)));
  if (lane == 0 && place == 0) {
    o.own_scales()[i] = scale;
    store_stats(o, i, scale, product::ec_top_exponent(kFormat), largest == 0);
    if (is_skipped && i % o.forms == 0) count_nonfinite(shared.report, is_a);
  }
  // Run x of the warp is run x width + place of the line: of part x % parts of the warp's, one a lane.
  const int parts = kJudgedParts / width;
  if (is_skipped || lane >= parts) return;
  counts.dense = dense_beyond;
#pragma unroll
  for (int x = 0; x < kHeldRuns; ++x) {
    if ((x & (parts - 1)) == lane) counts.dense += dense_of_runs[x / 2] >> 16 * (x % 2) & 0xFFFF;
  }
  judge(shared.report, is_a, limits, largest, smallest, counts, lane * width + place, o.length);
}

// ---- across the lines ----

/// 32 terms of a line, zeros beyond its end.
template <class T>
__device__ void load_part(const Operand& o, const Reader<T>& reader, bool has_line, int part, float (&x)[kUnit]) {
  const int left = has_line ? static_cast<int>(o.length) - part * kUnit : 0;
  if constexpr (kIsComplex<T>) {
#pragma unroll
    for (int e = 0; e < kUnit; e += 2) {
      const float2 terms = e < left ? reader.element((part * kUnit + e) / 2) : make_float2(0, 0);
      x[e] = terms.x;
      x[e + 1] = terms.y;
    }
  } else {
    const float* from = reader.line + part * kUnit * reader.inner_stride;
    if (left >= kUnit) {
#pragma unroll
      for (int e = 0; e < kUnit; ++e, from += reader.inner_stride) x[e] = load_once<T>(from);
      return;
    }
#pragma unroll
    for (int e = 0; e < kUnit; ++e, from += reader.inner_stride) x[e] = e < left ? *from : 0.0F;
  }
}

/// The place of a lane in a unit.
struct UnitPlace {
  int line;  ///< of the unit
  int part;  ///< which 32 terms of the line
};
[[nodiscard]] __device__ UnitPlace place_in_unit(int unit_shift, int lane) {
  return {lane & ((1 << unit_shift) - 1), lane >> unit_shift};
}

/// Splits a unit, whose first part of each line is first_part, and stores its blocks, 128 bytes of four lanes at a
/// time. @param unit_shift of the operand: an int, or a constant
template <EcFormat kFormat, class AnyOperand, class Shift>
__device__ void store_unit(const AnyOperand& o, Shift unit_shift, int first_line, int first_part, float (&x)[kUnit],
                           const Scaling& scaling, uint4 (&exchange)[kUnit * 8], Glance<kFormat>& glance) {
  constexpr int kBlock = static_cast<int>(product::ec_block_length(kFormat));
  constexpr int kPiece = kFormat == EcFormat::kF16 ? 8 : 4;  // elements of 16 bytes
  const int lane = thread_index() % 32;
  if (__any_sync(kWholeWarp, scaling.needs_rest())) {
#pragma unroll
    for (float& term : x) term = scaling.needs_rest() ? scaling.rest(term) : term;
  }
#pragma unroll
  for (int block = 0; block < kUnit / kBlock; ++block) {
    __syncwarp();  // what was there has been read
#pragma unroll
    for (int piece = 0; piece < 4; ++piece) {
      Quad<kFormat> quads[kPiece / 4];
#pragma unroll
      for (int q = 0; q < kPiece / 4; ++q) {
        float y[4];
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          y[e] = scaling.most(x[block * kBlock + piece * kPiece + q * 4 + e]);
        }
        quads[q] = split_four<kFormat>(y, glance);
      }
      uint4 hi;
      uint4 lo;
      if constexpr (kFormat == EcFormat::kF16) {
        hi = make_uint4(quads[0].hi.x, quads[0].hi.y, quads[1].hi.x, quads[1].hi.y);
        lo = make_uint4(quads[0].lo.x, quads[0].lo.y, quads[1].lo.x, quads[1].lo.y);
      } else {
        hi = quads[0].hi;
        lo = quads[0].lo;
      }
      exchange[8 * lane + (piece ^ lane % 8)] = hi;
      exchange[8 * lane + ((piece + 4) ^ lane % 8)] = lo;
    }
    __syncwarp();
    const std::int64_t lines_left = o.num_lines - first_line;
#pragma unroll
    for (int four = 0; four < 8; ++four) {
      const int from = four * 4 + lane / 8;
      const UnitPlace place = place_in_unit(unit_shift, from);
      const int part = first_part + place.part;
      if (place.line >= lines_left || part * kUnit + block * kBlock >= static_cast<int>(o.length)) continue;
      std::int8_t* const to = o.own_planes() + (first_line + place.line) * o.row_stride +
                              (part * (kUnit / kBlock) + block) * product::kEcBlockBytes + lane % 8 * 16;
      *reinterpret_cast<uint4*>(to) = exchange[8 * from + (lane % 8 ^ from % 8)];
    }
  }
}

/// The sum over the lanes of a unit that have parts of the same line.
template <class Value, class Combine>
[[nodiscard]] __device__ Value over_parts(int unit_shift, Value value, const Combine& combine) {
  for (int step = 1 << unit_shift; step < kUnit; step *= 2) {
    value = combine(value, __shfl_xor_sync(kWholeWarp, value, step));
  }
  return value;
}

/// Before a CTA of a cluster is sent parts; all threads.
template <class AnyShared>
__device__ void begin_to_receive(AnyShared& shared, unsigned ranks) {
  if (thread_index() == 0) {
    const std::uint32_t barrier = base::shared_address(&shared.has_parts);
    base::barrier_init(barrier, 1);
    base::barrier_arrive_expect(barrier, ranks * static_cast<unsigned>(sizeof shared.parts[0]));
    base::barrier_init_fence();
  }
  base::cluster_arrive_relaxed();
}
/// Of each lane's line, over the CTAs of a cluster, to which warp r of each sends its own, 16 bytes of four lanes at a
/// time. All threads. Neither sends nor waits by cluster_sync(), whose release waits for the device's memory.
template <class AnyShared>
[[nodiscard]] __device__ float largest_of_cluster(AnyShared& shared, unsigned ranks, unsigned rank, int warp, int lane,
                                                  float largest) {
  const std::uint32_t barrier = base::shared_address(&shared.has_parts);
  base::cluster_wait();  // all have begun, and can receive
  if (warp < static_cast<int>(ranks)) {
    constexpr int kMessages = kUnit / 4;
    const int first = lane % kMessages * 4;
    const auto bits = [&](int from) { return __float_as_uint(__shfl_sync(kWholeWarp, largest, from)); };
    const uint4 message = make_uint4(bits(first), bits(first + 1), bits(first + 2), bits(first + 3));
    if (lane < kMessages)
      base::store_at(base::shared_address(&shared.parts[rank][first]), barrier, static_cast<unsigned>(warp), message);
  }
  base::barrier_wait(barrier, 0);
  largest = 0;
  for (unsigned r = 0; r < ranks; ++r) largest = larger(largest, shared.parts[r][lane]);
  return largest;
}

[[nodiscard]] __device__ Counts sum_over_parts(int unit_shift, Counts counts) {
  const auto add = [](std::uint32_t x, std::uint32_t y) { return x + y; };
  return {over_parts(unit_shift, counts.dense, add), over_parts(unit_shift, counts.not_full, add)};
}

template <class T, EcFormat kFormat, int kHeldUnits, class AnyOperand>
__device__ void split_across(const AnyOperand& o, unsigned block, bool is_a, const num::EcRangeLimits& limits,
                             Shared& shared) {
  const unsigned ranks = base::cluster_size();
  const unsigned rank = base::cluster_rank();
  if (ranks > 1) begin_to_receive(shared, ranks);
  const int warp = thread_index() / 32;
  const int lane = thread_index() % 32;
  const int parts = kUnit >> o.unit_shift;  // of a line in a unit
  const UnitPlace place = place_in_unit(o.unit_shift, lane);
  const int first_line = static_cast<int>(block / ranks) << o.unit_shift;
  const int i = first_line + place.line;
  const bool has_line = i < o.num_lines;
  const Reader<T> reader(o, i);
  const int num_units = static_cast<int>(ceil_div(o.length, std::int64_t{parts} * kUnit));
  const int first = static_cast<int>(rank) * kWarps + warp;
  const int step = static_cast<int>(ranks) * kWarps;

  float held[kHeldUnits][kUnit];
  float largest = 0;
  const auto observe = [&](const float(&x)[kUnit]) {
#pragma unroll
    for (int e = 0; e < kUnit; ++e) largest = larger(largest, x[e]);
  };
#pragma unroll
  for (int u = 0; u < kHeldUnits; ++u) {
    const int unit = first + u * step;
    if (unit < num_units) load_part<T>(o, reader, has_line, unit * parts + place.part, held[u]);
  }
#pragma unroll
  for (int u = 0; u < kHeldUnits; ++u) {
    if (first + u * step < num_units) observe(held[u]);
  }
#pragma unroll 1
  for (int unit = first + kHeldUnits * step; unit < num_units; unit += step) {
    float x[kUnit];
    load_part<T>(o, reader, has_line, unit * parts + place.part, x);
    observe(x);
  }

  // The largest of each line: over the warps, and in a cluster over its CTAs, to which warp r of each gives its own.
  largest = over_parts(o.unit_shift, largest, larger);
  shared.largest[warp][lane] = largest;
  __syncthreads();
  if (warp < static_cast<int>(ranks) || ranks == 1) {
#pragma unroll
    for (int w = 0; w < kWarps; ++w) largest = larger(largest, shared.largest[w][lane]);
  }
  if (ranks > 1) largest = largest_of_cluster(shared, ranks, rank, warp, lane, largest);
  const std::int32_t scale = scale_of<kFormat>(largest);
  const bool is_skipped = scale == num::kSkipLine;
  const Scaling scaling(scale);

  Counts counts;
  float smallest = kNoneSmall;
  const auto store = [&](int unit, float(&x)[kUnit]) {
    Glance<kFormat> glance(limits);
    store_unit<kFormat>(o, o.unit_shift, first_line, unit * parts, x, scaling, shared.exchange[warp], glance);
    counts.dense += glance.take_dense();
    const bool has_terms = (unit * parts + place.part) * kUnit < static_cast<int>(o.length);
    if (has_terms) smallest = fminf(smallest, glance.smallest(limits));
  };
#pragma unroll
  for (int u = 0; u < kHeldUnits; ++u) {
    if (first + u * step < num_units) store(first + u * step, held[u]);
  }
#pragma unroll 1
  for (int unit = first + kHeldUnits * step; unit < num_units; unit += step) {
    float x[kUnit];
    load_part<T>(o, reader, has_line, unit * parts + place.part, x);
    store(unit, x);
  }

  if (__any_sync(kWholeWarp, !is_skipped && has_line && smallest == kUnknown)) {
    std::uint32_t code = kAllZero;
#pragma unroll 1
    for (int unit = first; unit < num_units; unit += step) {
      const int part = unit * parts + place.part;
      float x[kUnit];
      load_part<T>(o, reader, has_line, part, x);
#pragma unroll
      for (int e = 0; e < kUnit; ++e) {
        look_again(x[e], part * kUnit + e < static_cast<int>(o.length), scaling, limits, code, counts);
      }
    }
    smallest = smallest_of(code, scaling);
  }
  shared.counts[warp][lane] = sum_over_parts(o.unit_shift, counts);
  shared.smallest[warp][lane] = over_parts(o.unit_shift, smallest, fminf);
  __syncthreads();
  if (ranks > 1 && thread_index() == 0)
    base::barrier_invalidate(base::shared_address(&shared.has_parts));  // all threads have waited
  if (rank == 0 && thread_index() < 1 << o.unit_shift && has_line) {
    o.own_scales()[i] = scale;
    store_stats(o, i, scale, product::ec_top_exponent(kFormat), largest == 0);
    if (is_skipped && i % o.forms == 0) count_nonfinite(shared.report, is_a);
  }
  if (warp != 0 || !has_line || is_skipped) return;
  // Runs of this CTA are of one part where a unit is 32 terms wide: it has every eighth, or one alone. Where a unit is 64 wide, it has two
  // runs, four warps each; a lane judges one of them.
  counts = {};
  smallest = kNoneSmall;
  for (int w = 0; w < kWarps; ++w) {
    if (w * parts / kWarps == place.part) counts.add(shared.counts[w][lane]);
    smallest = fminf(smallest, shared.smallest[w][lane]);
  }
  judge(shared.report, is_a, limits, largest, smallest, counts, static_cast<int>(rank) * parts + place.part, o.length);
}

}  // namespace
}  // namespace kizami::ec
