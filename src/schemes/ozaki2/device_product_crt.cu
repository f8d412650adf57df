// SPDX-License-Identifier: MIT
// The product of all residue planes and the CRT of its results in one kernel.
//
// Clusters take tiles of C, and of each of them all planes one after another: two consumer warpgroups by turns, each with a tile of
// its own. A warp that has stored its columns of a tile's last plane has all residues of these columns, and rebuilds some of them
// behind each plane of its next tile, while the other warpgroup multiplies. A last tile that has no other beside it is both
// warpgroups': they make its planes by turns, and half of its columns each.
#include "schemes/ozaki2/device_product_crt.hpp"

#include "engines/hopper/current_device.hpp"
#include "engines/hopper/form_launch.hpp"
#include "engines/hopper/product_i8_sm90.cuh"
#include "schemes/ozaki2/crt_words.hpp"
#include "schemes/ozaki2/device_crt_bytes.cuh"
#include "schemes/ozaki2/device_crt_epilogue.cuh"
#include "schemes/ozaki2/device_crt_rung.cuh"

namespace kizami::ozaki2 {
namespace kernels {

using namespace engines::hopper;  // the parts of a product kernel
using engines::TilePlace;

struct ProductCrtParams : ProductParams {
  DeviceReconstruction<double> task;
};
static_assert(sizeof(ProductCrtParams) <= 4096, "the limit of kernel parameters");

/// What all elements share, in one register.
class Factors {
 public:
  __device__ explicit Factors(const DeviceReconstruction<double>& task) {
    const double alpha = task.alpha.load();
    const double beta = task.beta.load();
    const bool has_pairs =
        task.c.row_stride == 1 && task.c.col_stride % 2 == 0 && reinterpret_cast<std::uintptr_t>(task.c.data) % 16 == 0;
    flags_ = (alpha < 0.0 ? kMinusProduct : 0u) | (beta < 0.0 ? kMinusC : 0u) |
             (fabs(alpha) == 1.0 && (beta == 0.0 || fabs(beta) == 1.0) ? kUnits : 0u) |
             (device::is_moderate(alpha) && device::is_moderate(beta) ? kModerate : 0u) | (beta != 0.0 ? kReadsC : 0u) |
             (task.state->num_repairs != 0 ? kRepairs : 0u) | (has_pairs ? kPairs : 0u);
  }
  /// alpha is 1 or -1, beta that or 0.
  [[nodiscard]] __device__ bool are_units() const { return has(kUnits); }
  /// num::finish_moderate() will do for elements that are moderate.
  [[nodiscard]] __device__ bool are_moderate() const { return has(kModerate); }
  [[nodiscard]] __device__ bool reads_c() const { return has(kReadsC); }
  [[nodiscard]] __device__ bool has_repairs() const { return has(kRepairs); }
  /// Of neighbours in C in 16 bytes, from each multiple of four rows on.
  [[nodiscard]] __device__ bool has_pairs() const { return has(kPairs); }
  /// The signs of alpha and beta.
  [[nodiscard]] __device__ std::uint32_t flip_product() const { return flags_ << 31; }
  [[nodiscard]] __device__ std::uint32_t flip_c() const { return flags_ << 30 & 0x80000000u; }

