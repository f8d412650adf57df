// SPDX-License-Identifier: MIT
// The product of all planes in one persistent launch by mma.sync m16n8k32, for sm_80 and newer.
//
//   acc(i, j) = sum over k of A(i, k) B(j, k) of plane l, then the epilogue, tile by tile; a tile is kTileI lines of A
//   by kTileJ lines of B, and a warp's part of it 64 x 64. In the words of mma B gives the rows and A the columns
//   (store_tile.cuh says why).
//
// Work: blocks take tiles in turn (tile_order.hpp, tile_place.cuh). The stages of all tiles of a block are one row,
// kBlockK bytes of k of all lines of a tile each, which all threads copy kStages - 1 stages ahead: while a tile is
// stored, the first stages of the next one are on their way.
//
// Stages in shared memory: lines of A, then lines of B, of kBlockK bytes each, in which 16-byte chunk c lies at
// c ^ mma_swizzle(line). That is linear over the bits of a line's number, so that where a thread's other lines are is
// known when the kernel is compiled.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <limits>

#include "base/async_copies.cuh"
#include "base/code_capability.hpp"
#include "base/load_matrices.cuh"
#include "base/overlapped_launch.hpp"
#include "engines/compare_tile.cuh"
#include "engines/mma/forms.hpp"
#include "engines/mma/mma_ptx.cuh"
#include "engines/mma/product_i8_params.hpp"
#include "engines/store_tile.cuh"
#include "engines/tile_place.cuh"

namespace kizami::engines::mma {

/// A form as constants.
template <MmaForm kForm, LineOrder line_order>
struct Form {
  static constexpr MmaFormTraits kTraits = traits_of(kForm);
  static constexpr LineOrder kLineOrder = line_order;
  static constexpr int kTileI = kTraits.tile_i;
  static constexpr int kTileJ = kTraits.tile_j;
  static constexpr int kBlockK = kTraits.block_k;
  static constexpr int kStages = kTraits.stages;
  static constexpr int kThreads = kTraits.threads();
  static constexpr int kBlocksPerSm = kTraits.blocks_per_sm;
  static constexpr int kWarpsI = kTileI / 64;

  static constexpr int kChunks = kBlockK / 16;              ///< of a line in a stage
  static constexpr int kLinesPerCopy = kThreads / kChunks;  ///< that all threads copy at once
  static constexpr int kCopiesA = kTileI / kLinesPerCopy;
  static constexpr int kCopiesB = kTileJ / kLinesPerCopy;
  static constexpr int kCopies = kCopiesA + kCopiesB;
  static constexpr int kSteps = kBlockK / 32;  ///< instructions along a stage
  /// Half of the copies go with the first step, half with this one: what the first ones read may then be written again.
  static constexpr int kLastCopyStep = kSteps - 2;
  static constexpr std::uint32_t kBytesA = kTileI * kBlockK;
  static constexpr std::uint32_t kStageBytes = (kTileI + kTileJ) * kBlockK;

  static_assert(kBlockK == 64 || kBlockK == 128);
  static_assert(kLinesPerCopy % 16 == 0 && kTileI % kLinesPerCopy == 0 && kTileJ % kLinesPerCopy == 0);
  static_assert((kLinesPerCopy & (kLinesPerCopy - 1)) == 0, "mma_swizzle() of a sum of lines is that of its parts");
  static_assert(kCopiesA + kCopiesB <= 32, "a bit each");

  [[nodiscard]] static constexpr int swizzle_a(int line) {
    return mma_swizzle(kBlockK, line, line_order == LineOrder::kPermuted);
  }
  [[nodiscard]] static constexpr int swizzle_b(int line) { return mma_swizzle(kBlockK, line, false); }
};

/// Copies the stages of a block's tiles, one after another: every thread one chunk of every kLinesPerCopy-th line.
template <class F, bool kHasWindows>
class Copier {
 public:
  __device__ __forceinline__ Copier(const ProductParams& params, const Turns<kHasWindows>& turns,
                                    std::uint32_t num_tiles)
      : p_(params), turns_(turns), num_tiles_(num_tiles), line_(static_cast<int>(threadIdx.x) / F::kChunks) {
    const int chunk = chunk_of_thread();
    to_a_ = static_cast<std::uint32_t>(line_ * F::kBlockK + (chunk ^ F::swizzle_a(line_)) * 16);
    to_b_ = F::kBytesA + static_cast<std::uint32_t>(line_ * F::kBlockK + (chunk ^ F::swizzle_b(line_)) * 16);
    begin_tile();
  }

