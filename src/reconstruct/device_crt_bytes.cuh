// SPDX-License-Identifier: MIT
// The CRT's sums over all planes as products of matrices of bytes, which the tensor cores make (mma.m16n8k32):
//   t_i = sum_q r_q W_qi,   W_qi = sum_d digit_qid 256^d   (piece i of the weight of plane q, in units of its grid).
// Rows are elements, the inner index is the plane, columns are the digits of a piece. Sums of digits fit in 32 bits, a piece in 51:
// with the bits of 1.5 2^(52 + grid) added it is an FP64 number once that is subtracted. What follows is finish_sums(), and the bits
// are those of add_planes().
//
// A warp takes 128 rows of a column. Lane 4g + t reads 16 neighbouring residues of planes t, t + 4, ..., and has then, four planes a
// word, what the tensor cores want of elements 16g .. 16g + 15. They give it piece t of those, four elements at a time; through shared
// memory it comes to have all pieces of element t of the four.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/int_math.hpp"
#include "base/overlapped_launch.hpp"
#include "num/rung.hpp"
#include "reconstruct/crt_pieces.hpp"
#include "reconstruct/device.hpp"
#include "reconstruct/device_crt_epilogue.cuh"
#include "reconstruct/device_quads.cuh"

namespace kizami::reconstruct::device {

inline constexpr int kWarpRows = 128;
inline constexpr int kDigitPairs = kPieceDigits / 2;  ///< a lane has two columns of a product

template <class T, int kPieces>
struct BytesShape {
  static constexpr int kParts = kIsComplex<T> ? 2 : 1;
  static constexpr int kWords =
      base::ceil_div(most_piece_planes(kIsComplex<T>, kPieces), 4);  ///< of 4 planes: a lane's
  static constexpr int kGroups = base::ceil_div(kWords, 4);          ///< of 16 planes: a word of each lane
  static constexpr int kProducts = base::ceil_div(kGroups, 2);       ///< of 32 planes
  static constexpr int kRounds = base::ceil_div(kPieces, 4);         ///< four pieces at a time
  using Constants = PieceLayout<kPieces, 0>;
};

/// What the warps of a block share, and what one of them exchanges.
template <class T, int kPieces>
struct BytesShared {
  using Shape = BytesShape<T, kPieces>;
  /// Pieces of 32 elements, then numbers of 128.
  static constexpr int kWarpBytes = 8 * (kPieces > 4 ? kPieces * 32 : kWarpRows);
  alignas(128) unsigned char exchanged[kThreads / 32][kWarpBytes];
  uint2 digits[Shape::kParts][Shape::kRounds][kDigitPairs][Shape::kProducts][32];  ///< of a lane
  double constants[Shape::kParts][Shape::Constants::kSize];
};

/// Sixteen residues. Their neighbours in 256 bytes, which other warps want, come to the L2 cache as well.
[[nodiscard]] __device__ inline uint4 load_residues(const std::int8_t* at, bool is_wanted) {
  uint4 x;
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "setp.ne.s32 p, %5, 0;\n"
      "mov.u32 %0, 0;\n"
      "mov.u32 %1, 0;\n"
      "mov.u32 %2, 0;\n"
      "mov.u32 %3, 0;\n"
      "@p ld.global.L2::256B.v4.u32 {%0, %1, %2, %3}, [%4];\n"
      "}\n"
      : "=&r"(x.x), "=&r"(x.y), "=&r"(x.z), "=&r"(x.w)
      : "l"(at), "r"(static_cast<int>(is_wanted)));
  return x;
}
[[nodiscard]] __device__ inline std::uint32_t word_of(const uint4& x, int i) {
  return i == 0 ? x.x : i == 1 ? x.y : i == 2 ? x.z : x.w;
}

/// Byte e of each of four words, for four e: a transposition. Words beyond kCount are zero, which the compiler knows.
template <int kCount>
__device__ __forceinline__ void transpose_bytes(const std::uint32_t (&words)[4], std::uint32_t (&bytes)[4]) {
  if constexpr (kCount == 1) {  // what stands in the other bytes meets digits that are zero
#pragma unroll
    for (int e = 0; e < 4; ++e) bytes[e] = words[0] >> (8 * e);
  } else {
    const std::uint32_t low01 = __byte_perm(words[0], words[1], 0x5140);
    const std::uint32_t high01 = __byte_perm(words[0], words[1], 0x7362);
    if constexpr (kCount == 2) {
      bytes[0] = low01;
      bytes[1] = low01 >> 16;
      bytes[2] = high01;
      bytes[3] = high01 >> 16;
    } else {
      const std::uint32_t low23 = __byte_perm(words[2], words[3], 0x5140);
      const std::uint32_t high23 = __byte_perm(words[2], words[3], 0x7362);
      bytes[0] = __byte_perm(low01, low23, 0x5410);
      bytes[1] = __byte_perm(low01, low23, 0x7632);
      bytes[2] = __byte_perm(high01, high23, 0x5410);
      bytes[3] = __byte_perm(high01, high23, 0x7632);
    }
  }
}