 private:
  static constexpr std::uint32_t kMinusProduct = 1, kMinusC = 2, kUnits = 4, kModerate = 8, kReadsC = 16, kRepairs = 32,
                                 kPairs = 64;
  [[nodiscard]] __device__ bool has(std::uint32_t flag) const { return (flags_ & flag) != 0; }
  std::uint32_t flags_;
};

/// device::is_moderate() in integers.
[[nodiscard]] __device__ __forceinline__ bool is_moderate(const NumberBits& x) {
  const std::uint32_t magnitude = x.high & 0x7FFFFFFFu;
  return magnitude - (676u << 20) < (747u << 20) || (magnitude | x.low) == 0;
}
[[nodiscard]] __device__ __forceinline__ double number_of(const NumberBits& x) {
  return __hiloint2double(static_cast<int>(x.high), static_cast<int>(x.low));
}
[[nodiscard]] __device__ __forceinline__ NumberBits bits_of(double x) {
  return {static_cast<std::uint32_t>(__double2loint(x)), static_cast<std::uint32_t>(__double2hiint(x))};
}

/// Rows of a lane in a tile: four neighbours.
struct QuadRows {
  int first;
  int count;  ///< that are rows of C
  std::int32_t scale[4];
  bool are_moderate;
};

/// An element from its integer, whatever scales and factors. Inlined, as all is here: a call would take the registers of the whole
/// kernel.
__device__ __forceinline__ void write_any(const DeviceReconstruction<double>& task, std::int32_t row_scale,
                                          int col_scale, const FourWords& x, double* out) {
  const FourWords one[1] = {x};
  const int unscaled[1] = {0};
  NumberBits bits[1];
  round_words(one, unscaled, bits);
  num::Scaled p = num::make_scaled(number_of(bits[0]), 0);
  p.exponent -= row_scale + col_scale;
  const double beta = task.beta.load();
  *out = num::finish(p, task.alpha.load(), beta, beta == 0.0 ? 0.0 : *out);
}

/// Elements `first` and the next of a lane's rows in column j, from their integers: quickly where scales, factors and elements are
/// moderate.
__device__ __forceinline__ void write_two(const DeviceReconstruction<double>& task, const Factors& factors,
                                          const QuadRows& rows, int first, int j, int col_scale,
                                          const FourWords (&x)[2]) {
  double* const out = task.c.data + (rows.first + first) * task.c.row_stride + j * task.c.col_stride;
  const unsigned repaired = factors.has_repairs() ? repaired_of_quad(task, rows.first, j) >> first : 0;
  const bool has_pair = factors.has_pairs() && rows.count >= first + 2;
  double old[2] = {};
  if (factors.reads_c()) {
    if (has_pair) {
      const double2 two = *reinterpret_cast<const double2*>(out);
      old[0] = two.x;
      old[1] = two.y;
    } else {
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        if (first + e < rows.count) old[e] = out[e * task.c.row_stride];
      }
    }
  }
  bool is_plain = rows.are_moderate && has_moderate_scale(col_scale) && (factors.are_units() || factors.are_moderate());
  NumberBits value[2];
  if (is_plain) {
    const int scale[2] = {rows.scale[first] + col_scale, rows.scale[first + 1] + col_scale};
    round_words(x, scale, value);
    if (factors.reads_c() || !factors.are_units()) {
#pragma unroll
      for (int e = 0; e < 2; ++e) is_plain = is_plain && is_moderate(value[e]) && is_moderate(bits_of(old[e]));
    }
    if (factors.are_units()) {
#pragma unroll
      for (int e = 0; e < 2; ++e) value[e].high ^= factors.flip_product();
      if (factors.reads_c()) {
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          NumberBits addend = bits_of(old[e]);
          addend.high ^= factors.flip_c();
          value[e] = bits_of(number_of(value[e]) + number_of(addend));
        }
      }
    } else {
#pragma unroll
      for (int e = 0; e < 2; ++e)
        value[e] = bits_of(num::finish_moderate(number_of(value[e]), task.alpha.load(), task.beta.load(), old[e]));
    }
  }
  if (is_plain && has_pair && (repaired & 3) == 0) {
    *reinterpret_cast<uint4*>(out) = make_uint4(value[0].low, value[0].high, value[1].low, value[1].high);
    return;
  }
  if (col_scale == num::kSkipLine) return;
#pragma unroll 1
  for (int e = 0; e < 2; ++e) {
    const std::int32_t row_scale = e == 0 ? rows.scale[first] : rows.scale[first + 1];
    if (first + e >= rows.count || row_scale == num::kSkipLine || (repaired >> e & 1) != 0) continue;
    if (is_plain) {
      out[e * task.c.row_stride] = e == 0 ? number_of(value[0]) : number_of(value[1]);
    } else {
      write_any(task, row_scale, col_scale, e == 0 ? x[0] : x[1], out + e * task.c.row_stride);
    }
  }
}

