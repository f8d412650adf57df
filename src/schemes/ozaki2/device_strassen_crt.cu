// SPDX-License-Identifier: MIT
// The CRT of Strassen's seven products: residues of an element of C are sums of up to four products', without a reduction, and
// the tensor cores add these as well (device_crt_bytes.cuh). Sums of digits of one product go on with the next, and what
// quadrants have in common is summed once (strassen.hpp):
//   -C11 = P1' - P2',   U = P1' - P6',   -C12 = U + P5' + P3',   V = U + P7',   -C22 = V + P5',   -C21 = V + P4'.
// Pieces of such sums stay below 2^51 of their grid (strassen_test.cpp).
//
// Residues come through shared memory: a block copies panels some columns ahead, 128 rows of a column of every plane of every
// product, so that what is on its way takes no registers, and its warps take 16 rows each. Of each line of a panel chunks of
// 16 bytes lie in an order of its own, so that transposed loads of 8 planes (ldmatrix) meet no bank twice. Lane 4g + t gets
// rows 2g and 2g + 1 of planes 2t, 2t + 1, and of those 8 further on, and by one permutation of bytes four planes of a row in
// a word. It makes piece t of both rows, which come through shared memory to lanes that have all pieces of a row.
#include <algorithm>
#include <complex>
#include <cstddef>
#include <cstdint>

#include "base/async_copies.cuh"
#include "base/code_capability.hpp"
#include "base/cuda_status.hpp"
#include "base/int_math.hpp"
#include "base/overlapped_launch.hpp"
#include "device/panel.cuh"
#include "schemes/ozaki2/crt_pieces.hpp"
#include "schemes/ozaki2/device_crt_bytes.cuh"
#include "schemes/ozaki2/device_crt_epilogue.cuh"
#include "schemes/ozaki2/device_strassen.hpp"

namespace kizami::ozaki2 {
namespace {

constexpr int kRows = 128;        ///< of a panel: a column of both halves
constexpr int kNumQuadrants = 4;  ///< of an element each

template <class T, int kPieces, int kGroups>
struct QuadrantsShape {
  static_assert(kPieces == 2 || kPieces == 3);
  static_assert(kGroups == 1 || kGroups == 2, "groups of 16 planes: a product of the tensor cores takes one or two");
  static constexpr int kParts = kIsComplex<T> ? 2 : 1;
  static constexpr int kPartsAtOnce = kPieces == 2 ? kParts : 1;  ///< whose pieces are one product's
  static constexpr int kTurns = kParts / kPartsAtOnce;            ///< products of the same residues
  static constexpr int kSlots = kPartsAtOnce * kPieces;           ///< pieces of a product
  /// Of complex numbers with two pieces those of one group are told by their number.
  static constexpr int kMostPlanes = std::min(most_piece_planes(kIsComplex<T>, kPieces), 16 * kGroups);
  static_assert(kMostPlanes == most_piece_planes(kIsComplex<T>, kPieces) ||
                (kIsComplex<T> && kPieces == 2 && kGroups == 1));
  static constexpr int kPanelBytes = kStrassenProducts * kMostPlanes * kRows;
  static constexpr int kBlocksPerSm = kTurns == 1 ? 3 : 2;  ///< as many as registers allow
  static constexpr int kStages = kGroups == 2 ? 3 : 4;
  static constexpr int kSetBytes = kSlots * 16 * 8;  ///< pieces of 16 rows of an element
  static constexpr int kTiles = kernels::kDigitPairs;
  using Constants = kernels::PieceLayout<kPieces, 0>;
};

/// What the warps of a block share, and what one of them exchanges.
template <class T, int kPieces, int kGroups>
struct QuadrantsShared {
  using Shape = QuadrantsShape<T, kPieces, kGroups>;
  alignas(128) unsigned char panels[Shape::kStages][Shape::kPanelBytes];
  alignas(128) unsigned char pieces[kernels::kBytesWarps][Shape::kTurns][kNumQuadrants][Shape::kSetBytes];
  std::uint32_t digits[Shape::kTurns][Shape::kTiles][kGroups][32];
  double constants[Shape::kParts][Shape::Constants::kSize];
};

/// What planes of 16 rows are to the tensor cores: words of four planes, of rows 2g and 2g + 1.
template <int kGroups>
struct PanelWords {
  std::uint32_t word[2 * kGroups];

