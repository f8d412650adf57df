// SPDX-License-Identifier: MIT
// The planes of residues as linear maps: what of each plane is constant, made and checked while it is compiled.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/code_capability.hpp"
#include "num/modular.hpp"
#include "num/moduli.hpp"

namespace kizami::ozaki2::kernels {

/// What one plane makes of an element's words: those of its real term, then those of the imaginary one.
///
/// With x = sum + bias, |x| <= reach, the words' product with `radix` begins at `base`, whose bits are those of the
/// float B + bias for an integer B = p m + beta in [2^23, 2^24): as a float the sum is B + x. In
///   q = fma(B + x, inverse, addend),   inverse = (1 + d) / p,
/// the quotient is m + (x + beta + (B + x) d) / p before it is rounded to an integer. B is chosen so that
/// |beta + (B + x) d| < 1/2, which is what x keeps from every tie, in units of 1/p, for odd p: so q = addend + m + rint(x / p).
/// Then base + ... - p bits(q) has the symmetric residue as its low 16 bits, because -p bits(addend) = -beta modulo 2^16.
/// p = 256: the low byte is that of x, whatever q.
template <int kTerms, int kWords>
struct PlaneRow {
  std::int32_t minus_p = 0;
  std::int32_t base = 0;
  float inverse = 0;
  float addend = 0;
  std::uint32_t radix[kTerms * kWords] = {};  ///< bytes: symmetric residues of factor 256^i
};

/// The bits of the float n are kFloatBits + n. @range n in [2^23, 2^24)
inline constexpr std::int32_t kFloatBits = 0x4B000000 - (1 << 23);

/// Which residues a plane has: symmetric ones, or those from 0 to p - 1. The latter are r = x - p floor(x / p), and
/// floor(x / p) = rint((x - (p - 1) / 2) / p) for odd p: B is smaller by that, and addend keeps the low bits those of r.
enum class Residues : std::uint8_t { kSymmetric, kUnsigned };

/// Chooses B for a row whose sums reach so far from 0.
template <int kTerms, int kWords>
constexpr void set_quotient(PlaneRow<kTerms, kWords>& row, int reach, Residues residues) {
  const int p = -row.minus_p;
  const int middle = residues == Residues::kUnsigned && p % 2 == 1 ? (p - 1) / 2 : 0;
  reach += middle;
  row.inverse = 1.0F / static_cast<float>(p);
  const double d = static_cast<double>(row.inverse) * p - 1.0;  // exact
  const int lowest = ((1 << 23) + reach + p) / p * p;
  const int highest = ((1 << 24) - reach - 2) / p * p;
  double least = 1.0;
  int best = 0;
  int beta_of_best = 0;
  for (const int multiple : {lowest, highest}) {
    for (int beta = -1; beta <= 1; ++beta) {
      const double low = beta + (multiple + beta - reach) * d;
      const double high = beta + (multiple + beta + reach) * d;
      const double worst = std::max(low < 0 ? -low : low, high < 0 ? -high : high);
      if (worst >= least) continue;
      least = worst;
      best = multiple + beta;
      beta_of_best = beta;
    }
  }
  if (p % 2 == 1 && least >= 0.499) throw "no base keeps the quotient's error below a half";  // does not compile
  row.base = kFloatBits + best - middle;
  std::uint32_t inverse_of_p = 1;  // modulo 2^16: each step doubles the bits that are right
  for (int bits = 1; bits < 16; bits *= 2) inverse_of_p *= 2 - static_cast<std::uint32_t>(p) * inverse_of_p;
  const auto beta_bits = static_cast<std::uint32_t>(beta_of_best - middle);
  const std::uint32_t low = p % 2 == 1 ? inverse_of_p * beta_bits % 65536 : 0;
  if (p % 2 == 1 && (low * static_cast<std::uint32_t>(p) - beta_bits) % 65536 != 0)
    throw "the low 16 bits would not be the residue";  // does not compile
  row.addend = static_cast<float>((3 << 22) + static_cast<int>(low));
}

/// The plane of factors[t] times term t, modulo p.
template <int kTerms, int kWords>
[[nodiscard]] constexpr PlaneRow<kTerms, kWords> plane_row(int p, const std::array<int, 2>& factors,
                                                           Residues residues) {
  PlaneRow<kTerms, kWords> row;
  row.minus_p = -p;
  set_quotient(row, 255 * 128 * 4 * kTerms * kWords + kTerms * 128, residues);
  const auto residue = [&](int exponent, int factor) {
    return num::symmetric_residue(static_cast<std::int64_t>(num::power_of_two_residue(exponent, p)) * factor, p);
  };
  for (std::size_t t = 0; t < kTerms; ++t) {
    row.base += residue(32 * kWords - 1, -factors[t]);
    for (int i = 0; i < 4 * kWords; ++i) {
      const auto byte = static_cast<std::uint32_t>(residue(8 * i, factors[t])) & 255u;
      row.radix[static_cast<int>(t) * kWords + i / 4] |= byte << (i % 4 * 8);
    }
  }
  return row;
}

/// In Z[i]: U and V of two-product moduli, re + s im and re - s im; then re, im and their sum.
template <int kTerms, int kWords, Residues kResidues>
[[nodiscard]] constexpr auto plane_rows() {
  constexpr num::Ring kRing = kTerms == 2 ? num::Ring::kComplex : num::Ring::kReal;
  constexpr std::size_t kModuli = kTerms == 2 ? num::kComplexModuli.size() : num::kRealModuli.size();
  std::array<PlaneRow<kTerms, kWords>, static_cast<std::size_t>(num::num_planes(kRing, kModuli))> rows{};
  for (int l = 0; l < static_cast<int>(kModuli); ++l) {
    const int p = num::modulus(kRing, l);
    const int planes = num::planes_of_modulus(kRing, l);
    for (int i = 0; i < planes; ++i) {
      const int root = planes == 2 ? num::sqrt_minus_one(p) : 0;
      const std::array<int, 2> factors = planes == 1   ? std::array{1, 0}
                                         : planes == 2 ? std::array{1, i == 0 ? root : -root}
                                                       : std::array{i != 1 ? 1 : 0, i != 0 ? 1 : 0};
      rows[static_cast<std::size_t>(num::num_planes(kRing, l) + i)] = plane_row<kTerms, kWords>(p, factors, kResidues);
    }
  }
  return rows;
}
template <int kTerms, int kWords, Residues kResidues>
__device__ constexpr auto kPlaneRows = plane_rows<kTerms, kWords, kResidues>();

/// Copies the rows of planes [0, num_planes) to shared memory; the threads of the block share the work.
template <int kTerms, int kWords>
__device__ void load_plane_rows(PlaneRow<kTerms, kWords>* rows, int num_planes, bool is_unsigned) {
  constexpr int kSize = static_cast<int>(sizeof(PlaneRow<kTerms, kWords>) / 4);
  const auto* of_planes = kPlaneRows<kTerms, kWords, Residues::kSymmetric>.data();
  if constexpr (base::code_has_unsigned_planes()) {
    if (is_unsigned) of_planes = kPlaneRows<kTerms, kWords, Residues::kUnsigned>.data();
  } else if (is_unsigned) {
    __trap();
  }
  const auto* const from = reinterpret_cast<const std::uint32_t*>(of_planes);
  for (int i = static_cast<int>(threadIdx.x); i < num_planes * kSize; i += static_cast<int>(blockDim.x))
    reinterpret_cast<std::uint32_t*>(rows)[i] = from[i];
}

}  // namespace kizami::ozaki2::kernels
