// SPDX-License-Identifier: MIT
// The residues of one row of scaled elements, vectorised in FP64 with fused multiply-adds (Highway, chosen at run
// time).
//
// X = rint(x 2^s) is an integer and an FP64 number, but may be as large as 2^184. It is cut into limbs of 44 bits,
//   X = X_t 2^(44 t) + ... + X_1 2^44 + X_0,  |X_i| <= 2^43 below the top, |X_t| < 2^52,
// and Horner's rule runs modulo p: y <- (y mod p) (2^44 mod p) + X_i, where |y| <= 2^8 2^7 + 2^43 stays exact.
// One reduction of |y| < 2^52 by p in [19, 256]: q = rint(y (1/p)) errs by at most 1/2 + 2^52 / p 2^-52 < 3/4, q is an
// integer below 2^48, so r = y - q p is exact by a fused multiply-add and |r| < 3p/4; at most one p makes it symmetric.
#include "schemes/ozaki2/residues.hpp"

#include <array>

#include "num/exponent.hpp"
#include "num/modular.hpp"

#ifndef KIZAMI_SPLIT_RESIDUE_ROW_ONCE  // Highway includes this file once a target
#define KIZAMI_SPLIT_RESIDUE_ROW_ONCE
namespace kizami::ozaki2 {

inline constexpr int kLimbBits = 44;
inline constexpr int kTopLimbBits = 52;
inline constexpr int kMaxLimbs = 4;
static_assert(kTopLimbBits + (kMaxLimbs - 1) * kLimbBits == kMaxIntegerBits);

/// 2^44 modulo every number up to 256.
inline constexpr auto kLimbRadix = [] {
  std::array<double, 257> radix{};
  for (int p = 2; p <= 256; ++p) radix[static_cast<std::size_t>(p)] = num::power_of_two_residue(kLimbBits, p);
  return radix;
}();

}  // namespace kizami::ozaki2
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "schemes/ozaki2/residue_row.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace kizami::ozaki2::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

const char* TargetName() { return hwy::TargetName(HWY_TARGET); }

#if HWY_NATIVE_FMA && HWY_HAVE_FLOAT64

/// A modulus with the constants of its reduction, broadcast.
template <class D>
struct Reducer {
  hn::Vec<D> p, inverse, lowest, highest;

  Reducer(D d, int modulus)
      : p(hn::Set(d, modulus)),
        inverse(hn::Set(d, 1.0 / modulus)),
        lowest(hn::Set(d, num::residue_min(modulus))),
        highest(hn::Set(d, num::residue_max(modulus))) {}

  /// y - rint(y / p) p, within 3p/4 of zero.
  HWY_INLINE hn::Vec<D> Coarse(hn::Vec<D> y) const { return hn::NegMulAdd(hn::Round(hn::Mul(y, inverse)), p, y); }
  /// The symmetric residue.
  HWY_INLINE hn::Vec<D> Symmetric(hn::Vec<D> y) const {
    const auto r = Coarse(y);
    const auto high = hn::IfThenElseZero(hn::Gt(r, highest), p);
    const auto low = hn::IfThenElseZero(hn::Lt(r, lowest), p);
    return hn::Add(hn::Sub(r, high), low);
  }
};

void ResidueRow(const double* x, std::int64_t length, double first, double second, int max_bits,
                const std::int16_t* moduli, int num_moduli, std::int8_t* out, std::int64_t plane_stride) {
  const hn::ScalableTag<double> d;
  const hn::Rebind<std::int32_t, decltype(d)> d32;
  const hn::Rebind<std::int8_t, decltype(d)> d8;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const int num_limbs = max_bits <= kTopLimbBits ? 1 : 1 + (max_bits - kTopLimbBits + kLimbBits - 1) / kLimbBits;
  HWY_ALIGN double limbs[kMaxLimbs][problem::kTileLength];  // least significant first

  const auto first_factor = hn::Set(d, first);
  const auto second_factor = hn::Set(d, second);
  for (std::int64_t h = 0; h < length; h += lanes) {
    auto rest = hn::Round(hn::Mul(hn::Mul(hn::LoadU(d, x + h), first_factor), second_factor));
    for (int t = num_limbs - 1; t > 0; --t) {
      const double unit = t == 3 ? 0x1p132 : t == 2 ? 0x1p88 : 0x1p44;
      const auto limb = hn::Round(hn::Mul(rest, hn::Set(d, 1.0 / unit)));
      rest = hn::NegMulAdd(limb, hn::Set(d, unit), rest);
      hn::Store(limb, d, limbs[t] + h);
    }
    hn::Store(rest, d, limbs[0] + h);
  }
  for (int l = 0; l < num_moduli; ++l) {
    const int p = moduli[l];
    const Reducer<decltype(d)> reducer(d, p);
    const auto radix = hn::Set(d, kLimbRadix[static_cast<std::size_t>(p)]);
    std::int8_t* const plane = out + l * plane_stride;
    for (std::int64_t h = 0; h < length; h += lanes) {
      auto y = hn::Load(d, limbs[num_limbs - 1] + h);
      for (int t = num_limbs - 2; t >= 0; --t) y = hn::MulAdd(reducer.Coarse(y), radix, hn::Load(d, limbs[t] + h));
      hn::StoreU(hn::DemoteTo(d8, hn::DemoteTo(d32, reducer.Symmetric(y))), d8, plane + h);
    }
  }
}

#else  // no fused multiply-add: the same integers, one element at a time

void ResidueRow(const double* x, std::int64_t length, double first, double second, int /*max_bits*/,
                const std::int16_t* moduli, int num_moduli, std::int8_t* out, std::int64_t plane_stride) {
  for (std::int64_t h = 0; h < length; ++h) {
    const double scaled = x[h] * first * second;
    // From 2^52 on every FP64 number is an integer; below, adding and subtracting 2^52 rounds to nearest even.
    const double magic = scaled < 0 ? -0x1p52 : 0x1p52;
    const double integer = scaled < 0x1p52 && scaled > -0x1p52 ? (scaled + magic) - magic : scaled;
    const num::Decomposed parts = integer == 0.0 ? num::Decomposed{} : num::decompose(integer);
    for (int l = 0; l < num_moduli; ++l) {
      const int p = moduli[l];
      std::int64_t r = parts.mantissa;
      int e = parts.exponent;
      if (e < 0) {  // an integer: the low bits are zero
        r >>= -e;
        e = 0;
      }
      r = num::symmetric_residue(r, p);
      for (; e > 0; e -= 32) r = num::symmetric_residue(r * (std::int64_t{1} << (e < 32 ? e : 32)), p);
      out[l * plane_stride + h] = static_cast<std::int8_t>(r);
    }
  }
}

#endif

}  // namespace kizami::ozaki2::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kizami::ozaki2 {

HWY_EXPORT(ResidueRow);
HWY_EXPORT(TargetName);

void residue_row(const double* x, std::int64_t length, double first, double second, int max_bits,
                 const std::int16_t* moduli, int num_moduli, std::int8_t* out, std::int64_t plane_stride) {
  HWY_DYNAMIC_DISPATCH(ResidueRow)(x, length, first, second, max_bits, moduli, num_moduli, out, plane_stride);
}

const char* residue_row_target() { return HWY_DYNAMIC_DISPATCH(TargetName)(); }

}  // namespace kizami::ozaki2
#endif
