// SPDX-License-Identifier: MIT
// Elements of two lines a lane, on their way through shared memory that a warp has for itself: no registers hold what
// is under way, and no barrier of the block is in the way. A ring has as many stages as it is given; all but one are
// being filled while one is read.
//
// A stage has eight elements of either line of every lane, in chunks of 16 bytes. What a chunk holds follows from where
// the line's elements lie (Chunks): cp.async moves 16 bytes past the L1 cache, of which shared memory leaves little.
// Lines across memory share their chunks where lanes have lines of few bands: each lane's own copy of 16 bytes would
// bring a sector of 32 for 8.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <cstring>

#include "base/async_copies.cuh"
#include "base/int_math.hpp"
#include "fp64/device_pair.cuh"
#include "problem/lines.hpp"

namespace kizami::fp64 {

inline constexpr int kStageElements = 8;
inline constexpr int kChunkBytes = 16;
inline constexpr int kChunkRowBytes = kWarpSize * kChunkBytes;
inline constexpr int kStageLineBytes = kStageElements * kChunkRowBytes;  ///< of one line of every lane
inline constexpr int kStageBytes = 2 * kStageLineBytes;
inline constexpr int kBandBytes = 128;  ///< of neighbouring lines across memory, of one element
inline constexpr int kMostBands = kStageLineBytes / (kStageElements * kBandBytes);
inline constexpr int kBandChunks = kBandBytes / kChunkBytes;

using base::close_copies;
using base::copy_to_shared;
using base::wait_for_copies;

__device__ __forceinline__ std::uint32_t shared_address(const void* p) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(p));
}

/// One line of every lane of a warp, all of one operand.
template <class T>
class LaneLines {
 public:
  /// Elements [first, first + count) of a line: each lane's own. By all lanes. @range first a multiple of
  /// kStageElements
  __device__ __forceinline__ LaneLines(const problem::Lines<T>& lines, std::int64_t line, std::int64_t first,
                                       std::int64_t count)
      : chunks_(chunks_of(lines)), count_(count), stride_(lines.inner_stride) {
    const T* const element = lines.data + line * lines.line_stride + first * stride_;
    copied_from_[0] = element;
    if (chunks_ == Chunks::kAcrossLines && !(lines.line_stride == 1 && share_bands(element, line, lines.num_lines))) {
      const int of_chunk = static_cast<int>(line % kOfChunk);
      const std::int64_t line_of_chunk = line - of_chunk;
      copied_from_[0] = element - of_chunk;
      offset_ = of_chunk * static_cast<int>(sizeof(T));
      copied_bytes_ = static_cast<std::uint32_t>(sizeof(T)) *
                      static_cast<std::uint32_t>(min(std::int64_t{kOfChunk}, lines.num_lines - line_of_chunk));
    }
    if (chunks_ == Chunks::kAlongLine) {
#pragma unroll
      for (int i = 0; i < kRows; ++i) {
        const auto of_lane = reinterpret_cast<std::uintptr_t>(element);
        copied_from_[i] =
            reinterpret_cast<const T*>(__shfl_sync(kAllLanes, of_lane, copied_cell(i))) + copied_row() * kOfChunk;
      }
    }
  }

  /// Begins the copies of elements [first, first + kStageElements) of each lane's. @param is_whole  all lanes have so many
  __device__ __forceinline__ void copy(std::int64_t first, bool is_whole, std::uint32_t stage) const {
    if (chunks_ == Chunks::kAlongLine) {
#pragma unroll
      for (int i = 0; i < kRows; ++i) {
        int bytes = kChunkBytes;
        if (!is_whole) {
          const std::int64_t left = __shfl_sync(kAllLanes, count_, copied_cell(i)) - first - copied_row() * kOfChunk;
          bytes =
              static_cast<int>(max(min(left, std::int64_t{kOfChunk}), std::int64_t{0})) * static_cast<int>(sizeof(T));
        }
        const T* const from = bytes == 0 ? copied_from_[i] - copied_row() * kOfChunk : copied_from_[i] + first;
        copy_to_shared<kChunkBytes, true>(stage + chunk_place(copied_row(), copied_cell(i)), from, bytes);
      }
      return;
    }
    if (chunks_ == Chunks::kBands) {
#pragma unroll
      for (int band = 0; band < kMostBands; ++band) {
        if (band >= num_bands_) break;
        const std::int64_t left = is_whole ? kStageElements : __shfl_sync(kAllLanes, count_, first_lane(band)) - first;
#pragma unroll
        for (int turn = 0; turn < kStageElements * kBandChunks / kWarpSize; ++turn) {
          const int e = turn * (kWarpSize / kBandChunks) + lane_index() / kBandChunks;
          const int bytes = e < left ? band_chunk_bytes(band) : 0;
          const T* const from = bytes == 0 ? copied_from_[0] : copied_from_[band] + (first + e) * stride_;
          copy_to_shared<kChunkBytes>(stage + static_cast<std::uint32_t>((band * kStageElements + e) * kBandBytes +
                                                                         lane_index() % kBandChunks * kChunkBytes),
                                      from, bytes);
        }
      }
      return;
    }
#pragma unroll
    for (int e = 0; e < kStageElements; ++e) {
      if (!is_whole && first + e >= count_) break;
      const T* const from = copied_from_[0] + (first + e) * stride_;
      const std::uint32_t to = stage + static_cast<std::uint32_t>(e * kChunkRowBytes + lane_index() * kChunkBytes);
      if (chunks_ == Chunks::kAcrossLines) {
        copy_to_shared<kChunkBytes>(to, from, static_cast<int>(copied_bytes_));
      } else {
        constexpr int kPartBytes = static_cast<int>(sizeof(RealOf<T>));
#pragma unroll
        for (int part = 0; part < static_cast<int>(problem::kTerms<T>); ++part)
          copy_to_shared<kPartBytes>(to + part * kPartBytes, reinterpret_cast<const RealOf<T>*>(from) + part,
                                     kPartBytes);
      }
    }
  }

