// SPDX-License-Identifier: MIT
#include "schemes/ec/recipe.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <initializer_list>

namespace kizami::ec {
namespace {

using num::FloatType;
using product::FloatSum;
using product::PlanePair;

/// The promotion interval of scheme ec where the caller names none. 64 keeps the bias of truncation below the error of
/// a native product from k = 150 on (num::ec_bound); 128 would need k = 230.
constexpr std::int64_t kPromotionInterval = 64;
/// Steps of the unpromoted variants are 16 x 16 x 16 [Markidis2018].
constexpr std::int64_t kStepInterval = 16;
/// Scaled FP16 lines: the largest binade whose elements cannot round up to infinity.
constexpr int kTopFp16 = 14;
/// Scaled BF16 and TF32 lines: products stay below 2^92 and sums of 2^34 of them below 2^126.
constexpr int kTopWide = 45;
/// Lines of multiples of 2^-45, thus scaled, have products of at least 2^-90 or none. What FP32 sums below 2^-126 lose,
/// 2^-149 a step, is less than 2^-29 |A||B| in 2^30 steps: a part of the 2^-26 that plan_ec() sets aside.
constexpr int kSafeUnitWide = -45;
/// Lines of BF16 and TF32 that are not scaled: what FP32 sums lose below 2^-126, 2^-119 in 2^30 steps, is less than a
/// floor of 2^kFloorWide times the largest element of either line, if that is at least 2^kLeastWide.
constexpr int kFloorWide = -100;
constexpr int kLeastWide = -19;
/// FP16 lines of multiples of 2^-3 have no subnormal first part, and where a remainder is subnormal, its alignment
/// costs 2^(-14 - 25) of |b| at most, which is 2^-11 2^-25 of |a b|: what a remainder may cost. With remainders times
/// 2^11 the first parts decide: 2^-14.
constexpr int kSafeUnitFp16 = -3;
constexpr int kSafeUnitShifted = -14;
/// Addends of a step, and the fraction bits that they are aligned to, of the least careful tensor core that is
/// modelled.
constexpr int kStepAddends = 17;
constexpr int kLeastFractionBits = 24;
/// Range errors below this part of the largest element are not told apart.
constexpr int kFloorDepth = 100;

FloatSum sum_of(bool promotes, std::initializer_list<PlanePair> pairs) {
  FloatSum sum;
  sum.promotes = promotes;
  for (const PlanePair& pair : pairs) sum.pairs[static_cast<std::size_t>(sum.num_pairs++)] = pair;
  return sum;
}

/// All pairs of parts with i + j <= last, the smallest products first.
FloatSum triangle(int num_parts, int last) {
  FloatSum sum;
  for (int degree = last; degree >= 0; --degree) {
    for (int i = std::min(degree, num_parts - 1); i >= std::max(0, degree - num_parts + 1); --i) {
      sum.pairs[static_cast<std::size_t>(sum.num_pairs++)] = {static_cast<std::int8_t>(i),
                                                              static_cast<std::int8_t>(degree - i)};
    }
  }
  return sum;
}

/// hi hi promoted; the corrections apart, at 2^-shift; lo lo, if kept, at 2^-2 shift. [OY2021, equations 19 and 20]
void set_separate_sums(const ErrorCorrection& wishes, EcRecipe& recipe) {
  recipe.num_sums = wishes.keep_small_term ? 3 : 2;
  recipe.sums[0] = sum_of(true, {{0, 0}});
  recipe.sums[1] = sum_of(wishes.promote_corrections, {{1, 0}, {0, 1}});
  recipe.sums[2] = sum_of(wishes.promote_corrections, {{1, 1}});
}

void set_uncorrected(FloatType type, EcRecipe& recipe) {
  recipe.type = type;
  recipe.split.num_parts = 1;
  recipe.k_interval = kStepInterval;
  recipe.sums[0] = sum_of(false, {{0, 0}});
}

[[nodiscard]] double round_up_to(double x, double least) { return x < least ? least : x; }

}  // namespace

EcRecipe ec_recipe(EcVariant variant, const ErrorCorrection& wishes) {
  EcRecipe recipe;
  recipe.variant = variant;
  recipe.k_interval = kPromotionInterval;
  switch (variant) {
    case EcVariant::kAuto:
    case EcVariant::kScaled:
      recipe.variant = EcVariant::kScaled;
      recipe.sums[0] = wishes.keep_small_term ? triangle(2, 2) : triangle(2, 1);
      break;
    case EcVariant::kHalfhalf:
      recipe.scales_lines = false;
      recipe.split.remainder_shift = 11;
      set_separate_sums(wishes, recipe);
      break;
    case EcVariant::kTf32tf32:
      recipe.type = FloatType::kTf32;
      recipe.scales_lines = false;
      recipe.split.rounding = RoundingMode::kNearestAway;
      recipe.split.remainder_shift = 11;
      set_separate_sums(wishes, recipe);
      break;
    case EcVariant::kScaledTf32:
      recipe.type = FloatType::kTf32;
      recipe.split.rounding = RoundingMode::kNearestAway;
      recipe.sums[0] = wishes.keep_small_term ? triangle(2, 2) : triangle(2, 1);
      break;
    case EcVariant::kMarkidis:
    case EcVariant::kFeng:
      recipe.scales_lines = false;
      recipe.k_interval = kStepInterval;
      recipe.sums[0] = triangle(2, 2);
      recipe.sums[0].promotes = false;
      break;
    case EcVariant::kBf16x3:
      recipe.type = FloatType::kBf16;
      recipe.sums[0] = wishes.keep_small_term ? triangle(2, 2) : triangle(2, 1);
      break;
    case EcVariant::kBf16x6:
    case EcVariant::kBf16x9:
      recipe.type = FloatType::kBf16;
      recipe.split.num_parts = 3;
      recipe.sums[0] = triangle(3, variant == EcVariant::kBf16x9 ? 4 : 2);
      break;
    case EcVariant::kFp16:
      set_uncorrected(FloatType::kFp16, recipe);
      recipe.scales_lines = false;
      break;
    case EcVariant::kTf32:
      set_uncorrected(FloatType::kTf32, recipe);
      recipe.scales_lines = false;
      recipe.split.rounding = RoundingMode::kNearestAway;
      break;
  }
  recipe.top_exponent = (recipe.type == FloatType::kFp16 ? kTopFp16 : kTopWide) - (wishes.karatsuba ? 1 : 0);
  if (wishes.truncate_parts && variant != EcVariant::kFeng) recipe.split.rounding = RoundingMode::kTowardZero;
  if (wishes.promotion_k > 0) recipe.k_interval = wishes.promotion_k;
  if (wishes.remainder_shift >= 0 && recipe.num_sums > 1) recipe.split.remainder_shift = wishes.remainder_shift;
  return recipe;
}

num::TensorCore ec_tensor_core(TensorCoreModel model, FloatType type) {
  switch (model) {
    case TensorCoreModel::kHopper:
      break;
    case TensorCoreModel::kAmpere:
      return num::ampere_tensor_core(type);
    case TensorCoreModel::kMmaRn:
      return num::mma_rn_tensor_core();
    case TensorCoreModel::kMmaRz:
      return num::mma_rz_tensor_core();
  }
  return num::hopper_tensor_core(type);
}

num::EcErrorTerms ec_error_terms(const EcRecipe& recipe, const num::TensorCore& core) {
  return product::error_terms(ec_arithmetic(recipe, core), recipe.split.num_parts, recipe.split.rounding);
}

product::FloatProductDesc ec_arithmetic(const EcRecipe& recipe, const num::TensorCore& core) {
  product::FloatProductDesc desc;
  desc.type = recipe.type;
  desc.core = core;
  desc.k_interval = recipe.k_interval;
  desc.intervals_promoted = recipe.intervals_promoted;
  desc.remainder_shift = recipe.split.remainder_shift;
  desc.num_sums = recipe.num_sums;
  desc.sums = recipe.sums;
  return desc;
}

int ec_floor_exponent(const EcRecipe& recipe) {
  const int half = recipe.split.rounding == RoundingMode::kTowardZero ? 0 : 1;
  const int lost =
      num::min_ulp_exponent(recipe.type) - recipe.split.remainder_shift * (recipe.split.num_parts - 1) - half;
  int num_pairs = 0;
  for (int q = 0; q < recipe.num_sums; ++q) num_pairs += recipe.sums[static_cast<std::size_t>(q)].num_pairs;
  const int addends = std::bit_width(static_cast<unsigned>(kStepAddends * num_pairs));
  const int misaligned = addends + num::min_exponent(recipe.type) - kLeastFractionBits;
  const int floor = std::max(lost, misaligned);
  if (recipe.scales_lines) return std::max(floor, recipe.top_exponent - kFloorDepth);
  return recipe.type == FloatType::kFp16 ? floor : std::max(floor, kFloorWide);
}

namespace {

/// log2 of the unit that ec_weight() counts range errors in.
[[nodiscard]] int weight_unit(const EcRecipe& recipe) {
  return (recipe.scales_lines ? recipe.top_exponent : 0) - ec_floor_exponent(recipe);
}

}  // namespace

double ec_karatsuba_bound(const EcRecipe& recipe, double error, std::int64_t k) {
  const double range = std::ldexp(7.0 * std::sqrt(static_cast<double>(k)), -weight_unit(recipe));
  return (3.0 * error + range + 0x1p-24) * (1.0 + 0x1p-7);
}

float ec_allowance(const EcRecipe& recipe, double budget, std::int64_t k) {
  // 2^-6 for the smaller one of the two terms of the floor and for what the lost parts would have added to rounding
  // errors.
  return num::certified_allowance(std::ldexp(budget, weight_unit(recipe)) * (1.0 - 0x1p-6), k);
}

num::LineWeight ec_weight(const EcRecipe& recipe, const num::LineStats& line, std::int64_t k) {
  num::LineWeight weight;
  weight.exact_rung = 1;
  if (line.is_zero()) {
    weight.exact_rung = 0;
    return weight;
  }
  // Beyond 2^100 no pair is certified: allowances are below 2^100, and lower bounds of |A||B| below 2^37.
  constexpr double kCertainFailure = 0x1p100;
  const double floor = recipe.scales_lines ? 1.0 : std::ldexp(1.0, std::min(-line.exponent, 100));
  const double own = std::ldexp(floor * static_cast<double>(k), -weight_unit(recipe));
  const double norm1 = std::ldexp(static_cast<double>(line.sum_abs), -num::kAbsBits) * (1.0 + 0x1p-50) + own;
  weight.norm2 = num::round_up_to_float(std::min(floor, kCertainFailure));
  weight.norm1 = num::round_up_to_float(round_up_to(std::min(norm1, 0x1p120), 1.0));
  // Lines of multiples of the safe unit have no range error: no part is lost, and none is misaligned.
  const int scale = recipe.scales_lines ? recipe.top_exponent - line.exponent : 0;
  const int safe_unit = recipe.type != FloatType::kFp16      ? kSafeUnitWide
                        : recipe.split.remainder_shift >= 11 ? kSafeUnitShifted
                                                             : kSafeUnitFp16;
  if (line.lsb + scale >= safe_unit) weight.exact_rung = 0;
  return weight;
}

bool ec_fits(const EcRecipe& recipe, const num::LineStats& line) {
  if (recipe.scales_lines || line.is_zero()) return true;
  if (recipe.type != FloatType::kFp16 && line.exponent < kLeastWide) return false;
  return line.exponent <= recipe.top_exponent;
}

std::int32_t ec_line_scale(const EcRecipe& recipe, const num::LineStats& line) {
  return ec_line_scale(recipe.scales_lines, recipe.top_exponent, line);
}

}  // namespace kizami::ec
