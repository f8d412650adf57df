// SPDX-License-Identifier: MIT
// What a block of threads of the second look does with a tile of pairs: ordered sums of products of digits
// (block_sum.hpp), and the rungs of the pairs. A core (device_block_sums_sm80.cuh, device_block_sums_sm90.cuh) has the
// sizes of a tile, the place of a thread's pairs in it, and the products of a block; the bits are the same.
//
// Both operands' digits come to shared memory in steps of 128 bytes of a line, some steps in flight.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/async_copies.cuh"
#include "base/device_limits.hpp"
#include "base/int_math.hpp"
#include "certify/block_sum.hpp"
#include "certify/device_equilibration_gain.cuh"
#include "certify/device_second_look_grid.cuh"
#include "certify/digits.hpp"
#include "certify/second_look_buffers.hpp"
#include "num/rung.hpp"
#include "problem/lines.hpp"

namespace kizami::certify::second_look {

using base::round_up;

inline constexpr int kStepBytes = 128;  ///< of a line, in one step
inline constexpr int kPieces = kStepBytes / 16;
inline constexpr int kStepWords = 16;  ///< of non-zero bits
inline constexpr int kNoPair = 15;     ///< the rung of a pair beyond the edge of C
/// Blocks of 64 elements in a step.
template <int kParts>
inline constexpr int kStepBlocks = kStepBytes / (64 * kParts);

/// Lines of both operands; the 16 bytes at 16 c of line r lie at 16 (c ^ (r % 8)), so that 8 lines meet all banks: the
/// 128-byte swizzle of wgmma.
template <class Core>
struct alignas(1024) Stage {
  std::int8_t a[Core::kRows * kStepBytes];
  std::int8_t b[Core::kCols * kStepBytes];
  float a_scales[kStepBlocks<Core::kParts>][Core::kRows];
  float b_scales[kStepBlocks<Core::kParts>][Core::kCols];
};

/// The rungs of a tile, column by column, so far apart that neighbouring columns meet different banks.
template <class Core>
struct alignas(16) RungTile {
  static constexpr int kStride = Core::kRows + 16;
  std::uint8_t rungs[Core::kCols * kStride];
};

/// One operand of a chunk.
struct DigitLines {
  const std::int8_t* digits;
  const float* scales;
  const std::uint64_t* nonzero;
  const num::LineWeight* weights;
  std::int64_t num_lines;
  std::int64_t num_padded;  ///< lines of a plane: second_look_lines()

  /// The lines from `line` on in step `step`: 128 bytes each, one behind the other.
  [[nodiscard]] __device__ const std::int8_t* digits_of(std::int64_t step, std::int64_t line) const {
    return digits + (step * num_padded + line) * kStepBytes;
  }
  [[nodiscard]] __device__ const float* scales_of(std::int64_t block, std::int64_t line) const {
    return scales + block * num_padded + line;
  }
};

/// What the ratio weight / sum says of a pair, by its exponent as a float: the rungs that are refused for sure, and the
/// allowance of the one that has to be compared with, else infinity.
struct alignas(8) RatioClass {  // one load
  /// there are several to be compared with: above all rungs, and far from the end of a byte
  static constexpr int kUnknown = 100;
  float allowance;
  int refused;
};
inline constexpr int kRatioClasses = 256;

template <class Core>
struct Shared {
  Stage<Core> stages[Core::kStages];
  RungTile<Core> tile;
  num::Ladder ladder;
  RatioClass ratio_classes[kRatioClasses];
  num::LineWeight a_weights[Core::kRows];
  num::LineWeight b_weights[Core::kCols];
  unsigned long long histogram[num::kMaxRungs + 1];
  num::Statistics statistics;
  num::Selection selection;
  int least_exact_rung;  ///< of the lines of a tile
  int has_open;          ///< whether a tile has sums to be settled
  std::int32_t gain;
  LineShared line;
};

template <class Core>
inline constexpr std::size_t kSharedBytes = sizeof(Shared<Core>) + alignof(Shared<Core>);
template <class Core>
[[nodiscard]] bool has_room_for(const base::DeviceLimits& limits) {
  return static_cast<std::size_t>(limits.shared_bytes) >= kSharedBytes<Core>;
}

// ---- single instructions --------------------------------------------------------------------------------------------

[[nodiscard]] __device__ inline std::uint32_t shared_address(const void* x) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(x));
}

