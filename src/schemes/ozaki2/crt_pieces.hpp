// SPDX-License-Identifier: MIT
// The CRT in FP64 arithmetic without rounding, for counts whose constants fit in two to five pieces of 38 bits: the
// formulas of device_crt_pieces.cuh, which a host can run as well.
// A residue r becomes an FP64 number by one permutation of bytes,
//   v = 1 + (r + 128) 2^-12,   so   sum_q r_q W_q = sum_q v_q (2^12 W_q) - (2^12 + 2^7) sum_q W_q,
// and the sums over the pieces of W_q are fused multiply-adds of integers below 2^53 of their grid. So are the pieces
// of
//   X = sum_q r_q W_q - Q P,   Q = rint(sum / P) from the leading piece.
// That ratio is known to 2^-12: where it is close to a half, one exact comparison with (P - 1) / 2 settles the sign.
// The sum of the pieces is rounded once, by way of a number rounded to odd.   @cite BoldoMelquiond2008 (sum of three
// numbers)
#pragma once

#include <cmath>
#include <cstdint>
#include <utility>

#include "kizami/host_device.hpp"
#include "num/scaling.hpp"
#include "schemes/ozaki2/device_crt.hpp"

#if defined(__CUDA_ARCH__)
#define KIZAMI_UNROLL _Pragma("unroll")
#else
#define KIZAMI_UNROLL
#endif
#if defined(__CUDACC__)
#define KIZAMI_SELDOM KIZAMI_HOST_DEVICE __noinline__  // its registers are not its callers'
#else
#define KIZAMI_SELDOM
#endif

namespace kizami::ozaki2::kernels {

/// One part's constants in FP64 numbers, as a block keeps them in shared memory.
template <int kPieces, int kPlanes>
struct PieceLayout {
  static constexpr int kGroups = (kPlanes + kPieceGroup - 1) / kPieceGroup;
  static constexpr int kOffset = kPlanes * kPieces;
  static constexpr int kProduct = kOffset + kGroups * kPieces;
  static constexpr int kMagic = kProduct + kPieces;  ///< 1.5 2^(52 + grid)
  static constexpr int kInverse = kMagic + kPieces;
  static constexpr int kOne = kInverse + 1;
  static constexpr int kSize = (kOne + 2) / 2 * 2;

