// SPDX-License-Identifier: MIT
// Three warps find the rungs of a tile of pairs while the warpgroups add the next one (device_block_sums_sm90.cuh),
// whose threads hand them their sums in shared memory: found by those threads, rungs were a third of the time. They
// also load the weights of a tile's lines, for themselves and for the question whether a tile may end early. The bits
// are those of find_rungs().
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "base/cluster_sm90.cuh"
#include "certify/block_sum.hpp"
#include "certify/device_block_sums.cuh"
#include "certify/device_second_look.hpp"
#include "num/rung.hpp"

namespace kizami::certify::second_look {

inline constexpr int kFinderWarps = 3;
inline constexpr int kFinderThreads = 32 * kFinderWarps;
inline constexpr int kFinderBarrier = 4;  ///< a named barrier of theirs

/// The weights of a tile's lines; of those beyond the last, which any sum certifies, zeros.
template <class Core>
struct TileWeights {
  num::LineWeight a[Core::kRows];
  num::LineWeight b[Core::kCols];
};

/// What finders share with the warps that add.
template <class Core>
struct FinderShared {
  static constexpr int kSumStride = Core::kRows + 4;  ///< so that neither side meets in a bank

  alignas(16) float sums[Core::kParts][Core::kCols][kSumStride];
  TileWeights<Core> weights[2];  ///< of the tile whose rungs are found, and of the next one
  std::uint64_t has_sums;        ///< mbarrier: all warps have written the sums of a tile
  std::uint64_t is_free;         ///< the finders have read them
  std::uint64_t has_weights[2];  ///< those of a tile are there
  int has_ended_early;           ///< the tile: all its pairs are of the lowest rung, and there are no sums
  RatioClass classes[kRatioClasses];
  std::uint32_t histogram[kNoPair + 1];
  num::Ladder ladder;
  LineShared line;  ///< while the gain of equilibration is found

  /// By one thread, before a barrier of the block of threads.
  __device__ void begin_barriers() {
    base::barrier_init(base::shared_address(&has_sums), Core::kThreads / 32);
    base::barrier_init(base::shared_address(&is_free), kFinderWarps);
    for (std::uint64_t& barrier : has_weights) base::barrier_init(base::shared_address(&barrier), kFinderWarps);
  }
  /// The weights of the n-th tile of the block. @return once they are there
  [[nodiscard]] __device__ const TileWeights<Core>& weights_of(int n) {
    base::barrier_wait(base::shared_address(&has_weights[n % 2]), static_cast<std::uint32_t>(n / 2 % 2));
    return weights[n % 2];
  }
};

/// Hands the sums of the n-th tile to the finders. By all threads that have pairs.
/// @param has_ended_early  the lowest rung certifies all pairs of the tile: nobody needs its sums
template <class Core>
__device__ __forceinline__ void hand_over(int n, bool has_ended_early, const float (&sums)[Core::kParts][Core::kPairs],
                                          const typename Core::Place& place, FinderShared<Core>& shared) {
  base::barrier_wait(base::shared_address(&shared.is_free), static_cast<std::uint32_t>(n + 1) % 2);
  if (threadIdx.x == 0) shared.has_ended_early = has_ended_early ? 1 : 0;
  if (!has_ended_early) {
#pragma unroll
    for (int part = 0; part < Core::kParts; ++part) {
#pragma unroll
      for (int pair = 0; pair < Core::kPairs; ++pair)
        shared.sums[part][place.col_of(pair)][place.row_of(pair)] = sums[part][pair];
    }
  }
  __syncwarp();
  if (lane() == 0) base::barrier_arrive(base::shared_address(&shared.has_sums));
}

/// Whether the lowest rung certifies all pairs of this thread by these sums, were no line exact: then it does by larger
/// ones.
template <class Core>
[[nodiscard]] __device__ __forceinline__ bool has_lowest_rung(float lowest_allowance, const TileWeights<Core>& weights,
                                                              const typename Core::Place& place,
                                                              const float (&sums)[Core::kParts][Core::kPairs]) {
  const float allowance = kSumUnit * lowest_allowance;
  bool is_refused = false;
#pragma unroll
  for (int pair = 0; pair < Core::kPairs; ++pair) {
    const num::LineWeight& a = weights.a[place.row_of(pair)];
    const num::LineWeight& b = weights.b[place.col_of(pair)];
    const float weight = __fadd_rn(__fmul_rn(a.norm2, b.norm1), __fmul_rn(b.norm2, a.norm1));
#pragma unroll
    for (int part = 0; part < Core::kParts; ++part)  // a line that is not there has weight 0, and any sum
      is_refused |= weight > fmaxf(__fmul_rn(allowance, sums[part][pair]), 0.0F);
  }
  return !is_refused;
}

/// One of the finders: it takes four times four neighbouring rows of a tile, 32 rows apart, and every twelfth column.
template <class T, class Core>
class RungFinder {
  static_assert(Core::kRows == 128);
  static constexpr int kRowThreads = 8;
  static constexpr int kColThreads = kFinderThreads / kRowThreads;
  static constexpr int kQuads = 4;
  static constexpr int kLines = Core::kRows + Core::kCols;
  static constexpr int kFetched = (kLines + kFinderThreads - 1) / kFinderThreads;

