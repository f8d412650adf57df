// SPDX-License-Identifier: MIT
// By which scheme one triangle of C is made on an H200, and which plans cannot leave the other out. Without a device.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <variant>

#include "device_engines/h200_environment.hpp"
#include "engines/hopper/ec_forms.hpp"
#include "exec/device_triangle.hpp"
#include "plan/plan.hpp"
#include "product/ec_planes.hpp"
#include "schemes/ec/device_part.hpp"
#include "schemes/ec/device_plan.hpp"

namespace kizami::exec {
namespace {

using product::EcFormat;
using product::EcPromotion;

/// Of the drop-in library.
[[nodiscard]] Policy any_scheme() {
  Policy policy;
  policy.reproducibility = Reproducibility::kNotGuaranteed;
  return policy;
}
[[nodiscard]] Policy of_ec() {
  Policy policy = any_scheme();
  policy.scheme = Scheme::kEc;
  return policy;
}
[[nodiscard]] plan::Plan planned(Scalar scalar, std::int64_t n, std::int64_t k, const Policy& policy) {
  const auto plan = triangle_plan(scalar, n, k, policy, plan::h200_environment());
  if (!plan.ok()) throw std::runtime_error(plan.status().reason());
  return *plan.value();
}
[[nodiscard]] Scheme scheme_of(Scalar scalar, std::int64_t n, std::int64_t k) {
  return planned(scalar, n, k, any_scheme()).first().scheme;
}

TEST(TrianglePlan, TakesSchemeEcWhereItCan) {
  EXPECT_EQ(scheme_of(Scalar::kF32, 8192, 8192), Scheme::kEc);
  EXPECT_EQ(scheme_of(Scalar::kF32, 4096, 4096), Scheme::kEc);
  // Its kernel is of the longest promotion alone.
  EXPECT_EQ(scheme_of(Scalar::kF32, 8192, 1024), Scheme::kOzaki2);
  EXPECT_EQ(scheme_of(Scalar::kF32, 2048, 2048), Scheme::kOzaki2);
  for (const Scalar other : {Scalar::kF64, Scalar::kC64, Scalar::kC128})
    EXPECT_EQ(scheme_of(other, 8192, 8192), Scheme::kOzaki2) << static_cast<int>(other);
  // A scheme that is named, or bits that are the same everywhere.
  EXPECT_EQ(planned(Scalar::kF32, 2048, 2048, of_ec()).first().scheme, Scheme::kEc);
  EXPECT_EQ(planned(Scalar::kF32, 8192, 8192, Policy{}).first().scheme, Scheme::kOzaki2);
}

TEST(TrianglePlan, IsOfPlansWhoseEngineCan) {
  const auto reason = [](Scalar scalar, std::int64_t n, std::int64_t k) {
    return why_no_part(planned(scalar, n, k, of_ec())).value_or("");
  };
  const auto has = [](const std::string& text, const char* words) { return text.find(words) != std::string::npos; };
  EXPECT_EQ(reason(Scalar::kF32, 8192, 8192), "");
  EXPECT_EQ(reason(Scalar::kF32, 3966, 1025), "");
  EXPECT_TRUE(has(reason(Scalar::kF32, 3965, 8192), "promotes every 128")) << reason(Scalar::kF32, 3965, 8192);
  EXPECT_TRUE(has(reason(Scalar::kF32, 8192, 1024), "promotes every 128"));
  EXPECT_TRUE(has(reason(Scalar::kC64, 8192, 8192), "makes all of a complex C"));
  EXPECT_EQ(reason(Scalar::kF32, 8192, 0), "");  // nothing is multiplied
  Policy longest = of_ec();
  longest.ec.promotion_k = 128;
  EXPECT_EQ(why_no_part(planned(Scalar::kF32, 500, 300, longest)).value_or(""), "");
  const auto oblong = plan::make({Scalar::kF32, 8192, 8191, 8192}, of_ec(), plan::h200_environment());
  ASSERT_TRUE(oblong.ok());
  EXPECT_TRUE(has(why_no_part(oblong.value()).value_or(""), "m = 8192, must be n = 8191"));
}

// At the accuracy of a native product: the bound of a few terms is that of steps of 16, of as many roundings. The second k
// is that of tests on a device whose elements take a warp each.
TEST(TrianglePlan, OfSchemeEcHasNoFewTerms) {
  Policy longest = of_ec();
  longest.ec.promotion_k = 128;
  const auto environment = plan::h200_environment();
  const auto few = triangle_plan(Scalar::kF32, 2190, 20, longest, environment);
  EXPECT_EQ(few.status().code(), StatusCode::kAccuracyUnreachable) << few.status().reason();
  const auto enough = triangle_plan(Scalar::kF32, 2190, 31, longest, environment);
  ASSERT_TRUE(enough.ok()) << enough.status().reason();
  EXPECT_EQ(why_no_part(*enough.value()).value_or(""), "");
}

TEST(TrianglePlan, CostsWhatItsTilesTake) {
  constexpr std::int64_t kSize = 8192;
  const engines::EcFormTraits& traits = engines::ec_forms()[static_cast<std::size_t>(engines::kEcTriangleForm)];
  const double all = engines::ec_predicted_seconds(kSize, kSize, kSize, EcFormat::kF16, traits, 132);
  const double triangle = engines::ec_triangle_seconds(kSize, kSize, EcFormat::kF16, 132);
  EXPECT_NEAR(triangle / all, 11.0 / 21.0, 0.01);  // rounds of 66 clusters
  const product::EcTriangleEngine* const engine = product::triangles_of(&engines::hopper_ec_engine());
  ASSERT_NE(engine, nullptr);
  product::FloatProductDesc desc = product::ec_arithmetic(EcFormat::kF16, EcPromotion::kLong);
  desc.m = desc.n = desc.k = kSize;
  const auto answer = engine->query_triangle(desc, plan::h200_facts());
  ASSERT_TRUE(std::holds_alternative<product::Offer>(answer));
  EXPECT_EQ(std::get<product::Offer>(answer).seconds, triangle);
  desc.m = kSize - 1;
  EXPECT_TRUE(std::holds_alternative<product::Refusal>(engine->query_triangle(desc, plan::h200_facts())));
  desc = product::ec_arithmetic(EcFormat::kF16, EcPromotion::kShort);
  desc.m = desc.n = desc.k = kSize;
  EXPECT_TRUE(std::holds_alternative<product::Refusal>(engine->query_triangle(desc, plan::h200_facts())));
}

// Where the form of all of C is one of those that sum as the triangle's does, bits are the same: from the first n on that
// has the longest promotion.
TEST(TrianglePlan, HasTheSumsOfAllOfC) {
  for (std::int64_t n = 3966; n < 20000; n += 101) {
    for (const std::int64_t k : {1025, 4096, 65536})
      EXPECT_NE(engines::ec_form_for(n, n, k, EcFormat::kF16, 132), engines::EcForm::kSplitInner128x64) << n;
  }
}

}  // namespace
}  // namespace kizami::exec