  /// @param at  of each lane, where the 16 residues of a plane lie
  [[nodiscard]] __device__ static __forceinline__ PanelWords load(std::uint32_t at) {
    std::uint32_t x[2 * kGroups];
    if constexpr (kGroups == 1) {
      asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                   : "=r"(x[0]), "=r"(x[1])
                   : "r"(at)
                   : "memory");
    } else {
      asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                   : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                   : "r"(at)
                   : "memory");
    }
    PanelWords words;
#pragma unroll
    for (int group = 0; group < kGroups; ++group) {
      words.word[2 * group] = __byte_perm(x[2 * group], x[2 * group + 1], 0x6420);
      words.word[2 * group + 1] = __byte_perm(x[2 * group], x[2 * group + 1], 0x7531);
    }
    return words;
  }
};
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

template <class T, int kPieces, int kGroups>
class FromQuadrants {
  using Shape = QuadrantsShape<T, kPieces, kGroups>;
  using Shared = QuadrantsShared<T, kPieces, kGroups>;
  using Constants = typename Shape::Constants;
  using Words = PanelWords<kGroups>;
  using Sums = std::int32_t[Shape::kTurns][Shape::kTiles][4];  ///< of digits, of two rows each
  static constexpr int kFinished = kNumQuadrants / 2;  ///< of a lane: those of one column, of the rows of both halves
  static constexpr int kChunks = kRows / 16;
  static constexpr int kLinesAtOnce = device::kThreads / kChunks;  ///< of a panel, that a copy of each thread brings
  enum Product { kP1, kP2, kP3, kP4, kP5, kP6, kP7 };
  enum Quadrant { kUpperLeft, kUpperRight, kLowerLeft, kLowerRight };

 public:
  __device__ FromQuadrants(const DeviceReconstruction<T>& task, const DeviceCrtTable* tables,
                           const StrassenHalves& halves, Shared& shared)
      : task_(task),
        tables_(tables),
        halves_(halves),
        shared_(shared),
        epilogue_(task),
        num_lines_(kStrassenProducts * tables->num_planes) {
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
    for (int product = 0; product < kStrassenProducts; ++product) {
      const int line = kStrassenProducts * plane + product;
      place_[product] = static_cast<std::uint32_t>(line * kRows + (warp() ^ line % 8) * 16);
    }
  }

  /// Columns [first_col, end_col), by all threads of all blocks. A block keeps its 128 rows and takes panels some apart; those
  /// of neighbours in memory are taken at about the same time.
  __device__ __forceinline__ void run(std::int64_t first_col, std::int64_t end_col) {
    const auto groups = static_cast<unsigned>(base::ceil_div(halves_.m, std::int64_t{kRows}));
    const unsigned step = max(1u, gridDim.x / groups);
    if (blockIdx.x >= groups * step) return;
    for (unsigned group = blockIdx.x % groups; group < groups; group += gridDim.x) {
      take_rows(static_cast<std::int64_t>(group) * kRows);
      std::int64_t ahead = first_col + blockIdx.x / groups;
      std::int64_t j = ahead;
      int to = 0;
      const auto copy_next = [&] {
        if (ahead < end_col) copy_panel(ahead, shared_.panels[to]);
        base::close_copies();
        ahead += step;
        to = to + 1 == Shape::kStages ? 0 : to + 1;
      };
#pragma unroll 1
      for (int stage = 0; stage < Shape::kStages - 1; ++stage) copy_next();
      int from = 0;
#pragma unroll 1
      for (; j < end_col; j += step) {
        base::wait_for_copies<Shape::kStages - 2>();
        __syncthreads();  // and nobody reads the panel that is overwritten now
        copy_next();
        rebuild(j, shared_.panels[from]);
        from = from + 1 == Shape::kStages ? 0 : from + 1;
      }
      device::wait_for_copies();
      __syncthreads();
    }
  }