 public:
  /// @param thread  of the finders
  __device__ RungFinder(int thread, const SecondLook<T>& look, const DigitLines& a, const DigitLines& b,
                        FinderShared<Core>& shared)
      : thread_(thread), look_(look), a_(a), b_(b), shared_(shared) {}

  /// Brings the weights of the block's first tile.
  __device__ void begin(const TilePlace& first) {
    fetch_weights(first);
    store_weights(0);
  }

  /// Finds, counts and stores the rungs of the n-th tile of the block; brings the weights of the next one.
  __device__ void find(int n, const TilePlace& tile, const TilePlace& next) {
    fetch_weights(next);
    base::barrier_wait(base::shared_address(&shared_.has_sums), static_cast<std::uint32_t>(n) % 2);
    base::named_barrier_sync(kFinderBarrier, kFinderThreads);  // all are done with the tile before, whose weights go
    store_weights(n + 1);
    const auto num_rows = static_cast<int>(std::min(std::int64_t{Core::kRows}, a_.num_lines - tile.row));
    const auto num_cols = static_cast<int>(std::min(std::int64_t{Core::kCols}, b_.num_lines - tile.col));
    const std::int64_t stride = base::round_up(a_.num_lines, kSecondLookPad);
    std::uint8_t* const to = look_.buffers.rungs + tile.col * stride + tile.row;
    clear_repair_bits(tile, num_rows, num_cols);
    if (shared_.has_ended_early != 0) {
      store_lowest_rung(to, stride, num_rows, num_cols);
    } else {
      const TileWeights<Core>& weights = shared_.weights[n % 2];
      take_rows(weights, num_rows);
#pragma unroll 1
      for (int c = thread_ / kRowThreads; c < num_cols; c += kColThreads)
        find_column(weights, c, num_rows, to + c * stride);
    }
    __syncwarp();
    if (lane() == 0) base::barrier_arrive(base::shared_address(&shared_.is_free));
  }

  /// Whether a sum of this thread is zero, and its rung not: the second look settles it.
  [[nodiscard]] __device__ bool has_open() const { return has_open_; }

 private:
  [[nodiscard]] __device__ int first_row(int quad) const { return thread_ % kRowThreads * 4 + 32 * quad; }

  /// Loads the weights of some lines of a tile to registers.
  __device__ __forceinline__ void fetch_weights(const TilePlace& tile) {
#pragma unroll
    for (int u = 0; u < kFetched; ++u) {
      const int i = thread_ + u * kFinderThreads;
      const bool is_a = i < Core::kRows;
      const std::int64_t line = is_a ? tile.row + i : tile.col + i - Core::kRows;
      fetched_[u] = num::LineWeight{0.0F, 0.0F, num::kMaxRungs};
      if (i < kLines && line < (is_a ? a_ : b_).num_lines) fetched_[u] = (is_a ? a_ : b_).weights[line];
    }
  }
  /// Stores them as those of the n-th tile.
  __device__ __forceinline__ void store_weights(int n) {
    num::LineWeight* const to = shared_.weights[n % 2].a;  // b is behind a
    static_assert(sizeof(TileWeights<Core>) == kLines * sizeof(num::LineWeight));
#pragma unroll
    for (int u = 0; u < kFetched; ++u) {
      if (thread_ + u * kFinderThreads < kLines) to[thread_ + u * kFinderThreads] = fetched_[u];
    }
    __syncwarp();
    if (lane() == 0) base::barrier_arrive(base::shared_address(&shared_.has_weights[n % 2]));
  }

