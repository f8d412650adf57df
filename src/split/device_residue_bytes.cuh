// SPDX-License-Identifier: MIT
// Residues of neighbouring elements in integer arithmetic, for the kernels that write residue planes. An element becomes a two's
// complement integer of some words, biased so that all its bytes are unsigned; a residue is a dot product of those bytes
// with the residues of 256^i (dp4a), reduced once:
//   X = sum_i byte_i 256^i - 2^(32 words - 1),   X mod p = reduce(sum_i byte_i (256^i mod p) - (2^(32 words - 1) mod p)).
// The sums are below 2^22 in magnitude, so they are formed as the fraction of a float, 1.5 2^23 + x, and the quotient
// rint(x / p) takes two FP32 operations. See residue_byte().
#pragma once

#include <array>
#include <cstdint>

#include "num/modular.hpp"
#include "num/moduli.hpp"
#include "num/scaling.hpp"
#include "split/device_line.cuh"

namespace kizami::split::device {

inline constexpr int kMaxWords = 6;  // 191 bits and a sign: more than kMaxIntegerBits

/// The bits of the float 1.5 2^23 + x are kMagicBits + x for integers |x| < 2^22.
inline constexpr std::int32_t kMagicBits = 0x4B400000;
inline constexpr float kMagic = 12582912.0F;

/// What one modulus needs: packed residues of 256^i, of root times 256^i for complex moduli, and the reduction.
struct ModulusRow {
  std::int32_t p = 0;
  float inverse = 0;
  std::int32_t bias[kMaxWords + 1] = {};       ///< -(2^(32 words - 1)) mod p, by number of words
  std::int32_t root_bias[kMaxWords + 1] = {};  ///< the same times root
  std::uint32_t radix[kMaxWords] = {};         ///< 256^i mod p, four to a word
  std::uint32_t root_radix[kMaxWords] = {};    ///< root 256^i mod p
};

[[nodiscard]] constexpr std::uint32_t packed_radix(int word, int factor, int p) {
  std::uint32_t packed = 0;
  for (int i = 0; i < 4; ++i) {
    const int r =
        num::symmetric_residue(static_cast<std::int64_t>(num::power_of_two_residue(8 * (4 * word + i), p)) * factor, p);
    packed |= (static_cast<std::uint32_t>(r) & 255u) << (8 * i);
  }
  return packed;
}

[[nodiscard]] constexpr ModulusRow modulus_row(int p, int root) {
  ModulusRow row;
  row.p = p;
  row.inverse = 1.0F / static_cast<float>(p);
  for (int words = 1; words <= kMaxWords; ++words) {
    const int top = num::power_of_two_residue(32 * words - 1, p);
    row.bias[words] = num::symmetric_residue(-top, p);
    row.root_bias[words] = num::symmetric_residue(static_cast<std::int64_t>(-top) * root, p);
  }
  for (int word = 0; word < kMaxWords; ++word) {
    row.radix[word] = packed_radix(word, 1, p);
    row.root_radix[word] = packed_radix(word, root, p);
  }
  return row;
}

template <std::size_t N>
[[nodiscard]] constexpr std::array<ModulusRow, N> modulus_rows(const std::array<std::int16_t, N>& moduli) {
  std::array<ModulusRow, N> rows{};
  for (std::size_t l = 0; l < N; ++l) rows[l] = modulus_row(moduli[l], num::sqrt_minus_one(moduli[l]));
  return rows;
}

__constant__ constexpr auto kRealRows = modulus_rows(num::kRealModuli);
__constant__ constexpr auto kComplexRows = modulus_rows(num::kComplexModuli);

/// Unsigned bytes of x times signed bytes of y, added to sum.
[[nodiscard]] __device__ inline int dot_bytes(std::uint32_t x, std::uint32_t y, int sum) {
  int result;
  asm("dp4a.u32.s32 %0, %1, %2, %3;" : "=r"(result) : "r"(x), "r"(y), "r"(sum));
  return result;
}

/// The symmetric residue of x in the low byte, from kMagicBits + x. q = rint(x / p (1 + d)) with |d| < 2^-23: for odd p
/// the error |x d / p| < 2^21 / p 2^-23 is less than the 1 / (2p) that x / p keeps from every half, so x - p q is the
/// symmetric residue; p = 256: it is its low byte, whatever q. The magic numbers leave the low bytes alone.
[[nodiscard]] __device__ inline std::uint32_t residue_byte(int magic_x, const ModulusRow& row) {
  const float q = __fmaf_rn(__int_as_float(magic_x) - kMagic, row.inverse, kMagic);
  return static_cast<std::uint32_t>(magic_x) - static_cast<std::uint32_t>(row.p) * __float_as_uint(q);
}

/// The biased integer rint(+-m 2^shift) + 2^(32 kWords - 1). @range |m 2^shift| < 2^(32 kWords - 1)
template <int kWords>
struct Integer {
  std::uint32_t word[kWords];

