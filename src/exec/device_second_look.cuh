// SPDX-License-Identifier: MIT
// The kernel of the second look. As many blocks as the device holds at once walk the phases together, with a barrier of
// the whole grid between them. All blocks make the same decisions from the same histograms, so that nothing but the
// histograms is handed around.
//
// Products: a block of threads owns a tile of 128 x 96 pairs, and a warp 32 x 32 of it. Both operands' digits come to
// shared memory in steps of 128 terms, four steps in flight. After each 64 terms the INT32 sums of mma.sync m16n8k32
// are added to 64-bit sums in registers, weighed with the deficits. 12 warps, since 32 sums and the work on them take
// more than 128 registers.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include "base/int_math.hpp"
#include "exec/certificate.hpp"
#include "exec/device_second_look.hpp"
#include "exec/device_second_look_terms.hpp"
#include "num/exponent.hpp"
#include "split/digits.hpp"

namespace kizami::exec::second_look {

using base::ceil_div;
using base::round_up;
using problem::kTerms;
using problem::Lines;
using split::kDigitBlock;

inline constexpr int kThreads = 384;
inline constexpr int kWarpTile = 32;
inline constexpr int kRows = 128;       ///< lines of A in a tile
inline constexpr int kCols = 96;        ///< lines of B
inline constexpr int kStepBytes = 128;  ///< of a row, in one step: two blocks of digits, or 16 words of bits
inline constexpr int kPieces = kStepBytes / 16;
inline constexpr int kStepBlocks = 2;
inline constexpr int kStepWords = 16;
inline constexpr int kStages = 4;
inline constexpr int kPairs = kWarpTile * kWarpTile / 32;  ///< of a thread: (strip * 4 + column) * 4 + element
inline constexpr std::uint32_t kFullWarp = 0xFFFFFFFFu;
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

__device__ inline unsigned long long* as_counter(std::uint64_t* x) { return reinterpret_cast<unsigned long long*>(x); }
__device__ inline unsigned long long* as_counter(std::int64_t* x) { return reinterpret_cast<unsigned long long*>(x); }

__device__ inline std::uint64_t sum_of_warp(std::uint64_t x) {
  for (int distance = 16; distance > 0; distance /= 2) x += __shfl_xor_sync(kFullWarp, x, distance);
  return x;
}

/// Waits for every block of the grid; what they wrote before is seen after. The launch is cooperative: all of them run.
__device__ inline void grid_barrier(plan::DeviceState& state) {
  __syncthreads();
  if (threadIdx.x == 0) {
    volatile std::uint32_t& phase = state.barrier_phase;
    const std::uint32_t before = phase;
    __threadfence();  // the phase is read before this block counts
    if (atomicAdd(&state.barrier_count, 1u) == gridDim.x - 1) {
      static_cast<volatile std::uint32_t&>(state.barrier_count) = 0;
      __threadfence();
      atomicAdd(&state.barrier_phase, 1u);
    } else {
      while (phase == before) __nanosleep(64);
    }
    __threadfence();
  }
  __syncthreads();
}

// Work of a phase is a function that is not inlined: it has all registers, and is compiled once for both operands.

// ---- work of the whole grid -----------------------------------------------------------------------------------------

__device__ inline std::int64_t grid_thread() { return std::int64_t{blockIdx.x} * kThreads + threadIdx.x; }
__device__ inline std::int64_t grid_threads() { return std::int64_t{gridDim.x} * kThreads; }
__device__ inline std::int64_t grid_warp() { return grid_thread() / 32; }
__device__ inline std::int64_t grid_warps() { return grid_threads() / 32; }
__device__ inline int lane() { return static_cast<int>(threadIdx.x) % 32; }

/// Whether neighbours in memory are of one line, rather than neighbouring lines.
template <class T>
__device__ bool has_contiguous_lines(const Lines<T>& lines) {
  return lines.inner_stride <= lines.line_stride;
}

/// The same elements with lines and inner index exchanged.
template <class T>
__device__ Lines<T> across(const Lines<T>& lines) {
  return {lines.data, lines.length, lines.num_lines, lines.inner_stride, lines.line_stride, lines.is_conjugated};
}

/// Part of a line for one thread: elements first, first + step, ... below end. If is_shared, the lanes of the warp have
/// parts of one line, and all of them are there.
struct Piece {
  std::int64_t line;
  std::int64_t first;
  std::int64_t step;
  std::int64_t end;
  bool is_shared;
};

/// Calls visit(piece) until all elements of all lines were in a piece.
template <class T, class Visit>
__device__ void for_each_piece(const Lines<T>& lines, const Visit& visit) {
  if (has_contiguous_lines(lines)) {
    constexpr std::int64_t kLength = 4096;
    const std::int64_t pieces = ceil_div(lines.length, kLength);
    for (std::int64_t item = grid_warp(); item < lines.num_lines * pieces; item += grid_warps()) {
      const std::int64_t first = item % pieces * kLength;
      visit(Piece{item / pieces, first + lane(), 32, std::min(first + kLength, lines.length), true});
    }
    return;
  }
  constexpr std::int64_t kLength = 256;
  const std::int64_t groups = ceil_div(lines.num_lines, 32);
  const std::int64_t pieces = ceil_div(lines.length, kLength);
  for (std::int64_t item = grid_warp(); item < groups * pieces; item += grid_warps()) {
    const std::int64_t line = item % groups * 32 + lane();
    const std::int64_t first = item / groups * kLength;
    if (line < lines.num_lines) visit(Piece{line, first, 1, std::min(first + kLength, lines.length), false});
  }
}

/// split::gather_inner_exponents(), into exponents that are kNoExponent.
template <class T>
__device__ __noinline__ void gather_inner_exponents(const Lines<T>& lines, std::int32_t* exponents) {
  const Lines<T> columns = across(lines);
  for_each_piece(columns, [&](const Piece& piece) {
    std::int32_t exponent = num::kNoExponent;
    for (std::int64_t i = piece.first; i < piece.end; i += piece.step) {
      for (int part = 0; part < kTerms<T>; ++part) {
        const double x = columns.term(piece.line, i * kTerms<T> + part);
        if (num::is_finite(x)) exponent = std::max(exponent, shifted_exponent(x, 0));
      }
    }
    if (piece.is_shared) exponent = __reduce_max_sync(kFullWarp, exponent);
    if (exponent != num::kNoExponent && (!piece.is_shared || lane() == 0)) {
      atomicMax(exponents + piece.line, exponent);
    }
  });
}

/// Exponent and lsb of the shifted lines; zero lines and those with NaN or Inf stay as they are.
template <class T>
__device__ __noinline__ void observe_exponents(const Lines<T>& lines, const num::LineStats* as_given,
                                               const std::int32_t* inner_shift, num::LineStats* stats) {
  for_each_piece(lines, [&](const Piece& piece) {
    if (as_given[piece.line].is_zero()) return;
    std::int32_t exponent = num::kNoExponent;
    std::int32_t lsb = num::kNoLsb;
    for (std::int64_t h = piece.first; h < piece.end; h += piece.step) {
      for (int part = 0; part < kTerms<T>; ++part) {
        const double x = lines.term(piece.line, h * kTerms<T> + part);
        if (x == 0.0) continue;
        exponent = std::max(exponent, shifted_exponent(x, inner_shift[h]));
        lsb = std::min(lsb, num::lowest_bit_exponent(x) + inner_shift[h]);
      }
    }
    if (piece.is_shared) {
      exponent = __reduce_max_sync(kFullWarp, exponent);
      lsb = __reduce_min_sync(kFullWarp, lsb);
    }
    if (exponent != num::kNoExponent && (!piece.is_shared || lane() == 0)) {
      atomicMax(&stats[piece.line].exponent, exponent);
      atomicMin(&stats[piece.line].lsb, lsb);
    }
  });
}

/// Sums of the shifted lines, whose exponents are known.
template <class T>
__device__ __noinline__ void add_magnitudes(const Lines<T>& lines, const std::int32_t* inner_shift,
                                            num::LineStats* stats) {
  for_each_piece(lines, [&](const Piece& piece) {
    num::LineStats& line = stats[piece.line];
    if (line.is_zero()) return;
    const std::int32_t exponent = line.exponent;
    std::uint64_t sum_abs = 0;
    std::uint64_t sum_squares = 0;
    for (std::int64_t h = piece.first; h < piece.end; h += piece.step) {
      for (int part = 0; part < kTerms<T>; ++part) {
        const Magnitude magnitude =
            magnitude_of(lines.term(piece.line, h * kTerms<T> + part), inner_shift[h], exponent);
        sum_abs += magnitude.units;
        sum_squares += magnitude.square;
      }
    }
    if (piece.is_shared) {
      sum_abs = sum_of_warp(sum_abs);
      sum_squares = sum_of_warp(sum_squares);
    }
    if (sum_abs != 0 && (!piece.is_shared || lane() == 0)) {
      atomicAdd(as_counter(&line.sum_abs), sum_abs);
      atomicAdd(as_counter(&line.sum_squares), sum_squares);
    }
  });
}

/// Where the digits of some lines go.
struct DigitRows {
  std::int8_t* digits;
  std::uint8_t* deficits;
  std::uint64_t* nonzero;
  std::int64_t deficit_stride;
};

/// split::make_block_digits(), and the bits of the terms that are not zero, of lines [first, first + count).
template <class T>
__device__ __noinline__ void make_digits(const Lines<T>& lines, const num::LineStats* stats,
                                         const std::int32_t* inner_shift, std::int64_t first, std::int64_t count,
                                         const DigitRows& out) {
  constexpr int kBlock = static_cast<int>(kDigitBlock);
  const std::int64_t num_terms = lines.num_terms();
  const std::int64_t num_blocks = ceil_div(num_terms, kDigitBlock);
  const std::int64_t words = round_up(num_blocks, 2);
  const auto shift_at = [&](std::int64_t t) { return inner_shift == nullptr ? 0 : inner_shift[t / kTerms<T>]; };
  // What pads: words to an even number, lines to a multiple of 16.
  if (words > num_blocks) {
    for (std::int64_t i = grid_thread(); i < count; i += grid_threads()) out.nonzero[i * words + num_blocks] = 0;
  }
  const std::int64_t padding = round_up(count, 16) - count;
  for (std::int64_t item = grid_thread(); item < padding * num_blocks; item += grid_threads()) {
    out.deficits[item / padding * out.deficit_stride + count + item % padding] = 0;
  }

  if (has_contiguous_lines(lines)) {  // a warp takes some blocks of a line; a lane terms `lane` and 32 + lane of each
    constexpr int kAtOnce = 4;
    const std::int64_t pieces = ceil_div(num_blocks, kAtOnce);
    for (std::int64_t item = grid_warp(); item < count * pieces; item += grid_warps()) {
      const std::int64_t i = item / pieces;
      const std::int64_t first_block = item % pieces * kAtOnce;
      const std::int32_t line_exponent = stats[first + i].exponent;
      const bool is_live = line_exponent != num::kNoExponent;
      double x[kAtOnce][2];
#pragma unroll
      for (int b = 0; b < kAtOnce; ++b) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const std::int64_t t = (first_block + b) * kDigitBlock + 32 * half + lane();
          x[b][half] = is_live && t < num_terms ? lines.term(first + i, t) : 0.0;
        }
      }
#pragma unroll
      for (int b = 0; b < kAtOnce; ++b) {
        const std::int64_t block = first_block + b;
        if (block >= num_blocks) break;
        std::int32_t shift[2];
        std::int32_t exponent = num::kNoExponent;
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          shift[half] = x[b][half] == 0.0 ? 0 : shift_at(block * kDigitBlock + 32 * half + lane());
          exponent = std::max(exponent, shifted_exponent(x[b][half], shift[half]));
        }
        exponent = __reduce_max_sync(kFullWarp, exponent);
        std::uint64_t bits = 0;
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          out.digits[(i * num_blocks + block) * kDigitBlock + 32 * half + lane()] =
              static_cast<std::int8_t>(block_digit(x[b][half], shift[half], exponent));
          bits |= std::uint64_t{__ballot_sync(kFullWarp, x[b][half] != 0.0)} << 32 * half;
        }
        if (lane() == 0) {
          out.deficits[block * out.deficit_stride + i] = block_deficit(line_exponent, exponent);
          out.nonzero[i * words + block] = bits;
        }
      }
    }
    return;
  }

  // A lane takes a block of its line, and reads it twice.
  const std::int64_t groups = ceil_div(count, 32);
  for (std::int64_t item = grid_warp(); item < groups * num_blocks; item += grid_warps()) {
    const std::int64_t i = item % groups * 32 + lane();
    const std::int64_t block = item / groups;
    if (i >= count) continue;
    const std::int32_t line_exponent = stats[first + i].exponent;
    const std::int64_t begin = block * kDigitBlock;
    const int length = line_exponent == num::kNoExponent
                           ? 0
                           : static_cast<int>(std::min(num_terms - begin, std::int64_t{kDigitBlock}));
    std::int32_t exponent = num::kNoExponent;
    std::uint64_t bits = 0;
#pragma unroll 16
    for (int t = 0; t < kBlock; ++t) {
      const double x = t < length ? lines.term(first + i, begin + t) : 0.0;
      if (x == 0.0) continue;
      exponent = std::max(exponent, shifted_exponent(x, shift_at(begin + t)));
      bits |= std::uint64_t{1} << t;
    }
    auto* const row = reinterpret_cast<uint4*>(out.digits + (i * num_blocks + block) * kDigitBlock);
#pragma unroll 1
    for (int quarter = 0; quarter < 4; ++quarter) {
      std::uint32_t packed[4] = {0, 0, 0, 0};
#pragma unroll
      for (int b = 0; b < 16; ++b) {
        const int t = 16 * quarter + b;
        const double x = t < length ? lines.term(first + i, begin + t) : 0.0;
        const std::int32_t shift = x == 0.0 ? 0 : shift_at(begin + t);
        packed[b / 4] |= block_digit(x, shift, exponent) << 8 * (b % 4);
      }
      row[quarter] = make_uint4(packed[0], packed[1], packed[2], packed[3]);
    }
    out.deficits[block * out.deficit_stride + i] = block_deficit(line_exponent, exponent);
    out.nonzero[i * words + block] = bits;
  }
}