__device__ inline void copy_async(void* to, const void* from, bool is_there) {
  base::copy_to_shared<16>(shared_address(to), from, is_there ? 16 : 0);
}
__device__ inline void copy_async(std::uint32_t to, const void* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}

/// The first place in dynamic shared memory that is aligned for an S.
template <class S>
[[nodiscard]] __device__ inline S* aligned(std::byte* memory) {
  const std::uint32_t misaligned = shared_address(memory) % alignof(S);
  return reinterpret_cast<S*>(memory + (misaligned == 0 ? 0 : alignof(S) - misaligned));
}

/// One step of an ordered sum: sum + acc 2^-149 a_scale b_scale, rounded once.
[[nodiscard]] __device__ inline float add_term(float sum, std::int32_t acc, float a_scale, float b_scale) {
  return __fmaf_rn(__int_as_float(acc), __fmul_rn(a_scale, b_scale), sum);
}

// ---- steps of a product ---------------------------------------------------------------------------------------------

/// Brings the digits and scales of a tile, a step at a time: each is one piece of memory.
template <class Core>
class StepCopies {
  static constexpr int kBlocks = kStepBlocks<Core::kParts>;

 public:
  __device__ StepCopies(const DigitLines& a, std::int64_t a_first, const DigitLines& b, std::int64_t b_first,
                        std::int64_t first_step)
      : a_(a.digits_of(first_step, a_first) + 16 * threadIdx.x),
        b_(b.digits_of(first_step, b_first) + 16 * threadIdx.x),
        a_step_(a.num_padded * kStepBytes),
        b_step_(b.num_padded * kStepBytes) {
    constexpr int kOfA = kBlocks * Core::kRows / 4;
    const int thread = static_cast<int>(threadIdx.x);
    const bool is_a = thread < kOfA;
    const int index = is_a ? thread : thread - kOfA;
    const int per_block = (is_a ? Core::kRows : Core::kCols) / 4;
    const DigitLines& lines = is_a ? a : b;
    scales_ =
        lines.scales_of(first_step * kBlocks + index / per_block, (is_a ? a_first : b_first) + index % per_block * 4);
    scale_step_ = kBlocks * lines.num_padded;
  }

  /// Begins the copies of the next step.
  __device__ __forceinline__ void load(Stage<Core>& stage) {
    copy<Core::kRows * kPieces>(stage.a, a_);
    copy<Core::kCols * kPieces>(stage.b, b_);
    if (threadIdx.x < kBlocks * (Core::kRows + Core::kCols) / 4)
      copy_async(shared_address(&stage.a_scales[0][0]) + 16 * threadIdx.x, scales_);
    a_ += a_step_;
    b_ += b_step_;
    scales_ += scale_step_;
  }

 private:
  static_assert(kBlocks * (Core::kRows + Core::kCols) / 4 <= Core::kThreads);
  static_assert(Core::kRows <= kSecondLookLines && Core::kCols <= kSecondLookLines);

  template <int kCount>
  __device__ static __forceinline__ void copy(std::int8_t* to, const std::int8_t* from) {
    const std::uint32_t at = shared_address(to) + 16 * threadIdx.x;
#pragma unroll
    for (int first = 0; first < kCount; first += Core::kThreads) {
      if (first + Core::kThreads <= kCount || threadIdx.x < kCount - first)
        copy_async(at + 16 * first, from + 16 * first);
    }
  }

