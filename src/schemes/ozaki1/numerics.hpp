// SPDX-License-Identifier: MIT
// The numerics of scheme ozaki1 as data: digits, how many of them, which products, and how complex products become real
// ones. Sums are exact, so this and nothing else fixes the bits; how products share accumulators is a matter of the
// schedule. Or sums are FP64 numbers, to which products are added one by one: of each real product from the first
// anti-diagonal to the last, in it from the first slice of A to the last. Then k is one block.
//
// An accuracy in gauge kEntry makes rungs of more and more slices. The certificate of scheme ozaki2 chooses the first
// one that certifies all pairs of lines, with weights to match (num::slice_weight()); behind the last one stands scheme
// ozaki2.
#pragma once

#include <array>
#include <cstdint>

#include "kizami/policy.hpp"
#include "num/rung.hpp"
#include "num/slice_weight.hpp"
#include "num/slices.hpp"
#include "num/tensor_core.hpp"

namespace kizami::ozaki1 {

struct SliceRung {
  int num_slices = 0;
  int num_diagonals = 0;  ///< products of slices i + j < num_diagonals

  friend constexpr bool operator==(const SliceRung&, const SliceRung&) = default;
};
inline constexpr int kMaxSliceRungs = 5;

struct SliceNumerics {
  SliceFormat format = SliceFormat::kInt8;
  num::DigitRule rule;
  ComplexForm complex_form = ComplexForm::kAuto;  ///< of complex types never kAuto
  bool until_zero = false;       ///< the operands decide the number of slices, up to that of the one rung
  bool takes_all_pairs = false;  ///< then num_diagonals is twice the slices less one
  bool one_scale = false;
  bool rounds_sums = false;  ///< SliceSums::kRounded
  std::array<SliceRung, kMaxSliceRungs> rungs{};
  int num_rungs = 0;
  num::Ladder ladder;        ///< as many rungs with the allowances of num::is_certified(); none without a certificate
  double dropped_share = 0;  ///< k Q / R_l, the largest of all rungs

  [[nodiscard]] const SliceRung& last() const { return rungs[static_cast<std::size_t>(num_rungs - 1)]; }
};

/// One real product of parts of the operands, and the sign it enters the real and the imaginary part with.
struct SlicedProduct {
  int a_part = 0;
  int b_part = 0;
  int signs[2] = {1, 0};
  int shift = 0;  ///< its unit is 2^shift times that of the others
};
/// How a product of the type becomes real products.
struct SlicedForm {
  int num_parts = 1;  ///< of A and of B, but one of B where parts of A are stacked
  num::SliceTerms a_terms[3] = {};
  num::SliceTerms b_terms[3] = {};
  int num_stacked = 1;  ///< parts of A that make one taller matrix: part q of it gives form q of the result
  int num_products = 1;
  SlicedProduct products[4] = {};

  [[nodiscard]] int b_parts() const { return num_stacked > 1 ? 1 : num_parts; }
};
[[nodiscard]] SlicedForm sliced_form(bool is_complex, ComplexForm form);

/// The rung of a call that goes on until nothing is left, given the digits that hold every line.
[[nodiscard]] SliceRung rung_until_zero(const SliceNumerics& numerics, int num_digits);

/// Significand bits of a format; of INT8 the bits of a digit.
[[nodiscard]] int slice_significand(SliceFormat format);
/// Bits of the sums that the accumulator of a format holds exactly: FP32's 24; of FP8 on Hopper 14, since it aligns
/// addends to 13 bits below the largest.
[[nodiscard]] int slice_accumulator_bits(SliceFormat format);
/// Elements of k, times slices, whose products of digits sum exactly in one accumulator; what an engine takes at once
/// that does not promote sums.
[[nodiscard]] std::int64_t slice_sum_limit(SliceFormat format, const num::DigitRule& rule);
/// The rule that a format, a split and a wish of bits make. @range as checked by validate_slices()
[[nodiscard]] num::DigitRule slice_rule(const Slicing& wishes);
/// The format that carries slices on a tensor core: FP8 numbers are FP16 numbers, and so are their products' sums.
[[nodiscard]] num::FloatType slice_float_type(SliceFormat format);

/// What num::slice_weight() needs of the rungs.
[[nodiscard]] num::SliceLadder slice_ladder(const SliceNumerics& numerics);

}  // namespace kizami::ozaki1
