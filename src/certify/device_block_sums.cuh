// SPDX-License-Identifier: MIT
// What a block of threads of the second look does with a tile of pairs: ordered sums of products of digits, and the rungs of
// the pairs.
//
// A block of threads owns a tile of 192 x 128 pairs, and a warp 64 x 32 of it; half as many rows for complex types, whose
// pairs have two sums. Both operands' digits come to shared memory in steps of 128 bytes, some steps in flight. After each
// block of 64 elements the INT32 sums of mma.sync m16n8k32 are added to FP32 sums (block_sum.hpp).
//
// Complex: with the digits r, s of |re| and |im|, the products
//   P = sum (r + s)(r' + s') of bytes without sign,   M = sum (r - s)(r' - s') of bytes with sign
// give twice those of both parts exactly: P + M = 2 sum (r r' + s s'), P - M = 2 sum (r s' + s r'); two products for four.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/int_math.hpp"
#include "certify/block_sum.hpp"
#include "certify/device_equilibration_gain.cuh"
#include "certify/device_second_look_grid.cuh"
#include "num/exponent.hpp"
#include "num/rung.hpp"
#include "plan/second_look_buffers.hpp"
#include "problem/lines.hpp"
#include "split/digits.hpp"

namespace kizami::certify::second_look {

using base::round_up;
using split::kDigitBlock;

inline constexpr int kStepBytes = 128;  ///< of a row, in one step
inline constexpr int kPieces = kStepBytes / 16;
inline constexpr int kStepWords = 16;  ///< of non-zero bits
inline constexpr int kStages = 3;
inline constexpr std::uint32_t kNoPair = 15;  ///< the rung of a pair beyond the edge of C

/// Sizes of a tile of pairs with so many sums.
template <int kParts>
struct Tile {
  static constexpr int kWarpRows = 64 / kParts;
  static constexpr int kWarpCols = 32;
  static constexpr int kWarpsDown = 3;
  static constexpr int kRows = kWarpsDown * kWarpRows;                         ///< lines of A
  static constexpr int kCols = kThreads / 32 / kWarpsDown * kWarpCols;         ///< lines of B
  static constexpr int kStrips = kWarpRows / 16;                               ///< of mma.sync
  static constexpr int kColumns = kWarpCols / 8;                               ///< likewise
  static constexpr int kPairs = kWarpRows * kWarpCols / 32;                    ///< of a thread: (strip * 4 + column) * 4 + element
  static constexpr int kStepBlocks = kStepBytes / (64 * kParts);
};

/// Rows of both operands; the 16 bytes at 16 c of row r lie at 16 (c ^ (r % 8)), so that 8 rows meet all banks.
template <int kParts>
struct alignas(kStepBytes) Stage {
  using Tile = second_look::Tile<kParts>;
  std::int8_t a[Tile::kRows * kStepBytes];
  std::int8_t b[Tile::kCols * kStepBytes];
  float a_scales[Tile::kStepBlocks][Tile::kRows];
  float b_scales[Tile::kStepBlocks][Tile::kCols];
};

/// One operand of a chunk.
struct DigitLines {
  const std::int8_t* digits;
  const float* scales;
  const std::uint64_t* nonzero;
  const num::LineWeight* weights;
  std::int64_t num_lines;
  std::int64_t scale_stride;
};

template <int kParts>
struct Shared {
  Stage<kParts> stages[kStages];
  num::Ladder ladder;
  num::LineWeight a_weights[Tile<kParts>::kRows];
  num::LineWeight b_weights[Tile<kParts>::kCols];
  unsigned long long histogram[num::kMaxRungs + 1];
  num::Statistics statistics;
  num::Selection selection;
  bool wants_equilibration;
  std::int32_t gain;
  LineShared line;
};

// ---- single instructions --------------------------------------------------------------------------------------------

[[nodiscard]] __device__ inline std::uint32_t shared_address(const void* x) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(x));
}

__device__ inline void copy_async(void* to, const void* from, bool is_there) {
  const int bytes = is_there ? 16 : 0;  // the rest is filled with zeros
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)), "l"(from), "r"(bytes)
               : "memory");
}
__device__ inline void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int kNewest>
__device__ inline void wait_for_all_copies_but() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kNewest) : "memory");
}