/// The tiles of C of a cluster, by twos: one for each consumer. A last one that has no other beside it is both's.
struct TilePairs {
  std::uint32_t first_tile;
  std::uint32_t tile_step;
  std::uint32_t num_tiles;  ///< of C

  [[nodiscard]] __device__ __forceinline__ std::uint32_t first() const { return first_tile; }
  [[nodiscard]] __device__ __forceinline__ bool has(std::uint32_t tile) const { return tile < num_tiles; }
  [[nodiscard]] __device__ __forceinline__ std::uint32_t other(std::uint32_t tile) const { return tile + tile_step; }
  [[nodiscard]] __device__ __forceinline__ std::uint32_t next(std::uint32_t tile) const { return tile + 2 * tile_step; }
};

/// The producer's part, by one thread: all planes of the tiles of a pair by turns.
template <class F>
__device__ __forceinline__ void produce_pairs(const ProductCrtParams& params, const TilePairs& pairs, int num_planes,
                                              std::uint32_t rank, std::uint32_t ring_at, std::uint32_t full_at,
                                              std::uint32_t empty_at) {
  RingPlace<F::kStages> ring;
  for (std::uint32_t tile = pairs.first(); pairs.has(tile); tile = pairs.next(tile)) {
    const bool has_other = pairs.has(pairs.other(tile));
    const TilePlace place = place_of<F>(tile, params);
    const TilePlace other = has_other ? place_of<F>(pairs.other(tile), params) : place;
    const int rounds = has_other ? 2 * num_planes : num_planes;
#pragma unroll 1
    for (int round = 0; round < rounds; ++round) {
      TilePlace at = has_other && round % 2 != 0 ? other : place;
      at.plane = has_other ? round / 2 : round;
#pragma unroll 1
      for (int k_block = 0; k_block < params.num_k_blocks; ++k_block) {
        const std::uint32_t full = full_at + ring.stage * 8;
        barrier_wait(empty_at + ring.stage * 8, ring.phase ^ 1);  // at once in the first round
        barrier_arrive_expect(full, F::kStageBytes);
        copy_stage<F, F::kLineOrder>(params.a_map, params.b_map, at, rank, source_of<F>(params, at, k_block),
                                     ring_at + ring.stage * F::kStageBytes, full);
        ring.next();
      }
    }
  }
}

__device__ __forceinline__ std::uint32_t load_past_l1(const std::int8_t* at) {
  std::uint32_t word;
  asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(word) : "l"(at) : "memory");
  return word;
}

/// Words of four neighbours of a plane each become, of each of the four, words of four planes.
__device__ __forceinline__ void transpose_words(const std::uint32_t (&words)[kWordPlanes],
                                                std::uint32_t (&bytes)[4][4]) {
#pragma unroll
  for (int w = 0; w < 4; ++w) {
    constexpr int kLast = kWordPlanes / 4;
    std::uint32_t four[4];
    std::uint32_t of_elements[4];
#pragma unroll
    for (int c = 0; c < 4; ++c) four[c] = 4 * w + c < kWordPlanes ? words[4 * w + c] : 0;
    if (w == kLast) {
      transpose_bytes<kWordPlanes % 4>(four, of_elements);
    } else {
      transpose_bytes<4>(four, of_elements);
    }
#pragma unroll
    for (int e = 0; e < 4; ++e) bytes[e][w] = of_elements[e];
  }
}