/// sum += a b: a of 16 rows and 32 columns, b of 32 rows and 8 columns.
__device__ __forceinline__ void multiply_digits(std::int32_t (&sum)[4], const std::uint32_t (&a)[4], const uint2& b) {
  asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+r"(sum[0]), "+r"(sum[1]), "+r"(sum[2]), "+r"(sum[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b.x), "r"(b.y));
}

// Places in what a warp exchanges: neighbours that are served at once meet in no bank.

/// Of elements 2j and 2j + 1 of the four of row g, in piece i.
[[nodiscard]] __device__ inline std::uint32_t place_of_piece(int i, int g, int j) {
  return static_cast<std::uint32_t>(i * 256 + ((2 * g + j) ^ (i & 1) ^ (i & 2) << 1) * 16);
}
/// Of elements 2j and 2j + 1 of the 16 of row g.
[[nodiscard]] __device__ inline std::uint32_t place_of_number(int g, int j) {
  return static_cast<std::uint32_t>(g * 128 + (j ^ (2 * g & 7)) * 16);
}
__device__ __forceinline__ void store_one(std::uint32_t at, double x) {
  asm volatile("st.shared.f64 [%0], %1;" ::"r"(at), "d"(x) : "memory");
}
[[nodiscard]] __device__ __forceinline__ double load_one(std::uint32_t at) {
  double x;
  asm volatile("ld.shared.f64 %0, [%1];" : "=d"(x) : "r"(at) : "memory");
  return x;
}
__device__ __forceinline__ void store_two(std::uint32_t at, double x, double y) {
  asm volatile("st.shared.v2.f64 [%0], {%1, %2};" ::"r"(at), "d"(x), "d"(y) : "memory");
}
[[nodiscard]] __device__ __forceinline__ double2 load_two(std::uint32_t at) {
  double2 two;
  asm volatile("ld.shared.v2.f64 {%0, %1}, [%2];" : "=d"(two.x), "=d"(two.y) : "r"(at) : "memory");
  return two;
}

/// The FP64 number whose bits are sum_d s_d 256^d.
[[nodiscard]] __device__ inline double number_of_digits(std::int32_t s0, std::int32_t s1, std::int32_t s2,
                                                        std::int32_t s3, std::int32_t s4) {
  const std::int64_t low = static_cast<std::int64_t>(s2 + s3 * 256) * 65536 + (s0 + s1 * 256);
  return __hiloint2double(static_cast<std::int32_t>(low >> 32) + s4, static_cast<std::int32_t>(low));
}

template <class T, int kPieces>
class FromBytes {
  using Shape = BytesShape<T, kPieces>;
  using Shared = BytesShared<T, kPieces>;
  using Constants = typename Shape::Constants;
  static constexpr int kWords = Shape::kWords;
  static constexpr bool kIsAhead = kWords <= 6;  ///< the words of the next column are on their way

 public:
  __device__ FromBytes(const DeviceReconstruction<T>& task, const DeviceCrtTable* tables, Shared& shared)
      : task_(task), tables_(tables), shared_(shared), num_planes_(tables->num_planes) {}

  /// By all threads of all blocks, whose rows are 32 threads or more.
  __device__ __forceinline__ void run() {
    share();
    const std::int64_t i = first_row_of_thread();
    const std::int64_t first_of_warp = i - 4 * lane();
    if (first_of_warp >= task_.c.rows) return;
    const NumberEpilogue<T> epilogue(task_, i);
    const std::int64_t of_lane = first_of_warp + 16 * (lane() / 4);
    has_rows_ = of_lane < task_.c.rows;
    const std::int8_t* const residues = task_.planes.data + of_lane + lane() % 4 * task_.planes.plane_stride;
    const std::int64_t step = column_step();
    std::int64_t j = first_column_of_thread();
    if (j >= task_.c.cols) return;
    uint4 words[kWords];
    if (kIsAhead) load(residues + j * task_.planes.col_stride, words);
    for (; j < task_.c.cols; j += step) {
      // Begun before the elements are rebuilt: they are not worth a wait.
      const int col_scale = task_.col_scale[j];
      const std::uint32_t repairs = epilogue.epilogue.has_repairs && i < task_.c.rows ? *repair_word(task_, i, j) : 0;
      uint4 ahead[kIsAhead ? kWords : 1];
      if constexpr (kIsAhead) {
        if (j + step < task_.c.cols) load(residues + (j + step) * task_.planes.col_stride, ahead);
      } else {
        load(residues + j * task_.planes.col_stride, words);
      }
      double x[Shape::kParts][4];
#pragma unroll
      for (int part = 0; part < Shape::kParts; ++part) rebuild(words, part, x[part]);
      epilogue.write(task_, j, col_scale, x, [&] { return repairs >> static_cast<int>((task_.first_row + i) % 32); });
      if constexpr (kIsAhead) {
#pragma unroll
        for (int w = 0; w < kWords; ++w) words[w] = ahead[w];
      }
    }
  }