  const std::int8_t* a_;
  const std::int8_t* b_;
  const float* scales_;
  std::int64_t a_step_;
  std::int64_t b_step_;
  std::int64_t scale_step_;
};

/// The same for lines that end anywhere: some rows of A and some of B, kRound apart, 16 bytes of each a step.
template <class Core>
class Rows {
 public:
  /// @range rows of row_bytes, of which `length` are wanted, multiples of 16; zeros are delivered beyond their number
  ///        and that length
  __device__ Rows(const void* a, std::int64_t num_a, const void* b, std::int64_t num_b, std::int64_t row_bytes,
                  std::int64_t length)
      : stride_(kRound * row_bytes),
        left_(static_cast<int>(ceil_div(length - 16 * piece(), std::int64_t{kStepBytes}))) {
    const int row = first_row();
    a_ = static_cast<const std::byte*>(a) + row * row_bytes + 16 * piece();
    b_ = static_cast<const std::byte*>(b) + row * row_bytes + 16 * piece();
#pragma unroll
    for (int round = 0; round < kRoundsOfA; ++round) is_there_ |= row + round * kRound < num_a ? 1 << round : 0;
#pragma unroll
    for (int round = 0; round < kRoundsOfB; ++round)
      is_there_ |= row + round * kRound < num_b ? 1 << (kRoundsOfA + round) : 0;
  }

  /// Begins the copies of the next step.
  __device__ void load(Stage<Core>& stage) {
    const int at = first_row() * kStepBytes + 16 * (piece() ^ first_row() % 8);
    const int is_there = left_ > 0 ? is_there_ : 0;
#pragma unroll
    for (int round = 0; round < kRoundsOfA; ++round) {
      if (first_row() + round * kRound < Core::kRows) {
        copy_async(stage.a + at + round * kRound * kStepBytes, a_ + round * stride_, (is_there >> round & 1) != 0);
      }
    }
#pragma unroll
    for (int round = 0; round < kRoundsOfB; ++round) {
      if (first_row() + round * kRound < Core::kCols) {
        copy_async(stage.b + at + round * kRound * kStepBytes, b_ + round * stride_,
                   (is_there >> (kRoundsOfA + round) & 1) != 0);
      }
    }
    a_ += kStepBytes;
    b_ += kStepBytes;
    --left_;
  }

 private:
  static constexpr int kRound = Core::kThreads / kPieces;
  static constexpr int kRoundsOfA = (Core::kRows + kRound - 1) / kRound;
  static constexpr int kRoundsOfB = (Core::kCols + kRound - 1) / kRound;
  static_assert(kRound % 8 == 0);

  [[nodiscard]] __device__ static int piece() { return static_cast<int>(threadIdx.x) % kPieces; }
  [[nodiscard]] __device__ static int first_row() { return static_cast<int>(threadIdx.x) / kPieces; }

  const std::byte* a_;
  const std::byte* b_;
  std::int64_t stride_;
  int left_;          ///< steps from here on in which the rows have such 16 bytes
  int is_there_ = 0;  ///< one bit a copy
};

/// Streams num_steps steps through the stages: load(stage) begins the copies of the next one, use(stage) works on the
/// oldest. proceed() is a barrier of the block, and ends the stream by false.
template <class Core, class Load, class Use, class Proceed>
__device__ __forceinline__ void stream(Shared<Core>& shared, int num_steps, const Load& load, const Use& use,
                                       const Proceed& proceed) {
#pragma unroll
  for (int step = 0; step < Core::kStages - 1; ++step) {
    if (step < num_steps) load(shared.stages[step]);
    base::close_copies();
  }
  int stage = 0;
#pragma unroll 1
  for (int left = num_steps; left > 0; --left) {
    base::wait_for_copies<Core::kStages - 2>();
    if (!proceed()) break;  // and whoever used the stage before this one is done with it
    const int free = stage == 0 ? Core::kStages - 1 : stage - 1;
    if (left >= Core::kStages) load(shared.stages[free]);
    base::close_copies();
    use(shared.stages[stage]);
    stage = stage == Core::kStages - 1 ? 0 : stage + 1;
  }
  base::wait_for_copies<0>();
  __syncthreads();
}