// ---- work of a block of threads -------------------------------------------------------------------------------------

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

// ---- the phases -----------------------------------------------------------------------------------------------------

template <class T>
class Call {
 public:
  __device__ Call(const SecondLook<T>& look, Shared& shared) : look_(look), state_(*look.state), shared_(shared) {}

  __device__ void run() {
    if (threadIdx.x <= num::kMaxRungs) shared_.histogram[threadIdx.x] = 0;
    if (threadIdx.x == 0) shared_.ladder = look_.ladder;  // read at places that differ from lane to lane
    // One place in the code visits the pairs, for the histograms and for the list: it is large.
    for (Purpose purpose = Purpose::kCountAsGiven;;) {
      visit_pairs(purpose);
      if (purpose == Purpose::kList) return;
      choose(purpose);
      if (shared_.wants_equilibration) {
        equilibrate();
        use(true);
        purpose = Purpose::kCountEquilibrated;
        continue;
      }
      if (shared_.selection.rung < 0 || shared_.selection.num_repaired == 0) return;
      use(shared_.selection.equilibrated);
      clear_bits();
      purpose = Purpose::kList;
    }
  }

 private:
  enum class Purpose { kCountAsGiven, kCountEquilibrated, kList };

  [[nodiscard]] __device__ std::int64_t m() const { return look_.a.num_lines; }
  [[nodiscard]] __device__ std::int64_t n() const { return look_.b.num_lines; }
  [[nodiscard]] __device__ bool is_first_thread() const { return blockIdx.x == 0 && threadIdx.x == 0; }