 private:
  [[nodiscard]] __device__ static int lane() { return static_cast<int>(threadIdx.x) % 32; }
  [[nodiscard]] __device__ static int warp() { return static_cast<int>(threadIdx.x) / 32; }

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
    has_chunk_ = chunk < halves_.m;
    chunk_ = task_.planes.data + (has_chunk_ ? chunk : 0);
    row_ = first_row + warp() * 16 + lane() % 16;
#pragma unroll
    for (int e = 0; e < kFinished; ++e) {
      const std::int64_t row = row_ + e * halves_.m;
      row_scale_[e] = row_ < halves_.m && row < task_.c.rows ? task_.row_scale[row] : num::kSkipLine;
    }
  }

  /// Enqueues copies of its lines; zeros of rows that are not there.
  __device__ __forceinline__ void copy_panel(std::int64_t j, unsigned char* panel) const {
    static_assert(kLinesAtOnce % 8 == 0, "a thread's lines have one order of chunks");
    const int first = static_cast<int>(threadIdx.x) / kChunks;
    const int chunk = static_cast<int>(threadIdx.x) % kChunks;
    const std::int8_t* from = chunk_ + j * task_.planes.col_stride + first * task_.planes.plane_stride;
    std::uint32_t to = static_cast<std::uint32_t>(__cvta_generic_to_shared(panel)) +
                       static_cast<std::uint32_t>(first * kRows + (chunk ^ first % 8) * 16);
#pragma unroll 2
    for (int line = first; line < num_lines_; line += kLinesAtOnce) {
      device::copy_async<16>(to, from, has_chunk_);
      from += kLinesAtOnce * task_.planes.plane_stride;
      to += kLinesAtOnce * kRows;
    }
  }

  [[nodiscard]] __device__ __forceinline__ Words load(std::uint32_t panel, Product product) const {
    return Words::load(panel + place_[product]);
  }
  [[nodiscard]] __device__ __forceinline__ Words load_negated(std::uint32_t panel, Product product) const {
    Words words = load(panel, product);
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

  [[nodiscard]] __device__ __forceinline__ std::uint32_t pieces_of(int turn, int quadrant) const {
    return static_cast<std::uint32_t>(__cvta_generic_to_shared(shared_.pieces[warp()][turn][quadrant]));
  }
  /// Of rows 2g and 2g + 1 in a slot.
  [[nodiscard]] __device__ static std::uint32_t place_of_rows(int slot, int g) {
    return static_cast<std::uint32_t>(slot * 128 + (g ^ 2 * slot) * 16);
  }
  /// The sums of digits, as pieces in shared memory.
  __device__ __forceinline__ void exchange(const Sums& sums, Quadrant quadrant) const {
    if (Shape::kSlots < 4 && lane() % 4 >= Shape::kSlots) return;
#pragma unroll
    for (int turn = 0; turn < Shape::kTurns; ++turn) {
      const auto& s = sums[turn];
      kernels::store_two(pieces_of(turn, quadrant) + place_of_rows(lane() % 4, lane() / 4),
                         kernels::number_of_digits(s[0][0], s[0][1], s[1][0], s[1][1], s[2][0], bias_[turn]),
                         kernels::number_of_digits(s[0][2], s[0][3], s[1][2], s[1][3], s[2][2], bias_[turn]));
    }
  }

  /// What a panel has of this warp's rows, to C.
  __device__ __forceinline__ void rebuild(std::int64_t j, const unsigned char* of_block) const {
    const std::int64_t column = j + lane() / 16 * halves_.n;
    const std::int32_t col_scale = column < task_.c.cols ? task_.col_scale[column] : num::kSkipLine;  // on its way
    sum_quadrants(static_cast<std::uint32_t>(__cvta_generic_to_shared(of_block)));
    __syncwarp();
    double x[Shape::kParts][kFinished];
    finish(x);
    __syncwarp();
#pragma unroll
    for (int e = 0; e < kFinished; ++e)
      kernels::write_element(task_, epilogue_, row_ + e * halves_.m, column, row_scale_[e], col_scale, x[0][e],
                             x[Shape::kParts - 1][e]);
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

  /// The integers of this lane's elements: of its row of both halves, in column lane / 16 of both.
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
          const double number = kernels::load_one(from + place_of_rows(first + piece, row / 2));
          const double magic = shared_.constants[part][Constants::kMagic + piece];
          sum[e][piece] = magic - number;  // products make -C
        }
      }
      kernels::finish_sums<kPieces, 0>(sum, shared_.constants[part], tables_[part].pieces, x[part]);
    }
  }

  const DeviceReconstruction<T>& task_;
  const DeviceCrtTable* tables_;
  const StrassenHalves& halves_;
  Shared& shared_;
  kernels::Epilogue<T> epilogue_;
  int num_lines_;
  std::uint32_t digits_[Shape::kTurns][Shape::kTiles][kGroups];
  std::int32_t bias_[Shape::kTurns];
  std::uint32_t place_[kStrassenProducts];  ///< in a panel, of the 16 residues whose address this lane gives
  // Of the rows that are taken.
  bool has_chunk_ = false;
  const std::int8_t* chunk_ = nullptr;  ///< that this thread copies
  std::int64_t row_ = 0;                ///< of this lane
  std::int32_t row_scale_[kFinished] = {};
};