/// The ordered sums of the blocks [first, first + count) of the pairs of a tile, `blocks_of_term` a term.
template <class Core>
__device__ __forceinline__ void sum_blocks(const DigitLines& a, std::int64_t a_first, const DigitLines& b,
                                           std::int64_t b_first, std::int64_t first, std::int64_t count,
                                           int blocks_of_term, Shared<Core>& shared,
                                           float (&sums)[Core::kParts][Core::kPairs]) {
  constexpr int kBlocks = kStepBlocks<Core::kParts>;
  static_assert(num::kSegmentBlocks % kBlocks == 0);
  StepCopies<Core> copies(a, a_first, b, b_first, first / kBlocks);
  const Core core;
  stream(
      shared, static_cast<int>(ceil_div(count, std::int64_t{kBlocks})), [&](Stage<Core>& stage) { copies.load(stage); },
      [&](const Stage<Core>& stage) { core.add_step(stage, blocks_of_term, sums); },
      [] {
        __syncthreads();
        return true;
      });
}

/// The sums of segments after the first added to it. Apart, for lines of more than a million elements: its registers
/// are not those of the others.
template <class Core>
__device__ __noinline__ void add_segments(const DigitLines& a, std::int64_t a_first, const DigitLines& b,
                                          std::int64_t b_first, std::int64_t num_blocks, int blocks_of_term,
                                          Shared<Core>& shared, float (&totals)[Core::kParts][Core::kPairs]) {
  for (std::int64_t first = num::kSegmentBlocks; first < num_blocks; first += num::kSegmentBlocks) {
    float sums[Core::kParts][Core::kPairs] = {};
    sum_blocks<Core>(a, a_first, b, b_first, first, std::min(std::int64_t{num::kSegmentBlocks}, num_blocks - first),
                     blocks_of_term, shared, sums);
#pragma unroll
    for (int s = 0; s < Core::kParts * Core::kPairs; ++s) {
      float& total = totals[s / Core::kPairs][s % Core::kPairs];
      total = __fadd_rn(total, sums[s / Core::kPairs][s % Core::kPairs]);
    }
  }
}

/// Closes the sums of this thread in `open` that have a non-zero term in a step of bits. Complex: words of real and of
/// imaginary parts take turns, and the imaginary part of a product meets those of B exchanged.
template <class Core>
__device__ __forceinline__ void look_for_terms(const Stage<Core>& stage, int part, std::uint32_t (&open)[3]) {
  const typename Core::Place place;
  std::uint32_t seen[Core::kPairs] = {};
#pragma unroll 1
  for (int word = 0; word < kStepWords; ++word) {
    const auto word_of = [&](const std::int8_t* rows, int row, int at_word) {
      const int at = row * kStepBytes + 16 * (at_word / 2 ^ row % 8) + at_word % 2 * 8;
      return *reinterpret_cast<const std::uint64_t*>(rows + at);
    };
#pragma unroll
    for (int pair = 0; pair < Core::kPairs; ++pair) {  // each word of a line is loaded once
      const std::uint64_t both =
          word_of(stage.a, place.row_of(pair), word) & word_of(stage.b, place.col_of(pair), word ^ part);
      seen[pair] |= static_cast<std::uint32_t>(both) | static_cast<std::uint32_t>(both >> 32);
    }
  }
#pragma unroll
  for (int pair = 0; pair < Core::kPairs; ++pair) {
    const int first = pair;  // of the sums of part 0
    const int second = Core::kPairs + pair;
    if (seen[pair] == 0) continue;
    if (part == 0) open[first / 32] &= ~(1u << first % 32);
    if (Core::kParts == 2 && part == 1) open[second % 96 / 32] &= ~(1u << second % 32);
  }
}

