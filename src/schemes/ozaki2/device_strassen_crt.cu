// SPDX-License-Identifier: MIT
// The CRT of Strassen's seven products: residues of an element of C are sums of up to four products' residues, without a
// reduction, and the tensor cores add these as well (device_crt_bytes.cuh): sums of digits of one product go on with the next,
// and what quadrants have in common is summed once,
//   C11 = P1 + P2,   U = P1 + P6,   C12 = U + P5 + P3,   V = U + P7,   C22 = V + P5,   C21 = V - P4.
// Weights are below 2^37 of their grid and residues of four products below 2^9, so that pieces of 14 planes stay below 2^50.
//
// A warp keeps its 128 rows of both halves and takes one column of both after another, 64 rows at a time. Lane 4g + t reads
// eight neighbouring residues, rows 8g to 8g + 7, of planes t, t + 4, ... of each product: 64 bytes of a plane, for level 2
// gives half of as little as 32 (docs/perf/strassen.md). Of the first four of each eight rows and then of the others, four
// planes a word are what the tensor cores want; the sums of row 4g + t of the 32 come to lane 4g + t.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "base/cuda_status.hpp"
#include "base/int_math.hpp"
#include "base/overlapped_launch.hpp"
#include "device/quads.cuh"
#include "schemes/ozaki2/crt_pieces.hpp"
#include "schemes/ozaki2/crt_runs.hpp"
#include "schemes/ozaki2/device_crt_bytes.cuh"
#include "schemes/ozaki2/device_crt_epilogue.cuh"
#include "schemes/ozaki2/device_crt_pieces.cuh"
#include "schemes/ozaki2/device_strassen.hpp"