  /// Begins copies first, ... of the next stage, and of those behind the last tile, which are zeros. No branch: they go
  /// between the instructions that multiply. No register that a copy reads is written before long, for a copy reads late.
  template <int kFirst, int kEnd>
  __device__ __forceinline__ void copy(std::uint32_t stage_at) const {
    const std::uint32_t lines = lines_of_stage();
#pragma unroll
    for (int x = kFirst; x < kEnd; ++x) {
      const bool is_of_a = x < F::kCopiesA;
      const int line = (is_of_a ? x : x - F::kCopiesA) * F::kLinesPerCopy;
      const int swizzled = (is_of_a ? F::swizzle_a(line) : F::swizzle_b(line)) * 16;
      const std::int8_t* const from = (is_of_a ? a_ + line * p_.a_row_stride : b_ + line * p_.b_row_stride) + k_;
      copy_16_bytes_if(((stage_at + (is_of_a ? to_a_ : to_b_)) ^ swizzled) + line * F::kBlockK, from, lines, 1U << x);
    }
  }
  /// After all copies of a stage.
  __device__ __forceinline__ void advance() {
    k_ += F::kBlockK;
    if (k_ >= end_) end_window();
  }

 private:
  [[nodiscard]] static __device__ __forceinline__ int chunk_of_thread() {
    return static_cast<int>(threadIdx.x) % F::kChunks;
  }

  /// The copies of a thread that are of a line that is there, and of bytes of it that are. (Lines are readable, and zero,
  /// up to a multiple of 64 bytes.)
  [[nodiscard]] __device__ __forceinline__ std::uint32_t lines_of_stage() const {
    if constexpr (F::kBlockK == product::kPadBytes) return lines_;
    return chunk_of_thread() * 16 < end_ - k_ ? lines_ : 0;
  }

  __device__ __forceinline__ void end_window() {
    if constexpr (kHasWindows) {
      if (++window_ < end_window_) return begin_window();
    }
    begin_tile();
  }
  __device__ __forceinline__ void begin_tile() {
    const std::uint32_t tile = turns_.tile(round_++);
    if (tile >= num_tiles_ || (!kHasWindows && p_.num_k_blocks == 0)) {
      k_ = 0;
      end_ = std::numeric_limits<int>::max();
      lines_ = 0;
      return;
    }
    place_ = place_of<F::kTileI, F::kTileJ>(tile, p_);
    lines_ = 0;
#pragma unroll
    for (int x = 0; x < F::kCopiesA; ++x) lines_ |= place_.i_first + line_ + x * F::kLinesPerCopy < p_.m ? 1U << x : 0U;
#pragma unroll
    for (int x = 0; x < F::kCopiesB; ++x)
      lines_ |= place_.j_first + line_ + x * F::kLinesPerCopy < p_.n ? 1U << (F::kCopiesA + x) : 0U;
    if constexpr (kHasWindows) {
      window_ = p_.first_window[place_.plane];
      end_window_ = p_.first_window[place_.plane + 1];
      begin_window();
    } else {
      set(place_.plane * p_.a_plane_step, 0, place_.plane * p_.b_plane_step, 0, p_.line_bytes);
    }
  }
  __device__ __forceinline__ void begin_window() {
    const WindowPlace& w = p_.windows[window_];
    set(w.a_plane, w.a_first, w.b_plane, w.b_first, w.num_k_blocks * F::kBlockK);
  }
  __device__ __forceinline__ void set(int a_plane, int a_first, int b_plane, int b_first, int bytes) {
    const int chunk = chunk_of_thread() * 16;
    a_ = p_.a + a_plane * p_.a_plane_stride + (place_.i_first + line_) * p_.a_row_stride + a_first + chunk;
    b_ = p_.b + b_plane * p_.b_plane_stride + (place_.j_first + line_) * p_.b_row_stride + b_first + chunk;
    k_ = 0;
    end_ = bytes;
  }