/// Settles the sums of a tile whose digits are all zero, a bit of `open` each. The steps of bits go through the stages.
template <class Core>
__device__ __noinline__ void settle_zeros(std::int64_t num_blocks, const DigitLines& a, std::int64_t a_first,
                                          int num_rows, const DigitLines& b, std::int64_t b_first, int num_cols,
                                          std::uint32_t (&open)[3], Shared<Core>& shared) {
  constexpr int kParts = Core::kParts;
  constexpr int kPairs = Core::kPairs;
  const typename Core::Place place;
  std::uint8_t before[kPairs];
#pragma unroll
  for (int pair = 0; pair < kPairs; ++pair)
    before[pair] = shared.tile.rungs[place.col_of(pair) * RungTile<Core>::kStride + place.row_of(pair)];
  __syncthreads();
  const std::uint32_t was_open[3] = {open[0], open[1], open[2]};
  const std::int64_t words = round_up(num_blocks * kParts, 2);
#pragma unroll 1
  for (int part = 0; part < kParts; ++part) {
    Rows<Core> rows(a.nonzero + a_first * words, num_rows, b.nonzero + b_first * words, num_cols, words * 8, words * 8);
    stream(
        shared, static_cast<int>(ceil_div(words, std::int64_t{kStepWords})),
        [&](Stage<Core>& stage) { rows.load(stage); },
        [&](const Stage<Core>& stage) { look_for_terms<Core>(stage, part, open); },
        [&] { return __syncthreads_or((open[0] | open[1] | open[2]) != 0 ? 1 : 0) != 0; });
  }
  // What is still open has no term: zero at any rung. Of what was closed only the exact rungs of its lines speak.
#pragma unroll
  for (int pair = 0; pair < kPairs; ++pair) {
    const int row = place.row_of(pair);
    const int col = place.col_of(pair);
    int rung = before[pair];
#pragma unroll
    for (int part = 0; part < kParts; ++part) {
      const int bit = part * kPairs + pair;
      if ((was_open[bit / 32] & ~open[bit / 32]) >> bit % 32 & 1) {
        rung = max(rung, num::first_certified_rung(shared.ladder, shared.a_weights[row], shared.b_weights[col], 0.0F));
      }
    }
    shared.tile.rungs[col * RungTile<Core>::kStride + row] = static_cast<std::uint8_t>(rung);
  }
  __syncthreads();
}

/// Pairs of a thread whose rungs are found at a time. The code of all of them, one behind the other, would be read from
/// memory again by every warp: it is larger than the caches of instructions.
inline constexpr int kGroupPairs = 16;

/// Calls visit(first) for every group of pairs of this thread, whose sums are then sums[part][0] to [kGroupPairs - 1]:
/// registers have no index, so they move down.
template <class Core, class Visit>
__device__ __forceinline__ void for_each_group(float (&sums)[Core::kParts][Core::kPairs], const Visit& visit) {
  static_assert(Core::kPairs % kGroupPairs == 0);
#pragma unroll 1
  for (int first = 0; first < Core::kPairs; first += kGroupPairs) {
    visit(first);
#pragma unroll
    for (int part = 0; part < Core::kParts; ++part) {
#pragma unroll
      for (int i = kGroupPairs; i < Core::kPairs; ++i) sums[part][i - kGroupPairs] = sums[part][i];
    }
  }
}

/// Allowances are compared with sums in units of 2^-kSumShift, exactly.
inline constexpr float kSumUnit = 1 << kSumShift;