 private:
  [[nodiscard]] __device__ static int lane() { return static_cast<int>(threadIdx.x) % 32; }

  /// The constants of the block: the finishing numbers, and each lane's columns of digits.
  __device__ void share() {
    const int thread = static_cast<int>(threadIdx.x + threadIdx.y * blockDim.x);
    for (int at = thread; at < Shape::kParts * Constants::kSize; at += kThreads) {
      const int part = at / Constants::kSize;
      shared_.constants[part][at % Constants::kSize] = Constants::value(tables_[part].pieces, at % Constants::kSize);
    }
    uint2* const digits = &shared_.digits[0][0][0][0][0];
    constexpr int kSize = static_cast<int>(sizeof shared_.digits / sizeof(uint2));
    for (int at = thread; at < kSize; at += kThreads) {
      const int of_lane = at % 32;
      int left = at / 32;
      const int product = left % Shape::kProducts;
      left /= Shape::kProducts;
      const int pair = left % kDigitPairs;
      left /= kDigitPairs;
      const int round = left % Shape::kRounds;
      const int column = of_lane / 4;
      const int piece = 4 * round + column / 2;
      const std::uint32_t* const of_groups =
          tables_[left / Shape::kRounds].pieces.digits[piece < kPieces ? piece : 0][2 * pair + column % 2];
      const auto word = [&](int group) {
        return piece < kPieces && group < Shape::kGroups ? of_groups[4 * group + of_lane % 4] : 0;
      };
      digits[at] = make_uint2(word(2 * product), word(2 * product + 1));
    }
    __syncthreads();
  }

  __device__ __forceinline__ void load(const std::int8_t* at, uint4 (&words)[kWords]) const {
    const int t = lane() % 4;
    const std::int64_t step = 4 * task_.planes.plane_stride;
#pragma unroll
    for (int w = 0; w < kWords; ++w, at += step) words[w] = load_residues(at, has_rows_ && 4 * w + t < num_planes_);
  }