  /// From now on: the operands as given, or equilibrated. Digits that are there stay if they are of these.
  __device__ void use(bool equilibrated) {
    if (equilibrated == is_equilibrated_) return;
    is_equilibrated_ = equilibrated;
    a_made_ = -1;
    b_made_ = -1;
  }

  __device__ void make(const Lines<T>& lines, const plan::DeviceLineBuffers& line_buffers, std::int64_t first,
                       std::int64_t count, const DigitRows& out, num::LineWeight* weights) {
    const num::LineStats* const stats = is_equilibrated_ ? line_buffers.equilibrated : line_buffers.stats;
    make_digits(lines, stats, is_equilibrated_ ? line_buffers.inner_shift : nullptr, first, count, out);
    for (std::int64_t i = grid_thread(); i < count; i += grid_threads()) {
      weights[i] = num::line_weight(look_.ladder, stats[first + i]);
    }
  }

  /// Finds the rung of every pair, chunk by chunk: counts them, or lists those above the selected rung.
  __device__ void visit_pairs(Purpose purpose) {
    const SecondLookBuffers& buffers = look_.buffers;
    const std::int64_t a_stride = round_up(look_.chunk.mc, 16);
    const std::int64_t b_stride = round_up(look_.chunk.nc, 16);
    for (std::int64_t i = 0; i < m(); i += look_.chunk.mc) {
      const std::int64_t num_i = std::min(look_.chunk.mc, m() - i);
      for (std::int64_t j = 0; j < n(); j += look_.chunk.nc) {
        const std::int64_t num_j = std::min(look_.chunk.nc, n() - j);
        if (a_made_ != i) {
          make(look_.a, look_.a_lines, i, num_i, {buffers.a_digits, buffers.a_deficits, buffers.a_nonzero, a_stride},
               buffers.a_weights);
          a_made_ = i;
        }
        if (b_made_ != j) {
          make(look_.b, look_.b_lines, j, num_j, {buffers.b_digits, buffers.b_deficits, buffers.b_nonzero, b_stride},
               buffers.b_weights);
          b_made_ = j;
        }
        grid_barrier(state_);
        const DigitLines a{buffers.a_digits, buffers.a_deficits, buffers.a_nonzero, buffers.a_weights, num_i, a_stride};
        const DigitLines b{buffers.b_digits, buffers.b_deficits, buffers.b_nonzero, buffers.b_weights, num_j, b_stride};
        const std::int64_t tile_rows = ceil_div(num_i, kRows);
        const std::int64_t tile_cols = ceil_div(num_j, kCols);
        for (std::int64_t index = blockIdx.x; index < tile_rows * tile_cols; index += gridDim.x) {
          const TilePlace tile = tile_place(index, tile_rows, tile_cols);
          std::uint32_t rungs[kPairs / 8];
          find_rungs<T>(look_.a.num_terms(), a, tile.row * kRows, b, tile.col * kCols, shared_, rungs);
          if (purpose == Purpose::kList) {
            list(rungs, i + tile.row * kRows, j + tile.col * kCols);
          } else {
            count(rungs);
          }
        }
        if (purpose != Purpose::kList) add_counts(purpose);
        grid_barrier(state_);
      }
    }
  }

