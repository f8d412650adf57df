// SPDX-License-Identifier: MIT
// The CRT in FP64 arithmetic without rounding, for counts whose constants fit in two or three pieces of 38 bits.
// A thread takes four neighbouring elements of a column: one word of each residue plane. A residue r becomes an FP64 number
// by one permutation of bytes,
//   v = 1 + (r + 128) 2^-12,   so   sum_q r_q W_q = sum_q v_q (2^12 W_q) - (2^12 + 2^7) sum_q W_q,
// and the sums over the pieces of W_q are fused multiply-adds of integers below 2^53 of their grid. So are the pieces of
//   X = sum_q r_q W_q - Q P,   Q = rint(sum / P) from the leading piece.
// That ratio is known to 2^-12: where it is close to a half, one exact comparison with (P - 1) / 2 settles the sign. The sum
// of the pieces is rounded once, by way of a number rounded to odd.   @cite BoldoMelquiond2008 (sum of three numbers)
#pragma once

#include <cstdint>

#include "num/scaled.hpp"
#include "reconstruct/device.hpp"

namespace kizami::reconstruct::device {

/// What a block keeps of one part's pieces in shared memory, in FP64 numbers.
template <int kPieces, int kPlanes>
struct PieceLayout {
  static constexpr int kGroups = (kPlanes + kPieceGroup - 1) / kPieceGroup;
  static constexpr int kOffset = kPlanes * kPieces;
  static constexpr int kProduct = kOffset + kGroups * kPieces;
  static constexpr int kMagic = kProduct + kPieces;  ///< 1.5 2^(52 + grid)
  static constexpr int kInverse = kMagic + kPieces;
  static constexpr int kSize = (kInverse + 2) / 2 * 2;

  [[nodiscard]] __device__ static double value(const DeviceCrtPieces& pieces, int at) {
    if (at < kOffset) return pieces.weight[at / kPieces][at % kPieces];
    if (at < kProduct) return pieces.offset[(at - kOffset) / kPieces][(at - kOffset) % kPieces];
    if (at < kMagic) return pieces.product[at - kProduct];
    if (at < kInverse) return 0x1.8p52 * num::power_of_two(pieces.grid[at - kMagic]);
    return pieces.inverse;
  }
};

/// x and what a sum of FP64 numbers lost in rounding it: x + lost is exact. Rounds to odd.
[[nodiscard]] __device__ inline double round_to_odd(double x, double lost) {
  const long long bits = __double_as_longlong(x);
  if (lost == 0.0 || (bits & 1) != 0) return x;
  // x = 0 has lost nothing.
  return __longlong_as_double((x > 0.0) == (lost > 0.0) ? bits + 1 : bits - 1);
}

/// A sum of pieces rounded once to nearest, unless it is_open: then x is what settles it, to be rounded to odd.
template <int kPieces>
struct PieceSum {
  double high = 0;
  double x = 0;
  double lost = 0;