/// Four matrices of 8 rows of 16 bytes; lane l names row l % 8 of matrix l / 8.
__device__ inline void load_matrices(std::uint32_t (&x)[4], std::uint32_t row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
               : "r"(row)
               : "memory");
}

enum class Bytes { kSigned, kUnsigned };

/// acc = or += 16 x 32 bytes times 32 x 8 bytes.
template <Bytes kBytes, bool kAdds>
__device__ inline void multiply(std::int32_t (&acc)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                                std::uint32_t b1) {
  if constexpr (!kAdds) {
    for (std::int32_t& sum : acc) sum = 0;
  }
  if constexpr (kBytes == Bytes::kSigned) {
    asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+r"(acc[0]), "+r"(acc[1]), "+r"(acc[2]), "+r"(acc[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  } else {
    asm("mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+r"(acc[0]), "+r"(acc[1]), "+r"(acc[2]), "+r"(acc[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  }
}

/// One step of an ordered sum: sum + acc 2^-149 a_scale b_scale, rounded once.
[[nodiscard]] __device__ inline float add_term(float sum, std::int32_t acc, float a_scale, float b_scale) {
  return __fmaf_rn(__int_as_float(acc), __fmul_rn(a_scale, b_scale), sum);
}

// ---- steps of a product ---------------------------------------------------------------------------------------------

/// Where this thread's copies come from: some rows of A and some of B, kRound apart, 16 bytes of each a step.
template <int kParts>
class Rows {
  using Tile = second_look::Tile<kParts>;

 public:
  /// @range rows of row_bytes, of which `length` are wanted, multiples of 16; zeros are delivered beyond their number and
  ///        that length
  __device__ Rows(const void* a, std::int64_t num_a, const void* b, std::int64_t num_b, std::int64_t row_bytes,
                  std::int64_t length)
      : stride_(kRound * row_bytes),
        left_(static_cast<int>(ceil_div(length - 16 * piece(), std::int64_t{kStepBytes}))) {
    const int row = first_row();
    a_ = static_cast<const std::byte*>(a) + row * row_bytes + 16 * piece();
    b_ = static_cast<const std::byte*>(b) + row * row_bytes + 16 * piece();
#pragma unroll
    for (int round = 0; round < kRoundsOfA; ++round)
      is_there_ |= row + round * kRound < num_a ? 1 << round : 0;
#pragma unroll
    for (int round = 0; round < kRoundsOfB; ++round)
      is_there_ |= row + round * kRound < num_b ? 1 << (kRoundsOfA + round) : 0;
  }

  /// Begins the copies of the next step.
  __device__ void load(Stage<kParts>& stage) {
    const int at = first_row() * kStepBytes + 16 * (piece() ^ first_row() % 8);
    const int is_there = left_ > 0 ? is_there_ : 0;
#pragma unroll
    for (int round = 0; round < kRoundsOfA; ++round) {
      if (first_row() + round * kRound < Tile::kRows) {
        copy_async(stage.a + at + round * kRound * kStepBytes, a_ + round * stride_, (is_there >> round & 1) != 0);
      }
    }
#pragma unroll
    for (int round = 0; round < kRoundsOfB; ++round) {
      if (first_row() + round * kRound < Tile::kCols) {
        copy_async(stage.b + at + round * kRound * kStepBytes, b_ + round * stride_,
                   (is_there >> (kRoundsOfA + round) & 1) != 0);
      }
    }
    a_ += kStepBytes;
    b_ += kStepBytes;
    --left_;
  }

 private:
  static constexpr int kRound = kThreads / kPieces;
  static constexpr int kRoundsOfA = (Tile::kRows + kRound - 1) / kRound;
  static constexpr int kRoundsOfB = (Tile::kCols + kRound - 1) / kRound;
  static_assert(kRound % 8 == 0);

  [[nodiscard]] __device__ static int piece() { return static_cast<int>(threadIdx.x) % kPieces; }
  [[nodiscard]] __device__ static int first_row() { return static_cast<int>(threadIdx.x) / kPieces; }

  const std::byte* a_;
  const std::byte* b_;
  std::int64_t stride_;
  int left_;          ///< steps from here on in which the rows have such 16 bytes
  int is_there_ = 0;  ///< one bit a copy
};

/// The same for the scales: some threads bring four of them a step.
template <int kParts>
class Scales {
  using Tile = second_look::Tile<kParts>;

 public:
  __device__ Scales(const DigitLines& a, std::int64_t a_first, const DigitLines& b, std::int64_t b_first,
                    std::int64_t first_block, std::int64_t num_blocks) {
    constexpr int kOfA = Tile::kStepBlocks * Tile::kRows / 4;
    const bool is_a = thread() < kOfA;
    const int index = is_a ? thread() : thread() - kOfA;
    const int per_block = (is_a ? Tile::kRows : Tile::kCols) / 4;
    const int block = index / per_block;
    const std::int64_t line = (is_a ? a_first : b_first) + index % per_block * 4;
    const std::int64_t stride = is_a ? a.scale_stride : b.scale_stride;
    from_ = (is_a ? a.scales : b.scales) + (first_block + block) * stride + line;
    step_ = Tile::kStepBlocks * stride;
    left_ = line < (is_a ? a.num_lines : b.num_lines) && block < Tile::kStepBlocks
                ? static_cast<int>(ceil_div(num_blocks - block, std::int64_t{Tile::kStepBlocks}))
                : 0;
  }

  __device__ void load(Stage<kParts>& stage) {
    if (thread() >= Tile::kStepBlocks * (Tile::kRows + Tile::kCols) / 4) return;
    copy_async(&stage.a_scales[0][0] + 4 * thread(), from_, left_ > 0);
    from_ += step_;
    --left_;
  }

 private:
  static_assert(Tile::kStepBlocks * (Tile::kRows + Tile::kCols) / 4 <= kThreads);
  [[nodiscard]] __device__ static int thread() { return static_cast<int>(threadIdx.x); }

  const float* from_;
  std::int64_t step_;
  int left_;  ///< steps from here on that have such a block
};

/// Streams num_steps steps through the stages: load(stage) begins the copies of the next one, use(stage) works on the
/// oldest. proceed() is a barrier of the block, and ends the stream by false.
template <int kParts, class Load, class Use, class Proceed>
__device__ __forceinline__ void stream(Shared<kParts>& shared, int num_steps, const Load& load, const Use& use,
                                       const Proceed& proceed) {
#pragma unroll
  for (int step = 0; step < kStages - 1; ++step) {
    if (step < num_steps) load(shared.stages[step]);
    commit_copies();
  }
  int stage = 0;
#pragma unroll 1
  for (int left = num_steps; left > 0; --left) {
    wait_for_all_copies_but<kStages - 2>();
    if (!proceed()) break;  // and whoever used the stage before this one is done with it
    const int free = stage == 0 ? kStages - 1 : stage - 1;
    if (left >= kStages) load(shared.stages[free]);
    commit_copies();
    use(shared.stages[stage]);
    stage = stage == kStages - 1 ? 0 : stage + 1;
  }
  wait_for_all_copies_but<0>();
  __syncthreads();
}

/// Place of a thread's pairs in a tile, of the elements that mma.sync m16n8k32 gives a lane.
template <int kParts>
struct Place {
  using Tile = second_look::Tile<kParts>;
  int warp_row;
  int warp_col;
  int first_row;
  int first_col;

  __device__ Place() {
    const int warp = static_cast<int>(threadIdx.x) / 32;
    warp_row = warp % Tile::kWarpsDown * Tile::kWarpRows;
    warp_col = warp / Tile::kWarpsDown * Tile::kWarpCols;
    first_row = warp_row + lane() / 4;
    first_col = warp_col + lane() % 4 * 2;
  }
  [[nodiscard]] __device__ int row_of(int pair) const { return first_row + pair / 16 * 16 + pair / 2 % 2 * 8; }
  [[nodiscard]] __device__ int col_of(int pair) const { return first_col + pair / 4 % 4 * 8 + pair % 2; }
};

/// Adds the products of block `block` of a step to the sums of this thread's pairs.
template <int kParts>
__device__ __forceinline__ void add_block(const Stage<kParts>& stage, int block,
                                          float (&sums)[kParts][Tile<kParts>::kPairs]) {
  using Tile = second_look::Tile<kParts>;
  const Place<kParts> place;
  // The rows of a lane are those of one remainder by 8, so that a strip or a column more is a constant distance.
  const int swizzle = lane() % 8;
  const std::uint32_t a_rows = shared_address(stage.a) + (place.warp_row + lane() % 16) * kStepBytes;
  const std::uint32_t b_rows = shared_address(stage.b) + (place.warp_col + lane() % 8) * kStepBytes;
  std::uint32_t a[Tile::kStrips][2 * kParts][4];  // strips of 16 rows, 32 bytes at a time
#pragma unroll
  for (int half = 0; half < 2 * kParts; ++half) {
    const std::uint32_t at = a_rows + 16 * ((block * 4 + half * 2 + lane() / 16) ^ swizzle);
#pragma unroll
    for (int strip = 0; strip < Tile::kStrips; ++strip) load_matrices(a[strip][half], at + strip * 16 * kStepBytes);
  }
  float a_scales[2 * Tile::kStrips];
#pragma unroll
  for (int r = 0; r < 2 * Tile::kStrips; ++r) a_scales[r] = stage.a_scales[block][place.first_row + r * 8];
#pragma unroll
  for (int column = 0; column < Tile::kColumns; ++column) {
    std::uint32_t b[kParts][4];
#pragma unroll
    for (int part = 0; part < kParts; ++part) {
      load_matrices(b[part],
                    b_rows + 16 * (((block + part) * 4 + lane() / 8) ^ swizzle) + column * 8 * kStepBytes);
    }
    const float2 b_scales =
        *reinterpret_cast<const float2*>(&stage.b_scales[block][place.first_col + column * 8]);
#pragma unroll
    for (int strip = 0; strip < Tile::kStrips; ++strip) {
      std::int32_t acc[4];
      constexpr Bytes kFirst = kParts == 2 ? Bytes::kUnsigned : Bytes::kSigned;
      multiply<kFirst, false>(acc, a[strip][0], b[0][0], b[0][1]);
      multiply<kFirst, true>(acc, a[strip][1], b[0][2], b[0][3]);
      std::int32_t other[4] = {};
      if constexpr (kParts == 2) {
        multiply<Bytes::kSigned, false>(other, a[strip][2], b[1][0], b[1][1]);
        multiply<Bytes::kSigned, true>(other, a[strip][3], b[1][2], b[1][3]);
      }
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const float of_a = a_scales[strip * 2 + e / 2];
        const float of_b = e % 2 == 0 ? b_scales.x : b_scales.y;
        const int pair = (strip * 4 + column) * 4 + e;
        sums[0][pair] = add_term(sums[0][pair], acc[e] + other[e], of_a, of_b);
        if constexpr (kParts == 2) sums[1][pair] = add_term(sums[1][pair], acc[e] - other[e], of_a, of_b);
      }
    }
  }
}

/// Closes the sums of this thread in `open` that have a non-zero term in a step of bits. Complex: words of real and of
/// imaginary parts take turns, and the imaginary part of a product meets those of B exchanged.
template <int kParts>
__device__ __forceinline__ void look_for_terms(const Stage<kParts>& stage, int part, std::uint64_t& open) {
  using Tile = second_look::Tile<kParts>;
  const Place<kParts> place;
  std::uint32_t seen[Tile::kPairs] = {};
#pragma unroll 1
  for (int word = 0; word < kStepWords; ++word) {
    const auto word_of = [&](const std::int8_t* rows, int row, int at_word) {
      const int at = row * kStepBytes + 16 * (at_word / 2 ^ row % 8) + at_word % 2 * 8;
      return *reinterpret_cast<const std::uint64_t*>(rows + at);
    };
    std::uint64_t b_words[2 * Tile::kColumns];
#pragma unroll
    for (int c = 0; c < 2 * Tile::kColumns; ++c)
      b_words[c] = word_of(stage.b, place.first_col + c / 2 * 8 + c % 2, word ^ part);
#pragma unroll
    for (int r = 0; r < 2 * Tile::kStrips; ++r) {
      const std::uint64_t a_word = word_of(stage.a, place.first_row + r * 8, word);
#pragma unroll
      for (int c = 0; c < 2 * Tile::kColumns; ++c) {
        const std::uint64_t both = a_word & b_words[c];
        seen[(r / 2 * 4 + c / 2) * 4 + r % 2 * 2 + c % 2] |=
            static_cast<std::uint32_t>(both) | static_cast<std::uint32_t>(both >> 32);
      }
    }
  }
#pragma unroll
  for (int pair = 0; pair < Tile::kPairs; ++pair) {
    if (seen[pair] != 0) open &= ~(std::uint64_t{1} << (part * Tile::kPairs + pair));
  }
}

/// The ordered sums of the blocks [first, first + count) of the pairs of a tile.
template <int kParts>
__device__ __forceinline__ void sum_blocks(const DigitLines& a, std::int64_t a_first, int num_rows, const DigitLines& b,
                                           std::int64_t b_first, int num_cols, std::int64_t num_blocks,
                                           std::int64_t first, std::int64_t count, Shared<kParts>& shared,
                                           float (&sums)[kParts][Tile<kParts>::kPairs]) {
  using Tile = second_look::Tile<kParts>;
  const std::int64_t row_bytes = num_blocks * kParts * kDigitBlock;
  const std::int64_t offset = first * kParts * kDigitBlock;
  Rows<kParts> rows(a.digits + a_first * row_bytes + offset, num_rows, b.digits + b_first * row_bytes + offset, num_cols,
                    row_bytes, count * kParts * kDigitBlock);
  Scales<kParts> scales(a, a_first, b, b_first, first, count);
  stream(
      shared, static_cast<int>(ceil_div(count, std::int64_t{Tile::kStepBlocks})),
      [&](Stage<kParts>& stage) {
        rows.load(stage);
        scales.load(stage);
      },
      [&](const Stage<kParts>& stage) {
#pragma unroll 1
        for (int block = 0; block < Tile::kStepBlocks; ++block) add_block<kParts>(stage, block, sums);
      },
      [] {
        __syncthreads();
        return true;
      });
}

/// The sums of segments after the first added to it. Apart, for lines of many millions of elements: its registers are not
/// those of the others.
template <int kParts>
__device__ __noinline__ void add_segments(const DigitLines& a, std::int64_t a_first, int num_rows, const DigitLines& b,
                                          std::int64_t b_first, int num_cols, std::int64_t num_blocks,
                                          Shared<kParts>& shared, float (&totals)[kParts][Tile<kParts>::kPairs]) {
  for (std::int64_t first = num::kSegmentBlocks; first < num_blocks; first += num::kSegmentBlocks) {
    float sums[kParts][Tile<kParts>::kPairs] = {};
    sum_blocks<kParts>(a, a_first, num_rows, b, b_first, num_cols, num_blocks, first,
                       std::min(std::int64_t{num::kSegmentBlocks}, num_blocks - first), shared, sums);
#pragma unroll
    for (int part = 0; part < kParts; ++part) {
#pragma unroll
      for (int pair = 0; pair < Tile<kParts>::kPairs; ++pair)
        totals[part][pair] = __fadd_rn(totals[part][pair], sums[part][pair]);
    }
  }
}

/// The rungs of the tile of pairs at lines a_first, b_first of a chunk; found[w] has those of pairs 8 w .. 8 w + 7 of
/// this thread, four bits each. The larger one of both parts.
template <int kParts>
__device__ __noinline__ void find_rungs(std::int64_t length, const DigitLines& a, std::int64_t a_first,
                                        const DigitLines& b, std::int64_t b_first, Shared<kParts>& shared,
                                        std::uint32_t (&found)[Tile<kParts>::kPairs / 8]) {
  using Tile = second_look::Tile<kParts>;
  constexpr int kPairs = Tile::kPairs;
  const std::int64_t num_blocks = ceil_div(length, kDigitBlock);
  const auto num_rows = static_cast<int>(std::min(std::int64_t{Tile::kRows}, a.num_lines - a_first));
  const auto num_cols = static_cast<int>(std::min(std::int64_t{Tile::kCols}, b.num_lines - b_first));
  const int thread = static_cast<int>(threadIdx.x);
  if (thread < num_rows) shared.a_weights[thread] = a.weights[a_first + thread];
  if (thread < num_cols) shared.b_weights[thread] = b.weights[b_first + thread];

  float sums[kParts][kPairs] = {};
  sum_blocks<kParts>(a, a_first, num_rows, b, b_first, num_cols, num_blocks, 0,
                     std::min(std::int64_t{num::kSegmentBlocks}, num_blocks), shared, sums);
  if (num_blocks > num::kSegmentBlocks) {
    float totals[kParts][kPairs];
#pragma unroll
    for (int pair = 0; pair < kParts * kPairs; ++pair) totals[pair / kPairs][pair % kPairs] = sums[pair / kPairs][pair % kPairs];
    add_segments<kParts>(a, a_first, num_rows, b, b_first, num_cols, num_blocks, shared, totals);
#pragma unroll
    for (int pair = 0; pair < kParts * kPairs; ++pair) sums[pair / kPairs][pair % kPairs] = totals[pair / kPairs][pair % kPairs];
  }

  const Place<kParts> place;
  constexpr float kUnit = 1 << kSumShift;
  std::uint32_t rungs[kPairs / 8] = {};
  std::uint64_t open = 0;  // sums whose digits are all zero: have they a non-zero term at all?
  int guess = 0;
#pragma unroll
  for (int pair = 0; pair < kPairs; ++pair) {
    const int row = place.row_of(pair);
    const int col = place.col_of(pair);
    std::uint32_t rung = kNoPair;
    if (row < num_rows && col < num_cols) {
      rung = 0;
#pragma unroll
      for (int part = 0; part < kParts; ++part) {
        const float sum = sums[part][pair];
        guess = first_certified_rung_near(shared.ladder, shared.a_weights[row], shared.b_weights[col], sum * kUnit,
                                          guess);
        if (sum == 0.0F && guess > 0) {
          open |= std::uint64_t{1} << (part * kPairs + pair);
        } else {
          rung = max(rung, static_cast<std::uint32_t>(guess));
        }
      }
    }
    rungs[pair / 8] |= rung << 4 * (pair % 8);
  }
  if (__syncthreads_or(open != 0 ? 1 : 0) != 0) {
    const std::int64_t words = round_up(num_blocks * kParts, 2);
#pragma unroll 1
    for (int part = 0; part < kParts; ++part) {
      Rows<kParts> rows(a.nonzero + a_first * words, num_rows, b.nonzero + b_first * words, num_cols, words * 8,
                        words * 8);
      const std::uint64_t of_part = (~std::uint64_t{0} >> (64 - kPairs)) << (part * kPairs);
      stream(
          shared, static_cast<int>(ceil_div(words, std::int64_t{kStepWords})),
          [&](Stage<kParts>& stage) { rows.load(stage); },
          [&](const Stage<kParts>& stage) { look_for_terms<kParts>(stage, part, open); },
          [&] { return __syncthreads_or((open & of_part) != 0 ? 1 : 0) != 0; });
    }
    // What is still open has no term: zero at any rung. Of what was closed only the exact rungs of its lines speak.
#pragma unroll
    for (int pair = 0; pair < kPairs; ++pair) {
      const int row = place.row_of(pair);
      const int col = place.col_of(pair);
      if (row >= num_rows || col >= num_cols) continue;
      bool is_refused = false;
#pragma unroll
      for (int part = 0; part < kParts; ++part) {
        is_refused |= sums[part][pair] == 0.0F && (open >> (part * kPairs + pair) & 1) == 0 &&
                      !num::is_certified(shared.ladder, 0, shared.a_weights[row], shared.b_weights[col], 0.0F);
      }
      if (is_refused) {
        const int rung = num::first_certified_rung(shared.ladder, shared.a_weights[row], shared.b_weights[col], 0.0F);
        const std::uint32_t before = rungs[pair / 8] >> 4 * (pair % 8) & 15u;
        rungs[pair / 8] &= ~(std::uint32_t{15} << 4 * (pair % 8));
        rungs[pair / 8] |= max(before, static_cast<std::uint32_t>(rung)) << 4 * (pair % 8);
      }
    }
  }
#pragma unroll
  for (int w = 0; w < kPairs / 8; ++w) found[w] = rungs[w];
}

/// One bit, the lowest of four, for each pair of this rung.
[[nodiscard]] __device__ inline std::uint32_t pairs_of_rung(std::uint32_t rungs, std::uint32_t rung) {
  std::uint32_t differs = rungs ^ rung * 0x11111111u;
  differs |= differs >> 1;
  differs |= differs >> 2;
  return ~differs & 0x11111111u;
}

}  // namespace kizami::certify::second_look