/// The integers of two elements.
__device__ __forceinline__ void rebuild_words(const std::uint32_t (&first)[4], const std::uint32_t (&second)[4],
                                              const CrtWords& constants, FourWords (&x)[2]) {
  bool may_be_half = false;
  x[0] = reduce_words(sum_words(first, constants), constants, may_be_half);
  x[1] = reduce_words(sum_words(second, constants), constants, may_be_half);
  if (!may_be_half) return;
#pragma unroll
  for (FourWords& of_one : x) of_one = settle_half(of_one, constants);
}

/// Warps of the producer's warpgroup that rebuild: all but the one that copies.
inline constexpr int kRebuildingWarps = 3;

/// Columns of a tile whose planes are all made, kRebuildingWarps apart, rebuilt by a warp: rows are four of each lane. The words of the next
/// column are on their way while one is rebuilt.
class PendingColumns {
 public:
  __device__ __forceinline__ void begin(const DeviceReconstruction<double>& task, int i_first, int j_first, int count) {
    rows_.first = i_first + 4 * static_cast<int>(threadIdx.x % 32);
    const int last = static_cast<int>(task.c.rows) - 1;
    rows_.count = min(4, last + 1 - rows_.first);
    rows_.are_moderate = true;
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      rows_.scale[e] = task.row_scale[min(rows_.first + e, last)];
      rows_.are_moderate = rows_.are_moderate && has_moderate_scale(rows_.scale[e]);
    }
    j_ = j_first;
    end_ = min(j_first + count, static_cast<int>(task.c.cols));
    if (rows_.count <= 0) j_ = end_;
  }
  __device__ __forceinline__ void rebuild(const DeviceReconstruction<double>& task, const Factors& factors,
                                          int num_planes, const CrtWords& constants) {
    if (j_ >= end_) return;
    load_column(task, num_planes);
#pragma unroll 1
    for (;;) {
      const int j = j_;
      const int col_scale = col_scale_;
      std::uint32_t bytes[4][4];
      transpose_words(words_, bytes);
      j_ += kRebuildingWarps;
      const bool is_last = j_ >= end_;
      if (!is_last) load_column(task, num_planes);
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        FourWords x[2];
        rebuild_words(bytes[2 * half], bytes[2 * half + 1], constants, x);
        write_two(task, factors, rows_, 2 * half, j, col_scale, x);
      }
      if (is_last) return;
    }
  }

 private:
  __device__ __forceinline__ void load_column(const DeviceReconstruction<double>& task, int num_planes) {
    const std::int8_t* at = task.planes.data + j_ * task.planes.col_stride + rows_.first;
    col_scale_ = task.col_scale[j_];
#pragma unroll
    for (int q = 0; q < kWordPlanes; ++q) {
      words_[q] = load_past_l1(at);
      if (q < 10 || q + 1 < num_planes) at += task.planes.plane_stride;  // beyond the last one weights are zero
    }
  }
  QuadRows rows_;
  int j_;
  int end_;
  std::uint32_t words_[kWordPlanes];
  std::int32_t col_scale_;
};

/// How many tiles each warp of a consumer has stored, all planes: words in shared memory.
struct StoredTiles {
  std::uint32_t count[2][4];
};

/// By all lanes of a warp: what it has stored comes before the count.
__device__ __forceinline__ void count_stored(std::uint32_t* count, std::uint32_t tiles) {
  __syncwarp();
  if (threadIdx.x % 32 == 0) {
    asm volatile("fence.acq_rel.cta;\nst.relaxed.cta.shared.u32 [%0], %1;" ::"r"(shared_address(count)), "r"(tiles)
                 : "memory");
  }
}
/// Until all warps of a consumer have.
__device__ __forceinline__ void wait_for_stored(const std::uint32_t (&count)[4], std::uint32_t tiles) {
  const std::uint32_t at = shared_address(&count[threadIdx.x % 4]);
  for (;;) {
    std::uint32_t stored;
    asm volatile("ld.acquire.cta.shared.u32 %0, [%1];" : "=r"(stored) : "r"(at) : "memory");
    if (__all_sync(engines::kWholeWarp, stored >= tiles)) break;
    __nanosleep(200);
  }
}

