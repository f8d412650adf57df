// SPDX-License-Identifier: MIT
// The product of planes as product/float_product.hpp states it, a tile of C a block, the sums one after another from
// the last to the first, so that C takes them in as a Horner sum.
//
// The work on one sum is a row of stages, each kStageBytes of k of some pairs of planes:
//   intervals of one stage or less    a stage has all pairs
//   longer ones                       the pairs that take turns have a stage for each place of the interval, then so
//                                     has every other pair for itself: the order that the description prescribes
// Copies run kStages - 1 stages ahead. In shared memory a plane is kTileI lines of 64 bytes, whose 16-byte chunk c of
// line r lies at c ^ (r / 2 % 4): eight neighbouring lines of a chunk meet all banks once.
#include <cuda_runtime.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/async_copies.cuh"
#include "base/cuda_status.hpp"
#include "base/int_math.hpp"
#include "base/load_matrices.cuh"
#include "base/overlapped_launch.hpp"
#include "engines/mma/mma_params.hpp"
#include "engines/mma/mma_ptx.cuh"
#include "engines/shared_memory.hpp"

namespace kizami::engines::mma {
namespace {

using num::FloatType;
using product::FloatSum;

constexpr int kThreads = 256;
constexpr int kWarpsDown = 2;  // of 2 x 4 warps
constexpr int kWarpI = kTileI / kWarpsDown;
constexpr int kWarpJ = kTileJ / (kThreads / 32 / kWarpsDown);
constexpr int kStrips = kWarpI / 16;  // of an instruction, in a warp's part of the tile
constexpr int kColumns = kWarpJ / 8;
static_assert(kTileI == kTileJ, "planes of A and B have the same room");
constexpr int kPlaneBytes = kTileI * static_cast<int>(kStageBytes);
constexpr int kChunks = static_cast<int>(kStageBytes) / 16;
/// Tiles that are neighbours in time are of so many rows of tiles, for the sake of the L2 cache.
constexpr int kRasterRows = 8;

using Accumulator = float[kStrips][kColumns][4];

/// What adds the products of an instruction to the accumulator: the tensor core, which cuts, or an FP32 addition.
enum class Adding : std::uint8_t { kFused, kApartNearest, kApartTowardZero };

/// Pairs of a sum that a stage multiplies, over which place of k.
struct Stage {
  int first_pair;
  int end_pair;
  int num_interleaved;  ///< of them, the first
  int block;            ///< of kStageBytes of k
  bool ends_interval;
};

/// The stages of one sum in order.
struct StageWalk {
  const FloatSum& sum;
  int num_blocks;           ///< of all of k
  int blocks_per_interval;  ///< at least 1
  int num_passes;           ///< over an interval
  bool has_all_pairs;       ///< every stage has

  __device__ StageWalk(const FloatSum& of, std::int64_t k_bytes, std::int64_t interval_bytes)
      : sum(of),
        num_blocks(static_cast<int>((k_bytes + kStageBytes - 1) / kStageBytes)),
        blocks_per_interval(static_cast<int>(interval_bytes < kStageBytes ? 1 : interval_bytes / kStageBytes)),
        num_passes(1),
        has_all_pairs(interval_bytes <= kStageBytes) {
    if (!has_all_pairs) num_passes = of.num_pairs - of.num_interleaved + (of.num_interleaved > 0 ? 1 : 0);
  }