  /// Pieces are multiples of their grids below 2^53 of them.
  __device__ PieceSum(const double (&t)[kPieces], const double* magic) {
    if constexpr (kPieces == 2) {
      high = t[0];
      x = t[1];
    } else {
      // Carries: each piece is then at most half a unit of the one above.
      const double carry2 = __dsub_rn(__dadd_rn(t[2], magic[1]), magic[1]);
      const double low = __dsub_rn(t[2], carry2);
      const double middle = __dadd_rn(t[1], carry2);
      const double carry1 = __dsub_rn(__dadd_rn(middle, magic[0]), magic[0]);
      const double mid = __dsub_rn(middle, carry1);
      const double top = __dadd_rn(t[0], carry1);
      high = __dadd_rn(top, mid);
      const double b = __dsub_rn(mid, __dsub_rn(high, top));
      x = __dadd_rn(b, low);
      lost = __dsub_rn(low, __dsub_rn(x, b));
    }
  }
  /// Only an x that is a power of two can be a tie of the last sum that the exact number is not.
  [[nodiscard]] __device__ bool is_open() const { return kPieces == 3 && __double2loint(x) == 0 && lost != 0.0; }
  [[nodiscard]] __device__ double nearest() const { return __dadd_rn(high, x); }
  [[nodiscard]] __device__ double value() const { return __dadd_rn(high, round_to_odd(x, lost)); }
};

/// The integer of these pieces, or the one P beyond it if that is the smaller: whatever the quotient was, rounded once.
/// Seldom called.
template <int kPieces>
__device__ __noinline__ double settle_pieces(double t0, double t1, double t2, const DeviceCrtPieces& table,
                                             const double* magic) {
  double t[kPieces];
  double beyond[kPieces];
  t[0] = t0;
  t[1] = t1;
  if constexpr (kPieces == 3) t[2] = t2;
  const double sign = PieceSum<kPieces>(t, magic).nearest() < 0.0 ? -1.0 : 1.0;
  for (int i = 0; i < kPieces; ++i) beyond[i] = __dsub_rn(sign * t[i], table.half[i]);
  if (PieceSum<kPieces>(beyond, magic).value() > 0.0) {
    for (int i = 0; i < kPieces; ++i) t[i] = __dsub_rn(t[i], sign * table.product[i]);
  }
  return PieceSum<kPieces>(t, magic).value();
}

/// The high word of 1, in a register: the permutations that read it then have their selectors as constants.
[[nodiscard]] __device__ inline std::uint32_t high_word_of_one() {
  std::uint32_t one;
  asm volatile("mov.b32 %0, 0x3FF00000;" : "=r"(one));
  return one;
}

/// The integers of four elements, rounded to 53 bits. words[q]: their residues of plane q; planes beyond
/// num_planes are not looked at, but for one that makes their number even, whose weight is zero.
template <int kPieces, int kPlanes>
__device__ void rebuild_from_pieces(const std::uint32_t (&words)[kPlanes], int num_planes, const double* shared,
                                    const DeviceCrtPieces& table, double (&x)[4]) {
  using Layout = PieceLayout<kPieces, kPlanes>;
  double sum[4][kPieces];
  const std::uint32_t one = high_word_of_one();
#pragma unroll
  for (int q = 0; q < kPlanes; q += 2) {
    if (q >= num_planes) break;
    if (q % kPieceGroup == 0) {
#pragma unroll
      for (int i = 0; i < kPieces; ++i) {
        const double offset = shared[Layout::kOffset + q / kPieceGroup * kPieces + i];
        for (int e = 0; e < 4; ++e) sum[e][i] = q == 0 ? offset : __dadd_rn(sum[e][i], offset);
      }
    }
    double weight[2 * kPieces];
#pragma unroll
    for (int i = 0; i < kPieces; ++i) {
      const double2 two = reinterpret_cast<const double2*>(shared + q * kPieces)[i];
      weight[2 * i] = two.x;
      weight[2 * i + 1] = two.y;
    }
#pragma unroll
    for (int plane = 0; plane < 2; ++plane) {
      const std::uint32_t biased = words[q + plane] ^ 0x80808080u;
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const std::uint32_t high = __byte_perm(biased, one, 0x7604u | static_cast<unsigned>(e) << 4);
        const double v = __hiloint2double(static_cast<int>(high), 0);
#pragma unroll
        for (int i = 0; i < kPieces; ++i) sum[e][i] = __fma_rn(v, weight[plane * kPieces + i], sum[e][i]);
      }
    }
  }
  const double inverse = shared[Layout::kInverse];
  const double* const magic = shared + Layout::kMagic;
  bool is_open = false;
#pragma unroll
  for (int e = 0; e < 4; ++e) {
    const double ratio = __dmul_rn(sum[e][0], inverse);
    const double nearest = __dsub_rn(__dadd_rn(ratio, 0x1.8p52), 0x1.8p52);
#pragma unroll
    for (int i = 0; i < kPieces; ++i) sum[e][i] = __fma_rn(-nearest, shared[Layout::kProduct + i], sum[e][i]);
    const PieceSum<kPieces> total(sum[e], magic);
    x[e] = total.nearest();
    is_open |= fabs(__dsub_rn(ratio, nearest)) > 0.49;
    is_open |= total.is_open();
  }
  if (!is_open) return;
#pragma unroll
  for (int e = 0; e < 4; ++e) x[e] = settle_pieces<kPieces>(sum[e][0], sum[e][1], sum[e][kPieces - 1], table, magic);
}

}  // namespace kizami::reconstruct::device