namespace kizami::ozaki2 {
namespace {

/// So few that the registers of a warp hold the words of its next rows beside its sums.
constexpr int kCrtThreads = 128;
constexpr int kCrtBlocksPerSm = 2;
constexpr int kCrtWarps = kCrtThreads / 32;
constexpr int kReadRowsAtOnce = 64;
constexpr int kReads = kWarpRows / kReadRowsAtOnce;  ///< of a warp's rows
constexpr int kSumRows = 32;                         ///< whose sums are made at once

/// In the order in which they are summed.
enum Quadrant { kUpperLeft, kUpperRight, kLowerRight, kLowerLeft, kNumQuadrants };
/// Of P1 the planes hold -P1, of P4 what C21 adds.
enum Product { kP1, kP2, kP3, kP4, kP5, kP6, kP7 };
static_assert(kP7 + 1 == kStrassenProducts);

/// What the warps of a block share, and what each of them exchanges and keeps.
template <int kPieces>
struct QuadrantsShared {
  static constexpr int kTiles = kernels::kDigitPairs;
  using Constants = kernels::PieceLayout<kPieces, 0>;
  alignas(128) unsigned char pieces[kCrtWarps][kNumQuadrants][kernels::kFourPieceBytes];
  alignas(128) double numbers[kCrtWarps][kNumQuadrants][kWarpRows];
  alignas(128) std::int32_t row_scales[kCrtWarps][2][kWarpRows];  ///< of both halves
  std::uint32_t digits[kTiles][32];
  double constants[Constants::kSize];
};

/// sum = a b + c: a of 16 rows and 16 columns, b of 16 rows and 8 columns.
__device__ __forceinline__ void multiply_planes(std::int32_t (&sum)[4], std::uint32_t a0, std::uint32_t a1,
                                                std::uint32_t b, const std::int32_t (&c)[4]) {
  asm("mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%7, %8, %9, %10};"
      : "=r"(sum[0]), "=r"(sum[1]), "=r"(sum[2]), "=r"(sum[3])
      : "r"(a0), "r"(a1), "r"(b), "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]));
}

/// Of four bytes their negatives; of -128, which only modulo 256 is a residue, itself.
[[nodiscard]] __device__ __forceinline__ std::uint32_t negated_bytes(std::uint32_t x) {
  const std::uint32_t inverted = ~x;
  return ((inverted & 0x7F7F7F7Fu) + 0x01010101u) ^ (inverted & 0x80808080u);
}

template <int kPieces>
class FromQuadrants {
  static constexpr int kTiles = kernels::kDigitPairs;
  static constexpr int kLanePlanes = base::ceil_div(most_piece_planes(false, kPieces), 4);  ///< of each product
  static_assert(kLanePlanes <= 4, "the planes of a product are 16 columns");
  using Shared = QuadrantsShared<kPieces>;
  using Constants = typename Shared::Constants;
  /// Products that are read together, in rising order. A warp waits for all that one of its six scoreboards counts: were each
  /// product's next words asked for when its own are free, it would wait for the latest of them at each.
  using First = std::integer_sequence<int, kP1, kP2, kP6>;
  using Second = std::integer_sequence<int, kP3, kP4, kP5, kP7>;
  using Words = uint2[kStrassenProducts][kLanePlanes];
  using Bytes = std::uint32_t[4];           ///< of four rows, in words of four planes
  using Sums = std::int32_t[2][kTiles][4];  ///< of digits, of two rows each

 public:
  __device__ FromQuadrants(const DeviceReconstruction<double>& task, const StrassenHalves& halves,
                           const DeviceCrtTable& table, Shared& shared)
      : task_(task), halves_(halves), table_(table), shared_(shared), epilogue_(task) {
    share();
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) digits_[tile] = shared_.digits[tile][lane()];
    const int piece = lane() % 4 < kPieces ? lane() % 4 : kPieces - 1;
    bias_ = __double2hiint(shared_.constants[Constants::kMagic + piece]);
  }

  /// By all threads of all blocks. A warp keeps its 128 rows of both halves, and takes columns some apart; those of
  /// neighbours in memory are taken at about the same time.
  __device__ __forceinline__ void run(std::int64_t first_col, std::int64_t end_col) {
    const auto groups = static_cast<unsigned>(base::ceil_div(halves_.m, std::int64_t{kWarpRows}));
    const unsigned warps = gridDim.x * kCrtWarps;
    const unsigned number = blockIdx.x * kCrtWarps + static_cast<unsigned>(warp());
    const unsigned columns_at_once = max(1u, warps / groups);
    if (number >= groups * columns_at_once) return;
    for (unsigned group = number % groups; group < groups; group += warps) {
      const std::int64_t i = static_cast<std::int64_t>(group) * kWarpRows;
      share_row_scales(i);
      std::int64_t j = first_col + number / groups;
      if (j >= end_col) continue;
      Words words;
      const std::int8_t* next = place(i, 0, j);
      load(next, First{}, words);
      load(next, Second{}, words);
      for (; j < end_col; j += columns_at_once) {
        const std::int32_t col_scales[2] = {col_scale(j), col_scale(halves_.n + j)};  // on their way till the end
#pragma unroll 1
        for (int read = 0; read < kReads; ++read) {
          if (read + 1 < kReads) {
            next = place(i, read + 1, j);
          } else if (j + columns_at_once < end_col) {
            next = place(i, 0, j + columns_at_once);
          }
          rebuild(words, /*half=*/std::integral_constant<int, 0>{}, next, read);
          rebuild(words, std::integral_constant<int, 1>{}, next, read);
        }
        write(i, j, col_scales);
        __syncwarp();  // the numbers may be written again
      }
    }
  }

 private:
  [[nodiscard]] __device__ static int lane() { return static_cast<int>(threadIdx.x) % 32; }
  [[nodiscard]] __device__ static int warp() { return static_cast<int>(threadIdx.x) / 32; }

  /// num::kSkipLine of columns beyond the last.
  [[nodiscard]] __device__ __forceinline__ std::int32_t col_scale(std::int64_t j) const {
    return j < task_.c.cols ? task_.col_scale[j] : num::kSkipLine;
  }
  /// Those of this warp's rows; num::kSkipLine of rows beyond the last.
  __device__ __forceinline__ void share_row_scales(std::int64_t first_row) const {
    __syncwarp();
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      std::int32_t scales[4];
      const std::int64_t i = first_row + 4 * lane();
      kernels::load_row_scales(task_, i + half * halves_.m, scales);
      *reinterpret_cast<int4*>(&shared_.row_scales[warp()][half][4 * lane()]) =
          make_int4(scales[0], scales[1], scales[2], scales[3]);
    }
    __syncwarp();
  }

  /// The constants of the block: the finishing numbers, and each lane's columns of digits.
  __device__ void share() {
    const int thread = static_cast<int>(threadIdx.x);
    for (int at = thread; at < Constants::kSize; at += kCrtThreads)
      shared_.constants[at] = Constants::value(table_.pieces, at);
    for (int at = thread; at < kTiles * 32; at += kCrtThreads) {
      const int of_lane = at % 32;
      const int piece = of_lane / 8;
      const int digit = 2 * (at / 32) + of_lane / 4 % 2;
      shared_.digits[at / 32][of_lane] = piece < kPieces ? table_.pieces.digits[piece][digit][of_lane % 4] : 0;
    }
    __syncthreads();
  }

