// SPDX-License-Identifier: MIT
// The CRT of up to 14 real residue planes in instructions of 32-bit integers, for a kernel in which tensor cores work beside it:
// FP64 instructions would wait for these, with which they share a pipe. A device's formulas, which a host can run as well.
//
//   Y = sum_d 2^(16 d) (bias_d + sum_q r_q digit_d(W_q)),   X = Y - Q P,   Q = rint(Y / P) from the leading 32 bits of Y,
//
// where digits have 16 bits, the inner sums are dot products of two digits and two residues (dp2a), and the biases, together a
// multiple of P, make them positive (DeviceCrtTable). The ratio is known to 8 units of 2^-fraction: where it is that close to a
// half, one exact comparison with (P - 1) / 2 settles the sign. X is rounded once, to 53 bits.
#pragma once

#include <cstdint>

#include "kizami/host_device.hpp"
#include "num/scaling.hpp"
#include "schemes/ozaki2/crt_pieces.hpp"
#include "schemes/ozaki2/device_crt.hpp"

namespace kizami::ozaki2::kernels {

inline constexpr int kWordPlanes = 14;
inline constexpr int kWordDigits = 7;

/// The counts whose biased sums are of four words.
[[nodiscard]] KIZAMI_HOST_DEVICE inline bool has_crt_words(const DeviceCrtTable& table) {
  return table.num_planes <= kWordPlanes && table.num_bytes <= 2 * kWordDigits && table.num_limbs == 4;
}

/// The constants of a count, as a block keeps them in shared memory.
struct CrtWords {
  std::uint32_t weight[kWordDigits][8];  ///< word p: of planes 2 p, in the low half, and 2 p + 1
  std::uint32_t bias[8];
  std::uint32_t minus_product[4];  ///< 2^128 - P
  std::uint32_t half[4];           ///< (P - 1) / 2
  std::uint32_t reciprocal;        ///< 2^(128 - shift + fraction) / P
  std::int32_t shift;              ///< of Y, for its leading bit to be that of a word of 32
  std::int32_t fraction;           ///< bits behind the point of what is rounded to Q

  static constexpr int kThreads = kWordDigits * 8;  ///< that load() has a part for