  // Rungs are bytes, four of neighbouring rows a word. Found by its ratio a rung holds if it is neither above those
  // from which on a line is exact, nor that of no rung: then the sum may be zero. With 127 - limit added, those above a
  // limit have their highest bit set.
  static constexpr std::uint32_t kHighest = 0x80808080u;
  static_assert(RatioClass::kUnknown > num::kMaxRungs && RatioClass::kUnknown + 1 + 127 < 256);
  [[nodiscard]] __device__ __forceinline__ std::uint32_t room_above(int exact_rung) const {
    return static_cast<std::uint32_t>(127 - min(exact_rung, shared_.ladder.num_rungs - 1));
  }

  /// What this thread's rows have for all columns.
  __device__ __forceinline__ void take_rows(const TileWeights<Core>& weights, int num_rows) {
#pragma unroll
    for (int q = 0; q < kQuads; ++q) {
      room_[q] = 0;
      are_there_[q] = 0;
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const num::LineWeight& line = weights.a[first_row(q) + e];
        norm2_[q][e] = line.norm2;
        norm1_[q][e] = line.norm1;
        room_[q] |= room_above(line.exact_rung) << 8 * e;
        are_there_[q] |= first_row(q) + e < num_rows ? 255u << 8 * e : 0u;
      }
    }
  }

  /// The sums of four rows of a column.
  [[nodiscard]] __device__ __forceinline__ float4 sums_of(int part, int c, int q) const {
    return *reinterpret_cast<const float4*>(&shared_.sums[part][c][first_row(q)]);
  }

