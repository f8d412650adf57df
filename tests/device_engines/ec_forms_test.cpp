// SPDX-License-Identifier: MIT
// The choice among the forms of the product of split FP32 operands, beside what was measured on an H200, and the bound
// that goes with a product.
#include "engines/hopper/ec_forms.hpp"

#include <gtest/gtest.h>

#include <cstdint>

#include "base/int_math.hpp"
#include "engines/hopper/ec_params.hpp"

namespace kizami::engines {
namespace {

using product::EcFormat;
using product::EcPromotion;

TEST(EcForms, AreIndexedByForm) {
  for (int f = 0; f < kNumEcForms; ++f) {
    EXPECT_EQ(ec_forms()[static_cast<std::size_t>(f)].form, static_cast<EcForm>(f));
  }
}

TEST(EcForms, ChoosesWhatWasFastestAndErrsNoMoreThanNative) {
  struct Measured {
    std::int64_t m, n, k;
    EcForm form;
  };
  // docs/perf/h200_ec.md and the records behind it; cases of a tie are left out.
  for (const Measured& x : {Measured{256, 256, 256, EcForm::kSplitInner128x64},
                            {1024, 1024, 1024, EcForm::kSplitInner128x64},
                            {1536, 1536, 1024, EcForm::kCooperative192x128},
                            {1536, 1536, 1536, EcForm::kSplitInner128x64},
                            {2048, 2048, 2048, EcForm::kCooperative128x128},
                            {3072, 3072, 3072, EcForm::kCooperative192x128},
                            {4096, 4096, 4096, EcForm::kCooperative128x128},
                            {6144, 6144, 6144, EcForm::kCooperative192x128},
                            {1024, 16384, 1024, EcForm::kCooperative128x128},
                            {16384, 128, 16384, EcForm::kSplitInner128x64},
                            {100, 100, 65536, EcForm::kSplitInner128x64}}) {
    EXPECT_EQ(ec_form_for(x.m, x.n, x.k, EcFormat::kF16, 132), x.form) << x.m << "x" << x.n << "x" << x.k;
  }
}

TEST(EcForms, TakeTurnsWhereThatWasFaster) {
  // docs/perf/h200_ec.md, "Other ways": at 2048 and 4096 it was, with 192 x 128 it was not.
  for (const EcFormTraits& traits : ec_forms()) {
    for (const EcFormat format : {EcFormat::kF16, EcFormat::kTf32}) {
      for (const EcPromotion promotion : product::kEcPromotions) {
        const bool takes_turns = hopper::takes_turns(traits.form, format, hopper::stages_of(promotion));
        const bool was_faster = traits.form == EcForm::kCooperative128x128 && format == EcFormat::kF16 &&
                                promotion != EcPromotion::kShortest;
        EXPECT_EQ(takes_turns, was_faster) << traits.name << " " << static_cast<int>(promotion);
      }
    }
  }
  for (const std::int64_t n : {2048, 4096}) {  // what was measured is what is taken
    const EcForm form = ec_form_for(n, n, n, EcFormat::kF16, 132);
    EXPECT_TRUE(hopper::takes_turns(form, EcFormat::kF16, hopper::stages_of(product::ec_promotion_for(n, n, n)))) << n;
  }
  EXPECT_FALSE(hopper::takes_turns(kEcTriangleForm, EcFormat::kF16, hopper::stages_of(EcPromotion::kLong)));
}

TEST(EcForms, PredictsTf32AtHalfTheRate) {
  for (const EcFormTraits& traits : ec_forms()) {
    const double f16 = ec_predicted_seconds(8192, 8192, 8192, EcFormat::kF16, traits, 132);
    const double tf32 = ec_predicted_seconds(8192, 8192, 8192, EcFormat::kTf32, traits, 132);
    EXPECT_GT(tf32, 1.9 * f16) << traits.name;
    EXPECT_LT(tf32, 2 * f16) << traits.name;
  }
}

TEST(EcBound, StaysBelowThatOfASumInFp32) {
  // k u, the bound of a sum of k products in any order, from the first k for which a promotion is full.
  for (const EcFormat format : {EcFormat::kF16, EcFormat::kTf32}) {
    for (const EcPromotion promotion : {EcPromotion::kShortest, EcPromotion::kShort, EcPromotion::kLong}) {
      for (std::int64_t k = 512; k <= 65536; k *= 2) {
        EXPECT_LT(product::ec_relative_bound(format, promotion, k), static_cast<double>(k) * 0x1p-24);
      }
    }
  }
}

TEST(EcPromotionRule, PromotesSoonerWhereNativeSumsInPieces) {
  // docs/perf/h200_ec.md, "Errors".
  EXPECT_EQ(product::ec_promotion_for(4096, 4096, 1024), EcPromotion::kShort);
  EXPECT_EQ(product::ec_promotion_for(4096, 4096, 1025), EcPromotion::kLong);
  EXPECT_EQ(product::ec_promotion_for(3072, 3072, 3072), EcPromotion::kShort);
  EXPECT_EQ(product::ec_promotion_for(256, 256, 256), EcPromotion::kShortest);
  EXPECT_EQ(product::ec_promotion_for(512, 1024, 1024), EcPromotion::kShortest);
  EXPECT_EQ(product::ec_promotion_for(1024, 1024, 1024), EcPromotion::kShort);
  EXPECT_EQ(product::ec_promotion_for(512, 512, 8192), EcPromotion::kShortest);
  EXPECT_EQ(product::ec_promotion_for(512, 512, 65536), EcPromotion::kShort);
  EXPECT_EQ(product::ec_promotion_for(3840, 4096, 65536), EcPromotion::kShort);
  EXPECT_EQ(product::ec_promotion_for(3841, 4096, 65536), EcPromotion::kLong);
  EXPECT_EQ(product::ec_promotion_for(std::int64_t{1} << 29, std::int64_t{1} << 29, 2048), EcPromotion::kLong);
}

TEST(EcForms, SumsBlocksWhereNativeSumsInPieces) {
  for (const std::int64_t n : {1024, 1280, 1408, 1536, 1664, 2048}) {
    for (const std::int64_t k : {2048, 4096, 16384, 65536}) {
      for (const EcFormat format : {EcFormat::kF16, EcFormat::kTf32}) {
        EXPECT_NE(ec_form_for(n, n, k, format, 132), EcForm::kCooperative192x128) << n << "x" << n << "x" << k;
        EXPECT_NE(ec_form_for(3072, 3072, 4 * k, format, 132), EcForm::kCooperative192x128) << k;
      }
    }
  }
}

TEST(EcBlocks, HaveFewAdditionsInARow) {
  for (const EcForm form : {EcForm::kCooperative128x128, EcForm::kSplitInner128x64}) {
    const std::int32_t parts = form == EcForm::kSplitInner128x64 ? 2 : 1;
    for (std::int32_t count = 1; count < (1 << 20); count = count * 3 / 2 + 1) {
      const std::int32_t block = hopper::block_promotions(form, count);
      const std::int32_t of_one = (count + parts - 1) / parts;
      EXPECT_GE(block, 8);
      EXPECT_LE(base::ceil_div(of_one, block), block) << count;
      EXPECT_TRUE(block == 8 || block * block < 4 * of_one) << count;
    }
  }
}

}  // namespace
}  // namespace kizami::engines