  /// This lane's elements of a stage that has come: those beyond its count are anything.
  __device__ __forceinline__ void read(const unsigned char* stage, T (&elements)[kStageElements]) const {
    if (chunks_ == Chunks::kAlongLine) {
#pragma unroll
      for (int row = 0; row < kRows; ++row) {
        const uint4 chunk = *reinterpret_cast<const uint4*>(stage + chunk_place(row, lane_index()));
        memcpy(&elements[row * kOfChunk], &chunk, sizeof chunk);
      }
      return;
    }
    const bool is_of_band = chunks_ == Chunks::kBands;
    const unsigned char* const of_lane = stage + offset_ + (is_of_band ? 0 : lane_index() * kChunkBytes);
    const int element_bytes = is_of_band ? kBandBytes : kChunkRowBytes;
#pragma unroll
    for (int e = 0; e < kStageElements; ++e) elements[e] = *reinterpret_cast<const T*>(of_lane + e * element_bytes);
  }

 private:
  /// What a chunk of 16 bytes holds.
  enum class Chunks : std::uint8_t {
    kAlongLine,    ///< neighbouring elements of the line
    kBands,        ///< one element of neighbouring lines, for all lanes that have lines of this band and these elements
    kAcrossLines,  ///< one element, and those of neighbouring lines, for one lane
    kOneElement,   ///< one element, copied part by part: whatever the alignment
  };
  static constexpr int kOfChunk = kChunkBytes / static_cast<int>(sizeof(T));
  static constexpr int kRows = kStageElements / kOfChunk;  ///< of chunks along the line
  static constexpr int kLinesOfBand = kBandBytes / static_cast<int>(sizeof(T));
  static constexpr int kCopied = kRows > kMostBands ? kRows : kMostBands;

  [[nodiscard]] __device__ static Chunks chunks_of(const problem::Lines<T>& lines) {
    const bool is_aligned = reinterpret_cast<std::uintptr_t>(lines.data) % kChunkBytes == 0;
    if (is_aligned && lines.inner_stride == 1 && lines.line_stride % kOfChunk == 0) return Chunks::kAlongLine;
    if (is_aligned && (lines.line_stride == 1 || kOfChunk == 1) && lines.inner_stride % kOfChunk == 0)
      return Chunks::kAcrossLines;
    return Chunks::kOneElement;
  }

  /// Along lines kRows lanes copy neighbouring chunks: the i-th copy of a lane is of this row and this lane's line.
  [[nodiscard]] __device__ static int copied_row() { return lane_index() % kRows; }
  [[nodiscard]] __device__ static int copied_cell(int i) { return i * (kWarpSize / kRows) + lane_index() / kRows; }
  /// So that neither those copies nor reads of a row meet in a bank.
  [[nodiscard]] __device__ static std::uint32_t chunk_place(int row, int cell) {
    return static_cast<std::uint32_t>(row * kChunkRowBytes + (cell ^ row * kOfChunk) * kChunkBytes);
  }

