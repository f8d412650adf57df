// SPDX-License-Identifier: MIT
// The CRT's sums over all planes as products of matrices of bytes, which the tensor cores make (mma.m16n8k32):
//   t_i = sum_q r_q W_qi,   W_qi = sum_d digit_qid 256^d   (piece i of the weight of plane q, in units of its grid).
// Rows are elements, the inner index is the plane, columns are the digits of a piece. Sums of digits fit in 32 bits, a
// piece in 51: with the bits of 1.5 2^(52 + grid) added it is an FP64 number once that is subtracted. What follows is
// finish_sums(), and the bits are those of add_planes().
//
// A warp takes 128 rows of a column. Lane 4g + t reads neighbouring residues of planes t, t + 4, ..., and has then,
// four planes a word, what the tensor cores want of these elements. They give it piece t of those, four elements at a
// time; through shared memory it comes to have all pieces of element t of the four. Pieces have five digits and places
// for six: the sixth places of the four are those of the four digits of a fifth piece, of which lane t so has digit t
// (fifth_piece_digits()). Complex numbers take a product for each part, or in two pieces one for both, whose four pieces
// are two of each part.
#pragma once

#include <algorithm>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/code_capability.hpp"
#include "base/int_math.hpp"
#include "base/overlapped_launch.hpp"
#include "device/quads.cuh"
#include "num/rung.hpp"
#include "schemes/ozaki2/crt_pieces.hpp"
#include "schemes/ozaki2/crt_runs.hpp"
#include "schemes/ozaki2/device_crt.hpp"
#include "schemes/ozaki2/device_crt_epilogue.cuh"
#include "schemes/ozaki2/device_crt_rung.cuh"

