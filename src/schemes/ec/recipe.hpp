// SPDX-License-Identifier: MIT
// Scheme ec as data: what each variant splits, multiplies and promotes, what error that has, and which operands are in
// its range.
//
// Range. Small elements of a line have an absolute error, the floor, for two reasons:
//   lost        parts below the subnormal numbers of the format round to multiples of the least of them: half of that, or all of it
//               where parts are cut, times 2^-shifts
//   misaligned  a subnormal part is aligned by the exponent of the smallest normal number, 2^e with e = min_exponent, so a
//               step whose largest exponent is its product with b cuts its g + 1 addends at 2^(e - f) |b|, though |a b|
//               may be far below 2^e |b|. The largest |b| of each step add up to ||b||_1 at most: (g + 1) 2^(e - f) a
//               pair.
// Over all of k that is floor_a ||b||_1 + floor_b ||a||_1, which the certificate of scheme ozaki2
// (certify/certificate.hpp) compares with a proven lower bound of (|A||B|)_ij; lines that consist of multiples of the
// unit have no such error. Rungs are tried in order: the first one that certifies all pairs answers; behind the last
// one stands scheme ozaki2. (On a device num/ec_range.hpp says what takes the place of the certificate, and FP64
// arithmetic stands behind.)
#pragma once

#include <array>
#include <cstdint>

#include "kizami/host_device.hpp"
#include "kizami/policy.hpp"
#include "num/ec_bounds.hpp"
#include "num/ec_profile.hpp"
#include "num/ec_range.hpp"
#include "num/float_split.hpp"
#include "num/line_stats.hpp"
#include "num/rung.hpp"
#include "num/tensor_core.hpp"
#include "product/float_product.hpp"

namespace kizami::ec {

/// What a variant does.
struct EcRecipe {
  EcVariant variant = EcVariant::kScaled;
  num::FloatType type = num::FloatType::kFp16;
  num::FloatSplit split;
  bool scales_lines = true;  ///< lines are multiplied so that their largest element lies in [2^top, 2^(top + 1))
  int top_exponent = 0;      ///< top; of a recipe that does not scale: the largest exponent that the format can take
  int num_sums = 1;
  std::array<product::FloatSum, product::kMaxSums> sums{};
  std::int64_t k_interval = 64;
  int intervals_promoted = 1;
};

/// A recipe with what follows from it for one plan.
struct EcRung {
  EcRecipe recipe;
  num::TensorCore core;
  double error = 0;     ///< num::ec_bound(): of operands within range
  float allowance = 0;  ///< of the certificate, see ec_weight()
};

inline constexpr int kMaxEcRungs = 3;
/// Set aside of every bound for sums of BF16 and TF32 products that underflow (schemes/ec/recipe.cpp,
/// num/ec_range.hpp): a quarter of u.
inline constexpr double kEcUnderflowError = 0x1p-26;

/// The rungs of a plan, in the order in which they are tried.
struct EcNumerics {
  std::array<EcRung, kMaxEcRungs> rungs{};
  int num_rungs = 0;
  bool checks_range = true;
  bool is_karatsuba = false;    ///< complex: three real products of k terms, bound in gauge norm, range a part of it
  num::EcRangeLimits limits;    ///< on a device, which looks at each line by itself instead of a certificate
  float profile_limit = 0;      ///< on a device: of FP16 as the first rung, num::ec_profile_limit()
  bool takes_profiles = false;  ///< on a device: where flags of lines refuse FP16, their profiles are asked as well
};

/// @range variant is not kAuto; the numbers of `wishes` are in range (see validate_policy)
/// With karatsuba one binade less: the sum of two parts must fit.
[[nodiscard]] EcRecipe ec_recipe(EcVariant variant, const ErrorCorrection& wishes);
[[nodiscard]] num::TensorCore ec_tensor_core(TensorCoreModel model, num::FloatType type);
/// What Karatsuba's three products guarantee relative to ||a_i|| ||b_j||, norms of the 2k real terms of a line, if each
/// of them has the error `error` |A||B| of ec_bound() and range errors of `recipe`. With x = |Re a| + |Im a|, ||x|| <=
/// sqrt(2)
/// ||a||, the three gauges are at most 1, 1 and 2 times ||a|| ||b|| for P1 + P2 together and P3; the imaginary part meets
/// all of them: 3 error. Range errors: floor (||a||_1 + ||b||_1) of each product, norms to lengths by sqrt(k): at most
/// (4 + 2 sqrt(2)) sqrt(k) 2^-unit. Rounding to FP32: 2^-24.
[[nodiscard]] double ec_karatsuba_bound(const EcRecipe& recipe, double error, std::int64_t k);
/// The error terms of a recipe on a tensor core.
[[nodiscard]] num::EcErrorTerms ec_error_terms(const EcRecipe& recipe, const num::TensorCore& core);

/// The part of a product's description that a recipe fixes: all of its arithmetic, no extents.
[[nodiscard]] product::FloatProductDesc ec_arithmetic(const EcRecipe& recipe, const num::TensorCore& core);

/// log2 of the floor, in scaled units: of the larger one of its two terms, rounded up. Of scaled lines never below
/// 2^(top - 100), of lines of BF16 and TF32 that are not scaled never below 2^-100: that also covers what sums of tiny
/// products lose to the subnormal numbers of FP32, 2^-149 a step.
[[nodiscard]] int ec_floor_exponent(const EcRecipe& recipe);

/// The allowance of num::is_certified() with ec_weight(), if range errors may take `budget`, of lines of k real terms.
[[nodiscard]] float ec_allowance(const EcRecipe& recipe, double budget, std::int64_t k);
/// A line as the certificate sees it: norm2 is its range error relative to 2^exponent, in units of 2^-unit with unit =
/// top
/// - floor of a recipe that scales and -floor of one that does not; norm1 includes what the line's own error adds to
///   it.
/// @shape k: real terms of the line
[[nodiscard]] num::LineWeight ec_weight(const EcRecipe& recipe, const num::LineStats& line, std::int64_t k);
/// Whether the largest element fits the format, and is not so small that sums of products underflow. Lines that are
/// scaled always do.
[[nodiscard]] bool ec_fits(const EcRecipe& recipe, const num::LineStats& line);
/// The power of two that a line is multiplied by; num::kSkipLine for one that is not finite.
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr std::int32_t ec_line_scale(bool scales_lines, int top_exponent,
                                                                      const num::LineStats& line) {
  if (!line.is_finite) return num::kSkipLine;
  return scales_lines && !line.is_zero() ? top_exponent - line.exponent : 0;
}
[[nodiscard]] std::int32_t ec_line_scale(const EcRecipe& recipe, const num::LineStats& line);

}  // namespace kizami::ec