  [[nodiscard]] __device__ int count() const { return num_blocks * num_passes; }
  [[nodiscard]] __device__ Stage at(int s) const {
    if (has_all_pairs) return {0, sum.num_pairs, sum.num_interleaved, s, true};
    const int whole = blocks_per_interval * num_passes;
    const int first_block = s / whole * blocks_per_interval;
    const int length = min(blocks_per_interval, num_blocks - first_block);
    const int pass = s % whole / length;
    const int place = s % whole % length;
    Stage stage{};
    if (sum.num_interleaved > 0 && pass == 0) {
      stage.end_pair = stage.num_interleaved = sum.num_interleaved;
    } else {
      stage.first_pair = sum.num_interleaved > 0 ? sum.num_interleaved + pass - 1 : pass;
      stage.end_pair = stage.first_pair + 1;
    }
    stage.block = first_block + place;
    stage.ends_interval = pass == num_passes - 1 && place == length - 1;
    return stage;
  }
};

/// Where a block's tile lies.
struct TilePlace {
  std::int64_t i;
  std::int64_t j;
};
[[nodiscard]] __device__ TilePlace place_of(const Params& p, unsigned tile) {
  const unsigned in_group = kRasterRows * static_cast<unsigned>(p.tiles_j);
  const unsigned first = tile / in_group * kRasterRows;
  const unsigned rows = min(static_cast<unsigned>(kRasterRows), static_cast<unsigned>(p.tiles_i) - first);
  const unsigned i = first + tile % in_group % rows;
  const unsigned j = tile % in_group / rows;
  return {std::int64_t{i} * kTileI, std::int64_t{j} * kTileJ};
}

template <FloatType kType, Adding kAdding>
class Block {
 public:
  __device__ Block(const Params& params, std::uint32_t shared)
      : p_(params),
        d_(params.desc),
        shared_(shared),
        thread_(static_cast<int>(threadIdx.x)),
        lane_(thread_ % 32),
        warp_i_(thread_ / 32 % kWarpsDown * kWarpI),
        warp_j_(thread_ / 32 / kWarpsDown * kWarpJ),
        place_(place_of(params, blockIdx.x)),
        k_bytes_(params.desc.k * kBytes) {}

  /// acc = sum q of the tile.
  __device__ void sum(int q, Accumulator& acc) {
    const FloatSum& list = d_.sums[static_cast<std::size_t>(q)];
    const StageWalk walk(list, k_bytes_, d_.k_interval * kBytes);
    const int count = walk.count();
    Accumulator total;
    clear(acc);
    clear(total);
    int num_held = 0;  // intervals in the accumulator
    const auto end_interval = [&](bool is_last) {
      ++num_held;
      if (!list.promotes || (!is_last && num_held != d_.intervals_promoted)) return;
      num_held = 0;
      promote(acc, total);
    };

    for (int s = 0; s < kStages - 1; ++s) {
      if (s < count) copy(list, walk.at(s), s);
      base::close_copies();
    }
#pragma unroll 1
    for (int s = 0; s < count; ++s) {
      base::wait_for_copies<kStages - 2>();
      __syncthreads();  // the stage is there for all, and the one before has been read
      if (s + kStages - 1 < count) copy(list, walk.at(s + kStages - 1), (s + kStages - 1) % kStages);
      base::close_copies();

      const Stage stage = walk.at(s);
      const std::uint32_t planes = shared_ + static_cast<std::uint32_t>(s % kStages) * stage_bytes();
      const std::int64_t left = k_bytes_ - stage.block * kStageBytes;
      const int num_instructions = left > kInstructionBytes ? 2 : 1;
      if (d_.k_interval * kBytes == kInstructionBytes) {
#pragma unroll 1
        for (int t = 0; t < num_instructions; ++t) {
          for (int pair = stage.first_pair; pair < stage.end_pair; ++pair) multiply_pair(planes, list, pair, t, acc);
          end_interval(stage.block == walk.num_blocks - 1 && t == num_instructions - 1);
        }
        continue;
      }
#pragma unroll 1
      for (int t = 0; t < num_instructions && stage.num_interleaved > 0; ++t) {
        for (int pair = 0; pair < stage.num_interleaved; ++pair) multiply_pair(planes, list, pair, t, acc);
      }
#pragma unroll 1
      for (int pair = stage.first_pair + stage.num_interleaved; pair < stage.end_pair; ++pair) {
        for (int t = 0; t < num_instructions; ++t) multiply_pair(planes, list, pair, t, acc);
      }
      if (stage.ends_interval) end_interval(stage.block == walk.num_blocks - 1);
    }
    base::wait_for_copies<0>();
    __syncthreads();  // the stages may be written again
    if (list.promotes) {
#pragma unroll
      for (int x = 0; x < kStrips; ++x) {
#pragma unroll
        for (int y = 0; y < kColumns; ++y) {
#pragma unroll
          for (int r = 0; r < 4; ++r) acc[x][y][r] = total[x][y][r];
        }
      }
    }
  }

