// SPDX-License-Identifier: MIT
// Residues of a line's elements, for the kernels that write residue planes. An element becomes one or two two's
// complement integers of some words (device_fragments.cuh); a residue of every plane is then a linear map of those words and
// of a bias (device_plane_rows.cuh),
//   X = sum_i byte_i 256^i - 2^(32 words - 1),   X mod p = reduce(sum_i byte_i (256^i mod p) - (2^(32 words - 1) mod p)),
// so that the sums of all planes are a product of matrices of bytes, which the tensor cores make (mma.m16n8k32). They
// come as the fraction of a float, and a residue then takes one FP32 and one integer operation: see PlaneRow.
#pragma once

#include <cstdint>
#include <type_traits>

#include "device/bytes.cuh"
#include "device/line.cuh"
#include "schemes/ozaki2/device_fragments.cuh"
#include "schemes/ozaki2/device_plane_rows.cuh"
#include "schemes/ozaki2/residue_pairs.hpp"

namespace kizami::ozaki2::kernels {

/// a b + c, a of 16 rows and 32 columns of digits without sign, b of 32 rows and 8 columns of signed bytes.
__device__ __forceinline__ void multiply_bytes(std::int32_t (&sum)[4], const uint4& a, const std::uint32_t (&b)[2],
                                               const std::int32_t (&c)[4]) {
  asm("mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, "
      "%13};"
      : "=r"(sum[0]), "=r"(sum[1]), "=r"(sum[2]), "=r"(sum[3])
      : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b[0]), "r"(b[1]), "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]));
}

/// The same of 16 columns and rows.
__device__ __forceinline__ void multiply_bytes(std::int32_t (&sum)[4], std::uint32_t a0, std::uint32_t a1,
                                               std::uint32_t b, const std::int32_t (&c)[4]) {
  asm("mma.sync.aligned.m16n8k16.row.col.s32.u8.s8.s32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%7, %8, %9, %10};"
      : "=r"(sum[0]), "=r"(sum[1]), "=r"(sum[2]), "=r"(sum[3])
      : "r"(a0), "r"(a1), "r"(b), "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]));
}

/// Store if `is_wanted`, without a branch around what makes the value.
__device__ inline void store_if(bool is_wanted, std::int8_t* to, const uint2& value) {
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "setp.ne.s32 p, %3, 0;\n"
      "@p st.global.v2.u32 [%0], {%1, %2};\n"
      "}\n" ::"l"(to),
      "r"(value.x), "r"(value.y), "r"(static_cast<int>(is_wanted))
      : "memory");
}
__device__ inline void store_if(bool is_wanted, std::int8_t* to, const uint4& value) {
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "setp.ne.s32 p, %5, 0;\n"
      "@p st.global.v4.u32 [%0], {%1, %2, %3, %4};\n"
      "}\n" ::"l"(to),
      "r"(value.x), "r"(value.y), "r"(value.z), "r"(value.w), "r"(static_cast<int>(is_wanted))
      : "memory");
}

/// Elements that a warp takes at a time, and those that a lane of it takes: pairs pair_of_lane(0) and pair_of_lane(1).
inline constexpr int kBlockLength = 128;
[[nodiscard]] __device__ inline int pair_of_lane(int i) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  return 16 * (lane / 4) + 8 * i + 2 * (lane % 4);
}

// A warp makes bytes of kBlockLength elements and 8 planes in two rounds. In each, lane 4g + t gives elements of its
// pair as rows g and g + 8 of a. A row would mix the elements of four lanes, so b has the radix in the rows of one of
// them at a time; lane 4g + t then has the sums of all 8 elements of the four in columns 2t and 2t + 1, which are
// planes, and after two rounds 16 neighbouring bytes of both.
//
// Of 4 planes, the last ones, columns 4 to 7 are those planes again with the radix in the rows of another lane: half
// the turns, and a lane has 4 bytes of each round. Lanes 4g + t and 4g + t + 2 exchange some, so that each has 8
// neighbours.
//
// Elements of four words that come as ElementRows fill rows of 16 bytes by themselves. A turn is elements 8g + 2 turn and
// the next, as rows g and g + 8; of 4 planes, whose columns 4 to 7 take rows of their own, those and the elements 4 further.

