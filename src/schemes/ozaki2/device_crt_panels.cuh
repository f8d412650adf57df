// SPDX-License-Identifier: MIT
// The CRT's sums by the tensor cores (device_crt_bytes.cuh) of residues that come through shared memory: a block copies the
// planes of 128 rows some columns ahead, so that what is on its way takes no registers, and its warps take 16 rows each. For
// counts of two or three pieces, of whole products four columns at a time, of Strassen's products one column of both halves:
// residues of an element are sums of up to four products' there, without a reduction, and the tensor cores add these as well.
// Sums of digits of one product go on with the next, and what quadrants have in common is summed once (strassen.hpp),
//   -C11 = P1' - P2',   U = P1' - P6',   -C12 = U + P5' + P3',   V = U + P7',   -C22 = V + P5',   -C21 = V + P4'.
// Pieces of such sums stay below 2^51 of their grid (device_tables_test.cpp).
//
// Lines of a panel are 128 residues of a plane, those of different products or columns next to one another, and of each line
// chunks of 16 bytes in an order of its own: then transposed loads of 8 planes (ldmatrix) meet no bank twice. Lane 4g + t
// gets rows 2g and 2g + 1 of planes 2t, 2t + 1, and of those 8 further on, and by one permutation of bytes four planes of a
// row in a word. It makes piece t of both rows, which come through shared memory to lanes that have all pieces of a row.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/int_math.hpp"
#include "device/panel.cuh"
#include "schemes/ozaki2/crt_pieces.hpp"
#include "schemes/ozaki2/device_crt.hpp"
#include "schemes/ozaki2/device_crt_bytes.cuh"
#include "schemes/ozaki2/device_crt_epilogue.cuh"
#include "schemes/ozaki2/strassen.hpp"

namespace kizami::ozaki2::kernels {

inline constexpr int kPanelRows = 128;
inline constexpr int kPanelElements = 4;  ///< of a row that are finished together: columns, or quadrants

/// @param kIsStrassen  whether planes are of the products of quadrants
template <class T, int kPieces, int kGroups, bool kIsStrassen>
struct PanelShape {
  static_assert(kPieces == 2 || kPieces == 3);
  static_assert(kGroups == 1 || kGroups == 2, "groups of 16 planes: a product of the tensor cores takes one or two");
  static constexpr int kParts = kIsComplex<T> ? 2 : 1;
  static constexpr int kPartsAtOnce = kPieces == 2 ? kParts : 1;  ///< whose pieces are one product's
  static constexpr int kTurns = kParts / kPartsAtOnce;            ///< products of the same residues
  static constexpr int kSlots = kPartsAtOnce * kPieces;           ///< pieces of a product
  static constexpr int kLinesOfPlane = kIsStrassen ? kStrassenProducts : kPanelElements;
  static constexpr int kColumns = kIsStrassen ? 1 : kPanelElements;  ///< of a panel
  static constexpr int kMostPlanes =
      most_piece_planes(kIsComplex<T>, kPieces) < 16 * kGroups ? most_piece_planes(kIsComplex<T>, kPieces)
                                                               : 16 * kGroups;
  static constexpr int kPanelBytes = kLinesOfPlane * kMostPlanes * kPanelRows;
  static constexpr int kBlocksPerSm = kTurns == 1 ? 3 : 2;  ///< as many as registers allow
  static constexpr int kStages = kIsStrassen && kGroups == 2 ? 3 : 4;
  static constexpr int kSetBytes = kSlots * 16 * 8;  ///< pieces of 16 rows of an element
  static constexpr int kTiles = kDigitPairs;
  using Constants = PieceLayout<kPieces, 0>;
};

/// What the warps of a block share, and what one of them exchanges.
template <class T, int kPieces, int kGroups, bool kIsStrassen>
struct PanelShared {
  using Shape = PanelShape<T, kPieces, kGroups, kIsStrassen>;
  alignas(128) unsigned char panels[Shape::kStages][Shape::kPanelBytes];
  alignas(128) unsigned char pieces[kBytesWarps][Shape::kTurns][kPanelElements][Shape::kSetBytes];
  std::uint32_t digits[Shape::kTurns][Shape::kTiles][kGroups][32];
  double constants[Shape::kParts][Shape::Constants::kSize];
};

/// What planes of 16 rows are to the tensor cores: words of four planes, of rows 2g and 2g + 1.
template <int kGroups>
struct PanelWords {
  std::uint32_t word[2 * kGroups];
};
/// @param at  of each lane, of this plane's 16 residues
__device__ __forceinline__ PanelWords<1> load_transposed(std::uint32_t at, PanelWords<1>*) {
  std::uint32_t x[2];
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
               : "=r"(x[0]), "=r"(x[1])
               : "r"(at)
               : "memory");
  return {{__byte_perm(x[0], x[1], 0x6420), __byte_perm(x[0], x[1], 0x7531)}};
}
__device__ __forceinline__ PanelWords<2> load_transposed(std::uint32_t at, PanelWords<2>*) {
  std::uint32_t x[4];
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
               : "r"(at)
               : "memory");
  return {{__byte_perm(x[0], x[1], 0x6420), __byte_perm(x[0], x[1], 0x7531), __byte_perm(x[2], x[3], 0x6420),
           __byte_perm(x[2], x[3], 0x7531)}};
}
/// The plane of byte c of the words that lane t has of group u.
[[nodiscard]] __device__ __forceinline__ int plane_of_word(int u, int t, int c) {
  return 16 * u + 8 * (c / 2) + 2 * t + c % 2;
}

