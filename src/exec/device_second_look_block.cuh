// SPDX-License-Identifier: MIT
// What a block of threads of the second look does with a tile of pairs: products of digits, and the rungs of the pairs.
//
// Products: a block of threads owns a tile of 128 x 96 pairs, and a warp 32 x 32 of it. Both operands' digits come to
// shared memory in steps of 128 terms, four steps in flight. After each 64 terms the INT32 sums of mma.sync m16n8k32
// are added to 64-bit sums in registers, weighed with the deficits. 12 warps, since 32 sums and the work on them take
// more than 128 registers.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/int_math.hpp"
#include "exec/certificate.hpp"
#include "exec/device_second_look_grid.cuh"
#include "exec/device_second_look_terms.hpp"
#include "num/exponent.hpp"
#include "num/rung.hpp"
#include "problem/lines.hpp"
#include "split/digits.hpp"

namespace kizami::exec::second_look {

using base::ceil_div;
using base::round_up;
using problem::kTerms;
using split::kDigitBlock;

inline constexpr int kWarpTile = 32;
inline constexpr int kRows = 128;       ///< lines of A in a tile
inline constexpr int kCols = 96;        ///< lines of B
inline constexpr int kStepBytes = 128;  ///< of a row, in one step: two blocks of digits, or 16 words of bits
inline constexpr int kPieces = kStepBytes / 16;
inline constexpr int kStepBlocks = 2;
inline constexpr int kStepWords = 16;
inline constexpr int kStages = 4;
inline constexpr int kPairs = kWarpTile * kWarpTile / 32;  ///< of a thread: (strip * 4 + column) * 4 + element
static_assert(kRows / kWarpTile * (kCols / kWarpTile) * 32 == kThreads);

/// Rows of both operands; the 16 bytes at 16 c of row r lie at 16 (c ^ (r % 8)), so that 8 rows meet all banks.
struct alignas(kStepBytes) Stage {
  std::int8_t a[kRows * kStepBytes];
  std::int8_t b[kCols * kStepBytes];
  std::uint8_t deficits[kStepBlocks * (kRows + kCols)];  ///< of A, then of B; block by block