  /// The part of a thread. @range has_crt_words(table)
  KIZAMI_HOST_DEVICE void load(const DeviceCrtTable& table, int thread) {
    if (thread >= kThreads) return;
    const int d = thread / 8;
    const auto byte = [&](int b, int q) {
      return q < table.num_planes && b < table.num_bytes ? table.weight[b][q / 4] >> (q % 4 * 8) & 255u : 0;
    };
    const int q = 2 * (thread % 8);
    weight[d][thread % 8] = q >= kWordPlanes ? 0
                                             : byte(2 * d, q) | byte(2 * d + 1, q) << 8 | byte(2 * d, q + 1) << 16 |
                                                   byte(2 * d + 1, q + 1) << 24;
    if (thread < 8) bias[thread] = thread < kWordDigits ? table.bias[2 * thread] + 256 * table.bias[2 * thread + 1] : 0;
    if (thread != 0) return;
    std::uint32_t carry = 1;
    for (int limb = 0; limb < 4; ++limb) {
      minus_product[limb] = ~table.product[limb] + carry;
      carry &= minus_product[limb] == 0 ? 1 : 0;
      half[limb] = table.half[limb];
    }
    int sum_bits = 0;  // of a byte's sum; its bias is 2^sum_bits and less than a byte
    while (table.bias[0] >> (sum_bits + 1) != 0) ++sum_bits;
    const int top = table.product[3] != 0 ? 3 : 2;  // P has the bits of ten bytes at least
    int bits = 32 * top;
    for (std::uint32_t left = table.product[top]; left != 0; left >>= 1) ++bits;
    shift = 128 - (8 * (table.num_bytes - 1) + sum_bits + 2);
    fraction = 31 + bits - 128 + shift;
    // quotient = 2^64 / P
    reciprocal = static_cast<std::uint32_t>(table.quotient * num::power_of_two(64 - shift + fraction));
  }
};

/// c and the products of two residues of `bytes`, the first or the last two, with the digits in a word.
template <bool kIsLast>
[[nodiscard]] KIZAMI_HOST_DEVICE inline std::uint32_t dot_digits(std::uint32_t digits, std::uint32_t bytes,
                                                                 std::uint32_t c) {
#if defined(__CUDA_ARCH__)
  if constexpr (kIsLast) {
    asm("dp2a.hi.u32.s32 %0, %1, %2, %3;" : "=r"(c) : "r"(digits), "r"(bytes), "r"(c));
  } else {
    asm("dp2a.lo.u32.s32 %0, %1, %2, %3;" : "=r"(c) : "r"(digits), "r"(bytes), "r"(c));
  }
  return c;
#else
  const auto residue = [&](int b) {
    return static_cast<std::uint32_t>(static_cast<std::int8_t>(bytes >> (8 * b) & 255u));
  };
  constexpr int kFirst = kIsLast ? 2 : 0;
  return c + (digits & 0xFFFFu) * residue(kFirst) + (digits >> 16) * residue(kFirst + 1);
#endif
}

[[nodiscard]] KIZAMI_HOST_DEVICE inline std::uint32_t shift_left(std::uint32_t high, std::uint32_t low, int by) {
#if defined(__CUDA_ARCH__)
  return __funnelshift_l(low, high, by);
#else
  return static_cast<std::uint32_t>((std::uint64_t{high} << 32 | low) << by >> 32);
#endif
}

/// An integer of 128 bits, two's complement, the lowest word first.
struct FourWords {
  std::uint32_t word[4];
};

/// x + factor y, modulo 2^128.
[[nodiscard]] KIZAMI_HOST_DEVICE inline FourWords add_multiple(const FourWords& x, std::uint32_t factor,
                                                               const std::uint32_t* y) {
  FourWords sum;
  std::uint64_t carry = 0;
  for (int limb = 0; limb < 4; ++limb) {
    carry = std::uint64_t{factor} * y[limb] + x.word[limb] + carry;  // below 2^64: 2^16 2^32 at most, and two words
    sum.word[limb] = static_cast<std::uint32_t>(carry);
    carry >>= 32;
  }
  return sum;
}

/// Y of an element. bytes[w]: residues of planes 4 w to 4 w + 3.
[[nodiscard]] KIZAMI_HOST_DEVICE inline FourWords sum_words(const std::uint32_t (&bytes)[4],
                                                            const CrtWords& constants) {
  std::uint32_t sum[8];
  KIZAMI_UNROLL
  for (int d = 0; d < kWordDigits; ++d) {
    const std::uint32_t(&weight)[8] = constants.weight[d];
    std::uint32_t s = constants.bias[d];
    for (int w = 0; w < 4; ++w) {
      s = dot_digits<false>(weight[2 * w], bytes[w], s);
      if (w < 3) s = dot_digits<true>(weight[2 * w + 1], bytes[w], s);
    }
    sum[d] = s;
  }
  sum[7] = 0;
  FourWords y;
  std::uint32_t carry = 0;
  KIZAMI_UNROLL
  for (int limb = 0; limb < 4; ++limb) {  // sums are below 2^29
    const std::uint64_t two = std::uint64_t{sum[2 * limb + 1]} * 65536 + (sum[2 * limb] + carry);
    y.word[limb] = static_cast<std::uint32_t>(two);
    carry = static_cast<std::uint32_t>(two >> 32);
  }
  return y;
}

/// X of Y; may_be_half: |X| may be above (P - 1) / 2, which settle_half() asks.
[[nodiscard]] KIZAMI_HOST_DEVICE inline FourWords reduce_words(const FourWords& y, const CrtWords& constants,
                                                               bool& may_be_half) {
  constexpr std::uint32_t kUncertain = 8;
  const std::uint32_t leading = shift_left(y.word[3], y.word[2], constants.shift);
  const auto ratio = static_cast<std::uint32_t>(std::uint64_t{leading} * constants.reciprocal >> 32);
  const std::uint32_t rounded = ratio + (1u << (constants.fraction - 1));
  may_be_half |= (rounded + kUncertain) << (32 - constants.fraction) < 2 * kUncertain << (32 - constants.fraction);
  return add_multiple(y, rounded >> constants.fraction, constants.minus_product);
}

/// X, or X less P with the sign of X where that is the smaller.
[[nodiscard]] KIZAMI_HOST_DEVICE inline FourWords settle_half(const FourWords& x, const CrtWords& constants) {
  const bool is_negative = (x.word[3] >> 31) != 0;
  // (P - 1) / 2 - |X| is negative?
  std::uint64_t borrow = 0;
  std::uint64_t carry = is_negative ? 1 : 0;
  for (int limb = 0; limb < 4; ++limb) {
    carry += is_negative ? ~x.word[limb] : x.word[limb];
    const std::uint64_t difference = std::uint64_t{constants.half[limb]} - static_cast<std::uint32_t>(carry) - borrow;
    borrow = difference >> 63;
    carry >>= 32;
  }
  if (borrow == 0) return x;
  if (!is_negative) return add_multiple(x, 1, constants.minus_product);
  FourWords product;  // P = -(2^128 - P)
  std::uint64_t one = 1;
  for (int limb = 0; limb < 4; ++limb) {
    one += ~constants.minus_product[limb] & 0xFFFFFFFFu;
    product.word[limb] = static_cast<std::uint32_t>(one);
    one >>= 32;
  }
  return add_multiple(x, 1, product.word);
}

/// The bits of an FP64 number, in words as they are in memory.
struct NumberBits {
  std::uint32_t low;
  std::uint32_t high;
};

/// X 2^-scale of some integers, rounded to nearest, ties to even. Without a branch for each, so that a device makes them side by
/// side. @range |X| < 2^127; results are zero or normal numbers
template <int kCount>
KIZAMI_HOST_DEVICE inline void round_words(const FourWords (&x)[kCount], const int (&scale)[kCount],
                                           NumberBits (&bits)[kCount]) {
  std::uint32_t a[kCount];  // of magnitudes, the highest word first
  std::uint32_t b[kCount];
  std::uint32_t c[kCount];
  std::uint32_t d[kCount];
  int exponent[kCount];  // of the highest bit, less one, which the mantissa adds
  bool has_short = false;
  KIZAMI_UNROLL
  for (int e = 0; e < kCount; ++e) {
    using Wide = unsigned __int128;
    const std::uint32_t(&word)[4] = x[e].word;
    const auto wide =
        static_cast<Wide>(std::uint64_t{word[3]} << 32 | word[2]) << 64 | (std::uint64_t{word[1]} << 32 | word[0]);
    const auto flip = static_cast<Wide>(static_cast<__int128>(static_cast<std::int32_t>(word[3]) >> 31));
    const Wide magnitude = (wide ^ flip) - flip;
    a[e] = static_cast<std::uint32_t>(magnitude >> 96);
    b[e] = static_cast<std::uint32_t>(magnitude >> 64);
    c[e] = static_cast<std::uint32_t>(magnitude >> 32);
    d[e] = static_cast<std::uint32_t>(magnitude);
    exponent[e] = 1023 + 127 - 1 - scale[e];
    has_short |= (a[e] | b[e]) == 0;
  }
  if (has_short) {
    KIZAMI_UNROLL
    for (int e = 0; e < kCount; ++e) {
      const bool is_short = (a[e] | b[e]) == 0;
      a[e] = is_short ? c[e] : a[e];
      b[e] = is_short ? d[e] : b[e];
      c[e] = is_short ? 0 : c[e];
      d[e] = is_short ? 0 : d[e];
      exponent[e] -= is_short ? 64 : 0;
    }
  }
  KIZAMI_UNROLL
  for (int e = 0; e < kCount; ++e) {
    const bool is_short = a[e] == 0;
    const std::uint32_t high = is_short ? b[e] : a[e];
    const std::uint32_t middle = is_short ? c[e] : b[e];
    const std::uint32_t low = is_short ? d[e] : c[e];
    const std::uint32_t lowest = is_short ? 0 : d[e];
    exponent[e] -= is_short ? 32 : 0;
#if defined(__CUDA_ARCH__)
    const int zeros = __clz(static_cast<int>(high));
#else
    const int zeros = high == 0 ? 0 : __builtin_clz(high);
#endif
    const std::uint32_t top = shift_left(high, middle, zeros);
    const std::uint32_t next = shift_left(middle, low, zeros);
    const std::uint32_t below = low << (zeros & 31) | lowest;
    const std::uint32_t mantissa = shift_left(top, next, 21);
    const std::uint32_t lost = next << 21 | (below < 1u ? below : 1u);
    const std::uint64_t number =
        (std::uint64_t{(top >> 11) + (static_cast<std::uint32_t>(exponent[e] - zeros) << 20)} << 32 | mantissa) +
        (lost > 0x80000000u - (mantissa & 1u) ? 1u : 0u);
    bits[e].low = high == 0 ? 0 : static_cast<std::uint32_t>(number);
    bits[e].high = high == 0 ? 0 : static_cast<std::uint32_t>(number >> 32) | (x[e].word[3] & 0x80000000u);
  }
}

}  // namespace kizami::ozaki2::kernels