  Integer() = default;
  __device__ Integer(bool is_negative, std::uint64_t m, int shift) {
    if (shift < 0) {  // to nearest, ties to even
      const int drop = -shift;
      if (drop > 63) {
        m = 0;
      } else {
        const std::uint64_t kept = m >> drop;
        const std::uint64_t rest = m << (64 - drop);
        constexpr std::uint64_t kHalf = std::uint64_t{1} << 63;
        m = kept + (rest > kHalf || (rest == kHalf && (kept & 1) != 0) ? 1 : 0);
      }
      shift = 0;
    }
    for (int w = 0; w < kWords; ++w) word[w] = 0;
    if constexpr (kWords == 2) {
      m <<= shift;
      word[0] = static_cast<std::uint32_t>(m);
      word[1] = static_cast<std::uint32_t>(m >> 32);
    } else {
      const int first = shift / 32;
      const int bits = shift % 32;
      const std::uint64_t low = m << bits;
      const auto high = static_cast<std::uint32_t>(bits == 0 ? 0 : m >> (64 - bits));
#pragma unroll
      for (int w = 0; w < kWords; ++w) {
        if (w == first) word[w] = static_cast<std::uint32_t>(low);
        if (w == first + 1) word[w] = static_cast<std::uint32_t>(low >> 32);
        if (w == first + 2) word[w] = high;
      }
    }
    if (is_negative) {
      std::uint64_t carry = 1;
#pragma unroll
      for (int w = 0; w < kWords; ++w) {
        carry += static_cast<std::uint32_t>(~word[w]);
        word[w] = static_cast<std::uint32_t>(carry);
        carry >>= 32;
      }
    }
    word[kWords - 1] ^= 0x80000000u;
  }

  /// Of x itself. @range |x| < 2^62
  __device__ explicit Integer(double x) requires(kWords == 2) {
    const auto whole = static_cast<std::uint64_t>(__double2ll_rn(x));
    word[0] = static_cast<std::uint32_t>(whole);
    word[1] = static_cast<std::uint32_t>(whole >> 32) ^ 0x80000000u;
  }

  [[nodiscard]] __device__ int dot(const std::uint32_t* radix, int sum) const {
#pragma unroll
    for (int w = 0; w < kWords; ++w) sum = dot_bytes(word[w], radix[w], sum);
    return sum;
  }
};

/// Stores the low bytes of 4 or 8 residues side by side. @range out aligned to kCount
template <int kCount>
__device__ void store_bytes(const std::uint32_t (&r)[kCount], std::int8_t* out) {
  std::uint32_t word[kCount / 4];
#pragma unroll
  for (int w = 0; w < kCount / 4; ++w) {
    word[w] = __byte_perm(__byte_perm(r[4 * w], r[4 * w + 1], 0x0040), __byte_perm(r[4 * w + 2], r[4 * w + 3], 0x0040),
                          0x5410);
  }
  if constexpr (kCount == 4) {
    *reinterpret_cast<std::uint32_t*>(out) = word[0];
  } else {
    *reinterpret_cast<uint2*>(out) = make_uint2(word[0], word[1]);
  }
}

/// Bytes modulo one real modulus.
template <int kWords, int kCount>
__device__ void write_real(const Integer<kWords> (&x)[kCount], const ModulusRow& row, std::int8_t* out) {
  std::uint32_t r[kCount];
#pragma unroll
  for (int i = 0; i < kCount; ++i) r[i] = residue_byte(x[i].dot(row.radix, kMagicBits + row.bias[kWords]), row);
  store_bytes(r, out);
}

/// Modulo one complex modulus: two planes with a root of -1, three without.
template <int kWords, bool kHasRoot, int kCount>
__device__ void write_complex(const Integer<kWords> (&re)[kCount], const Integer<kWords> (&im)[kCount],
                              const ModulusRow& row, std::int8_t* out, std::int64_t plane_stride) {
  std::uint32_t r[3][kCount];
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    const int real = re[i].dot(row.radix, kMagicBits + row.bias[kWords]);
    const int imag =
        kHasRoot ? im[i].dot(row.root_radix, row.root_bias[kWords]) : im[i].dot(row.radix, row.bias[kWords]);
    r[0][i] = residue_byte(kHasRoot ? real + imag : real, row);
    r[1][i] = residue_byte(kHasRoot ? real - imag : kMagicBits + imag, row);
    r[2][i] = kHasRoot ? 0 : residue_byte(real + imag, row);
  }
#pragma unroll
  for (int plane = 0; plane < (kHasRoot ? 2 : 3); ++plane) store_bytes(r[plane], out + plane * plane_stride);
}