/// What a lane needs of planes [plane, plane + kAtOnce).
/// @tparam Words  of elements: Fragment or ElementRows
template <class T, int kWords, int kAtOnce, class Words>
class LanePlanes {
  static_assert(kAtOnce == 8 || kAtOnce == 4);
  static constexpr int kTurns = kAtOnce / 2;
  static constexpr int kBytes = 2 * kAtOnce;  ///< of a plane
  static constexpr bool kTakesRows = std::is_same_v<Words, ElementRows>;
  using F = Fragment<T, kWords>;
  static_assert(kTakesRows || std::is_same_v<Words, F>);

 public:
  using Row = PlaneRow<device::Element<T>::kTerms, kWords>;
  using Bytes = std::uint32_t[2][kBytes / 4];  ///< of this lane's two planes
  using Half = std::uint32_t[2][kAtOnce / 4];  ///< of one round
  using Sums = std::int32_t[kTurns][4];
  using ResiduePairs = std::uint32_t[2][kAtOnce / 2];  ///< of one round: two residues in a word, of 16 bits each

  /// rows: in shared memory
  __device__ LanePlanes(const Row* rows, int plane, int num_planes) {
    const int g = lane() / 4;
    const int t = lane() % 4;
    const Row& column = rows[min(plane + g % kAtOnce, num_planes - 1)];
    // The radix of the column's plane, in the rows of this lane; zeros stand in the other lanes' turns.
    if constexpr (kTakesRows) {
#pragma unroll
      for (int of = 0; of < kColumnSets; ++of) radix_[of] = of == g / kAtOnce ? column.radix[t] : 0;
    } else {
#pragma unroll
      for (int w = 0; w < 2 * F::kProducts; ++w) {
        const std::uint32_t word = w < F::kCount ? column.radix[w] : 0;
#pragma unroll
        for (int turn = 0; turn < kTurns; ++turn)
          radix_[turn][w / 2][w % 2] = turn + g / kAtOnce * kTurns == t ? word : 0;
      }
    }
#pragma unroll
    for (int c = 0; c < 2; ++c) {
      plane_[c] = plane + (2 * t + c) % kAtOnce;
      is_plane_[c] = plane_[c] < num_planes;
      const Row& row = rows[min(plane_[c], num_planes - 1)];
      minus_p_[c] = row.minus_p;
      inverse_[c] = row.inverse;
      addend_[c] = row.addend;
      // Twice, so that four registers side by side hold what the product takes.
      base_[c] = const_cast<const volatile std::int32_t&>(row.base);
      base_[2 + c] = const_cast<const volatile std::int32_t&>(row.base);
    }
  }
  /// Where this lane's bytes of its plane c begin, in planes from `out` on.
  [[nodiscard]] __device__ std::int8_t* place(int c, std::int8_t* out, std::int64_t plane_stride) const {
    return out + plane_[c] * plane_stride + lane() / 4 * 16 + (kAtOnce == 4 ? lane() % 4 / 2 * 8 : 0);
  }
  /// The sums of a round.
  __device__ __forceinline__ void start(const Words& x, Sums& sum) const {
#pragma unroll
    for (int turn = 0; turn < kTurns; ++turn) {
      if constexpr (!kTakesRows) {
        multiply_bytes(sum[turn], x.a[0], radix_[turn][0], base_);
#pragma unroll
        for (int k = 1; k < F::kProducts; ++k) multiply_bytes(sum[turn], x.a[k], radix_[turn][k], sum[turn]);
      } else if constexpr (kAtOnce == 8) {
        const std::uint32_t(&rows)[4] = x.word[turn / 2];
        multiply_bytes(sum[turn], rows[turn % 2 * 2], rows[turn % 2 * 2 + 1], radix_[0], base_);
      } else {
        const uint4 rows =
            make_uint4(x.word[0][2 * turn], x.word[0][2 * turn + 1], x.word[1][2 * turn], x.word[1][2 * turn + 1]);
        multiply_bytes(sum[turn], rows, radix_, base_);
      }
    }
  }
  /// Bytes of a round of this lane's two planes.
  __device__ __forceinline__ void reduce(const Sums& sum, Half& bytes) const {
#pragma unroll
    for (int c = 0; c < 2; ++c) {
#pragma unroll
      for (int e = 0; e < kAtOnce; e += 4) {
        bytes[c][e / 4] = device::pack_bytes(residue(sum, c, e), residue(sum, c, e + 1), residue(sum, c, e + 2),
                                             residue(sum, c, e + 3));
      }
    }
  }
  /// Residues of a round of this lane's two planes. @range planes of Residues::kUnsigned
  __device__ __forceinline__ void reduce(const Sums& sum, ResiduePairs& residues) const {
#pragma unroll
    for (int c = 0; c < 2; ++c) {
#pragma unroll
      for (int e = 0; e < kAtOnce; e += 2)
        residues[c][e / 2] = __byte_perm(residue(sum, c, e), residue(sum, c, e + 1), 0x5410);
    }
  }
  /// Residues of sums: of p = 256 modulo 2^16, of which the low byte counts.
  __device__ __forceinline__ void add(const ResiduePairs& other, ResiduePairs& residues) const {
#pragma unroll
    for (int c = 0; c < 2; ++c) {
      const std::uint32_t minus_p = __byte_perm(static_cast<std::uint32_t>(minus_p_[c]), 0, 0x1010);
#pragma unroll
      for (int w = 0; w < kAtOnce / 2; ++w) residues[c][w] = add_residue_pairs(residues[c][w], other[c][w], minus_p);
    }
  }
  /// Their bytes, or those of symmetric residues.
  template <Residues kResidues>
  __device__ __forceinline__ void pack(const ResiduePairs& residues, Half& bytes) const {
#pragma unroll
    for (int c = 0; c < 2; ++c) {
#pragma unroll
      for (int w = 0; w < kAtOnce / 4; ++w)
        bytes[c][w] = __byte_perm(residues[c][2 * w], residues[c][2 * w + 1], 0x6420);
    }
    if constexpr (kResidues == Residues::kSymmetric) {
#pragma unroll
      for (int c = 0; c < 2; ++c) {
        const std::uint32_t p = 0u - static_cast<std::uint32_t>(minus_p_[c]);
#pragma unroll
        for (int w = 0; w < kAtOnce / 4; ++w) bytes[c][w] = symmetric_residue_bytes(bytes[c][w], p);
      }
    }
  }
  /// Bytes of round i of this lane's two planes.
  __device__ void make(const Words& x, int i, Bytes& bytes) const {
    Sums sum;
    Half half;
    start(x, sum);
    reduce(sum, half);
#pragma unroll
    for (int c = 0; c < 2; ++c) {
#pragma unroll
      for (int w = 0; w < kAtOnce / 4; ++w) bytes[c][kAtOnce / 4 * i + w] = half[c][w];
    }
  }
  /// Where those of a round of quadrants begin (device_quadrants.cuh), in planes from `out` on.
  [[nodiscard]] __device__ std::int8_t* place_of_round(int c, std::int8_t* out, std::int64_t plane_stride) const {
    static_assert(kAtOnce == 8);
    return out + plane_[c] * plane_stride + lane() / 4 * 8;
  }
  __device__ void store_round(int c, std::int8_t* to, const Half& bytes) const {
    store_if(is_plane_[c], to, make_uint2(bytes[c][0], bytes[c][1]));
  }
  /// By all lanes.
  __device__ void store(int c, std::int8_t* to, const Bytes& bytes) const {
    if constexpr (kAtOnce == 8) {
      store_if(is_plane_[c], to, make_uint4(bytes[c][0], bytes[c][1], bytes[c][2], bytes[c][3]));
    } else {
      const bool is_first = lane() % 4 < 2;  // of the two: it takes the first round's
      const std::uint32_t others = __shfl_xor_sync(~0u, is_first ? bytes[c][1] : bytes[c][0], 2);
      store_if(is_plane_[c], to, is_first ? make_uint2(bytes[c][0], others) : make_uint2(others, bytes[c][1]));
    }
  }