  __device__ void count(const std::uint32_t (&rungs)[kPairs / 8]) {
    for (int rung = 0; rung <= look_.ladder.num_rungs; ++rung) {
      int found = 0;
#pragma unroll
      for (const std::uint32_t eight : rungs) found += __popc(pairs_of_rung(eight, static_cast<std::uint32_t>(rung)));
      found = __reduce_add_sync(kFullWarp, found);
      if (lane() == 0 && found > 0) {
        atomicAdd(&shared_.histogram[rung], static_cast<unsigned long long>(found));
      }
    }
  }

  /// Moves the counts of this block to those of the grid.
  __device__ void add_counts(Purpose purpose) {
    __syncthreads();
    num::RungHistogram& histogram =
        purpose == Purpose::kCountAsGiven ? state_.statistics.plain : state_.statistics.equilibrated;
    if (threadIdx.x <= num::kMaxRungs && shared_.histogram[threadIdx.x] != 0) {
      atomicAdd(as_counter(&histogram.pairs[threadIdx.x]), shared_.histogram[threadIdx.x]);
      shared_.histogram[threadIdx.x] = 0;
    }
    __syncthreads();
  }

  __device__ void list(const std::uint32_t (&rungs)[kPairs / 8], std::int64_t first_row, std::int64_t first_col) {
    const auto selected = static_cast<std::uint32_t>(shared_.selection.rung);
    const std::uint64_t capacity = static_cast<std::uint64_t>(m() * n()) >> num::kRepairShift;
    const std::int64_t words = ceil_div(m(), 32);
    const Place place;
#pragma unroll
    for (int w = 0; w < kPairs / 8; ++w) {
#pragma unroll 1
      for (int e = 0; e < 8; ++e) {
        const std::uint32_t rung = rungs[w] >> 4 * e & 15;
        if (rung == kNoPair || rung <= selected) continue;
        const std::int64_t row = first_row + place.row_of(8 * w + e);
        const std::int64_t col = first_col + place.col_of(8 * w + e);
        const std::uint64_t at = atomicAdd(as_counter(&state_.num_repairs), 1ull);
        if (at < capacity) look_.repairs[at] = {row, col};
        atomicOr(look_.repair_bits + col * words + row / 32, std::uint32_t{1} << row % 32);
      }
    }
  }