/// The classes of ratios of a ladder. By all threads of a block, before a barrier.
/// Ratios are found with an error below 2^-20, and an allowance within 2^-18 of a class is one to be compared with.
__device__ inline void make_ratio_classes(RatioClass (&classes)[kRatioClasses], const num::Ladder& ladder) {
  constexpr float kNear = 0x1p-18F;
  for (int exponent = static_cast<int>(threadIdx.x); exponent < kRatioClasses;
       exponent += static_cast<int>(blockDim.x)) {
    const float least = exponent == 0 ? 0.0F : __int_as_float(exponent << 23) * (1 - kNear);
    const float most = __int_as_float(min(exponent + 1, 255) << 23) * (1 + kNear);
    RatioClass found{__int_as_float(0x7F800000), 0};
    int near = 0;
    for (int rung = 0; rung < ladder.num_rungs; ++rung) {
      const float allowance = kSumUnit * ladder.rungs[rung].allowance;
      if (exponent == 255 || allowance < least) {
        ++found.refused;
      } else if (allowance < most && near++ == 0) {
        found.allowance = allowance;
      }
    }
    if (near > 1) found.refused = RatioClass::kUnknown;
    classes[exponent] = found;
  }
}

/// The first rung of a pair whose lines are not exact at it: the number of rungs with weight > allowance sum, or
/// kUnknown.
[[nodiscard]] __device__ __forceinline__ int rung_of_ratio(const RatioClass* classes, float weight, float sum) {
  float inverse;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(sum));  // infinity of zero
  const float ratio = __fmul_rn(weight, inverse);
  const RatioClass found = classes[__float_as_uint(ratio) >> 23 & 255];
  const int rung = found.refused + (weight > __fmul_rn(found.allowance, sum) ? 1 : 0);
  return weight > 0.0F ? rung : 0;
}

/// The first rungs of a group of pairs, four bits each, by comparison with all rungs: for lines that are exact at some.
/// Four rungs at a time for all pairs, and no branch for one of them.
template <class Core>
__device__ __forceinline__ void count_rungs(const Shared<Core>& shared, const typename Core::Place& place, int group,
                                            const float (&sums)[Core::kParts][Core::kPairs],
                                            std::uint32_t (&rungs)[Core::kParts][kGroupPairs / 8]) {
#pragma unroll 1
  for (int first = 0; first < shared.ladder.num_rungs; first += 4) {
    float allowances[4];
#pragma unroll
    for (int e = 0; e < 4; ++e) {  // beyond the ladder infinite, and nothing above it
      allowances[e] = first + e < shared.ladder.num_rungs ? kSumUnit * shared.ladder.rungs[first + e].allowance
                                                          : __int_as_float(0x7F800000);
    }
    bool has_more = false;
#pragma unroll
    for (int pair = 0; pair < kGroupPairs; ++pair) {
      const num::LineWeight& a = shared.a_weights[place.row_of(group + pair)];
      const num::LineWeight& b = shared.b_weights[place.col_of(group + pair)];
      const float of_a = __fmul_rn(a.norm2, b.norm1);
      const float of_b = __fmul_rn(b.norm2, a.norm1);
#pragma unroll
      for (int part = 0; part < Core::kParts; ++part) {
        std::uint32_t refused = 0;
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          const float weight =
              __fadd_rn(first + e < a.exact_rung ? of_a : 0.0F, first + e < b.exact_rung ? of_b : 0.0F);
          refused += weight > __fmul_rn(allowances[e], sums[part][pair]) ? 1u : 0u;
        }
        rungs[part][pair / 8] += refused << 4 * (pair % 8);
        has_more |= refused == 4;
      }
    }
    if (!__any_sync(kFullWarp, has_more)) break;
  }
}