/// sum = a b + c: a of 16 rows and as many columns as words have planes, b of 8 columns.
__device__ __forceinline__ void multiply_words(std::int32_t (&sum)[4], const PanelWords<1>& a,
                                               const std::uint32_t (&b)[1], const std::int32_t (&c)[4]) {
  asm("mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%7, %8, %9, %10};"
      : "=r"(sum[0]), "=r"(sum[1]), "=r"(sum[2]), "=r"(sum[3])
      : "r"(a.word[0]), "r"(a.word[1]), "r"(b[0]), "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]));
}
__device__ __forceinline__ void multiply_words(std::int32_t (&sum)[4], const PanelWords<2>& a,
                                               const std::uint32_t (&b)[2], const std::int32_t (&c)[4]) {
  asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, "
      "%13};"
      : "=r"(sum[0]), "=r"(sum[1]), "=r"(sum[2]), "=r"(sum[3])
      : "r"(a.word[0]), "r"(a.word[1]), "r"(a.word[2]), "r"(a.word[3]), "r"(b[0]), "r"(b[1]), "r"(c[0]), "r"(c[1]),
        "r"(c[2]), "r"(c[3]));
}

/// Of four bytes their negatives; of -128, which only modulo 256 is a residue, itself.
[[nodiscard]] __device__ __forceinline__ std::uint32_t negated_bytes(std::uint32_t x) {
  const std::uint32_t inverted = ~x;
  return ((inverted & 0x7F7F7F7Fu) + 0x01010101u) ^ (inverted & 0x80808080u);
}

template <class T, int kPieces, int kGroups, bool kIsStrassen>
class FromPanels {
  using Shape = PanelShape<T, kPieces, kGroups, kIsStrassen>;
  using Shared = PanelShared<T, kPieces, kGroups, kIsStrassen>;
  using Constants = typename Shape::Constants;
  using Words = PanelWords<kGroups>;
  using Sums = std::int32_t[Shape::kTurns][Shape::kTiles][4];  ///< of digits, of two rows each
  static constexpr int kLinesOfPlane = Shape::kLinesOfPlane;
  static constexpr int kFinished = kPanelElements / 2;  ///< elements of a lane: it and its neighbour 16 lanes on share a row
  static constexpr int kRowsOfLane = kIsStrassen ? 2 : 1;
  static constexpr int kChunks = kPanelRows / 16;
  static constexpr int kLinesAtOnce = device::kThreads / kChunks;  ///< of a panel, that a copy of each thread brings
  /// Of Strassen's products, in memory.
  enum Product { kP1, kP2, kP3, kP4, kP5, kP6, kP7 };
  /// Of Strassen's products: 2 lower + right.
  enum Quadrant { kUpperLeft, kUpperRight, kLowerLeft, kLowerRight };