  __device__ void clear_bits() {
    for (std::int64_t w = grid_thread(); w < n() * ceil_div(m(), 32); w += grid_threads()) look_.repair_bits[w] = 0;
  }

  /// The same in every block; the first one tells the state.
  __device__ void choose(Purpose purpose) {
    if (threadIdx.x == 0) {
      num::Statistics& statistics = shared_.statistics;
      statistics.num_pairs = m() * n();
      statistics.has_equilibrated = purpose == Purpose::kCountEquilibrated;
      statistics.plain = state_.statistics.plain;
      statistics.equilibrated = state_.statistics.equilibrated;
      const num::Selection selection = num::select(look_.ladder, statistics);
      shared_.selection = selection;
      shared_.wants_equilibration =
          purpose == Purpose::kCountAsGiven && num::wants_equilibration(look_.ladder, selection);
      if (blockIdx.x == 0 && !shared_.wants_equilibration) {
        state_.statistics.num_pairs = statistics.num_pairs;
        state_.statistics.has_equilibrated = statistics.has_equilibrated;
        state_.selection = selection;
        state_.num_products = selection.rung < 0 ? 0 : look_.planes_of_rung[selection.rung];
      }
    }
    __syncthreads();
  }

  /// Shifts of the inner index, and the statistics of the shifted operands; the same steps as on the host.
  __device__ void equilibrate() {
    std::int32_t* const a_shift = look_.a_lines.inner_shift;
    std::int32_t* const b_shift = look_.b_lines.inner_shift;
    const std::int64_t length = look_.a.length;
    for (std::int64_t h = grid_thread(); h < length; h += grid_threads()) {
      a_shift[h] = num::kNoExponent;
      b_shift[h] = num::kNoExponent;
    }
    clear_statistics(look_.a_lines, m());
    clear_statistics(look_.b_lines, n());
    if (is_first_thread()) {
      state_.least_difference = std::numeric_limits<std::int32_t>::max();
      state_.most_difference = std::numeric_limits<std::int32_t>::min();
    }
    grid_barrier(state_);
    gather_inner_exponents(look_.a, a_shift);
    gather_inner_exponents(look_.b, b_shift);
    grid_barrier(state_);
    std::int32_t least = std::numeric_limits<std::int32_t>::max();
    std::int32_t most = std::numeric_limits<std::int32_t>::min();
    for (std::int64_t h = grid_thread(); h < length; h += grid_threads()) {
      if (!is_live(a_shift[h], b_shift[h])) continue;
      least = std::min(least, a_shift[h] - b_shift[h]);
      most = std::max(most, a_shift[h] - b_shift[h]);
    }
    least = __reduce_min_sync(kFullWarp, least);
    most = __reduce_max_sync(kFullWarp, most);
    if (lane() == 0 && least <= most) {
      atomicMin(&state_.least_difference, least);
      atomicMax(&state_.most_difference, most);
    }
    grid_barrier(state_);
    for (std::int64_t h = grid_thread(); h < length; h += grid_threads()) {
      const std::int32_t d =
          equilibration_shift(a_shift[h], b_shift[h], state_.least_difference, state_.most_difference);
      a_shift[h] = -d;
      b_shift[h] = d;
    }
    grid_barrier(state_);
    observe_exponents(look_.a, look_.a_lines.stats, a_shift, look_.a_lines.equilibrated);
    observe_exponents(look_.b, look_.b_lines.stats, b_shift, look_.b_lines.equilibrated);
    grid_barrier(state_);
    add_magnitudes(look_.a, a_shift, look_.a_lines.equilibrated);
    add_magnitudes(look_.b, b_shift, look_.b_lines.equilibrated);
    grid_barrier(state_);
  }