  [[nodiscard]] KIZAMI_HOST_DEVICE static double value(const DeviceCrtPieces& pieces, int at) {
    if (at < kOffset) return pieces.weight[at / kPieces][at % kPieces];
    if (at < kProduct) return pieces.offset[(at - kOffset) / kPieces][(at - kOffset) % kPieces];
    if (at < kMagic) return pieces.product[at - kProduct];
    if (at < kInverse) return 0x1.8p52 * num::power_of_two(pieces.grid[at - kMagic]);
    return at == kInverse ? pieces.inverse : 1.0;
  }
};

/// x and what a sum of FP64 numbers lost in rounding it: x + lost is exact. Rounds to odd.
[[nodiscard]] KIZAMI_HOST_DEVICE inline double round_to_odd(double x, double lost) {
  const auto bits = bit_cast<std::int64_t>(x);
  if (lost == 0.0 || (bits & 1) != 0) return x;
  // x = 0 has lost nothing.
  return bit_cast<double>((x > 0.0) == (lost > 0.0) ? bits + 1 : bits - 1);
}

/// sum + error = x + y: exact for |x| >= |y| and for x = 0.
struct ExactSum {
  double sum;
  double error;
  KIZAMI_HOST_DEVICE ExactSum(double x, double y) : sum(x + y), error(y - (sum - x)) {}
};

/// A sum of pieces rounded once to nearest, unless it is_open: then x is what settles it, to be rounded to odd.
///
/// With u_i the unit of piece i, a multiple of which it is, |t_i| <= 2^14 u_(i-1) for i > 0, and u_(i-1) <= 2^37 u_i: an
/// ExactSum of a multiple y of u_(i-1) and of such a t_i is exact, for if |y| < |t_i| their sum is below 2^15 u_(i-1) <= 2^52 u_i,
/// and nothing is lost. So, of four pieces, without an error,
///   t_0 + t_1 = s + r,   r + t_2 = c + d,   d + t_3 = e,   s + c = S + R,   X = S + R + e:
/// if r = 0, then d = 0 and e = t_3. If not, |s| >= 2^53 u_1, so |c| <= 2^14 ulp(s) and ExactSum(s, c) is one; and with
/// |s| <= 2^77 u_1 it is |d| <= 2^11 u_2, so d + t_3 is a multiple of u_3 below 2^53 of them. Of three, X = s + r + t_2.
/// The tail t = R + e (r + t_2) is that of a sum S (s) rounded once:
/// - R = 0: nothing of t is lost in x = round(t).
/// - R != 0: |S| >= 2^53 u_2, and |e| <= 2^15 u_2, so |t| < 2^15 ulp(S).
/// So either x = t, or the ties of S + t lie at multiples of ulp(S) / 4: numbers v of so few bits that they are FP64 numbers with
/// a low word of zeros, on the same side of which x is as t, or x = v. Hence S + x rounds as X does, unless x is such a v and
/// something was lost. Rounded to odd, x is no such v.
///
/// Of five pieces that is not so: S may be little beside t_3 + t_4, which is not exact. Carries leave p_i, multiples of u_i, with
/// |p_i| <= u_(i-1) / 2 for i > 0 and |p_0| <= 2^39 u_0. Then, without an error,
///   p_0 + p_1 = high + b,   b + p_2 = c + d,   d + p_3 = e,   high + c = s + r,   X = s + r + e + p_4:
/// each first term is zero or a multiple of some unit u and the second at most 0.76 u; and |b| <= 2^23 u_1, so |d| <= 2^7 u_2
/// and |e| <= 2^45 u_3. The tail is t = r + e + p_4:
/// - p_0 != 0: |s| >= 0.49 u_0, while |e + p_4| < 2^-65 u_0;
/// - p_0 = 0: b = d = 0, high = p_1, c = p_2, e = p_3. If p_1 != 0, r is a multiple of u_2 and |s| >= 0.49 u_1;
/// - p_0 = p_1 = 0 is made p_2 + p_3 = s + r, X = s + r + p_4, by moving the pieces up.
/// So either nothing of t is lost in x = round(t), or |t| < 2^17 ulp(s), with ties as above.
template <int kPieces>
class PieceSum {
  static_assert(kPieces >= 2 && kPieces <= 5);

 public:
  /// Pieces are multiples of their grids, beyond the first at most 2^14 of the next above; together below 2^39 of the first.
  KIZAMI_HOST_DEVICE PieceSum(const double (&t)[kPieces], const double* magic) {
    if constexpr (kPieces == 2) {
      high_ = t[0];
      x_ = t[1];
    } else if constexpr (kPieces == 3) {
      const ExactSum first(t[0], t[1]);
      high_ = first.sum;
      set_tail(first.error, t[2], 0.0);
    } else if constexpr (kPieces == 4) {
      const ExactSum first(t[0], t[1]);
      const ExactSum second(first.error, t[2]);
      const ExactSum leading(first.sum, second.sum);
      high_ = leading.sum;
      set_tail(leading.error, second.error + t[3], 0.0);
    } else {
      double p[kPieces];
      double carry = 0;
      KIZAMI_UNROLL
      for (int i = kPieces - 1; i > 0; --i) {
        const double piece = i == kPieces - 1 ? t[i] : t[i] + carry;
        carry = (piece + magic[i - 1]) - magic[i - 1];
        p[i] = piece - carry;
      }
      p[0] = t[0] + carry;
      const ExactSum first(p[0], p[1]);
      const ExactSum second(first.error, p[2]);
      const double e = second.error + p[3];
      const bool is_small = first.sum == 0.0;
      const ExactSum leading(is_small ? second.sum : first.sum, is_small ? e : second.sum);
      const ExactSum low(is_small ? 0.0 : e, p[4]);
      high_ = leading.sum;
      set_tail(leading.error, low.sum, low.error);
    }
  }
  /// Whether is_open() is worth a question.
  [[nodiscard]] KIZAMI_HOST_DEVICE bool may_be_open() const {
    return kPieces > 2 && static_cast<std::uint32_t>(bit_cast<std::uint64_t>(x_)) == 0;
  }
  [[nodiscard]] KIZAMI_HOST_DEVICE bool is_open() const { return may_be_open() && lost() != 0.0; }
  [[nodiscard]] KIZAMI_HOST_DEVICE double nearest() const { return high_ + x_; }
  [[nodiscard]] KIZAMI_HOST_DEVICE double value() const { return high_ + round_to_odd(x_, lost()); }

