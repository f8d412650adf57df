// SPDX-License-Identifier: MIT
// The inner loops of the FP64 rung, vectorised along lines of A (Highway, chosen at run time). The operations and their
// order per element do not depend on the vector length.
#include <cmath>

#include "fp64/fp64.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "fp64/tile.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace kizami::fp64::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_NATIVE_FMA && HWY_HAVE_FLOAT64

void ChainTile(const double* a, const double* b, std::int64_t length, double* sums) {
  const hn::CappedTag<double, kTileA> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t i = 0; i < kTileA; i += lanes) {
    auto s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
    for (std::int64_t h = 0; h < length; ++h) {
      const auto x = hn::LoadU(d, a + h * kTileA + i);
      s0 = hn::MulAdd(x, hn::Set(d, b[h * kTileB + 0]), s0);
      s1 = hn::MulAdd(x, hn::Set(d, b[h * kTileB + 1]), s1);
      s2 = hn::MulAdd(x, hn::Set(d, b[h * kTileB + 2]), s2);
      s3 = hn::MulAdd(x, hn::Set(d, b[h * kTileB + 3]), s3);
    }
    hn::StoreU(s0, d, sums + i);
    hn::StoreU(s1, d, sums + kTileA + i);
    hn::StoreU(s2, d, sums + 2 * kTileA + i);
    hn::StoreU(s3, d, sums + 3 * kTileA + i);
  }
}

void CompensatedTile(const double* a, const double* b, std::int64_t length, double* high, double* low) {
  const hn::CappedTag<double, kTileA> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t j = 0; j < kTileB; ++j) {
    for (std::int64_t i = 0; i < kTileA; i += lanes) {
      auto s = hn::LoadU(d, high + j * kTileA + i);
      auto e = hn::LoadU(d, low + j * kTileA + i);
      for (std::int64_t h = 0; h < length; ++h) {
        const auto x = hn::LoadU(d, a + h * kTileA + i);
        const auto y = hn::Set(d, b[h * kTileB + j]);
        const auto p = hn::Mul(x, y);
        const auto p_error = hn::MulSub(x, y, p);
        const auto t = hn::Add(s, p);  // two_sum
        const auto z = hn::Sub(t, s);
        const auto s_error = hn::Add(hn::Sub(s, hn::Sub(t, z)), hn::Sub(p, z));
        s = t;
        e = hn::Add(e, hn::Add(s_error, p_error));
      }
      hn::StoreU(s, d, high + j * kTileA + i);
      hn::StoreU(e, d, low + j * kTileA + i);
    }
  }
}

#else  // no fused multiply-add in hardware: std::fma, the same bits

void ChainTile(const double* a, const double* b, std::int64_t length, double* sums) {
  for (std::int64_t j = 0; j < kTileB; ++j) {
    for (std::int64_t i = 0; i < kTileA; ++i) {
      double s = 0;
      for (std::int64_t h = 0; h < length; ++h) s = std::fma(a[h * kTileA + i], b[h * kTileB + j], s);
      sums[j * kTileA + i] = s;
    }
  }
}

void CompensatedTile(const double* a, const double* b, std::int64_t length, double* high, double* low) {
  for (std::int64_t j = 0; j < kTileB; ++j) {
    for (std::int64_t i = 0; i < kTileA; ++i) {
      double s = high[j * kTileA + i];
      double e = low[j * kTileA + i];
      for (std::int64_t h = 0; h < length; ++h) {
        const double x = a[h * kTileA + i];
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

HWY_EXPORT(ChainTile);
HWY_EXPORT(CompensatedTile);

void chain_tile(const double* a, const double* b, std::int64_t length, double* sums) {
  HWY_DYNAMIC_DISPATCH(ChainTile)(a, b, length, sums);
}
void compensated_tile(const double* a, const double* b, std::int64_t length, double* high, double* low) {
  HWY_DYNAMIC_DISPATCH(CompensatedTile)(a, b, length, high, low);
}

}  // namespace kizami::fp64
#endif