  /// C = sum, or C = C 2^-remainder_shift + sum, rounded once.
  __device__ void store(const Accumulator& sum, bool is_first) const {
    const float weight = num::exp2i<float>(-d_.remainder_shift);
#pragma unroll
    for (int x = 0; x < kStrips; ++x) {
#pragma unroll
      for (int y = 0; y < kColumns; ++y) {
#pragma unroll
        for (int r = 0; r < 4; ++r) {
          const std::int64_t i = place_.i + warp_i_ + 16 * x + 8 * (r / 2) + lane_ / 4;
          const std::int64_t j = place_.j + warp_j_ + 8 * y + 2 * (lane_ % 4) + r % 2;
          if (i >= d_.m || j >= d_.n) continue;
          float& c = p_.pointers.c[j * d_.c_col_stride + i];
          c = is_first ? sum[x][y][r] : __fmaf_rn(c, weight, sum[x][y][r]);
        }
      }
    }
  }

 private:
  static constexpr std::int64_t kBytes = kType == FloatType::kTf32 ? 4 : 2;

  [[nodiscard]] __device__ std::uint32_t stage_bytes() const {
    return static_cast<std::uint32_t>((p_.num_a_planes + p_.num_b_planes) * kPlaneBytes);
  }

  static __device__ void clear(Accumulator& acc) {
#pragma unroll
    for (int x = 0; x < kStrips; ++x) {
#pragma unroll
      for (int y = 0; y < kColumns; ++y) {
#pragma unroll
        for (int r = 0; r < 4; ++r) acc[x][y][r] = 0.0F;
      }
    }
  }
  static __device__ void promote(Accumulator& acc, Accumulator& total) {
#pragma unroll
    for (int x = 0; x < kStrips; ++x) {
#pragma unroll
      for (int y = 0; y < kColumns; ++y) {
#pragma unroll
        for (int r = 0; r < 4; ++r) {
          total[x][y][r] = __fadd_rn(total[x][y][r], acc[x][y][r]);
          acc[x][y][r] = 0.0F;
        }
      }
    }
  }

  /// Begins to copy the planes of a stage's pairs.
  __device__ void copy(const FloatSum& list, const Stage& stage, int slot) const {
    unsigned of_a = 0;
    unsigned of_b = 0;
    for (int pair = stage.first_pair; pair < stage.end_pair; ++pair) {
      of_a |= 1U << list.pairs[static_cast<std::size_t>(pair)].a;
      of_b |= 1U << list.pairs[static_cast<std::size_t>(pair)].b;
    }
    std::uint32_t to = shared_ + static_cast<std::uint32_t>(slot) * stage_bytes();
    const std::int64_t offset = stage.block * kStageBytes;
    const auto copy_planes = [&](const void* planes, unsigned taken, int count, std::int64_t plane_stride,
                                 std::int64_t row_stride, std::int64_t first, std::int64_t num_lines) {
      for (int plane = 0; plane < count; ++plane, to += kPlaneBytes) {
        if ((taken >> plane & 1U) == 0) continue;
        const auto* const from = static_cast<const std::int8_t*>(planes) + plane * plane_stride * kBytes + offset;
#pragma unroll
        for (int x = thread_; x < kTileI * kChunks; x += kThreads) {
          const int line = x / kChunks;
          const int chunk = x % kChunks;
          const bool is_there = first + line < num_lines;
          const std::int64_t at = is_there ? (first + line) * row_stride * kBytes : 0;
          base::copy_to_shared<16>(to + static_cast<std::uint32_t>(line * kStageBytes + (chunk ^ (line / 2 % 4)) * 16),
                                   from + at + chunk * 16, is_there ? 16 : 0);
        }
      }
    };
    copy_planes(p_.pointers.a, of_a, p_.num_a_planes, d_.a_plane_stride, d_.a_row_stride, place_.i, d_.m);
    copy_planes(p_.pointers.b, of_b, p_.num_b_planes, d_.b_plane_stride, d_.b_row_stride, place_.j, d_.n);
  }