  /// Whether the lanes' lines and elements are of few bands, which are then copied for all of them. A band is where its
  /// first line's first element lies.
  __device__ __forceinline__ bool share_bands(const T* element, std::int64_t line, std::int64_t num_lines) {
    const int of_band = static_cast<int>(line % kLinesOfBand);
    const auto begin = reinterpret_cast<unsigned long long>(element - of_band);
    const int first = __ffs(static_cast<int>(__match_any_sync(kAllLanes, begin))) - 1;
    const std::uint32_t firsts = __ballot_sync(kAllLanes, first == lane_index());
    // Lines may overlap in memory: then the same place may be of other lines, or of as many elements. All lanes
    // exchange both.
    const std::int64_t count_of_first = __shfl_sync(kAllLanes, count_, first);
    const std::int64_t band_of_first = __shfl_sync(kAllLanes, line - of_band, first);
    const bool is_same = count_of_first == count_ && band_of_first == line - of_band;
    if (__popc(firsts) > kMostBands || __all_sync(kAllLanes, is_same) == 0) return false;
    chunks_ = Chunks::kBands;
    num_bands_ = __popc(firsts);
    const int band_of_lane = __popc(firsts & ((1U << first) - 1));
    offset_ = band_of_lane * kStageElements * kBandBytes + of_band * static_cast<int>(sizeof(T));
    const int chunk_line = lane_index() % kBandChunks * kOfChunk;
    std::uint32_t left = firsts;
#pragma unroll
    for (int band = 0; band < kMostBands; ++band) {
      const int lane_of_band = left == 0 ? 0 : __ffs(static_cast<int>(left)) - 1;
      left &= left - 1;
      const std::int64_t of_chunk = num_lines - __shfl_sync(kAllLanes, line - of_band, lane_of_band) - chunk_line;
      const auto lines_there = static_cast<int>(max(std::int64_t{0}, min(std::int64_t{kOfChunk}, of_chunk)));
      const auto* const of_band_begin = reinterpret_cast<const T*>(__shfl_sync(kAllLanes, begin, lane_of_band));
      copied_from_[band] = lines_there == 0 ? of_band_begin : of_band_begin + chunk_line;
      first_lanes_ |= static_cast<std::uint32_t>(lane_of_band) << 8 * band;
      copied_bytes_ |= static_cast<std::uint32_t>(lines_there * static_cast<int>(sizeof(T))) << 8 * band;
    }
    return true;
  }
  /// A lane that has lines of a band.
  [[nodiscard]] __device__ int first_lane(int band) const { return static_cast<int>(first_lanes_ >> 8 * band & 255U); }
  /// What is there of the chunk of a band that this lane copies.
  [[nodiscard]] __device__ int band_chunk_bytes(int band) const {
    return static_cast<int>(copied_bytes_ >> 8 * band & 255U);
  }

  Chunks chunks_;
  std::int64_t count_;
  std::int64_t stride_;
  int offset_ = 0;  ///< of an element in its chunk, or in a stage with bands
  int num_bands_ = 0;
  std::uint32_t first_lanes_ = 0;   ///< a byte a band
  std::uint32_t copied_bytes_ = 0;  ///< of a chunk across lines, or a byte a band
  const T* copied_from_[kCopied];  ///< what this lane copies first: of each row of chunks, of each band, or of its line
};

/// Calls visit(x, y) for the elements [first, first + count) of a pair of lines a lane, in order. By all lanes of a
/// warp.
/// @param ring  num_stages stages of shared memory, the warp's own  @range num_stages 3, 6 or 12
template <class T, class Visit>
__device__ __forceinline__ void walk_lines(const problem::Lines<T>& a, const problem::Lines<T>& b,
                                           const device::Pair& pair, std::int64_t first, std::int64_t count,
                                           unsigned char* ring, int num_stages, const Visit& visit) {
  const LaneLines<T> of_a(a, pair.row, first, count);
  const LaneLines<T> of_b(b, pair.col, first, count);
  const std::uint32_t ring_address = shared_address(ring);
  const auto num_steps = static_cast<std::int64_t>(
      __reduce_max_sync(kAllLanes, static_cast<unsigned>(base::ceil_div(count, std::int64_t{kStageElements}))));
  const auto copy = [&](std::int64_t step, int stage) {
    const std::int64_t at = step * kStageElements;
    const std::uint32_t to = ring_address + static_cast<std::uint32_t>(stage * kStageBytes);
    const bool is_whole = __all_sync(kAllLanes, at + kStageElements <= count) != 0;
    if (step < num_steps) {
      of_a.copy(at, is_whole, to);
      of_b.copy(at, is_whole, to + kStageLineBytes);
    }
    close_copies();  // an empty group too: so many are always behind the oldest
  };
#pragma unroll 1
  for (int stage = 0; stage < num_stages; ++stage) copy(stage, stage);
  int stage = 0;
#pragma unroll 1
  for (std::int64_t step = 0; step < num_steps; ++step) {
    if (num_stages == 3) {
      wait_for_copies<2>();
    } else if (num_stages == 6) {
      wait_for_copies<5>();
    } else {
      wait_for_copies<11>();
    }
    __syncwarp();
    T x[kStageElements];
    T y[kStageElements];
    of_a.read(ring + stage * kStageBytes, x);
    of_b.read(ring + stage * kStageBytes + kStageLineBytes, y);
    __syncwarp();  // all have read it
    copy(step + num_stages, stage);
    const std::int64_t left = count - step * kStageElements;
    if (__all_sync(kAllLanes, left >= kStageElements) != 0) {
#pragma unroll
      for (int e = 0; e < kStageElements; ++e) visit(x[e], y[e]);
    } else {
#pragma unroll
      for (int e = 0; e < kStageElements; ++e) {
        if (e < left) visit(x[e], y[e]);
      }
    }
    stage = stage + 1 == num_stages ? 0 : stage + 1;
  }
}

}  // namespace kizami::fp64