 public:
  /// @param half_rows, half_cols  of Strassen's quadrants; else those of C
  __device__ FromPanels(const DeviceReconstruction<T>& task, const DeviceCrtTable* tables, std::int64_t half_rows,
                        std::int64_t half_cols, Shared& shared)
      : task_(task),
        tables_(tables),
        shared_(shared),
        half_rows_(half_rows),
        half_cols_(half_cols),
        epilogue_(task),
        num_lines_(kLinesOfPlane * tables->num_planes) {
    share();
#pragma unroll
    for (int turn = 0; turn < Shape::kTurns; ++turn) {
      const int slot = lane() % 4 < Shape::kSlots ? lane() % 4 : Shape::kSlots - 1;
      bias_[turn] = __double2hiint(shared_.constants[turn + slot / kPieces][Constants::kMagic + slot % kPieces]);
#pragma unroll
      for (int tile = 0; tile < Shape::kTiles; ++tile) {
#pragma unroll
        for (int group = 0; group < kGroups; ++group)
          digits_[turn][tile][group] = shared_.digits[turn][tile][group][lane()];
      }
    }
    const int plane = min(lane(), tables->num_planes - 1);  // planes beyond the last meet digits that are zero
#pragma unroll
    for (int line = 0; line < kLinesOfPlane; ++line) {
      const int number = kLinesOfPlane * plane + line;
      place_[line] = static_cast<std::uint32_t>(number * kPanelRows + (warp() ^ order_of_chunks(number)) * 16);
    }
  }

  /// Columns [first_col, end_col), by all threads of all blocks. A block keeps its 128 rows and takes panels some apart; those
  /// of neighbours in memory are taken at about the same time.
  __device__ __forceinline__ void run(std::int64_t first_col, std::int64_t end_col) {
    const auto groups = static_cast<unsigned>(base::ceil_div(half_rows_, std::int64_t{kPanelRows}));
    const unsigned panels_at_once = max(1u, gridDim.x / groups);
    if (blockIdx.x >= groups * panels_at_once) return;
    const std::int64_t step = static_cast<std::int64_t>(panels_at_once) * Shape::kColumns;
    for (unsigned group = blockIdx.x % groups; group < groups; group += gridDim.x) {
      take_rows(static_cast<std::int64_t>(group) * kPanelRows);
      std::int64_t ahead = first_col + static_cast<std::int64_t>(blockIdx.x / groups) * Shape::kColumns;
      std::int64_t j = ahead;
      int to = 0;
      const auto copy_next = [&] {
        if (ahead < end_col) copy_panel(ahead, end_col, shared_.panels[to]);
        asm volatile("cp.async.commit_group;" ::: "memory");
        ahead += step;
        to = to + 1 == Shape::kStages ? 0 : to + 1;
      };
#pragma unroll 1
      for (int stage = 0; stage < Shape::kStages - 1; ++stage) copy_next();
      int from = 0;
#pragma unroll 1
      for (; j < end_col; j += step) {
        asm volatile("cp.async.wait_group %0;" ::"n"(Shape::kStages - 2) : "memory");
        __syncthreads();  // and nobody reads the panel that is overwritten now
        copy_next();
        rebuild(j, end_col, shared_.panels[from]);
        from = from + 1 == Shape::kStages ? 0 : from + 1;
      }
      device::wait_for_copies();
      __syncthreads();
    }
  }

 private:
  [[nodiscard]] __device__ static int lane() { return static_cast<int>(threadIdx.x) % 32; }
  [[nodiscard]] __device__ static int warp() { return static_cast<int>(threadIdx.x) / 32; }
  /// Of line number n: its chunk c lies in place c ^ this. Eight planes of a product or column have eight.
  [[nodiscard]] __device__ static int order_of_chunks(int n) { return (kIsStrassen ? n : n / kLinesOfPlane) % 8; }

  /// The constants of the block: the finishing numbers, and each lane's columns of digits.
  __device__ void share() {
    const int thread = static_cast<int>(threadIdx.x);
    for (int at = thread; at < Shape::kParts * Constants::kSize; at += device::kThreads) {
      const int part = at / Constants::kSize;
      shared_.constants[part][at % Constants::kSize] = Constants::value(tables_[part].pieces, at % Constants::kSize);
    }
    constexpr int kWords = Shape::kTurns * Shape::kTiles * kGroups * 32;
    auto* const words = &shared_.digits[0][0][0][0];
    for (int at = thread; at < kWords; at += device::kThreads) {
      const int column = at % 32 / 4;
      const int group = at / 32 % kGroups;
      const int tile = at / 32 / kGroups % Shape::kTiles;
      const int turn = at / 32 / kGroups / Shape::kTiles;
      const int slot = column / 2;
      std::uint32_t word = 0;
      if (slot < Shape::kSlots) {
        const auto& of_planes = tables_[turn + slot / kPieces].pieces.digits[slot % kPieces][2 * tile + column % 2];
#pragma unroll
        for (int c = 0; c < 4; ++c) {
          const int plane = plane_of_word(group, at % 4, c);
          const std::uint32_t digit = of_planes[plane / 16 * 4 + plane % 4] >> (plane % 16 / 4 * 8) & 255u;
          word |= digit << (8 * c);
        }
      }
      words[at] = word;
    }
    __syncthreads();
  }

