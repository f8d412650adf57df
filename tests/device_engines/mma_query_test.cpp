// SPDX-License-Identifier: MIT
// What engine mma accepts, without a device.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <variant>

#include "engines/mma/mma.hpp"
#include "engines/mma/product_i8.hpp"
#include "engines/product_case.hpp"
#include "plan/h200_facts.hpp"
#include "schemes/ec/recipe.hpp"

namespace kizami::engines {
namespace {

using product::FloatProductDesc;
using product::Refusal;

TEST(MmaQuery, RefusesWithAReason) {
  product::DeviceFacts facts;
  facts.compute_capability = 90;
  const auto reason = [&](const FloatProductDesc& d) {
    const auto answer = mma_engine().query(d, facts);
    const auto* const refusal = std::get_if<Refusal>(&answer);
    return refusal == nullptr ? "" : refusal->reason;
  };
  FloatProductDesc good =
      ec::ec_arithmetic(ec::ec_recipe(EcVariant::kMarkidis, {}), num::hopper_tensor_core(num::FloatType::kFp16));
  good.m = 20;
  good.n = 30;
  good.k = 40;
  good.a_row_stride = good.b_row_stride = 64;
  good.c_col_stride = 20;
  EXPECT_EQ(reason(good), "");
  FloatProductDesc d = good;
  d.core = num::ampere_tensor_core(d.type);
  EXPECT_EQ(reason(d), "the tensor core must be that of mma.sync on sm_90, or of FP16 mma_rn or mma_rz");
  d = good;
  d.k_interval = 48;
  EXPECT_EQ(reason(d), "k_interval = 48, must be 16 or a multiple of 32");
  d = good;
  d.a_row_stride = 32;
  EXPECT_EQ(reason(d), "a_row_stride = 32, must be a multiple of 64 bytes, at least a row");
  facts.compute_capability = 80;
  EXPECT_EQ(reason(good), "compute capability = 80, must be 90: of no other is it recorded how it adds");
}

TEST(MmaQuery, TakesModuliThatItHasConstantsFor) {
  for (const auto& [modulus, reason] :
       {std::pair<std::int16_t, const char*>{255, ""}, {4, "moduli[0] = 4, must be 256 or odd for this engine"}}) {
    const auto answer = mma_product_engine().query(
        testing::ProductCase({.m = 32, .n = 6, .k = 512, .moduli = {modulus}}).desc(), plan::h200_facts());
    const auto* const refusal = std::get_if<Refusal>(&answer);
    EXPECT_EQ(refusal == nullptr ? "" : refusal->reason, reason);
  }
}

TEST(MmaQuery, TakesEveryVariantOnItsTensorCore) {
  product::DeviceFacts facts;
  facts.compute_capability = 90;
  facts.num_sms = 132;
  for (const EcVariant variant : {EcVariant::kScaled, EcVariant::kHalfhalf, EcVariant::kTf32tf32, EcVariant::kMarkidis,
                                  EcVariant::kFeng, EcVariant::kBf16x3, EcVariant::kBf16x6, EcVariant::kBf16x9,
                                  EcVariant::kFp16, EcVariant::kTf32, EcVariant::kScaledTf32}) {
    const ec::EcRecipe recipe = ec::ec_recipe(variant, {});
    FloatProductDesc d = ec::ec_arithmetic(recipe, num::hopper_tensor_core(recipe.type));
    d.m = d.n = d.c_col_stride = 1000;
    d.k = d.a_row_stride = d.b_row_stride = 1024;
    const auto answer = mma_engine().query(d, facts);
    ASSERT_TRUE(std::holds_alternative<product::Offer>(answer)) << to_string(variant);
    EXPECT_EQ(std::get<product::Offer>(answer).workspace_bytes, 0U);
  }
}

}  // namespace
}  // namespace kizami::engines