  const ProductParams& p_;
  Turns<kHasWindows> turns_;
  std::uint32_t num_tiles_;
  std::uint32_t round_ = 0;
  TilePlace place_{};
  int line_;            ///< the first that the thread copies, of A and of B
  std::uint32_t to_a_;  ///< where to, in a stage
  std::uint32_t to_b_;
  std::uint32_t lines_ = 0;         ///< a bit for each copy: its line is there
  const std::int8_t* a_ = nullptr;  ///< the thread's chunk of its first line, at the beginning of the window
  const std::int8_t* b_ = nullptr;
  int k_ = 0;    ///< bytes of the window, or of the lines, that are copied
  int end_ = 0;  ///< and that there are
  int window_ = 0;
  int end_window_ = 0;
};

/// What a warp multiplies in one step: 64 rows and 64 columns of 32 bytes of k.
struct Fragments {
  std::uint32_t rows[4][4];     ///< of 16 lines of B: lines 0-7 and 8-15 of the first 16 bytes, then of the second
  std::uint32_t columns[4][4];  ///< of 16 columns: both 16 bytes of the first 8, then of the others
};

/// Where a lane reads fragments.
template <class F>
class Reader {
 public:
  __device__ __forceinline__ Reader(int lane, int warp_i, int warp_j) {
    const int row = warp_j + lane % 16;
    rows_at_ = F::kBytesA + static_cast<std::uint32_t>(row * F::kBlockK + ((lane / 16) ^ F::swizzle_b(row)) * 16);
    const int r = lane % 8;
    const int eight = lane / 16;  // of the columns
    const int column =
        warp_i + (F::kLineOrder == LineOrder::kPermuted ? r / 2 * 16 + 2 * eight + r % 2 : 8 * eight + r);
    columns_at_ = static_cast<std::uint32_t>(column * F::kBlockK + ((lane / 8 % 2) ^ F::swizzle_a(column)) * 16);
  }

  __device__ __forceinline__ void load(Fragments& f, std::uint32_t stage_at, int step) const {
    constexpr int kNextColumns = F::kLineOrder == LineOrder::kPermuted ? 4 : 16;
    const std::uint32_t rows = (stage_at + rows_at_) ^ static_cast<std::uint32_t>(step * 32);
    const std::uint32_t columns = (stage_at + columns_at_) ^ static_cast<std::uint32_t>(step * 32);
#pragma unroll
    for (int x = 0; x < 4; ++x) base::load_matrices(f.rows[x], rows + x * 16 * F::kBlockK);
#pragma unroll
    for (int x = 0; x < 4; ++x) base::load_matrices(f.columns[x], columns + x * kNextColumns * F::kBlockK);
  }