 private:
  /// x = round(r + f) for the tail r + f + g. What r + f loses is zero or more than |g|.
  KIZAMI_HOST_DEVICE void set_tail(double r, double f, double g) {
    x_ = r + f;
    r_ = r;
    f_ = f;
    g_ = g;
  }
  [[nodiscard]] KIZAMI_HOST_DEVICE double lost() const {
    if constexpr (kPieces == 2) return 0.0;
    const double error = f_ - (x_ - r_);
    return kPieces == 5 ? error + g_ : error;
  }

  double high_ = 0;
  double x_ = 0;
  double r_ = 0;  // of the tail
  double f_ = 0;
  double g_ = 0;
};

/// The integer of these pieces, or the one P beyond it if that is the smaller: whatever the quotient was, rounded once.
template <class... Piece>
[[nodiscard]] KIZAMI_SELDOM double settle_pieces(const DeviceCrtPieces& table, const double* magic, Piece... pieces) {
  constexpr int kPieces = static_cast<int>(sizeof...(Piece));
  double t[kPieces] = {pieces...};
  double beyond[kPieces];
  const double sign = PieceSum<kPieces>(t, magic).nearest() < 0.0 ? -1.0 : 1.0;
  for (int i = 0; i < kPieces; ++i) beyond[i] = sign * t[i] - table.half[i];
  if (PieceSum<kPieces>(beyond, magic).value() > 0.0) {
    for (int i = 0; i < kPieces; ++i) t[i] = t[i] - sign * table.product[i];
  }
  return PieceSum<kPieces>(t, magic).value();
}
template <int... kPiece>
[[nodiscard]] KIZAMI_HOST_DEVICE double settle_pieces(std::integer_sequence<int, kPiece...>,
                                                      const DeviceCrtPieces& table, const double* magic,
                                                      const double (&t)[sizeof...(kPiece)]) {
  return settle_pieces(table, magic, t[kPiece]...);
}

/// v of byte e of four residues + 128. @param one  the high word of 1. On a device the compiler had better not know it: the
/// permutation then has its selector as a constant, which else takes a register and an instruction
[[nodiscard]] KIZAMI_HOST_DEVICE inline double number_of_residue(std::uint32_t biased, int e, std::uint32_t one) {
#if defined(__CUDA_ARCH__)
  const std::uint32_t high = __byte_perm(biased, one, 0x7604u | static_cast<unsigned>(e) << 4);
  return __hiloint2double(static_cast<int>(high), 0);
#else
  return bit_cast<double>(std::uint64_t{one | (biased >> (8 * e) & 255u) << 8} << 32);
#endif
}

/// Sums of four elements, before the first plane.
template <int kPieces, int kPlanes>
KIZAMI_HOST_DEVICE void start_sums(const double* constants, double (&sum)[4][kPieces]) {
  KIZAMI_UNROLL
  for (int i = 0; i < kPieces; ++i) {
    const double offset = constants[PieceLayout<kPieces, kPlanes>::kOffset + i];
    for (int e = 0; e < 4; ++e) sum[e][i] = offset;
  }
}

/// Adds planes first .. first + kWords - 1. words[q]: four residues of plane first + q; planes beyond num_planes are
/// not looked at, but for one that makes their number even, whose weight is zero.
/// @range first a multiple of kPieceGroup or of a divisor of it
template <int kPieces, int kPlanes, int kWords>
KIZAMI_HOST_DEVICE void add_planes(const std::uint32_t (&words)[kWords], int first, int num_planes,
                                   const double* constants, double (&sum)[4][kPieces]) {
  const auto one =
      static_cast<std::uint32_t>(bit_cast<std::uint64_t>(constants[PieceLayout<kPieces, kPlanes>::kOne]) >> 32);
  KIZAMI_UNROLL
  for (int word = 0; word < kWords; word += 2) {
    const int q = first + word;
    if (q >= num_planes) break;
    if (q != 0 && q % kPieceGroup == 0) {
      KIZAMI_UNROLL
      for (int i = 0; i < kPieces; ++i) {
        const double offset = constants[PieceLayout<kPieces, kPlanes>::kOffset + q / kPieceGroup * kPieces + i];
        for (int e = 0; e < 4; ++e) sum[e][i] = sum[e][i] + offset;
      }
    }
    double weight[2 * kPieces];
    KIZAMI_UNROLL
    for (int i = 0; i < kPieces; ++i) {
#if defined(__CUDA_ARCH__)
      const double2 two = reinterpret_cast<const double2*>(constants + q * kPieces)[i];
      weight[2 * i] = two.x;
      weight[2 * i + 1] = two.y;
#else
      for (int k = 2 * i; k < 2 * i + 2; ++k) weight[k] = constants[q * kPieces + k];
#endif
    }
    KIZAMI_UNROLL
    for (int plane = 0; plane < 2; ++plane) {
      const std::uint32_t biased = words[word + plane] ^ 0x80808080u;
      KIZAMI_UNROLL
      for (int e = 0; e < 4; ++e) {
        const double v = number_of_residue(biased, e, one);
        KIZAMI_UNROLL
        for (int i = 0; i < kPieces; ++i) sum[e][i] = std::fma(v, weight[plane * kPieces + i], sum[e][i]);
      }
    }
  }
}

/// Whether a distance from the nearest integer, which is known to 2^-12, may be a half: from 0.49 on it says so.
[[nodiscard]] KIZAMI_HOST_DEVICE inline bool may_be_half(double distance) {
  constexpr std::uint32_t kHighWord = 0x3FDF5C28;  // of 0.49
  return static_cast<std::uint32_t>(bit_cast<std::uint64_t>(distance) >> 31) >= kHighWord << 1;
}

/// The integers of some elements from their sums, rounded to 53 bits.
template <int kPieces, int kPlanes, int kElements>
KIZAMI_HOST_DEVICE void finish_sums(double (&sum)[kElements][kPieces], const double* constants,
                                    const DeviceCrtPieces& table, double (&x)[kElements]) {
  using Layout = PieceLayout<kPieces, kPlanes>;
  const double inverse = constants[Layout::kInverse];
  const double* const magic = constants + Layout::kMagic;
  bool is_half = false;
  bool may_be_open = false;
  KIZAMI_UNROLL
  for (int e = 0; e < kElements; ++e) {
    const double nearest = std::fma(sum[e][0], inverse, 0x1.8p52) - 0x1.8p52;
    is_half |= may_be_half(std::fma(sum[e][0], inverse, -nearest));
    KIZAMI_UNROLL
    for (int i = 0; i < kPieces; ++i) sum[e][i] = std::fma(-nearest, constants[Layout::kProduct + i], sum[e][i]);
    const PieceSum<kPieces> total(sum[e], magic);
    x[e] = total.nearest();
    may_be_open |= total.may_be_open();
  }
  if (!is_half && !may_be_open) return;
  bool is_open = is_half;
  KIZAMI_UNROLL
  for (int e = 0; e < kElements; ++e) is_open |= PieceSum<kPieces>(sum[e], magic).is_open();
  if (!is_open) return;
  KIZAMI_UNROLL
  for (int e = 0; e < kElements; ++e)
    x[e] = settle_pieces(std::make_integer_sequence<int, kPieces>{}, table, magic, sum[e]);
}

/// The integers of four elements, rounded to 53 bits.
template <int kPieces, int kPlanes>
KIZAMI_HOST_DEVICE void rebuild_from_pieces(const std::uint32_t (&words)[kPlanes], int num_planes,
                                            const double* constants, const DeviceCrtPieces& table, double (&x)[4]) {
  double sum[4][kPieces];
  start_sums<kPieces, kPlanes>(constants, sum);
  add_planes<kPieces, kPlanes>(words, 0, num_planes, constants, sum);
  finish_sums<kPieces, kPlanes>(sum, constants, table, x);
}

}  // namespace kizami::ozaki2::kernels