/// The first rungs of a group of pairs, four bits each: the number of rungs that do not certify, since certification is
/// monotone in the rung.
template <class Core>
__device__ __forceinline__ void rungs_of_group(const Shared<Core>& shared, const typename Core::Place& place, int group,
                                               const float (&sums)[Core::kParts][Core::kPairs],
                                               std::uint32_t (&rungs)[Core::kParts][kGroupPairs / 8]) {
  const int least_exact = shared.least_exact_rung;
  bool is_beyond = false;  // some line may be exact below the rung that was found, or the rung was not found
#pragma unroll
  for (int pair = 0; pair < kGroupPairs; ++pair) {
    const num::LineWeight& a = shared.a_weights[place.row_of(group + pair)];
    const num::LineWeight& b = shared.b_weights[place.col_of(group + pair)];
    const float weight = __fadd_rn(__fmul_rn(a.norm2, b.norm1), __fmul_rn(b.norm2, a.norm1));
#pragma unroll
    for (int part = 0; part < Core::kParts; ++part) {
      const int rung = rung_of_ratio(shared.ratio_classes, weight, sums[part][pair]);
      is_beyond |= rung > least_exact;
      rungs[part][pair / 8] |= static_cast<std::uint32_t>(rung) << 4 * (pair % 8);
    }
  }
  if (!__any_sync(kFullWarp, is_beyond)) return;
#pragma unroll
  for (int part = 0; part < Core::kParts; ++part) {
#pragma unroll
    for (int word = 0; word < kGroupPairs / 8; ++word) rungs[part][word] = 0;
  }
  count_rungs<Core>(shared, place, group, sums, rungs);
}

/// Finds the rungs of the tile of pairs at lines a_first, b_first of a chunk, of complex pairs the larger one of both
/// parts: in shared.tile, and kNoPair beyond the edge. sum_tile(sums) adds all blocks.
/// @return whether a sum is zero, and its rung not: if kSettles it is settled, else for someone else to settle
template <class Core, bool kSettles, class SumTile>
__device__ __forceinline__ bool find_rungs(std::int64_t length, const DigitLines& a, std::int64_t a_first,
                                           const DigitLines& b, std::int64_t b_first, Shared<Core>& shared,
                                           const SumTile& sum_tile) {
  constexpr int kParts = Core::kParts;
  constexpr int kPairs = Core::kPairs;
  const std::int64_t num_blocks = ceil_div(length, kDigitBlock);
  const auto num_rows = static_cast<int>(std::min(std::int64_t{Core::kRows}, a.num_lines - a_first));
  const auto num_cols = static_cast<int>(std::min(std::int64_t{Core::kCols}, b.num_lines - b_first));
  const int thread = static_cast<int>(threadIdx.x);
  const num::LineWeight none{0.0F, 0.0F,
                             num::kMaxRungs};  // certified by any sum: a pair that is not there asks for none
  if (thread == 0) {
    shared.least_exact_rung = num::kMaxRungs;
    shared.has_open = 0;
  }
  Core::sync();
  int least_exact = num::kMaxRungs;
  for (int i = thread; i < Core::kRows; i += Core::kThreads) {
    shared.a_weights[i] = i < num_rows ? a.weights[a_first + i] : none;
    least_exact = min(least_exact, shared.a_weights[i].exact_rung);
  }
  for (int j = thread; j < Core::kCols; j += Core::kThreads) {
    shared.b_weights[j] = j < num_cols ? b.weights[b_first + j] : none;
    least_exact = min(least_exact, shared.b_weights[j].exact_rung);
  }
  least_exact = __reduce_min_sync(kFullWarp, least_exact);
  if (lane() == 0 && least_exact < num::kMaxRungs) atomicMin(&shared.least_exact_rung, least_exact);

  float sums[kParts][kPairs] = {};
  sum_tile(sums);
  Core::sync();  // the weights are there

  const typename Core::Place place;
  std::uint32_t open[3] = {};  // sums whose digits are all zero: have they a non-zero term at all? A bit a sum
  for_each_group<Core>(sums, [&](int group) {
    std::uint32_t rungs[kParts][kGroupPairs / 8] = {};
    rungs_of_group<Core>(shared, place, group, sums, rungs);
    std::uint32_t open_of_group[kParts] = {};
#pragma unroll
    for (int pair = 0; pair < kGroupPairs; ++pair) {
      const int row = place.row_of(group + pair);
      const int col = place.col_of(group + pair);
      const bool is_there = row < num_rows && col < num_cols;
      std::uint32_t rung = 0;
#pragma unroll
      for (int part = 0; part < kParts; ++part) {
        const std::uint32_t of_part = rungs[part][pair / 8] >> 4 * (pair % 8) & 15;
        const bool is_open = is_there && sums[part][pair] == 0.0F && of_part > 0;
        open_of_group[part] |= is_open ? 1u << pair : 0u;
        rung = max(rung, is_open ? 0u : of_part);
      }
      shared.tile.rungs[col * RungTile<Core>::kStride + row] = static_cast<std::uint8_t>(is_there ? rung : kNoPair);
    }
#pragma unroll
    for (int part = 0; part < kParts; ++part) {
      const int bit = part * kPairs + group;
#pragma unroll
      for (int word = 0; word < 3; ++word) open[word] |= bit / 32 == word ? open_of_group[part] << bit % 32 : 0u;
    }
  });
  if ((open[0] | open[1] | open[2]) != 0) shared.has_open = 1;
  Core::sync();
  const bool has_open = shared.has_open != 0;
  if constexpr (kSettles) {
    if (has_open) settle_zeros<Core>(num_blocks, a, a_first, num_rows, b, b_first, num_cols, open, shared);
  }
  return has_open;
}