  __device__ __forceinline__ void find_column(const TileWeights<Core>& weights, int c, int num_rows, std::uint8_t* to) {
    const num::LineWeight line = weights.b[c];
    const std::uint32_t room = room_above(line.exact_rung) * 0x01010101u;
    std::uint32_t rungs[kQuads] = {};
#pragma unroll
    for (int part = 0; part < Core::kParts; ++part) {
      // All at first, with no branch between them: each alone is one latency after another.
      std::uint32_t of_part[kQuads];
      std::uint32_t is_open[kQuads];
#pragma unroll
      for (int q = 0; q < kQuads; ++q) {
        const float4 four = sums_of(part, c, q);
        const float sums[4] = {four.x, four.y, four.z, four.w};
        of_part[q] = 0;
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          const float weight = __fadd_rn(__fmul_rn(norm2_[q][e], line.norm1), __fmul_rn(line.norm2, norm1_[q][e]));
          of_part[q] |= static_cast<std::uint32_t>(rung_of_ratio(shared_.classes, weight, sums[e])) << 8 * e;
        }
        is_open[q] = ((of_part[q] + room) | (of_part[q] + room_[q])) & kHighest;
      }
      if ((is_open[0] | is_open[1] | is_open[2] | is_open[3]) != 0) {
#pragma unroll
        for (int q = 0; q < kQuads; ++q) {
          if (is_open[q] != 0) of_part[q] = settled_rungs(weights, part, c, q);
        }
      }
#pragma unroll
      for (int q = 0; q < kQuads; ++q) rungs[q] = part == 0 ? of_part[q] : __vmaxu4(rungs[q], of_part[q]);
    }
#pragma unroll
    for (int q = 0; q < kQuads; ++q) {
      if (first_row(q) >= num_rows) continue;
      const std::uint32_t four =
          (rungs[q] & are_there_[q]) | (static_cast<std::uint32_t>(kNoPair) * 0x01010101u & ~are_there_[q]);
      *reinterpret_cast<std::uint32_t*>(to + first_row(q)) = four;
#pragma unroll
      for (int e = 0; e < 4; ++e) atomicAdd(&shared_.histogram[four >> 8 * e & 15u], 1u);
    }
  }

  /// The rungs of four pairs of which one may be exact, unknown or without a term: seldom any.
  [[nodiscard]] __device__ __forceinline__ std::uint32_t settled_rungs(const TileWeights<Core>& weights, int part,
                                                                       int c, int q) {
    const float4 four = sums_of(part, c, q);
    const float sums[4] = {four.x, four.y, four.z, four.w};
    std::uint32_t rungs = compared_rungs(weights, c, first_row(q), sums);
    // Rows that are not there have any sums, negative ones too: each is compared by itself.
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      if (sums[e] == 0.0F && (rungs >> 8 * e & 255u) != 0) {
        has_open_ |= (are_there_[q] >> 8 * e & 1u) != 0;
        rungs &= ~(255u << 8 * e);
      }
    }
    return rungs;
  }

  /// The same of four pairs by comparison with all rungs. Inlined: ptxas makes each wgmma of a kernel wait that calls a
  /// function.
  [[nodiscard]] __device__ __forceinline__ std::uint32_t compared_rungs(const TileWeights<Core>& weights, int c,
                                                                        int row, const float (&sums)[4]) const {
    const num::LineWeight& b = weights.b[c];
    std::uint32_t rungs = 0;
#pragma unroll
    for (int e = 0; e < 4; ++e) {  // sums are in registers
      const num::LineWeight& a = weights.a[row + e];
      const float of_a = __fmul_rn(a.norm2, b.norm1);
      const float of_b = __fmul_rn(b.norm2, a.norm1);
      std::uint32_t refused = 0;
#pragma unroll 1
      for (int rung = 0; rung < shared_.ladder.num_rungs; ++rung) {
        const float weight = __fadd_rn(rung < a.exact_rung ? of_a : 0.0F, rung < b.exact_rung ? of_b : 0.0F);
        refused += weight > __fmul_rn(kSumUnit * shared_.ladder.rungs[rung].allowance, sums[e]) ? 1u : 0u;
      }
      rungs |= refused << 8 * e;
    }
    return rungs;
  }

  __device__ __forceinline__ void store_lowest_rung(std::uint8_t* to, std::int64_t stride, int num_rows, int num_cols) {
    constexpr int kPieces = Core::kRows / 16;  // beyond the last row there is room
    for (int item = thread_; item < num_cols * kPieces; item += kFinderThreads) {
      if (item % kPieces * 16 < num_rows)
        *reinterpret_cast<uint4*>(to + item / kPieces * stride + item % kPieces * 16) = uint4{};
    }
    if (thread_ == 0) atomicAdd(&shared_.histogram[0], static_cast<std::uint32_t>(num_rows * num_cols));
  }

  /// Of the tile's pairs.
  __device__ __forceinline__ void clear_repair_bits(const TilePlace& tile, int num_rows, int num_cols) {
    if (look_.repair_bits == nullptr) return;  // all pairs must be certified
    const std::int64_t words_of_column = ceil_div(a_.num_lines, 32);
    const int words = ceil_div(num_rows, 32);
    for (int item = thread_; item < num_cols * (Core::kRows / 32); item += kFinderThreads) {
      const int word = item % (Core::kRows / 32);
      if (word < words)
        look_.repair_bits[(tile.col + item / (Core::kRows / 32)) * words_of_column + tile.row / 32 + word] = 0;
    }
  }

  int thread_;
  const SecondLook<T>& look_;
  const DigitLines& a_;
  const DigitLines& b_;
  FinderShared<Core>& shared_;
  num::LineWeight fetched_[kFetched];
  float norm2_[kQuads][4];
  float norm1_[kQuads][4];
  std::uint32_t room_[kQuads];       ///< room_above(), a byte a row
  std::uint32_t are_there_[kQuads];  ///< 255 of a row that is there
  bool has_open_ = false;
};

}  // namespace kizami::certify::second_look