 private:
  [[nodiscard]] __device__ static int lane() { return static_cast<int>(threadIdx.x) % 32; }

  /// Of element e of those of this lane's plane c: the residue is in the low 16 bits.
  [[nodiscard]] __device__ __forceinline__ std::uint32_t residue(const Sums& sum, int c, int e) const {
    const std::int32_t based = sum[e / 2][e % 2 * 2 + c];
    const float quotient = __fmaf_rn(__int_as_float(based), inverse_[c], addend_[c]);
    return static_cast<std::uint32_t>(based) + static_cast<std::uint32_t>(minus_p_[c]) * __float_as_uint(quotient);
  }

  static constexpr int kColumnSets = 8 / kAtOnce;  ///< of the same planes
  std::conditional_t<kTakesRows, std::uint32_t[kColumnSets], std::uint32_t[kTurns][F::kProducts][2]> radix_;
  std::int32_t plane_[2];  ///< 2t and 2t + 1 from the first on, modulo kAtOnce
  bool is_plane_[2];
  std::int32_t minus_p_[2];
  float inverse_[2];
  float addend_[2];
  std::int32_t base_[4];
};

/// visit(plane, n), n = 8 or 4 as a constant: planes [plane, plane + n), the last of which may not be there.
/// @param kHasFours  false: n = 8 always, for kernels whose registers both do not fit in
template <bool kHasFours, class Visit>
__device__ __forceinline__ void for_planes(int num_planes, const Visit& visit) {
  int plane = 0;
#pragma unroll 1
  for (; num_planes - plane > (kHasFours ? 4 : 0); plane += 8) visit(plane, std::integral_constant<int, 8>{});
  if constexpr (kHasFours) {
    if (plane < num_planes) visit(plane, std::integral_constant<int, 4>{});
  }
}

