// SPDX-License-Identifier: MIT
// The inner loops of the FP64 rung for pairs of lines that together span more exponents than FP64 has, vectorised along
// lines of A (Highway, chosen at run time). Operations and their order per element do not depend on the vector length.
//
// Operations on subnormal numbers take 100 clocks and more, and terms are often that small beside the largest of their
// pair. So the first factor is held 2^900 times too large and the second 2^-900 times: a fused multiply-add of them has
// the same exact product, hence the same bits. What ldexp() rounds to a multiple of 2^-1074 is then one of 2^-174, by
// adding and subtracting a number whose last place that is.
#include <algorithm>
#include <cmath>

#include "fp64/fp64.hpp"
#include "num/exponent.hpp"

#ifndef KIZAMI_FP64_WIDE_TILE_ONCE
#define KIZAMI_FP64_WIDE_TILE_ONCE
namespace kizami::fp64 {

inline void take_apart(double value, double& mantissa, double& exponent) {
  const int e = value == 0.0 ? 0 : num::floor_log2(value);
  mantissa = value == 0.0 ? 0.0 : num::ldexp(value, -e);
  exponent = value == 0.0 ? kNoTerm : e;
}

}  // namespace kizami::fp64
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "fp64/wide_tile.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace kizami::fp64::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_NATIVE_FMA && HWY_HAVE_FLOAT64

using D = hn::CappedTag<double, kTileA>;
using V = hn::Vec<D>;

constexpr double kUp = 900;  // 2^900 and 2^-900
constexpr double kDownFactor = 0x1p-900;

/// Scaled() is a 2^(a_exponent + b_exponent - largest + 900), for pairs whose largest terms have these exponents: what
/// lies below 2^-1075 before the 900 becomes zero. Held is what does not change along a line.
struct Scaling {
  V least;      ///< smaller sums of exponents count as this one: their terms are zero
  V bias;       ///< added to such a sum it leaves the exponent's field of the power of two in the low bits
  V subnormal;  ///< terms of smaller sums are rounded

  HWY_INLINE Scaling(D d, V largest)
      : least(hn::Sub(largest, hn::Set(d, 1080.0))),
        bias(hn::Sub(hn::Set(d, 0x1p52 + kUp + 1023), largest)),
        subnormal(hn::Sub(largest, hn::Set(d, 1022.0))) {}

  HWY_INLINE V Scaled(D d, V a, V a_exponent, V b_exponent) const {
    const hn::RebindToUnsigned<D> du;
    const V exponent = hn::Add(a_exponent, b_exponent);
    const V biased = hn::Add(hn::Max(exponent, least), bias);
    const V x = hn::Mul(a, hn::BitCast(d, hn::ShiftLeft<52>(hn::BitCast(du, biased))));
    const V unit = hn::CopySign(hn::Set(d, 0x1p-122), x);
    return hn::IfThenElse(hn::Lt(exponent, subnormal), hn::Sub(hn::Add(x, unit), unit), x);
  }
};

/// x and exponent of every value: x = mantissa 2^exponent.
void TakeApart(const double* values, std::int64_t count, double* mantissas, double* exponents) {
  const hn::ScalableTag<double> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto field_mask = hn::Set(du, std::uint64_t{0x7FF} << 52);
  const auto one = hn::Set(du, std::uint64_t{1023} << 52);
  const auto magic = hn::BitCast(du, hn::Set(d, 0x1p52));
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto value = hn::LoadU(d, values + i);
    const auto is_normal = hn::Ge(hn::Abs(value), hn::Set(d, 0x1p-1022));
    // Subnormal numbers times 2^64; zero gives mantissa 0.
    const auto normal = hn::IfThenElse(is_normal, value, hn::Mul(value, hn::Set(d, 0x1p64)));
    const auto bits = hn::BitCast(du, normal);
    const auto field = hn::Sub(hn::BitCast(d, hn::Or(hn::ShiftRight<52>(hn::And(bits, field_mask)), magic)),
                               hn::Set(d, 0x1p52 + 1023));
    const auto mantissa = hn::BitCast(d, hn::Or(hn::AndNot(field_mask, bits), one));
    const auto exponent = hn::IfThenElse(is_normal, field, hn::Sub(field, hn::Set(d, 64.0)));
    const auto is_zero = hn::Eq(value, hn::Zero(d));
    hn::StoreU(hn::IfThenElse(is_zero, hn::Zero(d), mantissa), d, mantissas + i);
    hn::StoreU(hn::IfThenElse(is_zero, hn::Set(d, kNoTerm), exponent), d, exponents + i);
  }
  for (; i < count; ++i) take_apart(values[i], mantissas[i], exponents[i]);
}

