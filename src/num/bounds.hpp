// SPDX-License-Identifier: MIT
// Every error bound of the library, as a named function. Plans, tests, documentation and `kizami plan` read these; a
// test never holds a tolerance of its own.
//
// Scheme ozaki2. Line i of A is cut at the quantum alpha_i = 2^-s_i (a' = rint(a 2^s_i)), line j of B at beta_j:
//   |alpha_i beta_j sum a'b' - (AB)_ij| <= (alpha_i ||b_j||_1 + beta_j ||a_i||_1) / 2 + k alpha_i beta_j / 4,
// where the first (second) term and the last vanish if line i (line j) consists of multiples of its quantum. The
// integer sum is exact by CRT and is rounded once, to 53 bits. Upper bounds are computed in FP64 with a relative slack
// of 2^-40, far above the rounding of the few operations here.
//
// Complex products: the real and the imaginary part are real products of 2k terms each (problem::RealForm), and every k
// here is that number of real terms, every line that of the real terms.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "kizami/policy.hpp"
#include "kizami/types.hpp"
#include "num/crt.hpp"
#include "num/line_stats.hpp"

namespace kizami::num {

inline constexpr double kSlackUp = 1.0 + 0x1p-40;
inline constexpr double kSlackDown = 1.0 - 0x1p-40;

/// u = 2^-24 (FP32) or 2^-53 (FP64) of the type or its parts; 2^-104 for double-double, whose arithmetic reaches that.
[[nodiscard]] constexpr double unit_roundoff(Scalar s) {
  return s == Scalar::kDD ? 0x1p-104 : real_of(s) == Scalar::kF32 ? 0x1p-24 : 0x1p-53;
}

/// Most bits that may be asked for: one less than the significand, since the result itself is rounded; 100 for
/// double-double.
[[nodiscard]] constexpr int significand_bits_guaranteed(Scalar s) {
  return s == Scalar::kDD ? 100 : significand_bits(s) - 1;
}

/// c(k) = min(max(k, 8), 16 sqrt(k)): accuracy `native` promises |C - AB| <= c(k) u |A||B|.
[[nodiscard]] inline double native_factor(std::int64_t k) {
  const auto terms = static_cast<double>(k);
  return std::min(std::max(terms, 8.0), std::max(16.0 * std::sqrt(terms), 8.0));
}

/// The bound that an accuracy asks for, relative to its gauge. @range k >= 1
[[nodiscard]] inline double target_bound(const Accuracy& accuracy, Scalar scalar, std::int64_t k) {
  if (accuracy.kind == Accuracy::Kind::kBits) return std::ldexp(1.0, -accuracy.bits);
  if (accuracy.kind == Accuracy::Kind::kCorrect) return unit_roundoff(scalar);
  return native_factor(k) * unit_roundoff(scalar);
}

/// A product of k terms summed in any order in precision u: k u |A||B|, without terms of higher order.
/// @cite JR2013, theorem 4.2 (no underflow)
[[nodiscard]] inline double dot_bound(std::int64_t k, double u) { return static_cast<double>(k) * u; }

/// A product by the platform BLAS, k in blocks of k_block added to C one after another: min(k, k_block) terms inside a
/// block, then num_blocks roundings of the running sum. Assumes a BLAS that sums products (no Strassen) in precision u.
/// As many steps as 1 / u have no bound of this form: infinity.
/// @cite Higham2002, section 3.1
[[nodiscard]] inline double native_blas_bound(std::int64_t k, std::int64_t k_block, double u) {
  if (k <= k_block) return dot_bound(k, u);
  const double steps = static_cast<double>(k_block) + static_cast<double>((k + k_block - 1) / k_block);
  if (steps * u >= 1.0) return std::numeric_limits<double>::infinity();
  return steps * u / (1.0 - steps * u) * kSlackUp;
}

/// How the FP64 rung sums. @see fp64_pairwise_bound, fp64_compensated_bound
enum class Fp64Summation : std::uint8_t {
  kPairwise,     ///< chains of kFp64ChainLength fused multiply-adds, combined pairwise
  kCompensated,  ///< products and sums with their errors (Dot2), as if in twice FP64
};

/// Terms that the FP64 rung sums in one chain of fused multiply-adds before the partial sums are combined pairwise.
inline constexpr std::int64_t kFp64ChainLength = 128;

/// The FP64 rung, chains of kFp64ChainLength combined pairwise: depth = chain + ceil(log2(chains)), and never more than
/// the bound of any order. A fused multiply-add rounds once where a product and a sum round twice, so the bounds for
/// products followed by sums hold for it.
/// @cite Higham2002, section 4.2 (gamma_depth |A||B|); JR2013, theorem 4.2 (k u, for any order)
[[nodiscard]] inline double fp64_pairwise_bound(std::int64_t k) {
  double depth = static_cast<double>(kFp64ChainLength);
  for (std::int64_t chains = (k + kFp64ChainLength - 1) / kFp64ChainLength; chains > 1; chains = (chains + 1) / 2)
    depth += 1;
  return std::min(dot_bound(k, 0x1p-53), depth * 0x1p-53 / (1.0 - depth * 0x1p-53) * kSlackUp);
}

/// The compensated FP64 rung (twice the working precision, rounded once): u |AB| + gamma_k^2 |A||B| with |AB| <=
/// |A||B|.
/// @cite ORO2005, proposition 5.5 @range k < 2^50
[[nodiscard]] inline double fp64_compensated_bound(std::int64_t k) {
  const double gamma = static_cast<double>(k) * 0x1p-53 / (1.0 - static_cast<double>(k) * 0x1p-53);
  return (0x1p-53 + gamma * gamma) * kSlackUp;
}

/// A lower bound of U = sqrt((P - 1) / 2) - sqrt(k) / 2. Lines scaled so that 2^s ||a_i||_2 <= U keep
/// |sum a'b'| <= ||a'|| ||b'|| <= (U + sqrt(k)/2)^2 <= (P - 1) / 2, because rounding to nearest moves each of k
/// elements by at most 1/2: the CRT is unique. Not positive: so few moduli cannot carry this k.
/// @cite KT2026 (scale-invariant norm scaling), with the rounding term added
[[nodiscard]] inline double scaled_norm_limit(const CrtInt& half_product, std::int64_t k) {
  return std::sqrt(to_double_down(half_product)) * kSlackDown - 0.5 * std::sqrt(static_cast<double>(k)) * kSlackUp;
}

/// How much larger than ||x||_2 the norm in LineStats may be: every magnitude is rounded up to 2^-kSquareBits of a
/// maximum that is at least 1, so at most by sqrt(k) 2^-kSquareBits.
[[nodiscard]] inline double norm_inflation(std::int64_t k) {
  return 1.0 + std::sqrt(static_cast<double>(k)) * std::ldexp(1.0, -kSquareBits) * kSlackUp;
}

/// Truncation bound of norm scaling relative to ||a_i|| ||b_j||: 2 f sqrt(k)/U + f^2 k/U^2, from alpha_i <= 2 f
/// ||a_i||_2 / U, f = norm_inflation(k), and ||.||_1 <= sqrt(k) ||.||_2.
[[nodiscard]] inline double truncation_norm_bound(double norm_limit, std::int64_t k) {
  const auto terms = static_cast<double>(k);
  const double f = norm_inflation(k);
  return (2.0 * std::sqrt(terms) + f * terms / norm_limit) * f / norm_limit * kSlackUp * kSlackUp;
}

/// Rounding of the exact integer sum to the result type, relative to |AB|: one rounding to FP64, one more for FP32, or
/// to the two parts of a double-double.
[[nodiscard]] constexpr double result_rounding(Scalar s) {
  if (s == Scalar::kDD) return 0x1p-106 * kSlackUp;  // |lo| <= 2^-53 |hi|, lo rounded to 2^-53 of itself
  return real_of(s) == Scalar::kF32 ? (0x1p-24 + 0x1p-53) * kSlackUp : 0x1p-53 * kSlackUp;
}

/// The part of a target bound that truncation may use: b - (1 + b) u_result. Not positive: unreachable.
[[nodiscard]] inline double truncation_budget(double target, Scalar s) {
  return (target - (1.0 + target) * result_rounding(s)) * kSlackDown;
}

/// Largest D / l that a pair of lines may have at this number of moduli and still meet the budget, in any common unit:
///   D = ||a||_2 ||b||_1 + ||b||_2 ||a||_1, terms of exactly represented lines left out;   l <= (|a|.|b|);
///   truncation <= D (1 + k / (2 U)) / U.
[[nodiscard]] inline double pair_allowance(double budget, double norm_limit, std::int64_t k) {
  return budget * norm_limit / (1.0 + static_cast<double>(k) / (2.0 * norm_limit)) * kSlackDown;
}

/// A double-double element is split part by part, each rounded to an integer: the rounding errors of a line are up to
/// twice those of double, and every bound of n terms holds with this many times n and half the budget.
inline constexpr std::int64_t kDoubleDoubleTerms = 4;

/// Absolute error of alpha p + beta c beyond the error of p, when alpha is not +-1 or beta is not 0: two roundings of
/// the result type (the product beta c, the fused sum) and gradual underflow, 2 u (|alpha| |p| + |beta| |c|) + smallest
/// subnormal. Complex types: of each part, with four roundings and the sums of the absolute values of the terms of that
/// part, |Re alpha Re p| + |Im alpha Im p| and so on.
[[nodiscard]] inline double epilogue_bound(Scalar s, double abs_alpha_p, double abs_beta_c) {
  const double tiny = real_of(s) == Scalar::kF32 ? 0x1p-149 : 0x1p-1074;
  const double roundings = is_complex(s) ? 4.0 : 2.0;
  return roundings * result_rounding(s) * (abs_alpha_p + abs_beta_c) * kSlackUp + tiny;
}

}  // namespace kizami::num
