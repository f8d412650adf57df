// SPDX-License-Identifier: MIT
// From the residues of real and imaginary parts to the planes of a complex operand, in INT16 (Highway, chosen at run
// time). With s^2 = -1 (mod p), |s| < p/2:
//   two planes    x = re + s im and re - s im, |x| <= 2^7 + 2^14; q = floor(x round(2^16 / p) / 2^16) differs from x/p
//                 by less than 1 + 0.14, so r = x - q p lies in [-0.14 p, 1.14 p) and one subtraction makes it
//                 symmetric
//   three planes  re, im and re + im, one correction
#include "schemes/ozaki2/residues.hpp"

#include "num/modular.hpp"
#include "num/moduli.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "schemes/ozaki2/complex_planes.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace kizami::ozaki2::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET != HWY_SCALAR

using D16 = hn::CappedTag<std::int16_t, 32>;
using V16 = hn::Vec<D16>;

/// Parts of the next elements as INT16.
HWY_INLINE void LoadParts(D16 d, const std::int8_t* interleaved, V16& re, V16& im) {
  const hn::Rebind<std::int8_t, D16> d8;
  auto re8 = hn::Zero(d8);
  auto im8 = hn::Zero(d8);
  hn::LoadInterleaved2(d8, interleaved, re8, im8);
  re = hn::PromoteTo(d, re8);
  im = hn::PromoteTo(d, im8);
}
HWY_INLINE void StorePlane(D16 d, V16 r, std::int8_t* out) {
  static_cast<void>(d);
  const hn::Rebind<std::int8_t, D16> d8;
  hn::StoreU(hn::DemoteTo(d8, r), d8, out);
}

void CombineParts(const std::int8_t* interleaved, std::int64_t count, int l, std::int8_t* out,
                  std::int64_t plane_stride) {
  const D16 d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const int modulus = num::modulus(num::Ring::kComplex, l);
  const auto set = [&](int x) HWY_ATTR { return hn::Set(d, static_cast<std::int16_t>(x)); };
  const V16 p = set(modulus);
  const V16 highest = set(num::residue_max(modulus));
  const V16 lowest = set(num::residue_min(modulus));
  if (l < num::kTwoProductModuli) {
    const V16 root = set(num::symmetric_residue(num::sqrt_minus_one(modulus), modulus));
    const V16 inverse = set((65536 + modulus / 2) / modulus);
    const auto reduce = [&](V16 x) HWY_ATTR {
      const V16 r = hn::Sub(x, hn::Mul(hn::MulHigh(x, inverse), p));
      return hn::Sub(r, hn::IfThenElseZero(hn::Gt(r, highest), p));
    };
    for (std::int64_t h = 0; h < count; h += lanes) {
      V16 re, im;
      LoadParts(d, interleaved + 2 * h, re, im);
      const V16 rotated = hn::Mul(root, im);
      StorePlane(d, reduce(hn::Add(re, rotated)), out + h);
      StorePlane(d, reduce(hn::Sub(re, rotated)), out + plane_stride + h);
    }
    return;
  }
  for (std::int64_t h = 0; h < count; h += lanes) {
    V16 re, im;
    LoadParts(d, interleaved + 2 * h, re, im);
    V16 sum = hn::Add(re, im);
    sum = hn::Sub(sum, hn::IfThenElseZero(hn::Gt(sum, highest), p));
    sum = hn::Add(sum, hn::IfThenElseZero(hn::Lt(sum, lowest), p));
    StorePlane(d, re, out + h);
    StorePlane(d, im, out + plane_stride + h);
    StorePlane(d, sum, out + 2 * plane_stride + h);
  }
}

#else  // no vectors

void CombineParts(const std::int8_t* interleaved, std::int64_t count, int l, std::int8_t* out,
                  std::int64_t plane_stride) {
  const int p = num::modulus(num::Ring::kComplex, l);
  const int root = num::sqrt_minus_one(p);
  for (std::int64_t h = 0; h < count; ++h) {
    const int re = interleaved[2 * h];
    const int im = interleaved[2 * h + 1];
    const auto store = [&](int plane, int x) {
      out[plane * plane_stride + h] = static_cast<std::int8_t>(num::symmetric_residue(x, p));
    };
    store(0, l < num::kTwoProductModuli ? re + root * im : re);
    store(1, l < num::kTwoProductModuli ? re - root * im : im);
    if (l >= num::kTwoProductModuli) store(2, re + im);
  }
}

#endif

}  // namespace kizami::ozaki2::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kizami::ozaki2 {

HWY_EXPORT(CombineParts);

void combine_parts(const std::int8_t* interleaved, std::int64_t count, int l, std::int8_t* out,
                   std::int64_t plane_stride) {
  HWY_DYNAMIC_DISPATCH(CombineParts)(interleaved, count, l, out, plane_stride);
}

}  // namespace kizami::ozaki2
#endif