template <class F>
__global__ void __launch_bounds__(kNumThreads, 1) product_crt_sm90(const __grid_constant__ ProductCrtParams params) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  static_assert(F::kIsPingPong && F::kLineOrder == engines::LineOrder::kPermuted && F::kTileI == 128 &&
                F::kTileJ == 128);
  extern __shared__ __align__(1024) std::uint8_t shared_memory[];
  __shared__ __align__(16) CrtWords constants;
  __shared__ StoredTiles stored;
  const auto [ring_at, full_at, empty_at, rank] =
      begin_cta<F>(shared_memory, F::kRingBytes, params.a_map, params.b_map);
  base::wait_for_previous_kernel();
  base::read_no_older_copy();
  const DeviceReconstruction<double>& task = params.task;
  const int num_planes = engines::num_planes_of<product::Epilogue::kReduce>(params);
  const TilePairs pairs{blockIdx.x / F::kCluster, gridDim.x / F::kCluster, params.tiles_per_plane};
  const std::uint32_t warpgroup = __shfl_sync(engines::kWholeWarp, threadIdx.x / 128, 0);

  // Whether C is made here.
  const int rung = task.state->selection.rung;
  const bool finishes = task.with_product && rung >= 0 && num_planes > 0 && task.state->is_scaling_only == 0 &&
                        task.state->takes_signs == 0 && task.state->num_strassen_products == 0 &&
                        is_made_with_product(false, task.ladder.rungs[max(rung, 0)].num_moduli);
  if (finishes) constants.load(*tables_of(task, task.ladder.rungs[rung].num_moduli), static_cast<int>(threadIdx.x));
  if (threadIdx.x < 8) stored.count[threadIdx.x / 4][threadIdx.x % 4] = 0;
  __syncthreads();

  if (warpgroup == 0) {
    give_registers_back<96>();
    const int warp = static_cast<int>(threadIdx.x) / 32;
    if (threadIdx.x == 0) produce_pairs<F>(params, pairs, num_planes, rank, ring_at, full_at, empty_at);
    if (warp > 0 && finishes) {
      const Factors factors(task);
      std::uint32_t tiles = 0;
      PendingColumns columns;
#pragma unroll 1
      for (std::uint32_t tile = pairs.first(); pairs.has(tile); tile = pairs.next(tile)) {
        ++tiles;
        const bool is_alone = !pairs.has(pairs.other(tile));
        if (is_alone) wait_for_stored(stored.count[1], tiles);
#pragma unroll 1
        for (int of_pair = 0; of_pair < (is_alone ? 1 : 2); ++of_pair) {
          const TilePlace place = place_of<F>(of_pair == 0 ? tile : pairs.other(tile), params);
          wait_for_stored(stored.count[of_pair], tiles);
          columns.begin(task, place.i_first, place.j_first + static_cast<int>(rank) * F::kTileJ + warp - 1,
                        F::kTileJ - warp + 1);
          columns.rebuild(task, factors, num_planes, constants);
        }
      }
    }
    __syncwarp();
  } else {
    take_registers<200>();
    const std::uint32_t consumer = warpgroup - 1;
    const int thread = static_cast<int>(threadIdx.x % 128);
    const std::uint32_t lane = threadIdx.x % 32;
    std::uint32_t* const count = &stored.count[consumer][thread / 32];
    std::uint32_t tiles = 0;
    std::int32_t acc[F::kRowBlocks][F::kTileI / 2];
    RingPlace<F::kStages> ring;
    const std::uint32_t rows_at = ring_at + F::kBytesA;
    if (consumer == 1) {
      ring.skip(params.num_k_blocks);
      named_barrier_arrive(1, 2 * 128);  // the first turn is consumer 0's
    }
#pragma unroll 1
    for (std::uint32_t tile = pairs.first(); pairs.has(tile); tile = pairs.next(tile)) {
      const bool is_alone = !pairs.has(pairs.other(tile));
      const TilePlace place = place_of<F>(consumer == 0 || is_alone ? tile : pairs.other(tile), params);
      const int j_first = place.j_first + static_cast<int>(rank) * F::kTileJ;
#pragma unroll 1
      for (int plane = is_alone ? static_cast<int>(consumer) : 0; plane < num_planes; plane += is_alone ? 2 : 1) {
        named_barrier_sync(1 + static_cast<int>(consumer), 2 * 128);
        std::int32_t accumulate = 0;
        std::uint32_t last_stage = 0;
#pragma unroll 1
        for (int k_block = 0; k_block < params.num_k_blocks; ++k_block) {
          barrier_wait(full_at + ring.stage * 8, ring.phase);
          const std::uint32_t stage_offset = ring.stage * F::kStageBytes;
          const std::uint32_t rows = swizzled_lines(rows_at + stage_offset);
          const std::uint32_t columns = swizzled_lines(ring_at + stage_offset);
#pragma unroll
          for (int b = 0; b < F::kRowBlocks; ++b) pin(acc[b]);
          wgmma_fence();
#pragma unroll
          for (int k32 = 0; k32 < F::kBlockK / 32; ++k32) {
#pragma unroll
            for (int b = 0; b < F::kRowBlocks; ++b) {
              const std::uint32_t of_b = rows + descriptor_step(b * 64 * F::kBlockK + k32 * 32);
              const std::uint32_t of_a = columns + descriptor_step(k32 * 32);
              wgmma_u8(acc[b], of_b, of_a, accumulate);
            }
            accumulate = 1;
          }
          wgmma_commit();
#pragma unroll
          for (int b = 0; b < F::kRowBlocks; ++b) pin(acc[b]);
          wgmma_wait<1>();  // the former stage has been read
          if (k_block > 0) release_stage<F>(empty_at + last_stage * 8, lane);
          last_stage = ring.stage;
          ring.next();
        }
        named_barrier_arrive(2 - static_cast<int>(consumer), 2 * 128);
        ring.skip(params.num_k_blocks);
#pragma unroll
        for (int b = 0; b < F::kRowBlocks; ++b) pin(acc[b]);
        wgmma_wait<0>();
#pragma unroll
        for (int b = 0; b < F::kRowBlocks; ++b) pin(acc[b]);
        release_stage<F>(empty_at + last_stage * 8, lane);
#pragma unroll
        for (int b = 0; b < F::kRowBlocks; ++b) {
          engines::store_tile<F::kTileI, F::kLineOrder, product::Epilogue::kReduce, true>(
              acc[b], params, params, plane, place.i_first, j_first + b * 64, thread);
        }
      }
      count_stored(count, ++tiles);
    }
    base::let_next_kernel_begin();
  }
  if constexpr (F::kCluster > 1) cluster_sync();
#else
  __trap();  // built for another architecture
#endif
}

}  // namespace kernels

Status multiply_and_reconstruct(const product::ProductDesc& product, const product::Pointers& pointers,
                                const DeviceReconstruction<double>& task, product::Queue queue) {
  using engines::HopperForm;
  using F = engines::hopper::Form<engines::HopperSchedule::kPingPong, engines::LineOrder::kPermuted, 128, 128, 2, 7>;
  static engines::SharedMemoryGrant grant;
  kernels::ProductCrtParams params{};
  params.task = task;
  const engines::hopper::FormKernel kernel{reinterpret_cast<const void*>(&kernels::product_crt_sm90<F>),
                                           F::kSharedBytes, engines::hopper::kNumThreads, grant};
  return engines::hopper::launch_form(product, pointers, engines::traits_of(HopperForm::kPingPong128x128Permuted),
                                      kernel, params, queue);
}

}  // namespace kizami::ozaki2