 private:
  std::uint32_t rows_at_;
  std::uint32_t columns_at_;
};

/// The accumulators of a warp: of 16 rows each, in the order of store_tile.cuh.
using Accumulators = std::int32_t[4][32];

__device__ __forceinline__ void multiply(Accumulators& acc, const Fragments& f) {
#pragma unroll
  for (int x = 0; x < 4; ++x) {
#pragma unroll
    for (int y = 0; y < 8; ++y)
      multiply_s8(&acc[x][4 * y], f.rows[x], f.columns[y / 2][y % 2 * 2], f.columns[y / 2][y % 2 * 2 + 1]);
  }
}

/// @range blockDim = F::kThreads; F::kTraits.shared_bytes() of dynamic shared memory
template <class F, product::Epilogue kEpilogue, bool kHasWindows = false>
__global__ void __launch_bounds__(F::kThreads, F::kBlocksPerSm)
    product_i8_sm80(const __grid_constant__ ProductParams params) {
  if (!base::code_has_room_for(F::kTraits.shared_bytes())) return __trap();
  extern __shared__ __align__(128) std::uint8_t shared_memory[];
  base::follow_previous_kernel();
  const int num_planes = num_planes_of<kEpilogue>(params);
  const std::uint32_t num_tiles = params.tiles_per_plane * static_cast<std::uint32_t>(num_planes);
  const Turns<kHasWindows> turns{blockIdx.x, gridDim.x};
  const std::uint32_t ring_at = shared_address(shared_memory);
  const int lane = static_cast<int>(threadIdx.x % 32);
  const int warp = static_cast<int>(__shfl_sync(kWholeWarp, threadIdx.x / 32, 0));  // uniform, for the compiler
  const int warp_i = warp % F::kWarpsI * 64;
  const int warp_j = warp / F::kWarpsI * 64;
  const Reader<F> reader(lane, warp_i, warp_j);
  const auto after = [](std::uint32_t offset) {
    offset += F::kStageBytes;
    return offset == F::kStages * F::kStageBytes ? 0U : offset;
  };

  Copier<F, kHasWindows> copier(params, turns, num_tiles);
#pragma unroll
  for (int s = 0; s < F::kStages - 1; ++s) {
    copier.template copy<0, F::kCopies>(ring_at + s * F::kStageBytes);
    base::close_copies();
    copier.advance();
  }
  std::uint32_t stage = 0;                                       // that is multiplied, as an offset
  std::uint32_t free_stage = (F::kStages - 1) * F::kStageBytes;  // that is copied to
  base::wait_for_copies<F::kStages - 2>();
  __syncthreads();
  Fragments fragments[2];
  reader.load(fragments[0], ring_at, 0);

  [[maybe_unused]] std::uint32_t num_refused = 0;  // by kCompare
  std::uint32_t tile = turns.tile(0);
#pragma unroll 1
  for (std::uint32_t round = 1; tile < num_tiles; tile = turns.tile(round++)) {
    const TilePlace place = place_of<F::kTileI, F::kTileJ>(tile, params);
    Accumulators acc;
#pragma unroll
    for (int x = 0; x < 4; ++x) {
#pragma unroll
      for (int e = 0; e < 32; ++e) acc[x][e] = 0;
    }
    const int num_k_blocks = kHasWindows ? params.plane_k_blocks[place.plane] : params.num_k_blocks;
#pragma unroll 1
    for (int k_block = 0; k_block < num_k_blocks; ++k_block) {
#pragma unroll
      for (int step = 0; step < F::kSteps; ++step) {
        if (step == F::kSteps - 1) {  // all fragments of the stage are in registers: it may be written when all say so
          base::wait_for_copies<F::kStages - 2>();
          __syncthreads();
          free_stage = stage;
          stage = after(stage);
        }
        reader.load(fragments[(step + 1) % 2], ring_at + stage, (step + 1) % F::kSteps);
        if (step == 0) copier.template copy<0, F::kCopies / 2>(ring_at + free_stage);
        if (step == F::kLastCopyStep) {
          copier.template copy<F::kCopies / 2, F::kCopies>(ring_at + free_stage);
          base::close_copies();
        }
        multiply(acc, fragments[step % 2]);
      }
      copier.advance();
    }
    const int i_first = place.i_first + warp_i;
    const int j_first = place.j_first + warp_j;
    if constexpr (kEpilogue == product::Epilogue::kCompare) {
      const TileWeights<64, 4, 16> weights(params, params, i_first, j_first, lane);
      num_refused += weights.num_refused(params.allowance, acc);
    } else {
#pragma unroll
      for (int x = 0; x < 4; ++x)
        store_tile<64, F::kLineOrder, kEpilogue>(acc[x], params, params, place.plane, i_first, j_first + 16 * x, lane);
    }
  }
  if constexpr (kEpilogue == product::Epilogue::kCompare)
    add_refused(params, num_refused, static_cast<std::uint32_t>(lane));
  base::wait_for_copies<0>();
}

/// The kernels of a form: residues from permuted lines of A, sums in order.
template <MmaForm kForm>
[[nodiscard]] FormKernels kernels_of() {
  using product::Epilogue;
  using Ordered = Form<kForm, LineOrder::kInOrder>;
  using Permuted = Form<kForm, LineOrder::kPermuted>;
  return {reinterpret_cast<const void*>(&product_i8_sm80<Ordered, Epilogue::kStoreAcc>),
          reinterpret_cast<const void*>(&product_i8_sm80<Ordered, Epilogue::kStoreAcc, true>),
          reinterpret_cast<const void*>(&product_i8_sm80<Permuted, Epilogue::kReduce>),
          reinterpret_cast<const void*>(&product_i8_sm80<Permuted, Epilogue::kReduceAdd>),
          reinterpret_cast<const void*>(&product_i8_sm80<Ordered, Epilogue::kCompare>),
          static_cast<std::size_t>(traits_of(kForm).shared_bytes())};
}

}  // namespace kizami::engines::mma