  [[nodiscard]] __device__ std::uint32_t a_deficit(int block, int row) const { return deficits[block * kRows + row]; }
  [[nodiscard]] __device__ std::uint32_t b_deficit(int block, int col) const {
    return deficits[kStepBlocks * kRows + block * kCols + col];
  }
};

/// One operand of a chunk.
struct DigitLines {
  const std::int8_t* digits;
  const std::uint8_t* deficits;
  const std::uint64_t* nonzero;
  const num::LineWeight* weights;
  std::int64_t num_lines;
  std::int64_t deficit_stride;
};

struct Shared {
  Stage stages[kStages];
  num::Ladder ladder;
  num::LineWeight a_weights[kRows];
  num::LineWeight b_weights[kCols];
  unsigned long long histogram[num::kMaxRungs + 1];
  num::Statistics statistics;
  num::Selection selection;
  bool wants_equilibration;
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

/// acc = 16 x 32 digits times 32 x 8 digits.
__device__ inline void multiply(std::int32_t (&acc)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                                std::uint32_t b1) {
  asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%10, %10, %10, %10};"
      : "=r"(acc[0]), "=r"(acc[1]), "=r"(acc[2]), "=r"(acc[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1), "r"(0));
}
/// acc += 16 x 32 digits times 32 x 8 digits.
__device__ inline void multiply_add(std::int32_t (&acc)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                                    std::uint32_t b1) {
  asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+r"(acc[0]), "+r"(acc[1]), "+r"(acc[2]), "+r"(acc[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// ---- steps of a product ---------------------------------------------------------------------------------------------

/// Where this thread's copies come from: up to three rows of A and two of B, 48 apart, 16 bytes of each a step.
class Rows {
 public:
  /// @range rows of row_bytes, a multiple of 16; zeros are delivered beyond their number and their end
  __device__ Rows(const void* a, std::int64_t num_a, const void* b, std::int64_t num_b, std::int64_t row_bytes)
      : stride_(kRound * row_bytes),
        left_(static_cast<int>(ceil_div(row_bytes - 16 * piece(), std::int64_t{kStepBytes}))) {
    const int row = first_row();
    a_ = static_cast<const std::byte*>(a) + row * row_bytes + 16 * piece();
    b_ = static_cast<const std::byte*>(b) + row * row_bytes + 16 * piece();
    for (int round = 0; round < kRoundsOfA; ++round) {
      const int line = row + round * kRound;
      is_there_ |= line < kRows && line < num_a ? 1 << round : 0;
    }
    for (int round = 0; round < kRoundsOfB; ++round) {
      is_there_ |= row + round * kRound < num_b ? 1 << (kRoundsOfA + round) : 0;
    }
  }

  /// Begins the copies of the next step.
  __device__ void load(Stage& stage) {
    const int at = first_row() * kStepBytes + 16 * (piece() ^ first_row() % 8);
    const int is_there = left_ > 0 ? is_there_ : 0;
#pragma unroll
    for (int round = 0; round < kRoundsOfA; ++round) {
      if (first_row() + round * kRound < kRows) {
        copy_async(stage.a + at + round * kRound * kStepBytes, a_ + round * stride_, (is_there >> round & 1) != 0);
      }
    }
#pragma unroll
    for (int round = 0; round < kRoundsOfB; ++round) {
      copy_async(stage.b + at + round * kRound * kStepBytes, b_ + round * stride_,
                 (is_there >> (kRoundsOfA + round) & 1) != 0);
    }
    a_ += kStepBytes;
    b_ += kStepBytes;
    --left_;
  }

 private:
  static constexpr int kRound = kThreads / kPieces;
  static constexpr int kRoundsOfA = (kRows + kRound - 1) / kRound;
  static constexpr int kRoundsOfB = kCols / kRound;
  static_assert(kRound % 8 == 0 && kCols % kRound == 0);

  [[nodiscard]] __device__ static int piece() { return static_cast<int>(threadIdx.x) % kPieces; }
  [[nodiscard]] __device__ static int first_row() { return static_cast<int>(threadIdx.x) / kPieces; }

  const std::byte* a_;
  const std::byte* b_;
  std::int64_t stride_;
  int left_;          ///< steps from here on in which the rows have such 16 bytes
  int is_there_ = 0;  ///< one bit a copy
};

/// The same for the deficits: some threads bring 16 of them a step.
class Deficits {
 public:
  __device__ Deficits(const DigitLines& a, std::int64_t a_first, const DigitLines& b, std::int64_t b_first,
                      std::int64_t num_blocks) {
    const bool is_a = thread() < kStepBlocks * kRows / 16;
    const int index = is_a ? thread() : thread() - kStepBlocks * kRows / 16;
    const int per_block = (is_a ? kRows : kCols) / 16;
    const int block = index / per_block;
    const std::int64_t line = (is_a ? a_first : b_first) + index % per_block * 16;
    const std::int64_t stride = is_a ? a.deficit_stride : b.deficit_stride;
    from_ = (is_a ? a.deficits : b.deficits) + block * stride + line;
    step_ = kStepBlocks * stride;
    left_ = line < (is_a ? a.num_lines : b.num_lines)
                ? static_cast<int>(ceil_div(num_blocks - block, std::int64_t{kStepBlocks}))
                : 0;
  }

  __device__ void load(Stage& stage) {
    if (thread() >= kStepBlocks * (kRows + kCols) / 16) return;
    copy_async(stage.deficits + 16 * thread(), from_, left_ > 0);
    from_ += step_;
    --left_;
  }

 private:
  [[nodiscard]] __device__ static int thread() { return static_cast<int>(threadIdx.x); }

  const std::uint8_t* from_;
  std::int64_t step_;
  int left_;  ///< steps from here on that have such a block
};

/// Streams num_steps steps through the stages: load(stage) begins the copies of the next one, use(stage) works on the
/// oldest. proceed() is a barrier of the block, and ends the stream by false.
template <class Load, class Use, class Proceed>
__device__ __forceinline__ void stream(Shared& shared, int num_steps, const Load& load, const Use& use,
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
struct Place {
  int warp_row;
  int warp_col;
  int first_row;
  int first_col;

  __device__ Place() {
    const int warp = static_cast<int>(threadIdx.x) / 32;
    warp_row = warp % (kRows / kWarpTile) * kWarpTile;
    warp_col = warp / (kRows / kWarpTile) * kWarpTile;
    first_row = warp_row + lane() / 4;
    first_col = warp_col + lane() % 4 * 2;
  }
  [[nodiscard]] __device__ int row_of(int pair) const { return first_row + pair / 16 * 16 + pair / 2 % 2 * 8; }
  [[nodiscard]] __device__ int col_of(int pair) const { return first_col + pair / 4 % 4 * 8 + pair % 2; }
};

/// Adds the products of block `block` of a step to the sums of this thread's pairs.
template <bool kIsNear, bool kIsSwapped>
__device__ __forceinline__ void add_block(const Stage& stage, int block, int lead, const std::uint32_t (&a_deficits)[4],
                                          const std::uint32_t (&b_deficits)[8], std::uint64_t (&sums)[kPairs]) {
  const Place place;
  // The rows of a lane are those of one remainder by 8, so that a strip or a column more is a constant distance.
  const int swizzle = lane() % 8;
  const std::uint32_t a_rows = shared_address(stage.a) + (place.warp_row + lane() % 16) * kStepBytes;
  const std::uint32_t b_rows = shared_address(stage.b) + (place.warp_col + lane() % 8) * kStepBytes;
  std::uint32_t a[2][2][4];  // strips of 16 rows, halves of the 64 terms
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const std::uint32_t at = a_rows + 16 * ((block * 4 + half * 2 + lane() / 16) ^ swizzle);
    load_matrices(a[0][half], at);
    load_matrices(a[1][half], at + 16 * kStepBytes);
  }
  const std::uint32_t b_at = b_rows + 16 * ((block * 4 + lane() / 8) ^ swizzle);
#pragma unroll
  for (int column = 0; column < 4; ++column) {
    std::uint32_t b[4];
    load_matrices(b, b_at + column * 8 * kStepBytes);
    if (kIsSwapped) {
#pragma unroll
      for (std::uint32_t& digits : b) digits = __byte_perm(digits, 0, 0x2301);
    }
#pragma unroll
    for (int strip = 0; strip < 2; ++strip) {
      std::int32_t acc[4];
      multiply(acc, a[strip][0], b[0], b[1]);
      multiply_add(acc, a[strip][1], b[2], b[3]);
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const std::uint32_t of_a = a_deficits[strip * 2 + e / 2];
        const std::uint32_t of_b = b_deficits[column * 2 + e % 2];
        const auto sum = static_cast<std::uint32_t>(acc[e]);
        sums[(strip * 4 + column) * 4 + e] +=
            kIsNear ? near_block_term(sum, of_a, of_b) : block_term(sum, lead, of_a, of_b);
      }
    }
  }
}

/// Adds the products of all blocks of a step.
template <bool kIsSwapped>
__device__ __forceinline__ void add_step(const Stage& stage, int lead, std::uint64_t (&sums)[kPairs]) {
  const Place place;
#pragma unroll 1
  for (int block = 0; block < kStepBlocks; ++block) {
    std::uint32_t a[4];
    std::uint32_t b[8];
    std::uint32_t most_a = 0;
    std::uint32_t most_b = 0;
#pragma unroll
    for (int r = 0; r < 4; ++r) {
      a[r] = stage.a_deficit(block, place.first_row + r * 8);
      most_a = max(most_a, a[r]);
    }
#pragma unroll
    for (int c = 0; c < 8; ++c) {
      b[c] = stage.b_deficit(block, place.first_col + c / 2 * 8 + c % 2);
      most_b = max(most_b, b[c]);
    }
    if (__all_sync(kFullWarp, is_near(lead, most_a, most_b))) {
#pragma unroll
      for (std::uint32_t& x : a) x = std::uint32_t{1} << (static_cast<std::uint32_t>(lead) - x);
#pragma unroll
      for (std::uint32_t& x : b) x = kLead - x;
      add_block<true, kIsSwapped>(stage, block, lead, a, b, sums);
      continue;
    }
    const std::uint32_t least_a = min(min(a[0], a[1]), min(a[2], a[3]));
    const std::uint32_t least_b = min(min(min(b[0], b[1]), min(b[2], b[3])), min(min(b[4], b[5]), min(b[6], b[7])));
    if (__all_sync(kFullWarp, least_a + least_b >= kVanishingDeficit)) continue;
    add_block<false, kIsSwapped>(stage, block, lead, a, b, sums);
  }
}

/// Closes the pairs of this thread in `open` that have a non-zero term in a step of bits.
template <bool kIsSwapped>
__device__ __forceinline__ void look_for_terms(const Stage& stage, std::uint32_t& open) {
  const Place place;
  std::uint32_t seen[kPairs] = {};
#pragma unroll 1
  for (int word = 0; word < kStepWords; ++word) {
    const auto word_of = [&](const std::int8_t* rows, int row) {
      const int at = row * kStepBytes + 16 * (word / 2 ^ row % 8) + word % 2 * 8;
      return *reinterpret_cast<const std::uint64_t*>(rows + at);
    };
    std::uint64_t b_words[8];
#pragma unroll
    for (int c = 0; c < 8; ++c) {
      b_words[c] = word_of(stage.b, place.first_col + c / 2 * 8 + c % 2);
      if (kIsSwapped) b_words[c] = swap_bit_pairs(b_words[c]);
    }
#pragma unroll
    for (int r = 0; r < 4; ++r) {
      const std::uint64_t a_word = word_of(stage.a, place.first_row + r * 8);
#pragma unroll
      for (int c = 0; c < 8; ++c) {
        const std::uint64_t both = a_word & b_words[c];
        seen[(r / 2 * 4 + c / 2) * 4 + r % 2 * 2 + c % 2] |=
            static_cast<std::uint32_t>(both) | static_cast<std::uint32_t>(both >> 32);
      }
    }
  }
#pragma unroll
  for (int pair = 0; pair < kPairs; ++pair) {
    if (seen[pair] != 0) open &= ~(std::uint32_t{1} << pair);
  }
}

/// The rungs of the tile of pairs at lines a_first, b_first of a chunk; found[w] has those of pairs 8 w .. 8 w + 7 of
/// this thread. kIsSwapped: of the imaginary part, which meets the digits of B with its parts exchanged.
template <bool kIsSwapped>
__device__ __noinline__ void find_part_rungs(std::int64_t num_terms, const DigitLines& a, std::int64_t a_first,
                                             const DigitLines& b, std::int64_t b_first, Shared& shared,
                                             std::uint32_t (&found)[kPairs / 8]) {
  const std::int64_t num_blocks = ceil_div(num_terms, kDigitBlock);
  const int shift = block_sum_shift(num_blocks);
  const auto num_rows = static_cast<int>(std::min(std::int64_t{kRows}, a.num_lines - a_first));
  const auto num_cols = static_cast<int>(std::min(std::int64_t{kCols}, b.num_lines - b_first));
  const int thread = static_cast<int>(threadIdx.x);
  if (thread < num_rows) shared.a_weights[thread] = a.weights[a_first + thread];
  if (thread >= kRows && thread - kRows < num_cols)
    shared.b_weights[thread - kRows] = b.weights[b_first + thread - kRows];

  std::uint64_t sums[kPairs] = {};
  {
    const std::int64_t row_bytes = num_blocks * kDigitBlock;
    Rows rows(a.digits + a_first * row_bytes, num_rows, b.digits + b_first * row_bytes, num_cols, row_bytes);
    Deficits deficits(a, a_first, b, b_first, num_blocks);
    stream(
        shared, static_cast<int>(ceil_div(num_blocks, kStepBlocks)),
        [&](Stage& stage) {
          rows.load(stage);
          deficits.load(stage);
        },
        [&](const Stage& stage) { add_step<kIsSwapped>(stage, shift - kLead, sums); },
        [] {
          __syncthreads();
          return true;
        });
  }

  const Place place;
  const auto unit = num::exp2i<float>(-2 * split::kDigitBits - shift);
  std::uint32_t rungs[kPairs / 8] = {};
  std::uint32_t open = 0;  // pairs whose digits are all zero: have they a non-zero term at all?
#pragma unroll
  for (int w = 0; w < kPairs / 8; ++w) {
#pragma unroll
    for (int e = 0; e < 8; ++e) {
      const int pair = 8 * w + e;
      const int row = place.row_of(pair);
      const int col = place.col_of(pair);
      std::uint32_t rung = kNoPair;
      if (row < num_rows && col < num_cols) {
        const float product_floor = static_cast<float>(sums[pair]) * unit;
        rung = static_cast<std::uint32_t>(
            num::first_certified_rung(shared.ladder, shared.a_weights[row], shared.b_weights[col], product_floor));
        if (sums[pair] == 0 && rung > 0) open |= std::uint32_t{1} << pair;
      }
      rungs[w] |= rung << 4 * e;
    }
  }
  if (__syncthreads_or(open != 0 ? 1 : 0) != 0) {
    const std::int64_t words = round_up(num_blocks, 2);
    Rows rows(a.nonzero + a_first * words, num_rows, b.nonzero + b_first * words, num_cols, words * 8);
    stream(
        shared, static_cast<int>(ceil_div(words, kStepWords)), [&](Stage& stage) { rows.load(stage); },
        [&](const Stage& stage) { look_for_terms<kIsSwapped>(stage, open); },
        [&] { return __syncthreads_or(open != 0 ? 1 : 0) != 0; });
#pragma unroll
    for (int w = 0; w < kPairs / 8; ++w) {
#pragma unroll
      for (int e = 0; e < 8; ++e) {
        if ((open >> (8 * w + e) & 1) != 0) rungs[w] &= ~(std::uint32_t{15} << 4 * e);
      }
    }
  }
#pragma unroll
  for (int w = 0; w < kPairs / 8; ++w) found[w] = rungs[w];
}

/// The rungs of a tile of pairs, the larger one of the parts.
template <class T>
__device__ void find_rungs(std::int64_t num_terms, const DigitLines& a, std::int64_t a_first, const DigitLines& b,
                           std::int64_t b_first, Shared& shared, std::uint32_t (&rungs)[kPairs / 8]) {
  find_part_rungs<false>(num_terms, a, a_first, b, b_first, shared, rungs);
  if constexpr (kTerms<T> == 2) {
    std::uint32_t of_imaginary[kPairs / 8];
    find_part_rungs<true>(num_terms, a, a_first, b, b_first, shared, of_imaginary);
#pragma unroll
    for (int w = 0; w < kPairs / 8; ++w) rungs[w] = larger_of_each(rungs[w], of_imaginary[w]);
  }
}

}  // namespace kizami::exec::second_look