/// visit(l) for l in [0, count), with constants l below kUnrolled: the end is looked for once in kStep of them.
template <int kUnrolled, int kStep, class Visit>
__device__ void for_moduli(int count, const Visit& visit) {
#pragma unroll
  for (int l = 0; l < kUnrolled; l += kStep) {
    if (l + kStep <= count) {
#pragma unroll
      for (int i = 0; i < kStep; ++i) visit(l + i);
    } else {
#pragma unroll 1
      for (int i = l; i < count; ++i) visit(i);
      return;
    }
  }
#pragma unroll 1
  for (int l = kUnrolled; l < count; ++l) visit(l);
}

/// How the elements of a line become integers.
struct LineScaling {
  int scale = 0;
  bool is_live = false;  ///< false: zero, or not finite
  double unit = 0;       ///< 2^scale if that is far from the ends of the range and the line is live, else 0

  LineScaling() = default;
  __device__ LineScaling(int line_scale, bool is_line_live) : scale(line_scale), is_live(is_line_live) {
    if (is_live && abs(scale) <= 1000) unit = num::power_of_two(scale);
  }
};

/// The integers of neighbouring elements, a real term after the other.
/// @shape inner_shift: of the elements, or null
template <class T, int kWords, int kCount>
struct Integers {
  static constexpr int kTerms = Element<T>::kTerms;
  Integer<kWords> of[kTerms][kCount];

  __device__ Integers(const Element<T> (&elements)[kCount], bool is_conjugated, const LineScaling& scaling,
                      const std::int32_t* inner_shift) {
    if constexpr (kWords == 2) {
      if (inner_shift == nullptr && scaling.unit != 0.0) {
        // One product each; one that underflows is rounded to zero either way.
#pragma unroll
        for (int t = 0; t < kTerms; ++t) {
          const double unit = t == 1 && is_conjugated ? -scaling.unit : scaling.unit;
#pragma unroll
          for (int i = 0; i < kCount; ++i) of[t][i] = Integer<2>(__dmul_rn(elements[i].term[t], unit));
        }
        return;
      }
    }
#pragma unroll
    for (int t = 0; t < kTerms; ++t) {
#pragma unroll
      for (int i = 0; i < kCount; ++i) {
        const double x = elements[i].term[t];
        const Term term = term_of(scaling.is_live ? magnitude_bits(x) : 0);
        const bool is_negative = (__double_as_longlong(x) < 0) != (t == 1 && is_conjugated);
        const int shift = inner_shift == nullptr ? 0 : inner_shift[i];
        of[t][i] = term.mantissa == 0 ? Integer<kWords>(false, 0, 0)
                                      : Integer<kWords>(is_negative, term.mantissa, term.ulp + scaling.scale + shift);
      }
    }
  }
};

/// Writes the bytes of 4 or 8 neighbouring elements to every plane.
template <class T, int kWords, int kCount>
__device__ void write_planes(const Element<T> (&elements)[kCount], bool is_conjugated, const LineScaling& scaling,
                             const std::int32_t* inner_shift, int num_moduli, std::int8_t* out,
                             std::int64_t plane_stride) {
  const Integers<T, kWords, kCount> x(elements, is_conjugated, scaling, inner_shift);
  if constexpr (kIsComplex<T>) {
    for_moduli<15, 5>(min(num_moduli, num::kTwoProductModuli), [&](int l) {
      write_complex<kWords, true>(x.of[0], x.of[1], kComplexRows[l], out, plane_stride);
      out += 2 * plane_stride;
    });
#pragma unroll 1
    for (int l = num::kTwoProductModuli; l < num_moduli; ++l) {
      write_complex<kWords, false>(x.of[0], x.of[1], kComplexRows[l], out, plane_stride);
      out += 3 * plane_stride;
    }
  } else {
    for_moduli<kWords == kMaxWords ? 0 : 14, 7>(num_moduli, [&](int l) {
      write_real(x.of[0], kRealRows[l], out);
      out += plane_stride;
    });
  }
}

}  // namespace kizami::split::device