  /// Rows of a panel from this one on, and of this lane.
  __device__ __forceinline__ void take_rows(std::int64_t first_row) {
    const std::int64_t chunk = first_row + static_cast<std::int64_t>(threadIdx.x) % kChunks * 16;
    has_chunk_ = chunk < (kIsStrassen ? half_rows_ : base::round_up(half_rows_, std::int64_t{16}));
    chunk_ = task_.planes.data + (has_chunk_ ? chunk : 0);
    row_ = first_row + warp() * 16 + lane() % 16;
#pragma unroll
    for (int e = 0; e < kRowsOfLane; ++e) {
      const std::int64_t row = row_ + e * half_rows_;
      row_scale_[e] = row_ < half_rows_ && row < task_.c.rows ? task_.row_scale[row] : num::kSkipLine;
    }
  }

  /// Enqueues copies of its lines; zeros of rows and columns that are not there.
  __device__ __forceinline__ void copy_panel(std::int64_t j, std::int64_t end_col, unsigned char* panel) const {
    const int first = static_cast<int>(threadIdx.x) / kChunks;
    const int chunk = static_cast<int>(threadIdx.x) % kChunks;
    bool is_there = has_chunk_;
    const std::int8_t* from = chunk_ + j * task_.planes.col_stride;
    std::int64_t step;
    if constexpr (kIsStrassen) {
      from += first * task_.planes.plane_stride;
      step = kLinesAtOnce * task_.planes.plane_stride;
    } else {
      const int column = first % kLinesOfPlane;
      is_there = is_there && j + column < end_col;
      from += (is_there ? column : 0) * task_.planes.col_stride + first / kLinesOfPlane * task_.planes.plane_stride;
      step = kLinesAtOnce / kLinesOfPlane * task_.planes.plane_stride;
    }
    static_assert(kLinesAtOnce / kLinesOfPlane % 8 == 0 || (kIsStrassen && kLinesAtOnce % 8 == 0),
                  "a thread's lines have one order of chunks");
    std::uint32_t to = static_cast<std::uint32_t>(__cvta_generic_to_shared(panel)) +
                       static_cast<std::uint32_t>(first * kPanelRows + (chunk ^ order_of_chunks(first)) * 16);
#pragma unroll 2
    for (int line = first; line < num_lines_; line += kLinesAtOnce) {
      device::copy_async<16>(to, from, is_there);
      from += step;
      to += kLinesAtOnce * kPanelRows;
    }
  }

  [[nodiscard]] __device__ __forceinline__ Words load(std::uint32_t panel, int line) const {
    return load_transposed(panel + place_[line], static_cast<Words*>(nullptr));
  }
  [[nodiscard]] __device__ __forceinline__ Words load_negated(std::uint32_t panel, int line) const {
    Words words = load(panel, line);
#pragma unroll
    for (std::uint32_t& word : words.word) word = negated_bytes(word);
    return words;
  }
  /// sums = before + those of these words.
  __device__ __forceinline__ void add(const Words& words, const Sums& before, Sums& sums) const {
#pragma unroll
    for (int turn = 0; turn < Shape::kTurns; ++turn) {
#pragma unroll
      for (int tile = 0; tile < Shape::kTiles; ++tile)
        multiply_words(sums[turn][tile], words, digits_[turn][tile], before[turn][tile]);
    }
  }

  [[nodiscard]] __device__ __forceinline__ std::uint32_t pieces_of(int turn, int element) const {
    return static_cast<std::uint32_t>(__cvta_generic_to_shared(shared_.pieces[warp()][turn][element]));
  }
  /// Of rows 2g and 2g + 1 in a slot.
  [[nodiscard]] __device__ static std::uint32_t place_of_rows(int slot, int g) {
    return static_cast<std::uint32_t>(slot * 128 + (g ^ 2 * slot) * 16);
  }
  /// The sums of an element's digits, as pieces in shared memory.
  __device__ __forceinline__ void exchange(const Sums& sums, int element) const {
    if (Shape::kSlots < 4 && lane() % 4 >= Shape::kSlots) return;
#pragma unroll
    for (int turn = 0; turn < Shape::kTurns; ++turn) {
      const auto& s = sums[turn];
      store_two(pieces_of(turn, element) + place_of_rows(lane() % 4, lane() / 4),
                number_of_digits(s[0][0], s[0][1], s[1][0], s[1][1], s[2][0], bias_[turn]),
                number_of_digits(s[0][2], s[0][3], s[1][2], s[1][3], s[2][2], bias_[turn]));
    }
  }