template <class T, int kPieces, int kGroups>
__global__ void __launch_bounds__(device::kThreads, QuadrantsShape<T, kPieces, kGroups>::kBlocksPerSm)
    reconstruct_quadrants(const __grid_constant__ DeviceReconstruction<T> task,
                          const __grid_constant__ StrassenHalves halves, std::int64_t first_col, std::int64_t end_col) {
  if (!base::code_has_quadrants()) return __trap();
  extern __shared__ __align__(128) unsigned char shared_memory[];
  base::follow_previous_kernel();
  if ((task.state->num_strassen_products == 0) | (task.state->takes_signs != 0)) return;
  constexpr int kParts = kIsComplex<T> ? 2 : 1;
  const DeviceCrtTable* const tables = task.tables + kParts * (task.ladder.rungs[0].num_moduli - num::kMinModuli);
  auto& shared = *reinterpret_cast<QuadrantsShared<T, kPieces, kGroups>*>(shared_memory);
  FromQuadrants<T, kPieces, kGroups>(task, tables, halves, shared).run(first_col, end_col);
}

template <class T, int kPieces, int kGroups>
Status launch(const DeviceReconstruction<T>& task, const StrassenHalves& halves, std::int64_t first, std::int64_t end,
              int num_sms, product::Queue queue) {
  using Shape = QuadrantsShape<T, kPieces, kGroups>;
  constexpr std::size_t kBytes = sizeof(QuadrantsShared<T, kPieces, kGroups>);
  const auto kernel = reconstruct_quadrants<T, kPieces, kGroups>;
  KIZAMI_RETURN_IF_ERROR(base::cuda_status(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(kBytes)),
      "shared memory of the CRT of quadrants"));
  const std::int64_t panels = base::ceil_div(halves.m, std::int64_t{kRows}) * (end - first);
  const auto blocks = static_cast<unsigned>(std::min(std::int64_t{Shape::kBlocksPerSm} * num_sms, panels));
  return base::launch_overlapped("reconstruct_quadrants", kernel, dim3(blocks), dim3(device::kThreads), kBytes, queue,
                                 task, halves, first, end);
}

}  // namespace

template <class T>
Status reconstruct_strassen(const DeviceReconstruction<T>& task, const StrassenHalves& halves, std::int64_t first,
                            std::int64_t end, int num_sms, product::Queue queue) {
  if (first >= end) return {};
  const int num_moduli = task.ladder.rungs[0].num_moduli;
  const bool has_two_pieces = num_moduli <= most_piece_moduli(kIsComplex<T>, 2);
  if constexpr (kIsComplex<T>) {
    if (num::num_planes(num::Ring::kComplex, num_moduli) <= 16)
      return launch<T, 2, 1>(task, halves, first, end, num_sms, queue);
    return has_two_pieces ? launch<T, 2, 2>(task, halves, first, end, num_sms, queue)
                          : launch<T, 3, 2>(task, halves, first, end, num_sms, queue);
  } else {
    return has_two_pieces ? launch<T, 2, 1>(task, halves, first, end, num_sms, queue)
                          : launch<T, 3, 1>(task, halves, first, end, num_sms, queue);
  }
}

#define KIZAMI_INSTANTIATE(T)                                                                                  \
  template Status reconstruct_strassen<T>(const DeviceReconstruction<T>&, const StrassenHalves&, std::int64_t, \
                                          std::int64_t, int, product::Queue)
KIZAMI_INSTANTIATE(double);
KIZAMI_INSTANTIATE(std::complex<float>);
KIZAMI_INSTANTIATE(std::complex<double>);
#undef KIZAMI_INSTANTIATE

}  // namespace kizami::ozaki2
