// SPDX-License-Identifier: MIT
// Scheme ec as data: recipes, range errors, stages, and everything that a plan of it refuses.
#include "schemes/ec/plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "engines/cpu_ref/cpu_ref.hpp"
#include "engines/tc_model/tc_model.hpp"
#include "exec/schemes.hpp"
#include "plan/plan.hpp"
#include "schemes/ec/stage.hpp"
#include "schemes/ozaki2/buffers.hpp"

namespace kizami::ec {
namespace {

constexpr EcVariant kVariants[] = {EcVariant::kScaled,   EcVariant::kHalfhalf,  EcVariant::kTf32tf32,
                                   EcVariant::kMarkidis, EcVariant::kFeng,      EcVariant::kBf16x3,
                                   EcVariant::kBf16x6,   EcVariant::kBf16x9,    EcVariant::kFp16,
                                   EcVariant::kTf32,     EcVariant::kScaledTf32};

const std::vector<const product::Engine*>& engines() {
  static const std::vector<const product::Engine*> list = {&engines::cpu_ref_engine()};
  return list;
}
const std::vector<const product::FloatEngine*>& float_engines() {
  static const std::vector<const product::FloatEngine*> list = {&engines::tc_model_engine()};
  return list;
}

plan::Environment machine() {
  return {.engines = engines(), .float_engines = float_engines(), .schemes = exec::schemes()};
}

Policy ec_policy(EcVariant variant = EcVariant::kAuto) {
  Policy policy;
  policy.scheme = Scheme::kEc;
  policy.reproducibility = Reproducibility::kNotGuaranteed;
  policy.ec.variant = variant;
  return policy;
}

Result<plan::Plan> planned(const Policy& policy, std::int64_t k = 1024, Scalar scalar = Scalar::kF32) {
  return plan::make({scalar, 100, 90, k}, policy, machine());
}

TEST(EcRecipe, NumberOfProductsAndTheirOrder) {
  const auto count = [](EcVariant variant, bool keeps) {
    ErrorCorrection wishes;
    wishes.keep_small_term = keeps;
    const EcRecipe recipe = ec_recipe(variant, wishes);
    int products = 0;
    for (int q = 0; q < recipe.num_sums; ++q) products += recipe.sums[static_cast<std::size_t>(q)].num_pairs;
    return products;
  };
  EXPECT_EQ(count(EcVariant::kScaled, false), 3);
  EXPECT_EQ(count(EcVariant::kScaled, true), 4);
  EXPECT_EQ(count(EcVariant::kHalfhalf, false), 3);
  EXPECT_EQ(count(EcVariant::kHalfhalf, true), 4);
  EXPECT_EQ(count(EcVariant::kMarkidis, false), 4);
  EXPECT_EQ(count(EcVariant::kBf16x3, false), 3);
  EXPECT_EQ(count(EcVariant::kBf16x6, false), 6);
  EXPECT_EQ(count(EcVariant::kBf16x9, false), 9);
  EXPECT_EQ(count(EcVariant::kFp16, false), 1);
  // [OY2021, source 2]: dA dB, dA B, A dB, A B.
  const product::FloatSum sum = ec_recipe(EcVariant::kMarkidis, {}).sums[0];
  const product::PlanePair order[] = {{1, 1}, {1, 0}, {0, 1}, {0, 0}};
  for (int p = 0; p < 4; ++p) EXPECT_EQ(sum.pairs[static_cast<std::size_t>(p)], order[p]);
  EXPECT_FALSE(sum.promotes);
}

TEST(EcRecipe, EveryPairOfBf16x9OnceAndSmallProductsFirst) {
  const product::FloatSum sum = ec_recipe(EcVariant::kBf16x9, {}).sums[0];
  bool seen[3][3] = {};
  for (int p = 0; p < sum.num_pairs; ++p) {
    const product::PlanePair pair = sum.pairs[static_cast<std::size_t>(p)];
    EXPECT_FALSE(seen[pair.a][pair.b]);
    seen[pair.a][pair.b] = true;
    if (p > 0) {
      const product::PlanePair before = sum.pairs[static_cast<std::size_t>(p - 1)];
      EXPECT_GE(before.a + before.b, pair.a + pair.b);
    }
  }
}

TEST(EcRecipe, WishesReachTheProduct) {
  Policy policy = ec_policy(EcVariant::kHalfhalf);
  policy.ec.promotion_k = 128;
  policy.ec.remainder_shift = 0;
  policy.ec.promote_corrections = true;
  policy.ec.tensor_core = TensorCoreModel::kAmpere;
  const Result<plan::Plan> plan = planned(policy);
  ASSERT_TRUE(plan.ok()) << plan.status().reason();
  const product::FloatProductDesc desc = ec_product(plan.value(), 0);
  EXPECT_EQ(desc.k_interval, 128);
  EXPECT_EQ(desc.remainder_shift, 0);
  EXPECT_TRUE(desc.sums[1].promotes);
  EXPECT_EQ(desc.core, num::ampere_tensor_core(num::FloatType::kFp16));
}

// As documents have them: of TF32 as well, whose exponents are those of FP32, lines are taken as they are.
TEST(EcRecipe, DocumentsScaleNoLines) {
  for (const EcVariant variant : {EcVariant::kHalfhalf, EcVariant::kTf32tf32, EcVariant::kMarkidis, EcVariant::kFeng,
                                  EcVariant::kFp16, EcVariant::kTf32})
    EXPECT_FALSE(ec_recipe(variant, {}).scales_lines) << to_string(variant);
  for (const EcVariant variant : {EcVariant::kScaled, EcVariant::kScaledTf32, EcVariant::kBf16x3})
    EXPECT_TRUE(ec_recipe(variant, {}).scales_lines) << to_string(variant);
}

// Feng's split rounds; the one that it is compared with cuts.
TEST(EcRecipe, PartsMayBeCut) {
  ErrorCorrection wishes;
  EXPECT_EQ(ec_recipe(EcVariant::kMarkidis, wishes).split.rounding, RoundingMode::kNearestEven);
  wishes.truncate_parts = true;
  EXPECT_EQ(ec_recipe(EcVariant::kMarkidis, wishes).split.rounding, RoundingMode::kTowardZero);
  EXPECT_EQ(ec_recipe(EcVariant::kFeng, wishes).split.rounding, RoundingMode::kNearestEven);
  const num::TensorCore core = num::hopper_tensor_core(num::FloatType::kFp16);
  const num::EcErrorTerms cut = ec_error_terms(ec_recipe(EcVariant::kMarkidis, wishes), core);
  const num::EcErrorTerms rounded = ec_error_terms(ec_recipe(EcVariant::kFeng, wishes), core);
  EXPECT_EQ(cut.split_remainder, 0x1p-21);
  EXPECT_EQ(rounded.split_remainder, 0x1p-23);
}

// 2^-25 of lines whose largest element is 2^14: an element keeps 22 bits down to 2^-16 of the largest, and an absolute
// error of 2^-39 of it below.
TEST(EcRange, FloorsOfTheFp16Forms) {
  EXPECT_EQ(ec_floor_exponent(ec_recipe(EcVariant::kScaled, {})), -25);
  // Lost would be 2^-36, but 3 * 17 addends are cut at 2^(-14 - 24) |b| where a subnormal part sets their exponent.
  EXPECT_EQ(ec_floor_exponent(ec_recipe(EcVariant::kHalfhalf, {})), -32);
  EXPECT_EQ(ec_floor_exponent(ec_recipe(EcVariant::kMarkidis, {})), -25);
  EXPECT_EQ(ec_floor_exponent(ec_recipe(EcVariant::kScaledTf32, {})), 45 - 100);
  EXPECT_EQ(ec_floor_exponent(ec_recipe(EcVariant::kTf32tf32, {})), -100);
}

num::LineStats line(int exponent, int lsb) {
  num::LineStats stats;
  stats.exponent = exponent;
  stats.lsb = lsb;
  stats.sum_abs = 5 << num::kAbsBits;
  return stats;
}

TEST(EcRange, LinesOfMultiplesOfTheUnitHaveNoRangeError) {
  const EcRecipe scaled = ec_recipe(EcVariant::kScaled, {});
  EXPECT_EQ(ec_weight(scaled, line(5, 5 - 17), 100).exact_rung, 0);
  EXPECT_EQ(ec_weight(scaled, line(5, 5 - 18), 100).exact_rung, 1);
  const EcRecipe halfhalf = ec_recipe(EcVariant::kHalfhalf, {});
  EXPECT_EQ(ec_weight(halfhalf, line(3, -14), 100).exact_rung, 0);
  EXPECT_EQ(ec_weight(halfhalf, line(3, -15), 100).exact_rung, 1);
}

TEST(EcRange, UnscaledTf32EndsWhereSumsOverflowOrUnderflow) {
  for (const EcVariant variant : {EcVariant::kTf32tf32, EcVariant::kTf32}) {
    const EcRecipe recipe = ec_recipe(variant, {});
    EXPECT_FALSE(ec_fits(recipe, line(46, 30)));
    EXPECT_TRUE(ec_fits(recipe, line(45, 30)));
    EXPECT_TRUE(ec_fits(recipe, line(-19, -40)));
    EXPECT_FALSE(ec_fits(recipe, line(-20, -40)));
    EXPECT_TRUE(ec_fits(recipe, num::LineStats{}));  // zeros
  }
}

TEST(EcRange, UnscaledFormsWeighSmallLinesMoreAndRefuseLargeOnes) {
  const EcRecipe halfhalf = ec_recipe(EcVariant::kHalfhalf, {});
  EXPECT_EQ(ec_weight(halfhalf, line(0, -60), 100).norm2, 1.0F);
  EXPECT_EQ(ec_weight(halfhalf, line(-20, -60), 100).norm2, 0x1p20F);
  EXPECT_TRUE(ec_fits(halfhalf, line(14, -9)));
  EXPECT_FALSE(ec_fits(halfhalf, line(15, -9)));
  EXPECT_TRUE(ec_fits(ec_recipe(EcVariant::kScaled, {}), line(127, 100)));
  EXPECT_EQ(ec_line_scale(halfhalf, line(3, -9)), 0);
  EXPECT_EQ(ec_line_scale(ec_recipe(EcVariant::kScaled, {}), line(3, -9)), 11);
}

TEST(EcRange, HopelessLinesAreNeverCertified) {
  const EcRecipe halfhalf = ec_recipe(EcVariant::kHalfhalf, {});
  num::Ladder ladder;
  ladder.num_rungs = 1;
  ladder.rungs[0].allowance = ec_allowance(halfhalf, 0x1p-12, 1024);
  const num::LineWeight tiny = ec_weight(halfhalf, line(-149, -149 - 0), 1 << 20);
  num::LineWeight inexact = tiny;
  inexact.exact_rung = 1;
  EXPECT_FALSE(num::is_certified(ladder, 0, inexact, inexact, 0x1p36F));
}

TEST(EcPlan, NativeAccuracyFromTheBound) {
  const Result<plan::Plan> plan = planned(ec_policy());
  ASSERT_TRUE(plan.ok()) << plan.status().reason();
  const EcStage& stage = ec_of(plan.value());
  EXPECT_EQ(stage.scheme, Scheme::kEc);
  ASSERT_EQ(stage.numerics.num_rungs, 2);
  EXPECT_EQ(stage.numerics.rungs[0].recipe.variant, EcVariant::kScaled);
  EXPECT_EQ(stage.numerics.rungs[1].recipe.variant, EcVariant::kScaledTf32);
  EXPECT_EQ(stage.bound, num::target_bound(Accuracy::native(), Scalar::kF32, 1024));
  EXPECT_LT(stage.numerics.rungs[0].error, stage.bound);
  EXPECT_GE(ozaki2::ozaki2_of(plan.value()).ladder.num_rungs, 1);  // ozaki2 stands behind
  EXPECT_GT(plan.value().schedule.seconds, 0.0);
}

TEST(EcPlan, NamedVariantsComeFirstAndKeepTheirFallbacks) {
  for (const EcVariant variant : kVariants) {
    const Result<plan::Plan> plan = planned(ec_policy(variant));
    ASSERT_TRUE(plan.ok()) << to_string(variant) << ": " << plan.status().reason();
    const EcNumerics& ec = ec_of(plan.value()).numerics;
    EXPECT_EQ(ec.rungs[0].recipe.variant, variant);
    EXPECT_EQ(ec.num_rungs, variant == EcVariant::kScaled || variant == EcVariant::kScaledTf32 ? 2 : 3);
    EXPECT_GE(plan.value().first().bound, ec.rungs[0].error);
  }
}

TEST(EcPlan, WithoutRangeCheckThereIsOneStageAndItsBound) {
  Policy policy = ec_policy(EcVariant::kHalfhalf);
  policy.ec.check_range = false;
  const Result<plan::Plan> plan = planned(policy);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(ec_of(plan.value()).numerics.num_rungs, 1);
}

// The bound of a long chain without promotion exceeds the target, and one with it does not: removing the promotion from
// the recipe makes this plan impossible.
TEST(EcPlan, PromotionIsWhatMeetsTheTarget) {
  Policy policy = ec_policy(EcVariant::kMarkidis);
  policy.accuracy = Accuracy::at_bits(14);
  EXPECT_TRUE(planned(policy, 256).ok());
  EXPECT_EQ(planned(policy, 16384).status().code(), StatusCode::kAccuracyUnreachable);
  policy.ec.variant = EcVariant::kScaled;
  EXPECT_TRUE(planned(policy, 16384).ok());
}

TEST(EcPlan, Refusals) {
  const auto reason = [](const Policy& policy, std::int64_t k = 1024, Scalar scalar = Scalar::kF32) {
    const Result<plan::Plan> plan = planned(policy, k, scalar);
    return plan.ok() ? std::string("accepted") : plan.status().reason();
  };
  EXPECT_EQ(reason(ec_policy(), 1024, Scalar::kF64), "scheme ec: computes f32 and c64, got f64; use ozaki2");
  EXPECT_EQ(reason(ec_policy(), 8), "scheme ec: guarantees 8.8e-07 |A||B| at k = 8, wanted 4.77e-07");
  Policy policy = ec_policy();
  policy.reproducibility = Reproducibility::kEngineToEngine;
  EXPECT_EQ(reason(policy), "scheme ec: rounds inside the tensor core, which reproducibility engine excludes");
  policy = ec_policy();
  policy.accuracy = Accuracy::correct();
  EXPECT_EQ(reason(policy), "scheme ec: rounds more than once, accuracy correct needs ozaki2");
  policy = ec_policy();
  policy.forced_moduli = 8;
  EXPECT_EQ(reason(policy), "moduli = 8 needs scheme ozaki2, got ec");
  policy = ec_policy();
  policy.engine = EngineName::kCpuRef;
  EXPECT_EQ(reason(policy), "engine cpu_ref carries no floating-point products, which scheme ec needs");
  policy = ec_policy();
  policy.ec.karatsuba = true;
  EXPECT_EQ(reason(policy, 1024, Scalar::kC64),
            "karatsuba: gauge = entry for c64, must be norm for c64: its imaginary part cancels");
  policy.gauge = Gauge::kNorm;
  EXPECT_EQ(reason(policy, 1024, Scalar::kF32),
            "karatsuba: gauge = norm for f32, must be norm for c64: its imaginary part cancels");
  policy.ec.variant = EcVariant::kHalfhalf;
  EXPECT_EQ(reason(policy, 1024, Scalar::kC64),
            "karatsuba: variant halfhalf does not scale lines, must be one that does");
  policy.ec.variant = EcVariant::kScaled;
  EXPECT_EQ(reason(policy, 1024, Scalar::kC64), "accepted");
  policy = ec_policy();
  policy.ec.promotion_k = 40;
  EXPECT_EQ(reason(policy), "promotion_k = 40, must be 0 or a multiple of 16 up to 65536");
  policy = ec_policy();
  policy.ec.remainder_shift = 13;
  EXPECT_EQ(reason(policy), "remainder_shift = 13, must be in -1..12");
  policy = ec_policy(EcVariant::kFeng);
  policy.ec.truncate_parts = true;
  EXPECT_EQ(reason(policy), "truncate_parts = 1, must be 0 for variant feng: its split rounds");
  policy = ec_policy(EcVariant::kHalfhalf);
  policy.scheme = Scheme::kOzaki2;
  EXPECT_EQ(reason(policy), "variant = halfhalf and its settings need scheme ec, got ozaki2");
  policy = {};
  policy.engine = EngineName::kTcModel;
  EXPECT_EQ(reason(policy), "engine tc_model carries schemes ec and ozaki1 only, not auto");
  policy = ec_policy();
  policy.workspace_limit_bytes = 64;
  EXPECT_EQ(planned(policy).status().code(), StatusCode::kWorkspaceTooSmall);
  const plan::Environment no_float_engine{.engines = engines(), .schemes = exec::schemes()};
  EXPECT_EQ(plan::make({Scalar::kF32, 9, 9, 999}, ec_policy(), no_float_engine).status().reason(),
            "no engine here can multiply for scheme ec");
}

TEST(EcPlan, SmallWorkspacesTakeFewerLinesAtATime) {
  const Result<plan::Plan> whole = planned(ec_policy(), 16384);
  ASSERT_TRUE(whole.ok());
  EXPECT_EQ(ec_of(whole.value()).chunk.mc, 100);
  Policy policy = ec_policy();
  policy.workspace_limit_bytes = std::size_t{6} << 20;
  const Result<plan::Plan> part = planned(policy, 16384);
  ASSERT_TRUE(part.ok()) << part.status().reason();
  EXPECT_LE(part.value().schedule.workspace_bytes, policy.workspace_limit_bytes);
  EXPECT_LT(ec_of(part.value()).chunk.mc, 100);
}

TEST(EcPlan, HashTellsNumericsApart) {
  std::vector<std::uint64_t> hashes;
  const auto add = [&](const Policy& policy) {
    const Result<plan::Plan> plan = planned(policy);
    ASSERT_TRUE(plan.ok()) << plan.status().reason();
    hashes.push_back(plan::numerics_hash(plan.value()));
  };
  for (const EcVariant variant : kVariants) add(ec_policy(variant));
  Policy policy = ec_policy(EcVariant::kHalfhalf);
  policy.ec.promotion_k = 128;
  add(policy);
  policy.ec.keep_small_term = true;
  add(policy);
  policy.ec.promote_corrections = true;
  add(policy);
  policy.ec.tensor_core = TensorCoreModel::kMmaRn;
  add(policy);
  policy.ec.remainder_shift = 8;
  add(policy);
  policy.ec.truncate_parts = true;
  add(policy);
  std::sort(hashes.begin(), hashes.end());
  EXPECT_EQ(std::unique(hashes.begin(), hashes.end()), hashes.end());
}

TEST(EcPlan, KaratsubaTakesThreeProductsOfHalfTheTerms) {
  Policy policy = ec_policy(EcVariant::kScaled);
  policy.gauge = Gauge::kNorm;
  const Result<plan::Plan> four = planned(policy, 1000, Scalar::kC64);
  policy.ec.karatsuba = true;
  const Result<plan::Plan> three = planned(policy, 1000, Scalar::kC64);
  ASSERT_TRUE(four.ok() && three.ok());
  EXPECT_EQ(ec_products(four.value()), 2);
  EXPECT_EQ(ec_product(four.value(), 0).k, 2000);
  EXPECT_EQ(ec_products(three.value()), 3);
  EXPECT_EQ(ec_product(three.value(), 0).k, 1000);
  EXPECT_EQ(three.value().first().gauge, Gauge::kNorm);
  EXPECT_NE(plan::explain(three.value()).find("Karatsuba: three real products"), std::string::npos);
  // |Re a + Im a| <= 2 max: one binade less than four products use.
  EXPECT_EQ(ec_of(three.value()).numerics.rungs[0].recipe.top_exponent, 13);
  EXPECT_GT(ec_karatsuba_bound(ec_recipe(EcVariant::kScaled, policy.ec), 1e-6, 1000), 3e-6);
}

TEST(EcPlan, ExplanationNamesVariantRangeAndKindOfBound) {
  const std::string text = plan::explain(planned(ec_policy(EcVariant::kHalfhalf)).value());
  for (const char* what :
       {"scheme        ec", "deterministic, for a tensor core that adds as hopper", "halfhalf: 2 parts of FP16",
        "beyond range  scaled", "beyond range  scaled_tf32", "beyond all variants: ozaki2, 7", "every 64 of k",
        "engine        tc_model, certificate by cpu_ref"}) {
    EXPECT_NE(text.find(what), std::string::npos) << what << " not in\n" << text;
  }
}

}  // namespace
}  // namespace kizami::ec