  /// What a panel has of this warp's rows, to C.
  __device__ __forceinline__ void rebuild(std::int64_t j, std::int64_t end_col, const unsigned char* of_block) const {
    const auto panel = static_cast<std::uint32_t>(__cvta_generic_to_shared(of_block));
    std::int32_t col_scale[kFinished];
#pragma unroll
    for (int e = 0; e < kFinished; ++e) {
      const std::int64_t column = column_of(j, e);
      const bool is_there = (kIsStrassen ? j : column) < end_col && column < task_.c.cols;
      col_scale[e] = is_there ? task_.col_scale[column] : num::kSkipLine;
    }
    if constexpr (kIsStrassen) {
      sum_quadrants(panel);
    } else {
#pragma unroll
      for (int element = 0; element < kPanelElements; ++element) {
        const Sums zero = {};
        Sums sums;
        add(load(panel, element), zero, sums);
        exchange(sums, element);
      }
    }
    __syncwarp();
    double x[Shape::kParts][kFinished];
    finish(x);
    __syncwarp();
#pragma unroll
    for (int e = 0; e < kFinished; ++e)
      write_element(task_, epilogue_, row_ + row_of(e) * half_rows_, column_of(j, e), row_scale_[row_of(e)],
                    col_scale[e], x[0][e], x[Shape::kParts - 1][e]);
  }
  /// Half of the rows of element e of this lane.
  [[nodiscard]] __device__ static constexpr int row_of(int e) { return kIsStrassen ? e : 0; }
  /// Of element e of this lane.
  [[nodiscard]] __device__ __forceinline__ std::int64_t column_of(std::int64_t j, int e) const {
    const int half = lane() / 16;
    return kIsStrassen ? j + half * half_cols_ : j + half + 2 * e;
  }

  __device__ __forceinline__ void sum_quadrants(std::uint32_t panel) const {
    Sums common = {};
    Sums sums;
    add(load(panel, kP1), common, common);
    add(load_negated(panel, kP2), common, sums);
    exchange(sums, kUpperLeft);
    add(load_negated(panel, kP6), common, common);
    const Words p5 = load(panel, kP5);
    add(p5, common, sums);
    add(load(panel, kP3), sums, sums);
    exchange(sums, kUpperRight);
    add(load(panel, kP7), common, common);
    add(p5, common, sums);
    exchange(sums, kLowerRight);
    add(load(panel, kP4), common, common);
    exchange(common, kLowerLeft);
  }

  /// The integers of this lane's elements: lane / 16 + 2 e of its row.
  __device__ __forceinline__ void finish(double (&x)[Shape::kParts][kFinished]) const {
    const int row = lane() % 16;
#pragma unroll
    for (int part = 0; part < Shape::kParts; ++part) {
      double sum[kFinished][kPieces];
      const int turn = Shape::kTurns == 1 ? 0 : part;
      const int first = Shape::kTurns == 1 ? part * kPieces : 0;
#pragma unroll
      for (int e = 0; e < kFinished; ++e) {
        const std::uint32_t from = pieces_of(turn, lane() / 16 + 2 * e) + static_cast<std::uint32_t>(row % 2 * 8);
#pragma unroll
        for (int piece = 0; piece < kPieces; ++piece) {
          const double number = load_one(from + place_of_rows(first + piece, row / 2));
          const double magic = shared_.constants[part][Constants::kMagic + piece];
          sum[e][piece] = kIsStrassen ? magic - number : number - magic;  // of quadrants it is -C
        }
      }
      finish_sums<kPieces, 0>(sum, shared_.constants[part], tables_[part].pieces, x[part]);
    }
  }

  const DeviceReconstruction<T>& task_;
  const DeviceCrtTable* tables_;
  Shared& shared_;
  std::int64_t half_rows_;
  std::int64_t half_cols_;
  Epilogue<T> epilogue_;
  int num_lines_;
  std::uint32_t digits_[Shape::kTurns][Shape::kTiles][kGroups];
  std::int32_t bias_[Shape::kTurns];
  std::uint32_t place_[kLinesOfPlane];  ///< in a panel, of the 16 residues whose address this lane gives
  // Of the rows that are taken.
  bool has_chunk_ = false;
  const std::int8_t* chunk_ = nullptr;  ///< that this thread copies
  std::int64_t row_ = 0;                ///< of this lane
  std::int32_t row_scale_[kRowsOfLane] = {};
};

}  // namespace kizami::ozaki2::kernels