namespace kizami::ozaki2::kernels {

inline constexpr int kBytesWarps = device::kThreads / 32;
inline constexpr int kDigitPairs = kPieceDigits / 2;  ///< a lane has two columns of a product

/// kFifthDigits: of the fifth piece; one more than four has columns of its own.
template <class T, int kPieces, int kFifthDigits = 4>
struct BytesShape {
  static constexpr int kParts = kIsComplex<T> ? 2 : 1;
  static constexpr int kPartsAtOnce = kPieces == 2 ? kParts : 1;  ///< whose pieces are one product's
  static constexpr int kTurns = kParts / kPartsAtOnce;            ///< products of the same residues
  static constexpr int kPiecesAtOnce = kPartsAtOnce * kPieces;
  static constexpr int kLoads = kTurns;  ///< of a column: so many parts of its rows are read one after another
  static constexpr int kQuads =
      4 / kLoads;  ///< words of four neighbouring residues that a lane reads of a plane at once
  /// of 4 planes: a lane's
  static constexpr int kWords = base::ceil_div(most_piece_planes(kIsComplex<T>, kPieces), 4);
  static constexpr int kGroups = base::ceil_div(kWords, 4);     ///< of 16 planes: a word of each lane
  static constexpr int kProducts = base::ceil_div(kGroups, 2);  ///< of 32 planes
  static constexpr int kTiles = kDigitPairs + (kPieces == 5 && kFifthDigits > 4 ? 1 : 0);  ///< of 8 columns
  using Constants = PieceLayout<kPieces, 0>;
};

/// The digits of a lane in one tile of columns: a word for each group of 16 planes.
template <int kProducts>
struct alignas(8 * kProducts) LaneDigits {
  static_assert(kProducts == 1 || kProducts == 2);
  std::uint32_t words[2 * kProducts];
};

/// Pieces of 32 elements, four of them as numbers and one as digits.
inline constexpr std::uint32_t kFourPieceBytes = 4 * 32 * 8;
inline constexpr std::uint32_t kPieceBytes = kFourPieceBytes + 32 * 16;

/// What the warps of a block share, and what one of them exchanges.
template <class T, int kPieces, int kFifthDigits = 4>
struct BytesShared {
  using Shape = BytesShape<T, kPieces, kFifthDigits>;
  /// Written in turns, so that one may be read while the other is written.
  alignas(128) unsigned char pieces[kBytesWarps][2][kPieces == 5 ? kPieceBytes : kFourPieceBytes];
  alignas(128) double numbers[kBytesWarps][Shape::kParts][kWarpRows];
  LaneDigits<Shape::kProducts> digits[Shape::kTurns][Shape::kTiles][32];
  double constants[Shape::kParts][Shape::Constants::kSize];
};

/// Neighbouring residues. Their neighbours in 256 bytes, which other warps want, come to the L2 cache as well.
__device__ __forceinline__ void load_residues(const std::int8_t* at, std::uint32_t (&x)[4]) {
  asm volatile("ld.global.L2::256B.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
               : "l"(at));
}
__device__ __forceinline__ void load_residues(const std::int8_t* at, std::uint32_t (&x)[2]) {
  asm volatile("ld.global.L2::256B.v2.u32 {%0, %1}, [%2];" : "=r"(x[0]), "=r"(x[1]) : "l"(at));
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
__device__ __forceinline__ void multiply_digits(std::int32_t (&sum)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                                                std::uint32_t b1) {
  asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+r"(sum[0]), "+r"(sum[1]), "+r"(sum[2]), "+r"(sum[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Places in what a warp exchanges: neighbours that are served at once meet in no bank.

/// Of elements 2j and 2j + 1 of the four of row g, in piece i.
[[nodiscard]] __device__ inline std::uint32_t place_of_piece(int i, int g, int j) {
  return static_cast<std::uint32_t>(i * 256 + ((2 * g + j) ^ (i & 1) ^ (i & 2) << 1) * 16);
}
/// Of the digits of the fifth piece, of element e of the four of row g.
[[nodiscard]] __device__ inline std::uint32_t place_of_digits(int g, int e) {
  return kFourPieceBytes + static_cast<std::uint32_t>((8 * e + (g ^ 2 * e)) * 16);
}
/// Of elements 2j and 2j + 1 of the 128.
[[nodiscard]] __device__ inline std::uint32_t place_of_number(int j) {
  return static_cast<std::uint32_t>((j ^ (j >> 2 & 6)) * 16);
}
__device__ __forceinline__ void store_word(std::uint32_t at, std::int32_t x) {
  asm volatile("st.shared.s32 [%0], %1;" ::"r"(at), "r"(x) : "memory");
}
[[nodiscard]] __device__ __forceinline__ int4 load_words(std::uint32_t at) {
  int4 x;
  asm volatile("ld.shared.v4.s32 {%0, %1, %2, %3}, [%4];"
               : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w)
               : "r"(at)
               : "memory");
  return x;
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

/// The FP64 number whose bits are sum_d s_d 256^d + 2^32 bias.
[[nodiscard]] __device__ __forceinline__ double number_of_digits(std::int32_t s0, std::int32_t s1, std::int32_t s2,
                                                                 std::int32_t s3, std::int32_t s4, std::int32_t bias) {
  // Without carries between the two words of a sum, which is one instruction.
  const std::int32_t low = s0 + s1 * 256;
  const std::int32_t high = (low >> 31) + s4 + bias;
  const std::int64_t addend = static_cast<std::int64_t>(
      static_cast<std::uint64_t>(static_cast<std::uint32_t>(high)) << 32 | static_cast<std::uint32_t>(low));
  return __longlong_as_double(static_cast<std::int64_t>(s2 + s3 * 256) * 65536 + addend);
}

/// All shares of warps, in the order in which they are begun: the rows of some columns before the next columns, for who reads
/// neighbours in memory had better do it at about the same time; and single columns last, so that all warps end at
/// about the same time.
class Runs {
 public:
  /// @range (rows + 127) / 128 * cols < 2^31
  __device__ Runs(std::int64_t rows, std::int64_t cols, unsigned num_warps)
      : groups_(static_cast<unsigned>(base::ceil_div(rows, std::int64_t{kWarpRows}))) {
    constexpr unsigned kSinglesOfWarp = 4;
    const auto all = static_cast<unsigned>(cols);
    const unsigned single = min(all, (kSinglesOfWarp * num_warps + groups_ - 1) / groups_);
    in_runs_ = (all - single) / kColumns * kColumns;
    num_runs_ = groups_ * (in_runs_ / kColumns);
    count_ = num_runs_ + groups_ * (all - in_runs_);
  }
  [[nodiscard]] __device__ unsigned count() const { return count_; }

  [[nodiscard]] __device__ __forceinline__ Run operator[](unsigned number) const {
    const bool is_single = number >= num_runs_;
    const unsigned of_its_kind = is_single ? number - num_runs_ : number;
    const unsigned at = of_its_kind / groups_;
    return {static_cast<int>(of_its_kind - at * groups_), static_cast<int>(is_single ? in_runs_ + at : at * kColumns),
            is_single ? 1 : static_cast<int>(kColumns)};
  }

 private:
  static constexpr unsigned kColumns = kRunColumns;
  unsigned groups_;   ///< of 128 rows
  unsigned in_runs_;  ///< columns
  unsigned num_runs_;
  unsigned count_;
};

template <class T, bool kIsPart, int kPieces, int kFifthDigits = 4>
class FromBytes {
  using Shape = BytesShape<T, kPieces, kFifthDigits>;
  using Shared = BytesShared<T, kPieces, kFifthDigits>;
  using Constants = typename Shape::Constants;
  using Digits = LaneDigits<Shape::kProducts>;
  static constexpr int kWords = Shape::kWords;
  static constexpr int kQuads = Shape::kQuads;
  static constexpr int kLaneRows = 4 * kQuads;                 ///< that a lane reads at once
  static constexpr int kLoadRows = kWarpRows / Shape::kLoads;  ///< that a warp does
  static constexpr int kAtOnce = kPieces == 5 ? 2 : kQuads;    ///< elements of a lane whose sums are finished together
  /// Word from which on a lane has all bytes that it needs, so that the next ones may be on their way: early, where
  /// registers allow it.
  static constexpr int kLastOfWords = Shape::kTurns == 2 || kPieces == 5 ? 1 : 0;
  /// Of the rows that a lane writes: 16 bytes a store want neighbours in the other lanes, of 8 a lane stores two.
  static constexpr int kSide = sizeof(T) == 16 ? 1 : 4;
  using Words = std::uint32_t[kWords][kQuads];
  using Bytes = std::uint32_t[2 * Shape::kProducts][4];  ///< of four elements, in words of four planes

 public:
  __device__ FromBytes(const DeviceReconstruction<T>& task, const DeviceCrtTable* tables, Shared& shared)
      : task_(task),
        tables_(tables),
        shared_(shared),
        num_planes_(tables->num_planes),
        last_row_(static_cast<int>(base::round_up(task.c.rows, std::int64_t{16})) - kLaneRows) {}

  /// The constants of the block: the finishing numbers, and each lane's columns of digits.
  __device__ static void share(const DeviceCrtTable* tables, Shared& shared) {
    const int thread = static_cast<int>(threadIdx.x);
    for (int at = thread; at < Shape::kParts * Constants::kSize; at += device::kThreads) {
      const int part = at / Constants::kSize;
      shared.constants[part][at % Constants::kSize] = Constants::value(tables[part].pieces, at % Constants::kSize);
    }
    for (int at = thread; at < Shape::kTurns * Shape::kTiles * 32; at += device::kThreads) {
      const int of_lane = at % 32;
      const int tile = at / 32 % Shape::kTiles;
      const int turn = at / 32 / Shape::kTiles;
      const int part = turn + of_lane / 4 / 2 / kPieces % Shape::kPartsAtOnce;
      int piece = of_lane / 4 / 2 - (Shape::kPartsAtOnce - 1) * part * kPieces;
      int digit = 2 * tile + of_lane / 4 % 2;
      if (kPieces == 5 && digit == 5) {
        digit = piece;
        piece = 4;
      }
      bool is_there = piece < kPieces;
      if (tile == kDigitPairs) {  // lane t = 3 has the fourth digit of the fifth piece, and gets the one above it
        is_there = of_lane / 4 == 6;
        piece = 4;
        digit = 4;
      }
      const std::uint32_t* const of_groups = tables[part].pieces.digits[is_there ? piece : 0][digit];
      Digits& digits = shared.digits[turn][tile][of_lane];
#pragma unroll
      for (int group = 0; group < 2 * Shape::kProducts; ++group)
        digits.words[group] = is_there && group < Shape::kGroups ? of_groups[4 * group + of_lane % 4] : 0;
    }
    __syncthreads();
  }

  /// By all threads of all blocks, behind share(). A warp begins with the run of its own number and claims the next ones: once when
  /// it begins, and once for each run that it is given. All together claim as often as there are runs, so that the counter
  /// is zero again for the next launch.
  __device__ __forceinline__ void run() {
    const unsigned num_warps = gridDim.x * kBytesWarps;
    const auto runs = all_runs(num_warps);
    const unsigned first = blockIdx.x * kBytesWarps + static_cast<unsigned>(warp());
    if (first >= runs.count()) return;
    Run at = runs[first];
    unsigned claimed = claim(runs.count());  // asked for a run ahead
    NumberEpilogue<T, kIsPart, kSide> epilogue(task_, first_row(at));
    Words words;
    load(at, 0, words);
    for (;;) {
      Run next{at.rows, at.column + 1, at.left - 1};
      const bool is_claimed = next.left == 0;
      bool has_next = true;
      if (is_claimed) {
        const unsigned number = num_warps + __shfl_sync(0xFFFFFFFFu, claimed, 0);
        has_next = number < runs.count();
        if (has_next) next = runs[number];
      }
      const std::int64_t j = at.column;
      int col_scale = 0;
      std::uint32_t repairs = 0;
#pragma unroll
      for (int of_column = 0; of_column < Shape::kLoads; ++of_column) {
        rebuild(words, of_column, [&] {
          if (of_column + 1 < Shape::kLoads) return load(at, of_column + 1, words);
          // Begun before the last elements are rebuilt: they are not worth a wait.
          col_scale = task_.col_scale[j];
          if constexpr (kSide == 1) {
            if (epilogue.epilogue.has_repairs) repairs = repair_word_of_lane(at);
          } else {
            if (epilogue.epilogue.has_repairs && epilogue.i < task_.c.rows)
              repairs = *repair_word(task_, epilogue.i, j);
          }
          if (!has_next) return;
          load(next, 0, words);
          if (is_claimed) claimed = claim(runs.count());  // on its way with them: before them they would wait for it
        });
      }
      __syncwarp();
      double x[Shape::kParts][4];
      read_numbers(x);
      epilogue.judge_scales();
      if constexpr (kSide == 1) {  // lanes ask each other
        const unsigned repaired = epilogue.epilogue.has_repairs ? repaired_of_lane(at, repairs) : 0;
        epilogue.write(task_, j, col_scale, x, [&] { return repaired; });
      } else {
        epilogue.write(task_, j, col_scale, x,
                       [&] { return repairs >> static_cast<int>((task_.first_row + epilogue.i) % 32); });
      }
      if (!has_next) break;
      if (is_claimed) epilogue.take_rows(task_, first_row(next));
      at = next;
    }
  }

 private:
  [[nodiscard]] __device__ __forceinline__ auto all_runs([[maybe_unused]] unsigned num_warps) const {
    if constexpr (kIsPart) {
      return TriangleRuns(task_.c.cols, task_.part.kind == problem::PartKind::kLower);
    } else {
      return Runs(task_.c.rows, task_.c.cols, num_warps);
    }
  }
  [[nodiscard]] __device__ static int lane() { return static_cast<int>(threadIdx.x) % 32; }
  [[nodiscard]] __device__ static int warp() { return static_cast<int>(threadIdx.x) / 32; }
  /// Of the four that this lane writes, device::row_of_lane().
  [[nodiscard]] __device__ static std::int64_t first_row(const Run& run) {
    return std::int64_t{run.rows} * kWarpRows + kSide * lane();
  }

  /// The words of the repaired elements' bits of a run's rows, one in a lane, and again from the eighth on.
  [[nodiscard]] __device__ __forceinline__ std::uint32_t repair_word_of_lane(const Run& run) const {
    const std::int64_t word = (task_.first_row + std::int64_t{run.rows} * kWarpRows) / 32 + lane() % 8;
    return word < task_.bits_stride ? task_.repair_bits[(task_.first_col + run.column) * task_.bits_stride + word] : 0;
  }
  /// One bit for each of this lane's rows that someone else answers. By whole warps.
  [[nodiscard]] __device__ __forceinline__ unsigned repaired_of_lane(const Run& run, std::uint32_t words) const {
    const int first = static_cast<int>((task_.first_row + std::int64_t{run.rows} * kWarpRows) % 32) + lane();
    unsigned repaired = 0;
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      const int bit = first + device::row_of_lane<kSide>(e);
      repaired |= (__shfl_sync(~0u, words, bit / 32) >> (bit % 32) & 1u) << e;
    }
    return repaired;
  }

  /// In lane 0. @range count: of runs
  [[nodiscard]] __device__ __forceinline__ unsigned claim(unsigned count) const {
    return lane() == 0 ? atomicInc(&task_.state->num_claims, count - 1) : 0;
  }

  /// Rows beyond the last are others that are there, planes beyond the last zero.
  __device__ __forceinline__ void load(const Run& run, int of_column, Words& words) const {
    constexpr int kAlways =
        num::num_planes(kIsComplex<T> ? num::Ring::kComplex : num::Ring::kReal,
                        kPieces == 2 ? num::kMinModuli : most_piece_moduli(kIsComplex<T>, kPieces - 1) + 1);
    const int t = lane() % 4;
    const int row = min(run.rows * kWarpRows + of_column * kLoadRows + kLaneRows * (lane() / 4), last_row_);
    const std::int8_t* at =
        task_.planes.data + row + t * task_.planes.plane_stride + run.column * task_.planes.col_stride;
    const std::int64_t step = 4 * task_.planes.plane_stride;
#pragma unroll
    for (int w = 0; w < kWords; ++w, at += step) {
      if (4 * w + 3 < kAlways) {
        load_residues(at, words[w]);
      } else {
#pragma unroll
        for (std::uint32_t& word : words[w]) word = 0;
        if (4 * w + t < num_planes_) load_residues(at, words[w]);
      }
    }
  }

  /// The rounded integers of what was loaded, to shared memory. By whole warps. @param load_next()  asked when the
  /// words are free: what comes next is on its way then, while little else is in registers
  template <class LoadNext>
  __device__ __forceinline__ void rebuild(const Words& words, int of_column, const LoadNext& load_next) {
    const int g = lane() / 4;
    const int t = lane() % 4;
    Bytes bytes[kQuads];
#pragma unroll
    for (int turn = 0; turn < Shape::kTurns; ++turn) {
      // Lane t makes piece t of those of the parts.
      const int of_pieces = min(t, Shape::kPiecesAtOnce - 1);
      const std::int32_t bias =
          __double2hiint(shared_.constants[turn + of_pieces / kPieces][Constants::kMagic + of_pieces % kPieces]);
      double sum[Shape::kPartsAtOnce][kAtOnce][kPieces];
#pragma unroll
      for (int v = 0; v < kQuads; ++v) {
        if (turn == 0 && v <= kLastOfWords) {
#pragma unroll
          for (int of = v; of < (v < kLastOfWords ? v + 1 : kQuads); ++of) transpose(words, of, bytes[of]);
        }
        if (turn == Shape::kTurns - 1 && v == kLastOfWords) load_next();
        sum_digits(bytes[v], turn, bias, v % 2);
        __syncwarp();
#pragma unroll
        for (int p = 0; p < Shape::kPartsAtOnce; ++p)
          read_sums(shared_.constants[turn + p], p * kPieces, v % 2, sum[p][v % kAtOnce]);
        if ((v + 1) % kAtOnce != 0) continue;
#pragma unroll
        for (int p = 0; p < Shape::kPartsAtOnce; ++p) {
          const int part = turn + p;
          const auto numbers = static_cast<std::uint32_t>(__cvta_generic_to_shared(shared_.numbers[warp()][part]));
          double finished[kAtOnce];
          finish_sums<kPieces, 0>(sum[p], shared_.constants[part], tables_[part].pieces, finished);
#pragma unroll
          for (int e = 0; e < kAtOnce; ++e) {
            const int element = of_column * kLoadRows + kLaneRows * g + 4 * (v + 1 - kAtOnce + e) + t;
            store_one(numbers + place_of_number(element / 2) + static_cast<std::uint32_t>(t % 2 * 8), finished[e]);
          }
        }
      }
    }
  }

  /// The sums of four elements' digits, as pieces in shared memory.
  __device__ __forceinline__ void sum_digits(const Bytes& bytes, int turn, std::int32_t bias, int half) {
    const int g = lane() / 4;
    const int t = lane() % 4;
    const auto exchanged = static_cast<std::uint32_t>(__cvta_generic_to_shared(shared_.pieces[warp()][half]));
    Digits digits[Shape::kTiles];
    read_digits(shared_.digits[turn], digits);
#pragma unroll
    for (int pair = 0; pair < 2; ++pair) {
      std::int32_t sums[Shape::kTiles][4] = {};
#pragma unroll
      for (int product = 0; product < Shape::kProducts; ++product) {
        const std::uint32_t a[4] = {bytes[2 * product][2 * pair], bytes[2 * product][2 * pair + 1],
                                    bytes[2 * product + 1][2 * pair], bytes[2 * product + 1][2 * pair + 1]};
#pragma unroll
        for (int tile = 0; tile < Shape::kTiles; ++tile)
          multiply_digits(sums[tile], a, digits[tile].words[2 * product], digits[tile].words[2 * product + 1]);
      }
      store_two(exchanged + place_of_piece(t, g, pair),
                number_of_digits(sums[0][0], sums[0][1], sums[1][0], sums[1][1], sums[2][0], bias),
                number_of_digits(sums[0][2], sums[0][3], sums[1][2], sums[1][3], sums[2][2], bias));
      if constexpr (kPieces == 5) {
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          std::int32_t digit = sums[2][2 * e + 1];
          if constexpr (Shape::kTiles > kDigitPairs) digit += sums[kDigitPairs][2 * e] * 256;
          store_word(exchanged + place_of_digits(g, 2 * pair + e) + static_cast<std::uint32_t>(4 * t), digit);
        }
      }
    }
  }

  /// All pieces of element t of the four, of the part whose first one is number `first`.
  __device__ __forceinline__ void read_sums(const double* constants, int first, int half,
                                            double (&sum)[kPieces]) const {
    const int g = lane() / 4;
    const int t = lane() % 4;
    const auto exchanged = static_cast<std::uint32_t>(__cvta_generic_to_shared(shared_.pieces[warp()][half]));
#pragma unroll
    for (int piece = 0; piece < std::min(kPieces, 4); ++piece) {
      const double number =
          load_one(exchanged + place_of_piece(first + piece, g, t / 2) + static_cast<std::uint32_t>(t % 2 * 8));
      sum[piece] = number - constants[Constants::kMagic + piece];
    }
    if constexpr (kPieces == 5) {
      const int4 digits = load_words(exchanged + place_of_digits(g, t));
      const double magic = constants[Constants::kMagic + 4];
      sum[4] = number_of_digits(digits.x, digits.y, digits.z, digits.w, 0, __double2hiint(magic)) - magic;
    }
  }

  /// Those of the four rows of this lane.
  __device__ __forceinline__ void read_numbers(double (&x)[Shape::kParts][4]) const {
#pragma unroll
    for (int part = 0; part < Shape::kParts; ++part) {
      const auto numbers = static_cast<std::uint32_t>(__cvta_generic_to_shared(shared_.numbers[warp()][part]));
      if constexpr (kSide == 1) {
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          const int row = lane() + device::row_of_lane<kSide>(e);
          x[part][e] = load_one(numbers + place_of_number(row / 2) + static_cast<std::uint32_t>(row % 2 * 8));
        }
      } else {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const double2 two = load_two(numbers + place_of_number(2 * lane() + half));
          x[part][2 * half] = two.x;
          x[part][2 * half + 1] = two.y;
        }
      }
    }
  }

  /// A lane's columns. Where there are many, not to be kept in registers.
  __device__ static __forceinline__ void read_digits(const Digits (&from)[Shape::kTiles][32],
                                                     Digits (&digits)[Shape::kTiles]) {
#pragma unroll
    for (int tile = 0; tile < Shape::kTiles; ++tile) {
      const Digits& of_lane = from[tile][lane()];
      if constexpr (Shape::kProducts == 1) {
        digits[tile] = of_lane;
      } else {
        std::uint32_t(&to)[4] = digits[tile].words;
        asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                     : "r"(static_cast<std::uint32_t>(__cvta_generic_to_shared(&of_lane))));
      }
    }
  }

  /// All planes of word v of each plane's residues.
  __device__ static __forceinline__ void transpose(const Words& words, int v, Bytes& bytes) {
#pragma unroll
    for (int group = 0; group < 2 * Shape::kProducts; ++group) {
      std::uint32_t four[4];
#pragma unroll
      for (int c = 0; c < 4; ++c) four[c] = 4 * group + c < kWords ? words[min(4 * group + c, kWords - 1)][v] : 0;
      if (kWords <= 4 * group) {
#pragma unroll
        for (std::uint32_t& word : bytes[group]) word = 0;
      } else if (kWords - 4 * group == 1) {
        transpose_bytes<1>(four, bytes[group]);
      } else if (kWords - 4 * group == 2) {
        transpose_bytes<2>(four, bytes[group]);
      } else {
        transpose_bytes<4>(four, bytes[group]);
      }
    }
  }

  const DeviceReconstruction<T>& task_;
  const DeviceCrtTable* tables_;
  Shared& shared_;
  int num_planes_;
  int last_row_;  ///< from which a lane can read
};