  /// acc += instruction t of a stage, of one pair.
  __device__ void multiply_pair(std::uint32_t planes, const FloatSum& list, int pair, int t, Accumulator& acc) const {
    const product::PlanePair of = list.pairs[static_cast<std::size_t>(pair)];
    const std::uint32_t a_plane = planes + static_cast<std::uint32_t>(of.a * kPlaneBytes);
    const std::uint32_t b_plane = planes + static_cast<std::uint32_t>((p_.num_a_planes + of.b) * kPlaneBytes);
    const auto row_of = [t](std::uint32_t plane, int line, int half) {
      const int chunk = 2 * t + half;
      return plane + static_cast<std::uint32_t>(line * kStageBytes + (chunk ^ (line / 2 % 4)) * 16);
    };
    // Matrices of A: lines 0-7 and 8-15 of the first 16 bytes, then of the second; of B: both 16 bytes of 8 lines, then
    // of the next 8.
    std::uint32_t a[kStrips][4];
#pragma unroll
    for (int x = 0; x < kStrips; ++x)
      base::load_matrices(a[x], row_of(a_plane, warp_i_ + 16 * x + lane_ % 16, lane_ / 16));
    std::uint32_t b[kColumns / 2][4];
#pragma unroll
    for (int y = 0; y < kColumns / 2; ++y)
      base::load_matrices(b[y], row_of(b_plane, warp_j_ + 16 * y + lane_ / 16 * 8 + lane_ % 8, lane_ / 8 % 2));
#pragma unroll
    for (int x = 0; x < kStrips; ++x) {
#pragma unroll
      for (int y = 0; y < kColumns; ++y)
        add_products(acc[x][y], a[x], b[y / 2][2 * (y % 2)], b[y / 2][2 * (y % 2) + 1]);
    }
  }

  static __device__ void add_products(float (&acc)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                                      std::uint32_t b1) {
    if constexpr (kAdding == Adding::kFused) {
      multiply<kType>(acc, a, b0, b1);
    } else {
      float products[4] = {};
      multiply<kType>(products, a, b0, b1);
#pragma unroll
      for (int r = 0; r < 4; ++r) {
        acc[r] = kAdding == Adding::kApartNearest ? __fadd_rn(acc[r], products[r]) : __fadd_rz(acc[r], products[r]);
      }
    }
  }

  const Params& p_;
  const product::FloatProductDesc& d_;
  std::uint32_t shared_;
  int thread_;
  int lane_;
  int warp_i_;
  int warp_j_;
  TilePlace place_;
  std::int64_t k_bytes_;
};

template <FloatType kType, Adding kAdding>
__global__ void __launch_bounds__(kThreads, 1) multiply_planes(const __grid_constant__ Params params) {
  extern __shared__ std::int8_t stages[];
  base::follow_previous_kernel();
  Block<kType, kAdding> block(params, shared_address(stages));
#pragma unroll 1
  for (int q = params.desc.num_sums - 1; q >= 0; --q) {
    Accumulator sum;
    block.sum(q, sum);
    block.store(sum, q == params.desc.num_sums - 1);
  }
}

template <FloatType kType, Adding kAdding = Adding::kFused>
Status launch_of(const Params& params, product::Queue queue) {
  static SharedMemoryGrant grant;
  constexpr int kMostBytes = kStages * 2 * num::kMaxParts * kPlaneBytes;
  int device = 0;
  KIZAMI_RETURN_IF_ERROR(base::cuda_status(cudaGetDevice(&device), "the current device"));
  KIZAMI_RETURN_IF_ERROR(grant.ask(reinterpret_cast<const void*>(multiply_planes<kType, kAdding>), kMostBytes, device));
  const auto shared_bytes =
      static_cast<std::size_t>(kStages * (params.num_a_planes + params.num_b_planes) * kPlaneBytes);
  const auto tiles = static_cast<unsigned>(params.tiles_i) * static_cast<unsigned>(params.tiles_j);
  return base::launch_overlapped("the product of planes by mma.sync", multiply_planes<kType, kAdding>, dim3(tiles),
                                 dim3(kThreads), shared_bytes, queue, params);
}

}  // namespace

Status launch(const Params& params, product::Queue queue) {
  switch (params.desc.type) {
    case FloatType::kFp16:
      if (params.desc.core.is_fused) return launch_of<FloatType::kFp16>(params, queue);
      return params.desc.core.add_rounding == RoundingMode::kNearestEven
                 ? launch_of<FloatType::kFp16, Adding::kApartNearest>(params, queue)
                 : launch_of<FloatType::kFp16, Adding::kApartTowardZero>(params, queue);
    case FloatType::kBf16:
      return launch_of<FloatType::kBf16>(params, queue);
    case FloatType::kTf32:
      return launch_of<FloatType::kTf32>(params, queue);
  }
  return {StatusCode::kInternal, "no such type of elements"};
}

}  // namespace kizami::engines::mma