  /// Of this lane's residues in its first plane of P1. Rows beyond the last are others that are there.
  [[nodiscard]] __device__ __forceinline__ const std::int8_t* place(std::int64_t first_row, int read,
                                                                    std::int64_t j) const {
    const std::int64_t row = min(first_row + read * kReadRowsAtOnce + lane() / 4 * 8, halves_.m - 8);
    return task_.planes.data + row + j * task_.planes.col_stride +
           lane() % 4 * (kStrassenProducts * task_.planes.plane_stride);
  }
  /// The words of some products. Planes beyond the last are zero. @param at  place()
  template <int... kProduct>
  __device__ __forceinline__ void load(const std::int8_t* at, std::integer_sequence<int, kProduct...>,
                                       Words& words) const {
    constexpr int kAlways = kPieces == 2 ? num::kMinModuli : most_piece_moduli(false, kPieces - 1) + 1;
    const std::int64_t of_words = 4 * kStrassenProducts * task_.planes.plane_stride;
#pragma unroll
    for (int w = 0; w < kLanePlanes; ++w, at += of_words) {
      const bool is_there = 4 * w + 3 < kAlways || 4 * w + lane() % 4 < table_.num_planes;
      const std::int8_t* of_product = at;
      int before = 0;
      const auto one = [&](int product) {
        for (; before < product; ++before) of_product += task_.planes.plane_stride;
        words[product][w] = make_uint2(0, 0);
        if (is_there)
          asm volatile("ld.global.L2::256B.v2.u32 {%0, %1}, [%2];"
                       : "=r"(words[product][w].x), "=r"(words[product][w].y)
                       : "l"(of_product));
      };
      (one(kProduct), ...);
    }
  }

  /// @param half  of the eight rows
  __device__ static __forceinline__ void transpose(const uint2 (&words)[kLanePlanes], int half, Bytes& bytes) {
    std::uint32_t four[4] = {};
#pragma unroll
    for (int w = 0; w < kLanePlanes; ++w) four[w] = half == 0 ? words[w].x : words[w].y;
    kernels::transpose_bytes<4>(four, bytes);
  }
  /// sums = before + those of a product.
  __device__ __forceinline__ void add(const Bytes& bytes, const Sums& before, Sums& sums) const {
#pragma unroll
    for (int pair = 0; pair < 2; ++pair) {
#pragma unroll
      for (int tile = 0; tile < kTiles; ++tile)
        multiply_planes(sums[pair][tile], bytes[2 * pair], bytes[2 * pair + 1], digits_[tile], before[pair][tile]);
    }
  }
  /// The sums of four rows' digits, as pieces in shared memory.
  __device__ __forceinline__ void exchange(const Sums& sums, Quadrant quadrant) const {
    const auto to = static_cast<std::uint32_t>(__cvta_generic_to_shared(shared_.pieces[warp()][quadrant]));
#pragma unroll
    for (int pair = 0; pair < 2; ++pair) {
      const auto& s = sums[pair];
      kernels::store_two(to + kernels::place_of_piece(lane() % 4, lane() / 4, pair),
                         kernels::number_of_digits(s[0][0], s[0][1], s[1][0], s[1][1], s[2][0], bias_),
                         kernels::number_of_digits(s[0][2], s[0][3], s[1][2], s[1][3], s[2][2], bias_));
    }
  }
  /// The integers of this lane's row in all quadrants, to shared memory. @param of_warp  number of the 32 rows
  __device__ __forceinline__ void finish(int of_warp) const {
    __syncwarp();
    double sum[kNumQuadrants][kPieces];
#pragma unroll
    for (int quadrant = 0; quadrant < kNumQuadrants; ++quadrant) {
      const auto from = static_cast<std::uint32_t>(__cvta_generic_to_shared(shared_.pieces[warp()][quadrant]));
#pragma unroll
      for (int piece = 0; piece < kPieces; ++piece) {
        const std::uint32_t at = kernels::place_of_piece(piece, lane() / 4, lane() % 4 / 2);
        sum[quadrant][piece] = kernels::load_one(from + at + static_cast<std::uint32_t>(lane() % 2 * 8)) -
                               shared_.constants[Constants::kMagic + piece];
      }
    }
    double finished[kNumQuadrants];
    kernels::finish_sums<kPieces, 0>(sum, shared_.constants, table_.pieces, finished);
#pragma unroll
    for (int quadrant = 0; quadrant < kNumQuadrants; ++quadrant)
      shared_.numbers[warp()][quadrant][kSumRows * of_warp + lane()] = finished[quadrant];
    __syncwarp();
  }

  /// Where the integers of rows 4 lane to 4 lane + 3 of the warp's begin: finish() has rows 8g + 4 half + t, of each 64, in
  /// place 4g + t of the 32 of a half.
  [[nodiscard]] __device__ static int place_of_numbers() {
    const int of_read = lane() % 16;
    return kReadRowsAtOnce * (lane() / 16) + kSumRows * (of_read % 2) + 4 * (of_read / 2);
  }