/// A warp writes elements [first, end) of a line to every plane, kBlockLength at a time, `step` apart: 8 planes of all
/// elements, then the next 8. For fragments that are quick to make.
/// @param fragment(h, i): of elements h + pair_of_lane(i) and the next, or what Fragment::load() has in their place
/// @param rows  in shared memory
/// @range  out of element 0 is aligned to 16; first, end and step are multiples of kBlockLength
template <class T, int kWords, bool kHasFours, class GetFragment>
__device__ void write_line(const GetFragment& fragment, int first, int end, int step,
                           const PlaneRow<device::Element<T>::kTerms, kWords>* rows, int num_planes, std::int8_t* out,
                           std::int64_t plane_stride) {
  for_planes<kHasFours>(num_planes, [&](int plane, auto at_once) {
    using Planes = LanePlanes<T, kWords, at_once.value, std::decay_t<decltype(fragment(0, 0))>>;
    const Planes planes(rows, plane, num_planes);
    std::int8_t* to[2] = {planes.place(0, out + first, plane_stride), planes.place(1, out + first, plane_stride)};
#pragma unroll 1
    for (int h = first; h < end; h += step) {
      typename Planes::Bytes bytes;
#pragma unroll
      for (int i = 0; i < 2; ++i) planes.make(fragment(h, i), i, bytes);
#pragma unroll
      for (int c = 0; c < 2; ++c) {
        planes.store(c, to[c], bytes);
        to[c] += step;
      }
    }
  });
}

/// The same, all planes of kBlockLength elements and then the next elements: each fragment is made once.
template <class T, int kWords, bool kHasFours, class GetFragment>
__device__ void write_line_by_blocks(const GetFragment& fragment, int first, int end, int step,
                                     const PlaneRow<device::Element<T>::kTerms, kWords>* rows, int num_planes,
                                     std::int8_t* out, std::int64_t plane_stride) {
#pragma unroll 1
  for (int h = first; h < end; h += step) {
    const Fragment<T, kWords> fragments[2] = {fragment(h, 0), fragment(h, 1)};
    for_planes<kHasFours>(num_planes, [&](int plane, auto at_once) {
      using Planes = LanePlanes<T, kWords, at_once.value, Fragment<T, kWords>>;
      const Planes planes(rows, plane, num_planes);
      typename Planes::Bytes bytes;
#pragma unroll
      for (int i = 0; i < 2; ++i) planes.make(fragments[i], i, bytes);
#pragma unroll
      for (int c = 0; c < 2; ++c) planes.store(c, planes.place(c, out + h, plane_stride), bytes);
    });
  }
}

}  // namespace kizami::ozaki2::kernels