void LargestTile(const double* a, const double* b, std::int64_t length, double* largest) {
  const D d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t i = 0; i < kTileA; i += lanes) {
    auto m0 = hn::LoadU(d, largest + i), m1 = hn::LoadU(d, largest + kTileA + i),
         m2 = hn::LoadU(d, largest + 2 * kTileA + i), m3 = hn::LoadU(d, largest + 3 * kTileA + i);
    for (std::int64_t h = 0; h < length; ++h) {
      const auto x = hn::LoadU(d, a + h * kTileA + i);
      const double* const y = b + h * kTileB;
      m0 = hn::Max(m0, hn::Add(x, hn::Set(d, y[0])));
      m1 = hn::Max(m1, hn::Add(x, hn::Set(d, y[1])));
      m2 = hn::Max(m2, hn::Add(x, hn::Set(d, y[2])));
      m3 = hn::Max(m3, hn::Add(x, hn::Set(d, y[3])));
    }
    hn::StoreU(m0, d, largest + i);
    hn::StoreU(m1, d, largest + kTileA + i);
    hn::StoreU(m2, d, largest + 2 * kTileA + i);
    hn::StoreU(m3, d, largest + 3 * kTileA + i);
  }
}

void WideChainTile(const double* a, const double* ae, const double* b, const double* be, const double* largest,
                   std::int64_t length, double* sums) {
  const D d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  HWY_ALIGN double down[num::kFp64ChainLength * kTileB];  // B, as much smaller as A is larger
  for (std::int64_t h = 0; h < length * kTileB; ++h) down[h] = b[h] * kDownFactor;
  for (std::int64_t i = 0; i < kTileA; i += lanes) {
    const Scaling of0(d, hn::LoadU(d, largest + i)), of1(d, hn::LoadU(d, largest + kTileA + i)),
        of2(d, hn::LoadU(d, largest + 2 * kTileA + i)), of3(d, hn::LoadU(d, largest + 3 * kTileA + i));
    auto s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
    for (std::int64_t h = 0; h < length; ++h) {
      const auto x = hn::LoadU(d, a + h * kTileA + i);
      const auto e = hn::LoadU(d, ae + h * kTileA + i);
      const double* const y = down + h * kTileB;
      const double* const f = be + h * kTileB;
      s0 = hn::MulAdd(of0.Scaled(d, x, e, hn::Set(d, f[0])), hn::Set(d, y[0]), s0);
      s1 = hn::MulAdd(of1.Scaled(d, x, e, hn::Set(d, f[1])), hn::Set(d, y[1]), s1);
      s2 = hn::MulAdd(of2.Scaled(d, x, e, hn::Set(d, f[2])), hn::Set(d, y[2]), s2);
      s3 = hn::MulAdd(of3.Scaled(d, x, e, hn::Set(d, f[3])), hn::Set(d, y[3]), s3);
    }
    hn::StoreU(s0, d, sums + i);
    hn::StoreU(s1, d, sums + kTileA + i);
    hn::StoreU(s2, d, sums + 2 * kTileA + i);
    hn::StoreU(s3, d, sums + 3 * kTileA + i);
  }
}

/// x rounded to a multiple of 2^-174, if it is below 2^-122: as FP64 rounds what is subnormal, 2^900 above it.
HWY_INLINE V OnGrid(D d, V x) {
  const V unit = hn::CopySign(hn::Set(d, 0x1p-122), x);
  return hn::IfThenElse(hn::Lt(hn::Abs(x), hn::Abs(unit)), hn::Sub(hn::Add(x, unit), unit), x);
}

/// Everything 2^900 times larger: products and their errors are often subnormal.
void WideCompensatedTile(const double* a, const double* ae, const double* b, const double* be, const double* largest,
                         std::int64_t length, double* high, double* low) {
  const D d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const V up = hn::Set(d, 0x1p900);
  const V down = hn::Set(d, kDownFactor);
  const V least = hn::Set(d, 0x1p-122);
  for (std::int64_t j = 0; j < kTileB; ++j) {
    for (std::int64_t i = 0; i < kTileA; i += lanes) {
      const Scaling scaling(d, hn::LoadU(d, largest + j * kTileA + i));
      auto s = hn::Mul(hn::LoadU(d, high + j * kTileA + i), up);
      auto e = hn::Mul(hn::LoadU(d, low + j * kTileA + i), up);
      for (std::int64_t h = 0; h < length; ++h) {
        const auto x = scaling.Scaled(d, hn::LoadU(d, a + h * kTileA + i), hn::LoadU(d, ae + h * kTileA + i),
                                      hn::Set(d, be[h * kTileB + j]));
        const auto y = hn::Set(d, b[h * kTileB + j]);
        const auto product = hn::Mul(x, y);
        const auto unit = hn::CopySign(least, product);
        const auto p =  // rounded once
            hn::IfThenElse(hn::Lt(hn::Abs(product), least), hn::Sub(hn::MulAdd(x, y, unit), unit), product);
        const auto p_error = OnGrid(d, hn::MulSub(x, y, p));
        const auto t = hn::Add(s, p);  // two_sum
        const auto z = hn::Sub(t, s);
        const auto s_error = hn::Add(hn::Sub(s, hn::Sub(t, z)), hn::Sub(p, z));
        s = t;
        e = hn::Add(e, hn::Add(s_error, p_error));
      }
      hn::StoreU(hn::Mul(s, down), d, high + j * kTileA + i);
      hn::StoreU(hn::Mul(e, down), d, low + j * kTileA + i);
    }
  }
}