  /// The integers of four of each eight rows that were read, in all quadrants. What comes next is on its way as soon as the words
  /// are free.
  template <int half>
  __device__ __forceinline__ void rebuild(Words& words, std::integral_constant<int, half>, const std::int8_t* next,
                                          int read) {
    const auto take = [&]<int... kProduct>(std::integer_sequence<int, kProduct...> products, auto& bytes) {
      int at = 0;
      (transpose(words[kProduct], half, bytes[at++]), ...);
      if constexpr (half == 1) load(next, products, words);
    };
    Sums common = {};
    Sums sums;
    {
      Bytes bytes[3];
      take(First{}, bytes);
#pragma unroll
      for (std::uint32_t& four : bytes[0]) four = negated_bytes(four);
      add(bytes[0], common, common);
      add(bytes[1], common, sums);
      exchange(sums, kUpperLeft);
      add(bytes[2], common, common);
    }
    Bytes bytes[4];
    take(Second{}, bytes);
    add(bytes[2], common, sums);
    add(bytes[0], sums, sums);
    exchange(sums, kUpperRight);
    add(bytes[3], common, common);
    add(bytes[2], common, sums);
    exchange(sums, kLowerRight);
    add(bytes[1], common, common);
    exchange(common, kLowerLeft);
    finish(2 * read + half);
  }

  /// What was rebuilt of rows from i on and column j of each quadrant.
  __device__ __forceinline__ void write(std::int64_t i, std::int64_t j, const std::int32_t (&col_scales)[2]) const {
    i += 4 * lane();
    if (i >= halves_.m) return;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const std::int64_t row = i + half * halves_.m;
      if (row >= task_.c.rows) return;
      const int4 scales = *reinterpret_cast<const int4*>(&shared_.row_scales[warp()][half][4 * lane()]);
      const kernels::NumberEpilogue<double, /*kIsPart=*/false> epilogue(epilogue_, row,
                                                                        {scales.x, scales.y, scales.z, scales.w});
#pragma unroll
      for (int side = 0; side < 2; ++side) {
        const std::int64_t column = side * halves_.n + j;
        if (column >= task_.c.cols) continue;
        const int quadrant = half == 0 ? kUpperLeft + side : kLowerLeft - side;
        double x[1][4];
        const auto* const from =
            reinterpret_cast<const double2*>(&shared_.numbers[warp()][quadrant][place_of_numbers()]);
        for (int pair = 0; pair < 2; ++pair) {
          x[0][2 * pair] = from[pair].x;
          x[0][2 * pair + 1] = from[pair].y;
        }
        epilogue.write(task_, column, col_scales[side], x);
      }
    }
  }

  const DeviceReconstruction<double>& task_;
  const StrassenHalves& halves_;
  const DeviceCrtTable& table_;
  Shared& shared_;
  std::uint32_t digits_[kTiles];
  std::int32_t bias_;
  kernels::Epilogue<double> epilogue_;
};

template <int kPieces>
__global__ void __launch_bounds__(kCrtThreads, kCrtBlocksPerSm)
    reconstruct_quadrants(const __grid_constant__ DeviceReconstruction<double> task,
                          const __grid_constant__ StrassenHalves halves, std::int64_t first_col, std::int64_t end_col) {
  extern __shared__ __align__(128) unsigned char shared_memory[];
  base::follow_previous_kernel();
  if ((task.state->num_strassen_products == 0) | (task.state->takes_signs != 0)) return;
  const DeviceCrtTable& table = task.tables[task.ladder.rungs[0].num_moduli - num::kMinModuli];
  FromQuadrants<kPieces>(task, halves, table, *reinterpret_cast<QuadrantsShared<kPieces>*>(shared_memory))
      .run(first_col, end_col);
}

}  // namespace

Status reconstruct_strassen(const DeviceReconstruction<double>& task, const StrassenHalves& halves, std::int64_t first,
                            std::int64_t end, int num_sms, product::Queue queue) {
  if (first >= end) return {};
  const std::int64_t runs = base::ceil_div(halves.m, std::int64_t{kWarpRows}) * (end - first);
  const auto blocks = static_cast<unsigned>(
      std::min(std::int64_t{kCrtBlocksPerSm} * num_sms, base::ceil_div(runs, std::int64_t{kCrtWarps})));
  const auto launch = [&](auto kernel, std::size_t shared_bytes) -> Status {
    KIZAMI_RETURN_IF_ERROR(base::cuda_status(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared_bytes)),
        "shared memory of the CRT of quadrants"));
    return base::launch_overlapped("reconstruct_quadrants", kernel, dim3(blocks), dim3(kCrtThreads), shared_bytes,
                                   queue, task, halves, first, end);
  };
  return task.ladder.rungs[0].num_moduli <= most_piece_moduli(false, 2)
             ? launch(reconstruct_quadrants<2>, sizeof(QuadrantsShared<2>))
             : launch(reconstruct_quadrants<3>, sizeof(QuadrantsShared<3>));
}

}  // namespace kizami::ozaki2
