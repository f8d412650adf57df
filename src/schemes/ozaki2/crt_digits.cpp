// SPDX-License-Identifier: MIT
// The digit sums of the CRT, vectorised in FP64 (Highway, chosen at run time). Every product and sum is an integer
// below 2^53, so fused or not, in any order, the bits are the same. Only the quotient q = rint(sum_q r_q W_q / P)
// rounds: its terms sum to less than 2^13 in magnitude, so 64 roundings and the errors of the fractions W_q / P (2^-50
// relative) amount to less than 2^-33 before rint, and X - qP lies within (1/2 + 2^-33) P of zero.
#include "schemes/ozaki2/crt.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "schemes/ozaki2/crt_digits.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace kizami::ozaki2::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_HAVE_FLOAT64

template <int kDigits>
void DigitSums(const num::CrtTable& table, const std::int8_t* residues, std::int64_t plane_stride, std::int64_t count,
               double* digits) {
  const hn::ScalableTag<double> d;
  const hn::Rebind<std::int32_t, decltype(d)> d32;
  const hn::Rebind<std::int8_t, decltype(d)> d8;
  using V = hn::Vec<decltype(d)>;
  static_assert(kDigits >= 1 && kDigits <= num::kMaxCrtDigits);
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t i = 0; i < count; i += lanes) {
    V quotient = hn::Zero(d);
    V s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0, s4 = s0, s5 = s0, s6 = s0, s7 = s0, s8 = s0, s9 = s0;
    const auto accumulate = [&](V r, const double* w) HWY_ATTR {
      s0 = hn::MulAdd(r, hn::Set(d, w[0]), s0);
      if constexpr (kDigits > 1) s1 = hn::MulAdd(r, hn::Set(d, w[1]), s1);
      if constexpr (kDigits > 2) s2 = hn::MulAdd(r, hn::Set(d, w[2]), s2);
      if constexpr (kDigits > 3) s3 = hn::MulAdd(r, hn::Set(d, w[3]), s3);
      if constexpr (kDigits > 4) s4 = hn::MulAdd(r, hn::Set(d, w[4]), s4);
      if constexpr (kDigits > 5) s5 = hn::MulAdd(r, hn::Set(d, w[5]), s5);
      if constexpr (kDigits > 6) s6 = hn::MulAdd(r, hn::Set(d, w[6]), s6);
      if constexpr (kDigits > 7) s7 = hn::MulAdd(r, hn::Set(d, w[7]), s7);
      if constexpr (kDigits > 8) s8 = hn::MulAdd(r, hn::Set(d, w[8]), s8);
      if constexpr (kDigits > 9) s9 = hn::MulAdd(r, hn::Set(d, w[9]), s9);
    };
    for (int q = 0; q < table.num_planes; ++q) {
      const auto r = hn::PromoteTo(d, hn::PromoteTo(d32, hn::LoadU(d8, residues + q * plane_stride + i)));
      quotient = hn::MulAdd(r, hn::Set(d, table.fraction[q]), quotient);
      accumulate(r, table.weight[q]);
    }
    accumulate(hn::Neg(hn::Round(quotient)), table.product);
    hn::StoreU(s0, d, digits + i);
    if constexpr (kDigits > 1) hn::StoreU(s1, d, digits + kSegment + i);
    if constexpr (kDigits > 2) hn::StoreU(s2, d, digits + 2 * kSegment + i);
    if constexpr (kDigits > 3) hn::StoreU(s3, d, digits + 3 * kSegment + i);
    if constexpr (kDigits > 4) hn::StoreU(s4, d, digits + 4 * kSegment + i);
    if constexpr (kDigits > 5) hn::StoreU(s5, d, digits + 5 * kSegment + i);
    if constexpr (kDigits > 6) hn::StoreU(s6, d, digits + 6 * kSegment + i);
    if constexpr (kDigits > 7) hn::StoreU(s7, d, digits + 7 * kSegment + i);
    if constexpr (kDigits > 8) hn::StoreU(s8, d, digits + 8 * kSegment + i);
    if constexpr (kDigits > 9) hn::StoreU(s9, d, digits + 9 * kSegment + i);
  }
}

void CrtDigits(const num::CrtTable& table, const std::int8_t* residues, std::int64_t plane_stride, std::int64_t count,
               double* digits) {
  switch (table.num_digits) {
    case 1:
      return DigitSums<1>(table, residues, plane_stride, count, digits);
    case 2:
      return DigitSums<2>(table, residues, plane_stride, count, digits);
    case 3:
      return DigitSums<3>(table, residues, plane_stride, count, digits);
    case 4:
      return DigitSums<4>(table, residues, plane_stride, count, digits);
    case 5:
      return DigitSums<5>(table, residues, plane_stride, count, digits);
    case 6:
      return DigitSums<6>(table, residues, plane_stride, count, digits);
    case 7:
      return DigitSums<7>(table, residues, plane_stride, count, digits);
    case 8:
      return DigitSums<8>(table, residues, plane_stride, count, digits);
    case 9:
      return DigitSums<9>(table, residues, plane_stride, count, digits);
    default:
      return DigitSums<10>(table, residues, plane_stride, count, digits);
  }
}

#else  // no FP64 vectors

void CrtDigits(const num::CrtTable& table, const std::int8_t* residues, std::int64_t plane_stride, std::int64_t count,
               double* digits) {
  for (std::int64_t i = 0; i < count; ++i) {
    double quotient = 0;
    double sums[num::kMaxCrtDigits] = {};
    for (int q = 0; q < table.num_planes; ++q) {
      const double r = residues[q * plane_stride + i];
      quotient += r * table.fraction[q];
      for (int d = 0; d < table.num_digits; ++d) sums[d] += r * table.weight[q][d];
    }
    const double rounded = (quotient + 0x1.8p52) - 0x1.8p52;
    for (int d = 0; d < table.num_digits; ++d) digits[d * kSegment + i] = sums[d] - rounded * table.product[d];
  }
}

#endif

}  // namespace kizami::ozaki2::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kizami::ozaki2 {

HWY_EXPORT(CrtDigits);

void crt_digits(const num::CrtTable& table, const std::int8_t* residues, std::int64_t plane_stride, std::int64_t count,
                double* digits) {
  HWY_DYNAMIC_DISPATCH(CrtDigits)(table, residues, plane_stride, count, digits);
}

}  // namespace kizami::ozaki2
#endif