#else  // no fused multiply-add in hardware: std::fma, the same bits

void TakeApart(const double* values, std::int64_t count, double* mantissas, double* exponents) {
  for (std::int64_t i = 0; i < count; ++i) take_apart(values[i], mantissas[i], exponents[i]);
}

double Scaled(double a, double a_exponent, double b_exponent, double largest) {
  return num::ldexp(a, static_cast<int>(std::max(a_exponent + b_exponent - largest, -1080.0)));
}

void LargestTile(const double* a, const double* b, std::int64_t length, double* largest) {
  for (std::int64_t h = 0; h < length; ++h) {
    for (std::int64_t j = 0; j < kTileB; ++j) {
      for (std::int64_t i = 0; i < kTileA; ++i) {
        double& most = largest[j * kTileA + i];
        most = std::max(most, a[h * kTileA + i] + b[h * kTileB + j]);
      }
    }
  }
}

void WideChainTile(const double* a, const double* ae, const double* b, const double* be, const double* largest,
                   std::int64_t length, double* sums) {
  for (std::int64_t j = 0; j < kTileB; ++j) {
    for (std::int64_t i = 0; i < kTileA; ++i) {
      double s = 0;
      for (std::int64_t h = 0; h < length; ++h) {
        const double x = Scaled(a[h * kTileA + i], ae[h * kTileA + i], be[h * kTileB + j], largest[j * kTileA + i]);
        s = std::fma(x, b[h * kTileB + j], s);
      }
      sums[j * kTileA + i] = s;
    }
  }
}

void WideCompensatedTile(const double* a, const double* ae, const double* b, const double* be, const double* largest,
                         std::int64_t length, double* high, double* low) {
  for (std::int64_t j = 0; j < kTileB; ++j) {
    for (std::int64_t i = 0; i < kTileA; ++i) {
      double s = high[j * kTileA + i];
      double e = low[j * kTileA + i];
      for (std::int64_t h = 0; h < length; ++h) {
        const double x = Scaled(a[h * kTileA + i], ae[h * kTileA + i], be[h * kTileB + j], largest[j * kTileA + i]);
        const double y = b[h * kTileB + j];
        const double p = x * y;
        const double p_error = std::fma(x, y, -p);
        const double t = s + p;
        const double z = t - s;
        e += ((s - (t - z)) + (p - z)) + p_error;
        s = t;
      }
      high[j * kTileA + i] = s;
      low[j * kTileA + i] = e;
    }
  }
}

#endif

}  // namespace kizami::fp64::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kizami::fp64 {

HWY_EXPORT(TakeApart);
HWY_EXPORT(LargestTile);
HWY_EXPORT(WideChainTile);
HWY_EXPORT(WideCompensatedTile);

void take_apart(const double* values, std::int64_t count, double* mantissas, double* exponents) {
  HWY_DYNAMIC_DISPATCH(TakeApart)(values, count, mantissas, exponents);
}
void largest_tile(const TermPanel& a, const TermPanel& b, std::int64_t length, double* largest) {
  HWY_DYNAMIC_DISPATCH(LargestTile)(a.exponents, b.exponents, length, largest);
}
void wide_chain_tile(const TermPanel& a, const TermPanel& b, const double* largest, std::int64_t length, double* sums) {
  HWY_DYNAMIC_DISPATCH(WideChainTile)
  (a.mantissas, a.exponents, b.mantissas, b.exponents, largest, length, sums);
}
void wide_compensated_tile(const TermPanel& a, const TermPanel& b, const double* largest, std::int64_t length,
                           double* high, double* low) {
  HWY_DYNAMIC_DISPATCH(WideCompensatedTile)
  (a.mantissas, a.exponents, b.mantissas, b.exponents, largest, length, high, low);
}

}  // namespace kizami::fp64
#endif