  /// The rounded integers of one part of four elements of this lane. By whole warps.
  __device__ __forceinline__ void rebuild(const uint4 (&words)[kWords], int part, double (&x)[4]) {
    const int g = lane() / 4;
    const int t = lane() % 4;
    const double* const constants = shared_.constants[part];
    const auto exchanged = static_cast<std::uint32_t>(__cvta_generic_to_shared(shared_.exchanged[warp()]));
    double sum[4][kPieces];
#pragma unroll
    for (int v = 0; v < 4; ++v) {
      std::uint32_t bytes[2 * Shape::kProducts][4] = {};
#pragma unroll
      for (int group = 0; group < Shape::kGroups; ++group) transpose(words, v, group, bytes[group]);
#pragma unroll
      for (int round = 0; round < Shape::kRounds; ++round) {
        const int piece = 4 * round + t;
        uint2 digits[kDigitPairs][Shape::kProducts];
        read_digits(shared_.digits[part][round], digits);
        const std::int32_t bias = __double2hiint(constants[Constants::kMagic + min(piece, kPieces - 1)]);
#pragma unroll
        for (int pair = 0; pair < 2; ++pair) {
          std::int32_t sums[kDigitPairs][4] = {};
          sums[2][0] = sums[2][2] = bias;
#pragma unroll
          for (int product = 0; product < Shape::kProducts; ++product) {
            const std::uint32_t a[4] = {bytes[2 * product][2 * pair], bytes[2 * product][2 * pair + 1],
                                        bytes[2 * product + 1][2 * pair], bytes[2 * product + 1][2 * pair + 1]};
#pragma unroll
            for (int of_piece = 0; of_piece < kDigitPairs; ++of_piece)
              multiply_digits(sums[of_piece], a, digits[of_piece][product]);
          }
          if (kPieces % 4 != 0 && piece >= kPieces) continue;
          store_two(exchanged + place_of_piece(piece, g, pair),
                    number_of_digits(sums[0][0], sums[0][1], sums[1][0], sums[1][1], sums[2][0]),
                    number_of_digits(sums[0][2], sums[0][3], sums[1][2], sums[1][3], sums[2][2]));
        }
      }
      __syncwarp();
#pragma unroll
      for (int piece = 0; piece < kPieces; ++piece) {
        const double number =
            load_one(exchanged + place_of_piece(piece, g, t / 2) + static_cast<std::uint32_t>(t % 2 * 8));
        sum[v][piece] = number - constants[Constants::kMagic + piece];
      }
      __syncwarp();
    }
    double of_fours[4];
    finish_sums<kPieces, 0>(sum, constants, tables_[part].pieces, of_fours);
#pragma unroll
    for (int v = 0; v < 4; ++v)
      store_one(exchanged + place_of_number(g, 2 * v + t / 2) + static_cast<std::uint32_t>(t % 2 * 8), of_fours[v]);
    __syncwarp();
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const double2 two = load_two(exchanged + place_of_number(g, 2 * t + half));
      x[2 * half] = two.x;
      x[2 * half + 1] = two.y;
    }
    __syncwarp();
  }

  /// A lane's columns. Where there are many, not to be kept in registers.
  __device__ static __forceinline__ void read_digits(const uint2 (&from)[kDigitPairs][Shape::kProducts][32],
                                                     uint2 (&digits)[kDigitPairs][Shape::kProducts]) {
#pragma unroll
    for (int of_piece = 0; of_piece < kDigitPairs; ++of_piece) {
#pragma unroll
      for (int product = 0; product < Shape::kProducts; ++product) {
        const uint2* const at = &from[of_piece][product][lane()];
        uint2& to = digits[of_piece][product];
        if constexpr (Shape::kParts * Shape::kRounds * Shape::kProducts == 1) {
          to = *at;
        } else {
          asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];"
                       : "=r"(to.x), "=r"(to.y)
                       : "r"(static_cast<std::uint32_t>(__cvta_generic_to_shared(at))));
        }
      }
    }
  }

  /// Four planes of each of four elements, of group `group` of planes.
  __device__ static __forceinline__ void transpose(const uint4 (&words)[kWords], int v, int group,
                                                   std::uint32_t (&bytes)[4]) {
    std::uint32_t four[4];
#pragma unroll
    for (int c = 0; c < 4; ++c)
      four[c] = 4 * group + c < kWords ? word_of(words[min(4 * group + c, kWords - 1)], v) : 0;
    if (kWords - 4 * group == 1) return transpose_bytes<1>(four, bytes);
    if (kWords - 4 * group == 2) return transpose_bytes<2>(four, bytes);
    transpose_bytes<4>(four, bytes);
  }
  [[nodiscard]] __device__ static int warp() { return static_cast<int>(threadIdx.x + threadIdx.y * blockDim.x) / 32; }

  const DeviceReconstruction<T>& task_;
  const DeviceCrtTable* tables_;
  Shared& shared_;
  int num_planes_;
  bool has_rows_ = false;
};

inline constexpr int kBytesBlocksPerSm = 2;
/// Pieces from which on it is quicker than FP64 numbers, a plane after another.
template <class T>
inline constexpr int kLeastBytePieces = kIsComplex<T> ? 3 : 4;
static_assert(kDevicePieces == 5);

/// Rungs of kLeastBytePieces to kDevicePieces. @param scales_only  whether it scales C where only that is wanted
template <class T>
__global__ void __launch_bounds__(kThreads, kBytesBlocksPerSm)
    reconstruct_from_bytes(const __grid_constant__ DeviceReconstruction<T> task, bool scales_only) {
  constexpr std::size_t kMostBytes =
      std::max({sizeof(BytesShared<T, 3>), sizeof(BytesShared<T, 4>), sizeof(BytesShared<T, 5>)});
  __shared__ __align__(128) unsigned char shared[kMostBytes];
  base::follow_previous_kernel();
  const int rung = task.state->selection.rung;
  if (task.state->is_scaling_only != 0) {
    if (scales_only) scale_all(task.c, task.beta.load());
    return;
  }
  if (rung < 0 || task.state->takes_signs != 0) return;
  if (task.done != nullptr && *task.done != 0) return;
  constexpr int kParts = kIsComplex<T> ? 2 : 1;
  const DeviceCrtTable* const tables = task.tables + kParts * (task.ladder.rungs[rung].num_moduli - num::kMinModuli);
  const int pieces = tables->pieces.count;
  if (pieces < kLeastBytePieces<T>) return;
  if (pieces == 3) {
    if constexpr (kLeastBytePieces<T> <= 3) {
      FromBytes<T, 3>(task, tables, *reinterpret_cast<BytesShared<T, 3>*>(shared)).run();
    }
  } else if (pieces == 4) {
    FromBytes<T, 4>(task, tables, *reinterpret_cast<BytesShared<T, 4>*>(shared)).run();
  } else if (pieces == 5) {
    FromBytes<T, 5>(task, tables, *reinterpret_cast<BytesShared<T, 5>*>(shared)).run();
  }
}

}  // namespace kizami::reconstruct::device
