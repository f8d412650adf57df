// SPDX-License-Identifier: MIT
// Symmetric residues of 32-bit sums without division: the constants, and the same arithmetic for the host.
//
// Let p be 256 or odd, at least 3, and 0 <= x < 2^32 with bytes x = sum_i b_i 256^i. With w_i the symmetric residue of 256^i
// modulo p, but w_1 = w_2 = w_3 = 0 for p = 256, y = sum_i b_i w_i is x modulo p, and one instruction. It is at most
// 4 * 255 * 128, so that FP32 numbers have what is left exactly: B is the smallest multiple of 256 p with 2^23 + 128 <= B + y
// for all y, and B + y < 2^24 is the FP32 number whose word is 0x4B000000 + (B + y - 2^23); the sum begins with the word of B.
// With I the FP32 number next to 1 / p,
//   (B + y) |I - 1 / p| < 1 / (2p)     (checked for each p below),
// while (B + y) / p + 1/2 is at least 1 / (2p) from every integer where p is odd. So (B + y) I + 2^23, rounded, is the FP32
// number whose word is 0x4B000000 + B / p + q, q being y / p rounded to nearest: it is below 2^24, for p is at least 3. As 256
// divides B / p, the low byte of
//   word of (B + y) - p (that word)
// is that of y - p q, the symmetric residue of x. For p = 256 any q will do.
//
// A sum with a sign is x - 2^31 for 0 <= x < 2^32, its word with the highest bit flipped: then the sum begins with the word of
// B - c, c being the symmetric residue of 2^31, so that y - c takes the place of y.
//
// kReduceAdd: a sum and a residue together wrap only where product.hpp says that it is harmless.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "num/modular.hpp"

namespace kizami::engines {

/// What a plane's residues are computed with.
struct alignas(16) ModulusConstants {
  std::int32_t minus_p;   ///< the modulus, negated
  std::uint32_t weights;  ///< w_i in byte i
  std::uint32_t origin;   ///< word of the FP32 number B, or B - c
  float inverse;          ///< I
};

[[nodiscard]] constexpr bool has_modulus_constants(int p) { return p == 256 || (p % 2 != 0 && p >= 3 && p < 256); }

/// w_i.
[[nodiscard]] constexpr std::int32_t fold_weight(int p, int i) {
  if (p == 256) return i == 0 ? 1 : 0;
  return num::symmetric_residue(std::int64_t{1} << (8 * i), p);
}

/// What B + y, or B - c + y, lies in.
struct FoldedRange {
  std::int32_t least;
  std::int32_t most;
};
/// B, and the range for both kinds of sums.
struct FoldOrigin {
  std::int32_t origin;
  FoldedRange range;
};
[[nodiscard]] constexpr FoldOrigin fold_origin(int p) {
  FoldedRange y{};
  for (int i = 0; i < 4; ++i) (fold_weight(p, i) < 0 ? y.least : y.most) += 255 * fold_weight(p, i);
  constexpr int kMostC = 128;
  const std::int32_t wanted = (1 << 23) + kMostC - y.least;
  const std::int32_t origin = (wanted + 256 * p - 1) / (256 * p) * (256 * p);
  return {origin, {origin + y.least - kMostC, origin + y.most + kMostC}};
}

/// What is claimed of p above.
[[nodiscard]] constexpr bool has_exact_quotients(int p) {
  const FoldedRange range = fold_origin(p).range;
  if (range.least < 1 << 23 || range.most >= 1 << 24) return false;
  if (p == 256) return true;
  // p I has 32 bits, and p I - 1 is at most 2^-24 beside numbers of 24: FP64 has both without rounding.
  const double error = static_cast<double>(static_cast<float>(1.0 / p)) * p - 1.0;
  return (error < 0 ? -error : error) * range.most < 0.5;
}
[[nodiscard]] constexpr bool have_exact_quotients() {
  for (int p = 2; p <= 256; ++p) {
    if (has_modulus_constants(p) && !has_exact_quotients(p)) return false;
  }
  return true;
}
static_assert(have_exact_quotients());

/// @range has_modulus_constants(p)
[[nodiscard]] constexpr ModulusConstants modulus_constants(int p, bool sums_have_sign) {
  const std::int32_t c = sums_have_sign ? num::symmetric_residue(std::int64_t{1} << 31, p) : 0;
  ModulusConstants constants{-p, 0, std::bit_cast<std::uint32_t>(static_cast<float>(fold_origin(p).origin - c)),
                             static_cast<float>(1.0 / p)};
  for (int i = 0; i < 4; ++i) constants.weights |= (static_cast<std::uint32_t>(fold_weight(p, i)) & 0xFFU) << (8 * i);
  return constants;
}

/// The symmetric residue of a sum modulo p, of p = 256 as the byte that it is kept in. @param x  its word
[[nodiscard]] inline std::int8_t symmetric_residue(std::uint32_t x, bool has_sign, const ModulusConstants& modulus) {
  if (has_sign) x ^= 0x80000000U;
  std::uint32_t folded = modulus.origin;
  for (int i = 0; i < 4; ++i) {
    const auto weight = static_cast<std::int8_t>(modulus.weights >> (8 * i) & 0xFFU);
    folded += (x >> (8 * i) & 0xFFU) * static_cast<std::uint32_t>(std::int32_t{weight});
  }
  const float quotient = std::fma(std::bit_cast<float>(folded), modulus.inverse, 0x1p23F);
  const std::uint32_t product = std::bit_cast<std::uint32_t>(quotient) * static_cast<std::uint32_t>(modulus.minus_p);
  return static_cast<std::int8_t>(folded + product);
}

}  // namespace kizami::engines