  __device__ void clear_statistics(const plan::DeviceLineBuffers& lines, std::int64_t num_lines) {
    for (std::int64_t i = grid_thread(); i < num_lines; i += grid_threads()) {
      num::LineStats stats;
      stats.is_finite = lines.stats[i].is_finite;
      lines.equilibrated[i] = stats;
    }
  }

  const SecondLook<T>& look_;
  plan::DeviceState& state_;
  Shared& shared_;
  bool is_equilibrated_ = false;
  std::int64_t a_made_ = -1;  ///< first line of the chunk whose digits are there
  std::int64_t b_made_ = -1;
};

template <class T>
__global__ void __launch_bounds__(kThreads, 1) second_look_sm80(const __grid_constant__ SecondLook<T> look) {
  if (look.state->sampled_failures == 0 || look.state->is_scaling_only != 0) return;
  extern __shared__ __align__(128) std::byte shared_memory[];
  Call<T>(look, *reinterpret_cast<Shared*>(shared_memory)).run();
}

/// Blocks of second_look_sm80 that a multiprocessor of the current device holds at once; asked once a device.
template <class T>
cudaError_t blocks_per_sm(int& blocks) {
  static std::array<std::atomic<int>, 64> known{};
  int device = 0;
  cudaError_t error = cudaGetDevice(&device);
  if (error != cudaSuccess) return error;
  const bool is_remembered = device >= 0 && device < static_cast<int>(known.size());
  blocks = is_remembered ? known[static_cast<std::size_t>(device)].load() : 0;
  if (blocks > 0) return cudaSuccess;
  error = cudaFuncSetAttribute(second_look_sm80<T>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               static_cast<int>(sizeof(Shared)));
  if (error != cudaSuccess) return error;
  error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, second_look_sm80<T>, kThreads, sizeof(Shared));
  if (error != cudaSuccess) return error;
  if (blocks == 0) return cudaErrorCooperativeLaunchTooLarge;
  if (is_remembered) known[static_cast<std::size_t>(device)] = blocks;
  return cudaSuccess;
}

}  // namespace kizami::exec::second_look

namespace kizami::exec {

template <class T>
Status launch_second_look(const SecondLook<T>& look, int num_sms, product::Queue queue) {
  int blocks = 0;
  cudaError_t error = second_look::blocks_per_sm<T>(blocks);
  if (error == cudaSuccess) {
    cudaLaunchAttribute cooperative{};
    cooperative.id = cudaLaunchAttributeCooperative;
    cooperative.val.cooperative = 1;
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(static_cast<unsigned>(blocks * num_sms));
    config.blockDim = dim3(second_look::kThreads);
    config.dynamicSmemBytes = sizeof(second_look::Shared);
    config.stream = queue;
    config.attrs = &cooperative;
    config.numAttrs = 1;
    error = cudaLaunchKernelEx(&config, second_look::second_look_sm80<T>, look);
  }
  if (error == cudaSuccess) return {};
  return {StatusCode::kInternal, std::string("second look: ") + cudaGetErrorString(error)};
}

}  // namespace kizami::exec