inline constexpr int kBytesBlocksPerSm = 2;
/// Pieces from which on it is quicker than FP64 numbers, a plane after another.
template <class T>
inline constexpr int kLeastBytePieces = kIsComplex<T> ? 2 : 4;
static_assert(kDevicePieces == 5);

/// @param is_shared  share() has been called
template <class T, bool kIsPart, int kPieces, int kFifthDigits = 4>
__device__ __forceinline__ void rebuild_from_bytes(const DeviceReconstruction<T>& task, const DeviceCrtTable* tables,
                                                   bool is_shared, unsigned char* memory) {
  using Bytes = FromBytes<T, kIsPart, kPieces, kFifthDigits>;
  auto& shared = *reinterpret_cast<BytesShared<T, kPieces, kFifthDigits>*>(memory);
  if (!is_shared) Bytes::share(tables, shared);
  Bytes(task, tables, shared).run();
}
/// Of complex FP32 numbers, which seldom have so many, apart, so that its registers are not those of fewer pieces.
template <class T, bool kIsPart, int kPieces>
__device__ __noinline__ void rebuild_apart_from_bytes(const DeviceReconstruction<T>& task, const DeviceCrtTable* tables,
                                                      unsigned char* memory) {
  rebuild_from_bytes<T, kIsPart, kPieces>(task, tables, /*is_shared=*/false, memory);
}

