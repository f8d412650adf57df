// SPDX-License-Identifier: MIT
#include "schemes/ozaki1/numerics.hpp"

#include <algorithm>

#include "product/product.hpp"

namespace kizami::ozaki1 {
namespace {

using num::SliceTerms;

/// Digits are not made so long that an accumulator would hold sums of fewer elements of k.
constexpr int kLeastBlockBits = 6;

}  // namespace

SlicedForm sliced_form(bool is_complex, ComplexForm form) {
  SlicedForm out;
  if (!is_complex) return out;
  switch (form) {
    case ComplexForm::kAuto:
    case ComplexForm::kFourProducts:
      out.num_parts = 2;
      out.num_products = 4;
      out.products[0] = {0, 0, {1, 0}};
      out.products[1] = {1, 1, {-1, 0}};
      out.products[2] = {0, 1, {0, 1}};
      out.products[3] = {1, 0, {0, 1}};
      break;
    case ComplexForm::kKaratsuba:
      out.num_parts = 3;
      out.num_products = 3;
      out.products[0] = {0, 0, {1, -1}};
      out.products[1] = {1, 1, {-1, -1}};
      out.products[2] = {2, 2, {0, 1}, 2};
      break;
    case ComplexForm::kEnlarged:
      out.num_parts = 2;
      out.num_stacked = 2;
      out.a_terms[0] = SliceTerms::kRealForm;
      out.a_terms[1] = SliceTerms::kImagForm;
      return out;
  }
  constexpr SliceTerms kTerms[3] = {SliceTerms::kReal, SliceTerms::kImaginary, SliceTerms::kSum};
  std::copy_n(kTerms, out.num_parts, out.a_terms);
  std::copy_n(kTerms, out.num_parts, out.b_terms);
  return out;
}

SliceRung rung_until_zero(const SliceNumerics& numerics, int num_digits) {
  SliceRung rung = numerics.last();
  rung.num_slices = std::clamp(num_digits, 1, rung.num_slices);
  const int all = 2 * rung.num_slices - 1;
  rung.num_diagonals = numerics.takes_all_pairs ? all : std::min(rung.num_diagonals, all);
  return rung;
}

int slice_significand(SliceFormat format) {
  switch (format) {
    case SliceFormat::kInt8:
      return 7;
    case SliceFormat::kFp16:
      return 11;
    case SliceFormat::kBf16:
      return 8;
    case SliceFormat::kE4m3:
      return 4;
    case SliceFormat::kE5m2:
      return 3;
  }
  return 0;
}

int slice_accumulator_bits(SliceFormat format) {
  return format == SliceFormat::kE4m3 || format == SliceFormat::kE5m2 ? 14 : 24;
}

std::int64_t slice_sum_limit(SliceFormat format, const num::DigitRule& rule) {
  if (format != SliceFormat::kInt8) return num::float_block(rule.head, slice_accumulator_bits(format));
  return std::min(num::int32_block(rule), product::kBlockMaxI8) / product::kPadBytes * product::kPadBytes;
}

num::DigitRule slice_rule(const Slicing& wishes) {
  if (wishes.format != SliceFormat::kInt8) {
    const int most = (slice_accumulator_bits(wishes.format) - kLeastBlockBits) / 2;
    const int bits = std::min(slice_significand(wishes.format), most);
    return num::digit_rule(num::DigitKind::kNearest, wishes.slice_bits == 0 ? bits : wishes.slice_bits);
  }
  const int bits = wishes.slice_bits;
  switch (wishes.split) {
    case SliceSplit::kTruncated:
      return num::digit_rule(num::DigitKind::kTruncated, bits == 0 ? 7 : bits);
    case SliceSplit::kNearest:
      return num::digit_rule(num::DigitKind::kNearest, bits == 0 ? 6 : bits);
    case SliceSplit::kAuto:
      if (bits != 0 && bits != 7) return num::digit_rule(num::DigitKind::kNearest, bits);
      break;
    case SliceSplit::kBytes:
      break;
  }
  return num::digit_rule(num::DigitKind::kBytes, 7);
}

num::FloatType slice_float_type(SliceFormat format) {
  return format == SliceFormat::kBf16 ? num::FloatType::kBf16 : num::FloatType::kFp16;
}

num::SliceLadder slice_ladder(const SliceNumerics& numerics) {
  num::SliceLadder ladder;
  ladder.rule = numerics.rule;
  ladder.num_rungs = numerics.num_rungs;
  ladder.dropped_share = numerics.dropped_share;
  for (std::size_t r = 0; r < static_cast<std::size_t>(numerics.num_rungs); ++r) {
    const SliceRung& rung = numerics.rungs[r];
    ladder.exact_digits[r] = std::min(rung.num_slices, (rung.num_diagonals + 1) / 2);
  }
  return ladder;
}

}  // namespace kizami::ozaki1
