// SPDX-License-Identifier: MIT
// The CRT in limbs of 32 bits, for counts whose constants do not fit in FP64 pieces, and for devices whose FP64
// instructions are rare. A thread takes four neighbouring
// elements of a column: one word of each residue plane. Bytes are transposed, so that the residues of an element lie in
// words of four; then, two elements at a time and limb by limb,
//   X = sum_b 2^(8b) (bias_b + sum_q r_q byte_b(W_q)) - Q P,   Q = rint(X / P) from the leading 64 bits,
// where the inner sums are dot products of bytes (dp4a) and the biases, together a multiple of P, make them positive.
// The ratio is known to 2^-9: where it is that close to a half, one exact comparison with (P - 1) / 2 settles the sign.
// The integer is rounded once, to 53 bits.
#pragma once

#include <cstdint>

#include "num/scaled.hpp"
#include "schemes/ozaki2/device_crt.hpp"

namespace kizami::ozaki2::kernels {

/// Signed bytes of x times unsigned bytes of y, added to sum.
[[nodiscard]] __device__ inline int dot_bytes(std::uint32_t x, std::uint32_t y, int sum) {
  int result;
  asm("dp4a.s32.u32 %0, %1, %2, %3;" : "=r"(result) : "r"(x), "r"(y), "r"(sum));
  return result;
}

/// Bytes i of four words become word i.
__device__ inline void transpose_bytes(std::uint32_t (&w)[4]) {
  const std::uint32_t low01 = __byte_perm(w[0], w[1], 0x5140);
  const std::uint32_t low23 = __byte_perm(w[2], w[3], 0x5140);
  const std::uint32_t high01 = __byte_perm(w[0], w[1], 0x7362);
  const std::uint32_t high23 = __byte_perm(w[2], w[3], 0x7362);
  w[0] = __byte_perm(low01, low23, 0x5410);
  w[1] = __byte_perm(low01, low23, 0x7632);
  w[2] = __byte_perm(high01, high23, 0x5410);
  w[3] = __byte_perm(high01, high23, 0x7632);
}

// Chains of carries. The parts of a chain are separate instructions that pass the carry flag: nothing may come between
// them, hence volatile.
[[nodiscard]] __device__ inline std::uint32_t add_first(std::uint32_t x, std::uint32_t y) {
  std::uint32_t r;
  asm volatile("add.cc.u32 %0, %1, %2;" : "=r"(r) : "r"(x), "r"(y));
  return r;
}
[[nodiscard]] __device__ inline std::uint32_t add_next(std::uint32_t x, std::uint32_t y) {
  std::uint32_t r;
  asm volatile("addc.cc.u32 %0, %1, %2;" : "=r"(r) : "r"(x), "r"(y));
  return r;
}
[[nodiscard]] __device__ inline std::uint32_t subtract_first(std::uint32_t x, std::uint32_t y) {
  std::uint32_t r;
  asm volatile("sub.cc.u32 %0, %1, %2;" : "=r"(r) : "r"(x), "r"(y));
  return r;
}
[[nodiscard]] __device__ inline std::uint32_t subtract_next(std::uint32_t x, std::uint32_t y) {
  std::uint32_t r;
  asm volatile("subc.cc.u32 %0, %1, %2;" : "=r"(r) : "r"(x), "r"(y));
  return r;
}

/// x += y 2^16. @range the sum fits
template <int kLimbs>
__device__ void add_shifted(std::uint32_t (&x)[kLimbs], const std::uint32_t (&y)[kLimbs]) {
  std::uint32_t shifted[kLimbs];
#pragma unroll
  for (int limb = 0; limb < kLimbs; ++limb)
    shifted[limb] = limb == 0 ? y[0] << 16 : __funnelshift_l(y[limb - 1], y[limb], 16);
#pragma unroll
  for (int limb = 0; limb < kLimbs; ++limb)
    x[limb] = limb == 0 ? add_first(x[0], shifted[0]) : add_next(x[limb], shifted[limb]);
}

/// x -= q p, modulo 2^(32 kLimbs)
template <int kLimbs>
__device__ void subtract_multiple(std::uint32_t (&x)[kLimbs], std::uint32_t q, const std::uint32_t* p) {
  std::uint32_t product[kLimbs];
  std::uint64_t carry = 0;
#pragma unroll
  for (int limb = 0; limb < kLimbs; ++limb) {
    carry += static_cast<std::uint64_t>(q) * p[limb];
    product[limb] = static_cast<std::uint32_t>(carry);
    carry >>= 32;
  }
#pragma unroll
  for (int limb = 0; limb < kLimbs; ++limb)
    x[limb] = limb == 0 ? subtract_first(x[0], product[0]) : subtract_next(x[limb], product[limb]);
}

/// The magnitude of a two's complement number.
template <int kLimbs>
[[nodiscard]] __device__ bool make_magnitude(std::uint32_t (&x)[kLimbs]) {
  const std::uint32_t flip = static_cast<std::uint32_t>(static_cast<std::int32_t>(x[kLimbs - 1]) >> 31);
#pragma unroll
  for (int limb = 0; limb < kLimbs; ++limb) x[limb] ^= flip;
#pragma unroll
  for (int limb = 0; limb < kLimbs; ++limb) {  // minus flip, that is plus 1 where negative
    x[limb] = limb == 0 ? subtract_first(x[0], flip) : subtract_next(x[limb], flip);
  }
  return flip != 0;
}

/// Rounds (-1)^is_negative magnitude to 53 bits.
template <int kLimbs>
[[nodiscard]] __device__ num::Scaled round_limbs(bool is_negative, const std::uint32_t (&magnitude)[kLimbs]) {
  // The three limbs from the highest that is not zero, and whether anything lies below them.
  std::uint32_t a = 0, b = 0, c = 0, below = 0, rest = 0;
  int top = 0;
#pragma unroll
  for (int limb = 0; limb < kLimbs; ++limb) {
    if (limb >= 3) rest |= magnitude[limb - 3];
    if (magnitude[limb] == 0) continue;
    top = limb;
    a = magnitude[limb];
    b = limb >= 1 ? magnitude[limb - 1] : 0;
    c = limb >= 2 ? magnitude[limb - 2] : 0;
    below = rest;
  }
  if (a == 0) return {};
  const int zeros = __clz(static_cast<int>(a));
  const std::uint32_t high = __funnelshift_l(b, a, zeros);
  std::uint32_t low = __funnelshift_l(c, b, zeros);
  if (((c << zeros) | below) != 0) low |= 1;  // 64 bits, the last one sticky: eleven more than are kept
  const double value = __ull2double_rn(static_cast<std::uint64_t>(high) << 32 | low) * 0x1p-11;
  return {is_negative ? -value : value, 32 * (top - 1) - zeros + 11};
}

/// The exact choice between X and X -+ P, for an X within a hair of +-P / 2. Seldom called.
template <int kLimbs>
__device__ void settle_sign(std::uint32_t (&magnitude)[kLimbs], bool& is_negative, const DeviceCrtTable& table) {
  std::int64_t borrow = 0;
#pragma unroll
  for (int limb = 0; limb < kLimbs; ++limb) {
    borrow += static_cast<std::int64_t>(table.half[limb]) - magnitude[limb];
    borrow >>= 32;
  }
  if (borrow >= 0) return;
  std::int64_t difference = 0;
#pragma unroll
  for (int limb = 0; limb < kLimbs; ++limb) {
    difference += static_cast<std::int64_t>(table.product[limb]) - magnitude[limb];
    magnitude[limb] = static_cast<std::uint32_t>(difference);
    difference >>= 32;
  }
  is_negative = !is_negative;
}

/// What a block keeps of a table in shared memory: weights, biases, P.
template <int kLimbs, int kWords>
struct SharedLayout {
  static constexpr int kBias = 4 * kLimbs * kWords;
  static constexpr int kProduct = kBias + 4 * kLimbs;
  static constexpr int kSize = (kProduct + kLimbs + 3) / 4 * 4;
};

/// The integers of the first kTogether elements of residues r[element][word], rounded.
inline constexpr int kTogether = 2;
template <int kLimbs, int kWords>
__device__ void rebuild(const std::uint32_t (&r)[4][kWords], const std::uint32_t* shared, const DeviceCrtTable& table,
                        double quotient, num::Scaled (&p)[kTogether]) {
  using Layout = SharedLayout<kLimbs, kWords>;
  std::uint32_t x[kTogether][kLimbs];    // bytes 0 and 1 of each limb, carries included: below 2^31
  std::uint32_t odd[kTogether][kLimbs];  // bytes 2 and 3
#pragma unroll
  for (int limb = 0; limb < kLimbs; ++limb) {
    int sum[kTogether][4];
#pragma unroll
    for (int byte = 0; byte < 4; ++byte) {
      const int at = 4 * limb + byte;
      const int bias = static_cast<int>(shared[Layout::kBias + at]);
#pragma unroll
      for (int e = 0; e < kTogether; ++e) sum[e][byte] = bias;
      // Bytes beyond P have no weights: all but the top limb are whole.
      if (limb == kLimbs - 1 && at >= table.num_bytes) continue;
#pragma unroll
      for (int word = 0; word < kWords; ++word) {
        const std::uint32_t bytes = shared[at * kWords + word];
#pragma unroll
        for (int e = 0; e < kTogether; ++e) sum[e][byte] = dot_bytes(r[e][word], bytes, sum[e][byte]);
      }
    }
#pragma unroll
    for (int e = 0; e < kTogether; ++e) {
      x[e][limb] = static_cast<std::uint32_t>(sum[e][0] + sum[e][1] * 256);
      odd[e][limb] = static_cast<std::uint32_t>(sum[e][2] + sum[e][3] * 256);
    }
  }
#pragma unroll
  for (int e = 0; e < kTogether; ++e) {
    add_shifted(x[e], odd[e]);
    std::uint32_t leading = x[e][kLimbs - 1];
    std::uint32_t next = x[e][kLimbs - 2];
#pragma unroll
    for (int limb = 1; limb < kLimbs; ++limb) {  // one body serves several numbers of limbs
      leading = limb == table.top_limb ? x[e][limb] : leading;
      next = limb == table.top_limb ? x[e][limb - 1] : next;
    }
    const double ratio = __ull2double_rn(static_cast<std::uint64_t>(leading) << 32 | next) * quotient;
    const double nearest = (ratio + 0x1.8p52) - 0x1.8p52;
    const auto q = static_cast<std::uint32_t>(__double2uint_rn(nearest));
    subtract_multiple(x[e], q, shared + Layout::kProduct);
    bool is_negative = make_magnitude(x[e]);
    if (fabs(ratio - nearest) > 0.49) settle_sign(x[e], is_negative, table);
    p[e] = round_limbs<kLimbs>(is_negative, x[e]);
  }
}

/// Residues of four elements from `at`, transposed.
template <int kWords>
__device__ void load_residues(const std::int8_t* at, std::int64_t plane_stride, int num_planes,
                              std::uint32_t (&r)[4][kWords]) {
  std::uint32_t words[4 * kWords];
#pragma unroll
  for (int q = 0; q < 4 * kWords; ++q) {
    words[q] = q < num_planes ? *reinterpret_cast<const std::uint32_t*>(at + q * plane_stride) : 0;
  }
#pragma unroll
  for (int word = 0; word < kWords; ++word) {
    std::uint32_t w[4] = {words[4 * word], words[4 * word + 1], words[4 * word + 2], words[4 * word + 3]};
    transpose_bytes(w);
    for (int e = 0; e < 4; ++e) r[e][word] = w[e];
  }
}

/// The rounded integers of four elements; `shared` holds the tables of the parts one after another.
template <int kParts, int kLimbs>
__device__ void rebuild_quad(const std::int8_t* at, std::int64_t plane_stride, const DeviceCrtTable* tables,
                             const std::uint32_t* shared, num::Scaled (&p)[kParts][4]) {
  constexpr int kWords = device_words(kParts == 2, kLimbs);
  std::uint32_t r[4][kWords];
  load_residues<kWords>(at, plane_stride, tables[0].num_planes, r);
  const double quotient = tables[0].quotient;
#pragma unroll 1
  for (int half = 0; half < 2; ++half) {  // a loop for the sake of registers and code: what it reads and writes moves
#pragma unroll
    for (int part = 0; part < kParts; ++part) {
      num::Scaled rebuilt[kTogether];
      rebuild<kLimbs, kWords>(r, shared + part * SharedLayout<kLimbs, kWords>::kSize, tables[part], quotient, rebuilt);
      for (int e = 0; e < 2; ++e) {
        p[part][e] = p[part][e + 2];
        p[part][e + 2] = rebuilt[e];
      }
    }
    for (int word = 0; word < kWords; ++word) {
      r[0][word] = r[2][word];
      r[1][word] = r[3][word];
    }
  }
}

}  // namespace kizami::ozaki2::kernels