/// The constants of the lowest rung, which most calls take: tables are older than the call, whose products need not be done.
template <class T, bool kIsPart>
__device__ __forceinline__ void share_lowest(const DeviceReconstruction<T>& task, unsigned char* memory) {
  const int lowest = task.ladder.rungs[0].num_moduli;
  const auto share = [&](auto pieces) {
    if constexpr (pieces.value >= kLeastBytePieces<T>) {
      FromBytes<T, kIsPart, pieces.value>::share(tables_of(task, lowest),
                                                 *reinterpret_cast<BytesShared<T, pieces.value>*>(memory));
    }
  };
  with_pieces(num_pieces(kIsComplex<T>, lowest), share, [] {});
}

template <class T, bool kIsPart>
__device__ __forceinline__ void reconstruct_block_from_bytes(const DeviceReconstruction<T>& task, bool scales_only,
                                                             unsigned char* shared) {
  // rung_of_call(), with which ptxas keeps more in local memory: 34 words for 9 in a loop of real numbers.
  const int rung = task.state->selection.rung;
  if (task.state->is_scaling_only != 0) {
    if (scales_only) scale_c<kIsPart>(task);
    return;
  }
  if (rung < 0 || task.state->takes_signs != 0 || task.state->num_strassen_products != 0) return;
  if (task.done != nullptr && *task.done != 0) return;
  const int num_moduli = task.ladder.rungs[rung].num_moduli;
  const int pieces = num_pieces(kIsComplex<T>, num_moduli);
  if (pieces < kLeastBytePieces<T>) return;
  const DeviceCrtTable* const tables = tables_of(task, num_moduli);
  const auto rebuild_few = [&](auto few) {
    if constexpr (few.value >= kLeastBytePieces<T>)
      rebuild_from_bytes<T, kIsPart, few.value>(task, tables, /*is_shared=*/rung == 0, shared);
  };
  with_pieces(pieces, rebuild_few, [&] {
    if constexpr (std::is_same_v<T, std::complex<float>>) {
      if (pieces == 4) {
        rebuild_apart_from_bytes<T, kIsPart, 4>(task, tables, shared);
      } else if (pieces == 5) {
        rebuild_apart_from_bytes<T, kIsPart, 5>(task, tables, shared);
      }
    } else if (pieces == 4) {
      rebuild_from_bytes<T, kIsPart, 4>(task, tables, /*is_shared=*/false, shared);
    } else if (pieces == 5 && (kIsComplex<T> || fifth_piece_digits(tables->pieces) <= 4)) {
      rebuild_from_bytes<T, kIsPart, 5>(task, tables, /*is_shared=*/false, shared);
    } else if constexpr (!kIsComplex<T>) {
      if (pieces == 5) rebuild_from_bytes<T, kIsPart, 5, 5>(task, tables, /*is_shared=*/false, shared);
    }
  });
}

/// Rungs of kLeastBytePieces to kDevicePieces.
/// @param scales_only  whether it scales C where only that is wanted
/// @param is_beside    the kernel before it in the queue has begun with let_next_run_beside()
template <class T, bool kIsPart>
__global__ void __launch_bounds__(device::kThreads, kBytesBlocksPerSm)
    reconstruct_from_bytes(const __grid_constant__ DeviceReconstruction<T> task, bool scales_only, bool is_beside) {
  if (!base::code_has_crt_by_fp64()) return __trap();
  constexpr std::size_t kMostBytes =
      std::max({sizeof(BytesShared<T, 2>), sizeof(BytesShared<T, 3>), sizeof(BytesShared<T, 4>),
                sizeof(BytesShared<T, 5>), sizeof(BytesShared<T, 5, 5>)});
  __shared__ __align__(128) unsigned char shared[kMostBytes];
  share_lowest<T, kIsPart>(task, shared);
  if (is_beside) {
    base::run_beside_previous();
  } else {
    base::follow_previous_kernel();
  }
  reconstruct_block_from_bytes<T, kIsPart>(task, scales_only, shared);
  base::join_previous();  // has been waited for, unless it is beside
}

}  // namespace kizami::ozaki2::kernels