/// Moves the rungs of a tile to `to`, that of its first pair, columns `stride` apart; counts them in shared.histogram
/// if kCounts.
template <class Core, bool kCounts>
__device__ __forceinline__ void store_rungs(Shared<Core>& shared, std::int64_t num_rows, std::int64_t num_cols,
                                            std::uint8_t* to, std::int64_t stride) {
  constexpr int kColumnPieces = Core::kRows / 16;
  const int cols = static_cast<int>(std::min(num_cols, std::int64_t{Core::kCols}));
  int found[num::kMaxRungs + 1] = {};
  for (int item = static_cast<int>(threadIdx.x); item < cols * kColumnPieces; item += Core::kThreads) {
    const int col = item / kColumnPieces;
    const int row = item % kColumnPieces * 16;
    if (row >= num_rows) continue;
    const uint4 sixteen = *reinterpret_cast<const uint4*>(shared.tile.rungs + col * RungTile<Core>::kStride + row);
    *reinterpret_cast<uint4*>(to + col * stride + row) = sixteen;
    if constexpr (kCounts) {
      const std::uint32_t words[4] = {sixteen.x, sixteen.y, sixteen.z, sixteen.w};
      int left = 16 * 8;  // bits of those that are not found yet
#pragma unroll
      for (int rung = 0; rung <= num::kMaxRungs; ++rung) {
        if (rung > shared.ladder.num_rungs || left == 0) break;
        int of_rung = 0;
#pragma unroll
        for (const std::uint32_t four : words)
          of_rung += __popc(__vcmpeq4(four, static_cast<unsigned>(rung) * 0x01010101u));
        found[rung] += of_rung;
        left -= of_rung;
      }
    }
  }
  if constexpr (kCounts) {
#pragma unroll
    for (int rung = 0; rung <= num::kMaxRungs; ++rung) {
      const int of_warp = __reduce_add_sync(kFullWarp, found[rung]) / 8;  // eight bits a byte
      if (lane() == 0 && of_warp != 0) atomicAdd(&shared.histogram[rung], static_cast<unsigned long long>(of_warp));
    }
  }
}

/// Moves the counts of this block to those of the call.
template <class Core>
__device__ __forceinline__ void add_counts(Shared<Core>& shared, num::RungHistogram& histogram) {
  Core::sync();
  if (threadIdx.x <= num::kMaxRungs && shared.histogram[threadIdx.x] != 0) {
    atomicAdd(as_counter(&histogram.pairs[threadIdx.x]), shared.histogram[threadIdx.x]);
    shared.histogram[threadIdx.x] = 0;
  }
  Core::sync();
}

}  // namespace kizami::certify::second_look
