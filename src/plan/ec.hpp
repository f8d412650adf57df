// SPDX-License-Identifier: MIT
// Scheme ec as data: what each variant splits, multiplies and promotes, what error that has, and which operands are in
// its range.
//
// Range. Parts below the subnormal numbers of the format are lost: an element of a line has an absolute error of up to
// floor = 2^(smallest subnormal - 1 - shifts). Over all of k that is floor_a ||b||_1 + floor_b ||a||_1, which the
// certificate of scheme ozaki2 (exec/certificate.hpp) compares with a proven lower bound of (|A||B|)_ij; lines that
// consist of multiples of the unit have no such error. Stages are tried in order: the first one that certifies all pairs
// answers; behind the last one stands scheme ozaki2.
#pragma once

#include <array>
#include <cstdint>

#include "kizami/policy.hpp"
#include "num/ec_bounds.hpp"
#include "num/float_split.hpp"
#include "num/line_stats.hpp"
#include "num/rung.hpp"
#include "num/tensor_core.hpp"
#include "product/float_product.hpp"

namespace kizami::plan {

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
};

/// A recipe with what follows from it for one plan.
struct EcStage {
  EcRecipe recipe;
  num::TensorCore core;
  double error = 0;     ///< num::ec_bound(): of operands within range
  float allowance = 0;  ///< of the certificate, see ec_weight()
};

inline constexpr int kMaxEcStages = 3;

/// The stages of a plan, in the order in which they are tried.
struct EcNumerics {
  std::array<EcStage, kMaxEcStages> stages{};
  int num_stages = 0;
  bool checks_range = true;
};

/// @range variant is not kAuto; the numbers of `wishes` are in range (see validate_policy)
[[nodiscard]] EcRecipe ec_recipe(EcVariant variant, const ErrorCorrection& wishes);
[[nodiscard]] num::TensorCore ec_tensor_core(TensorCoreModel model, num::FloatType type);
/// The error terms of a recipe on a tensor core.
[[nodiscard]] num::EcErrorTerms ec_error_terms(const EcRecipe& recipe, const num::TensorCore& core);

/// log2 of the absolute error of an element whose last part is subnormal, in scaled units. Never below 2^(top - 100): that
/// also covers what sums of tiny products lose to the subnormal numbers of FP32, 2^-149 a step.
[[nodiscard]] int ec_floor_exponent(const EcRecipe& recipe);

/// The allowance of num::is_certified() with ec_weight(), if range errors may take `budget`.
[[nodiscard]] float ec_allowance(const EcRecipe& recipe, double budget);
/// A line as the certificate sees it: norm2 is its range error relative to 2^exponent, in units of 2^-unit with unit = top
/// - floor of a recipe that scales and -floor of one that does not; norm1 includes what the line's own error adds to it.
/// @shape k: real terms of the line
[[nodiscard]] num::LineWeight ec_weight(const EcRecipe& recipe, const num::LineStats& line, std::int64_t k);
/// Whether the largest element fits the format. Lines that are scaled always do.
[[nodiscard]] bool ec_fits(const EcRecipe& recipe, const num::LineStats& line);
/// The power of two that a line is multiplied by; num::kSkipLine for one that is not finite.
[[nodiscard]] std::int32_t ec_line_scale(const EcRecipe& recipe, const num::LineStats& line);

}  // namespace kizami::plan
