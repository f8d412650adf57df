// SPDX-License-Identifier: MIT
// Plans of scheme ec for operands in device memory, made without any device.
#include "schemes/ec/device_plan.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/carver.hpp"
#include "device/batch_buffers.hpp"
#include "exec/schemes.hpp"
#include "num/bounds.hpp"
#include "plan/plan.hpp"
#include "schemes/ec/device_planes_plan.hpp"
#include "schemes/ec/plan.hpp"
#include "schemes/native/device_plan.hpp"
#include "schemes/ozaki2/device_buffers.hpp"
#include "tests/plan/fake_engine.hpp"
#include "tests/plan/h200_facts.hpp"

namespace kizami::ec {
namespace {

using product::EcFormat;
using product::EcPromotion;

constexpr double kSeconds = 1e-3;

/// An engine of the kernels' arithmetic.
class FakeEcEngine final : public product::EcEngine {
 public:
  explicit FakeEcEngine(double seconds = kSeconds, bool carries_tf32 = true)
      : seconds_(seconds), carries_tf32_(carries_tf32) {}
  [[nodiscard]] std::string_view name() const noexcept override { return "hopper"; }
  [[nodiscard]] std::variant<product::Offer, product::Refusal> query(const product::FloatProductDesc& desc,
                                                                     const product::DeviceFacts&) const override {
    for (const EcFormat format : {EcFormat::kF16, EcFormat::kTf32}) {
      if (format == EcFormat::kTf32 && !carries_tf32_) continue;
      for (const EcPromotion promotion : product::kEcPromotions) {
        if (has_equal_arithmetic(desc, product::ec_arithmetic(format, promotion)))
          return product::Offer{
              0, static_cast<double>(desc.num_products) * (format == EcFormat::kF16 ? seconds_ : 2 * seconds_), 1};
      }
    }
    return product::Refusal{"no such kernel"};
  }
  Status run(const product::EcProduct& /*product*/, EcPromotion /*promotion*/, const product::DeviceFacts& /*facts*/,
             product::Queue /*queue*/) const override {
    return {StatusCode::kUnsupported, "plans only"};
  }

 private:
  double seconds_;
  bool carries_tf32_;
};

/// An engine of planes.
class FakeMma final : public product::FloatEngine {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "mma"; }
  [[nodiscard]] product::MemorySpace space() const noexcept override { return product::MemorySpace::kDevice; }
  [[nodiscard]] std::variant<product::Offer, product::Refusal> query(const product::FloatProductDesc& desc,
                                                                     const product::DeviceFacts&) const override {
    if (desc.core != num::hopper_tensor_core(desc.type)) return product::Refusal{"no such tensor core"};
    return product::Offer{0, 1e-3, 1};
  }
  Status run(const product::FloatProductDesc& /*desc*/, const product::Offer& /*offer*/,
             const product::FloatPointers& /*pointers*/, std::byte* /*workspace*/,
             product::Queue /*queue*/) const override {
    return {StatusCode::kUnsupported, "plans only"};
  }
};

class DeviceFake final : public plan::FakeEngine {
 public:
  explicit DeviceFake(double seconds) : plan::FakeEngine("hopper", plan::offering(seconds, 0)) {}
  [[nodiscard]] product::MemorySpace space() const noexcept override { return product::MemorySpace::kDevice; }
  [[nodiscard]] bool reads_num_products() const noexcept override { return true; }
};

class DeviceEcPlan : public testing::Test {
 protected:
  Result<plan::Plan> planned(const Policy& policy, const problem::Shape& shape = {Scalar::kF32, 1000, 900, 1024},
                             const Batch& batch = {}) {
    ec_list_ = {&ec_};
    float_list_ = {&mma_};
    list_ = {&ozaki2_};
    plan::Environment environment;
    environment.schemes = exec::schemes();
    environment.ec_engines = ec_list_;
    environment.float_engines = float_list_;
    environment.engines = list_;
    static const plan::FakeCublas cublas;
    environment.native_device_engine = &cublas;
    environment.facts = plan::h200_facts();
    return plan::make(shape, policy, environment, batch);
  }
  static Policy ec_policy(EcVariant variant = EcVariant::kAuto) {
    Policy policy;
    policy.scheme = Scheme::kEc;
    policy.reproducibility = Reproducibility::kNotGuaranteed;
    policy.ec.variant = variant;
    return policy;
  }
  std::string refusal(const Policy& policy, const problem::Shape& shape = {Scalar::kF32, 1000, 900, 1024}) {
    const Result<plan::Plan> plan = planned(policy, shape);
    return plan.ok() ? "accepted" : plan.status().reason();
  }

  FakeEcEngine ec_;
  FakeMma mma_;
  DeviceFake ozaki2_{1e-3};
  std::vector<const product::EcEngine*> ec_list_;
  std::vector<const product::FloatEngine*> float_list_;
  std::vector<const product::Engine*> list_;
};

TEST_F(DeviceEcPlan, HasFp16ThenTf32ThenFp64) {
  const Result<plan::Plan> planned_ec = planned(ec_policy());
  ASSERT_TRUE(planned_ec.ok()) << planned_ec.status().reason();
  const plan::Plan& plan = planned_ec.value();
  EXPECT_EQ(plan.first().scheme, Scheme::kEc);
  ASSERT_EQ(ec_of(plan).numerics.num_rungs, 2);
  const EcRung& first = ec_of(plan).numerics.rungs[0];
  EXPECT_EQ(first.recipe.variant, EcVariant::kScaled);
  EXPECT_EQ(ec_format(first), EcFormat::kF16);
  EXPECT_EQ(ec_of(plan).numerics.rungs[1].recipe.variant, EcVariant::kScaledTf32);
  EXPECT_TRUE(ec_of(plan).has_fp64);
  EXPECT_EQ(ozaki2::ozaki2_of(plan).ladder.num_rungs, 0);
  EXPECT_EQ(plan.first().bound, num::target_bound(Accuracy::native(), Scalar::kF32, 1024));
  EXPECT_LT(first.error, plan.first().bound);
  const num::EcRangeLimits limits = num::ec_range_limits(14, plan.first().bound - first.error);
  EXPECT_EQ(ec_of(plan).numerics.limits.fine, limits.fine);
  EXPECT_EQ(ec_of(plan).numerics.limits.dense, limits.dense);
  const std::string text = plan::explain(plan);
  for (const char* words : {"scaled: 2 parts of FP16", "scaled_tf32: 2 parts of TF32", "FP64 arithmetic", "hopper"})
    EXPECT_NE(text.find(words), std::string::npos) << words << " is not in\n" << text;
}

TEST_F(DeviceEcPlan, TakesTheKernelsArithmeticForItsBound) {
  for (const std::int64_t k : {100, 1024, 5000, 100000}) {
    const Result<plan::Plan> plan = planned(ec_policy(), {Scalar::kF32, 3000, 2000, k});
    ASSERT_TRUE(plan.ok()) << plan.status().reason();
    for (int s = 0; s < 2; ++s) {
      const EcRung& stage = ec_of(plan.value()).numerics.rungs[static_cast<std::size_t>(s)];
      EXPECT_EQ(ec_promotion(stage), product::ec_promotion_for(3000, 2000, k));
      EXPECT_EQ(stage.error, product::ec_relative_bound(ec_format(stage), ec_promotion(stage), k) + kEcUnderflowError);
    }
  }
}

TEST_F(DeviceEcPlan, ComplexProductsAreOneRealProductOfTwiceTheRows) {
  const Result<plan::Plan> plan = planned(ec_policy(), {Scalar::kC64, 500, 300, 700});
  ASSERT_TRUE(plan.ok()) << plan.status().reason();
  const EcRung& stage = ec_of(plan.value()).numerics.rungs[0];
  const product::FloatProductDesc by_columns = device_ec_product(plan.value(), stage, false);
  EXPECT_EQ(by_columns.m, 1000);
  EXPECT_EQ(by_columns.n, 300);
  EXPECT_EQ(by_columns.k, 1400);
  const product::FloatProductDesc by_rows = device_ec_product(plan.value(), stage, true);
  EXPECT_EQ(by_rows.m, 600);
  EXPECT_EQ(by_rows.n, 500);
}

// A launch more than tame operands need: of calls that are long enough, whose range is looked at, with FP16 to be kept.
TEST_F(DeviceEcPlan, LooksAtProfilesOfLargeCalls) {
  const auto takes_profiles = [&](const problem::Shape& shape, const Policy& policy) {
    const Result<plan::Plan> plan = planned(policy, shape);
    EXPECT_TRUE(plan.ok()) << plan.status().reason();
    return plan.ok() && ec_of(plan.value()).numerics.takes_profiles;
  };
  EXPECT_TRUE(takes_profiles({Scalar::kF32, 4096, 4096, 4096}, ec_policy()));
  EXPECT_TRUE(takes_profiles({Scalar::kF32, 2048, 4096, 2048}, ec_policy()));
  EXPECT_TRUE(takes_profiles({Scalar::kC64, 2048, 2048, 1024}, ec_policy()));
  EXPECT_FALSE(takes_profiles({Scalar::kF32, 2048, 2048, 2048}, ec_policy()));
  EXPECT_FALSE(takes_profiles({Scalar::kF32, 20000, 90000, 31}, ec_policy()));
  EXPECT_FALSE(takes_profiles({Scalar::kF32, 4096, 4096, 4096}, ec_policy(EcVariant::kScaledTf32)));
  Policy unchecked = ec_policy();
  unchecked.ec.check_range = false;
  EXPECT_FALSE(takes_profiles({Scalar::kF32, 4096, 4096, 4096}, unchecked));
  const plan::Plan plan = planned(ec_policy(), {Scalar::kF32, 4096, 4096, 4096}).value();
  EXPECT_EQ(ec_of(plan).numerics.profile_limit,
            num::ec_profile_limit(plan.first().bound - ec_of(plan).numerics.rungs[0].error, 4096));
}

// Both stages have one launch, so one number of stages of the kernel a promotion: TF32 half as many elements.
TEST_F(DeviceEcPlan, PromotionCanBeAskedFor) {
  Policy policy = ec_policy();
  for (const EcPromotion promotion : product::kEcPromotions) {
    policy.ec.promotion_k = static_cast<int>(product::ec_promoted_length(EcFormat::kF16, promotion));
    const Result<plan::Plan> plan = planned(policy, {Scalar::kF32, 4096, 4096, 4096});
    ASSERT_TRUE(plan.ok()) << plan.status().reason();
    ASSERT_EQ(ec_of(plan.value()).numerics.num_rungs, 2);
    for (int s = 0; s < 2; ++s)
      EXPECT_EQ(ec_promotion(ec_of(plan.value()).numerics.rungs[static_cast<std::size_t>(s)]), promotion);
  }
  policy.ec.promotion_k = 16;
  policy.ec.variant = EcVariant::kScaledTf32;
  EXPECT_EQ(ec_promotion(ec_of(planned(policy).value()).numerics.rungs[0]), EcPromotion::kShortest);
  policy.ec.variant = EcVariant::kAuto;
  EXPECT_EQ(refusal(policy), "scheme ec: variant scaled: engine hopper: no such kernel");
}

TEST_F(DeviceEcPlan, RefusesWhatHasNoKernelByNameAndEngine) {
  Policy policy = ec_policy();
  policy.ec.keep_small_term = true;
  EXPECT_EQ(refusal(policy), "scheme ec: variant scaled: engine hopper: no such kernel");
  policy = ec_policy();
  policy.ec.tensor_core = TensorCoreModel::kAmpere;
  EXPECT_EQ(refusal(policy), "scheme ec: variant scaled: engine hopper: no such kernel");
  policy = ec_policy();
  policy.ec.truncate_parts = true;
  EXPECT_EQ(refusal(policy),
            "scheme ec: variant scaled: engine hopper: truncate_parts = 1, must be 0: the kernels round parts to "
            "nearest");
  policy = ec_policy(EcVariant::kMarkidis);
  policy.engine = EngineName::kHopper;
  EXPECT_EQ(refusal(policy), "scheme ec: variant markidis: engine hopper: no such kernel");
  policy = ec_policy();
  policy.ec.karatsuba = true;
  policy.gauge = Gauge::kNorm;
  EXPECT_NE(refusal(policy, {Scalar::kC64, 100, 100, 100}).find("karatsuba = true, must be false"), std::string::npos);
  policy = ec_policy();
  policy.engine = EngineName::kCublasLt;
  EXPECT_NE(refusal(policy).find("engine cublaslt carries no products of scheme ec"), std::string::npos);
}

/// By planes: which engine multiplies, and what a call launches.
TEST_F(DeviceEcPlan, TakesTheVariantsOfDocumentsByPlanes) {
  struct Expected {
    EcVariant variant;
    int parts, sums, products;
  };
  constexpr Expected kExpected[] = {
      {EcVariant::kHalfhalf, 2, 2, 3}, {EcVariant::kTf32tf32, 2, 2, 3}, {EcVariant::kMarkidis, 2, 1, 4},
      {EcVariant::kFeng, 2, 1, 4},     {EcVariant::kBf16x3, 2, 1, 3},   {EcVariant::kBf16x6, 3, 1, 6},
      {EcVariant::kBf16x9, 3, 1, 9},   {EcVariant::kFp16, 1, 1, 1},     {EcVariant::kTf32, 1, 1, 1}};
  for (const Expected& e : kExpected) {
    const std::string name(to_string(e.variant));
    Policy policy = ec_policy(e.variant);
    EXPECT_EQ(refusal(policy), "check_range = 1, must be 0 for variant " + name +
                                   " in device memory: nobody looks there for operands beyond its range");
    policy.ec.check_range = false;
    for (const Scalar scalar : {Scalar::kF32, Scalar::kC64}) {
      const Result<plan::Plan> plan = planned(policy, {scalar, 100, 90, 1024});
      ASSERT_TRUE(plan.ok()) << name << ": " << plan.status().reason();
      ASSERT_TRUE(has_device_planes(plan.value())) << name;
      const EcStage& stage = ec_of(plan.value());
      EXPECT_EQ(stage.engine_name(), "mma") << name;
      EXPECT_EQ(stage.numerics.num_rungs, 1) << name;
      EXPECT_EQ(stage.numerics.rungs[0].recipe.split.num_parts, e.parts) << name;
      EXPECT_EQ(plan.value().first().bound, stage.numerics.rungs[0].error) << name;
      EXPECT_EQ(ec_products(plan.value()), is_complex(scalar) ? 2 : 1) << name;
      const product::FloatProductDesc desc = ec_product(plan.value(), 0);
      EXPECT_EQ(desc.num_sums, e.sums) << name;
      EXPECT_EQ(product::num_plane_products(desc), e.products) << name;
      EXPECT_EQ(desc.k, is_complex(scalar) ? 2048 : 1024) << name;
      EXPECT_NE(plan::explain(plan.value()).find("mma, planes of all lines"), std::string::npos);
    }
  }
}

TEST_F(DeviceEcPlan, TakesWhatEngineMmaIsNamedFor) {
  Policy policy = ec_policy(EcVariant::kScaled);
  policy.engine = EngineName::kMma;
  policy.ec.check_range = false;
  policy.ec.keep_small_term = true;
  const Result<plan::Plan> plan = planned(policy);
  ASSERT_TRUE(plan.ok()) << plan.status().reason();
  EXPECT_TRUE(has_device_planes(plan.value()));
  EXPECT_EQ(product::num_plane_products(ec_product(plan.value(), 0)), 4);
  policy.ec.tensor_core = TensorCoreModel::kAmpere;
  EXPECT_EQ(refusal(policy),
            "scheme ec: variant scaled: no engine here multiplies planes in device memory; mma: no such tensor core");
  policy.ec.tensor_core = TensorCoreModel::kHopper;
  policy.accuracy = Accuracy::at_bits(22);
  EXPECT_EQ(planned(policy).status().code(), StatusCode::kAccuracyUnreachable);
  policy.accuracy = Accuracy::native();
  policy.workspace_limit_bytes = plan.value().schedule.workspace_bytes - 1;
  EXPECT_EQ(planned(policy).status().code(), StatusCode::kWorkspaceTooSmall);
}

TEST_F(DeviceEcPlan, RefusesWhatItDoesNotReach) {
  EXPECT_NE(refusal(ec_policy(), {Scalar::kF32, 100, 100, 8}).find("wanted"), std::string::npos);
  Policy policy = ec_policy();
  policy.accuracy = Accuracy::at_bits(22);
  EXPECT_EQ(planned(policy).status().code(), StatusCode::kAccuracyUnreachable);
  policy.accuracy = Accuracy::at_bits(16);
  EXPECT_EQ(planned(policy).value().first().bound, 0x1p-16);
  // A named variant is taken at its own bound.
  const Result<plan::Plan> waived = planned(ec_policy(EcVariant::kScaled), {Scalar::kF32, 100, 100, 8});
  ASSERT_TRUE(waived.ok()) << waived.status().reason();
  EXPECT_GT(waived.value().first().bound, num::target_bound(Accuracy::native(), Scalar::kF32, 8));
}

TEST_F(DeviceEcPlan, RefusesWhatOnlyTheElementsTellUnlessItMayWait) {
  Policy policy = ec_policy();
  policy.gauge = Gauge::kNorm;
  policy.allow_fp64_arithmetic = false;
  EXPECT_NE(refusal(policy).find("sync = allowed"), std::string::npos);
  policy.may_sync = true;
  ASSERT_TRUE(planned(policy).ok());
  EXPECT_FALSE(ec_of(planned(policy).value()).has_fp64);
  policy.may_sync = false;
  policy.ec.check_range = false;  // nothing is ever beyond it
  ASSERT_TRUE(planned(policy).ok());
  EXPECT_EQ(ec_of(planned(policy).value()).numerics.num_rungs, 1);
  EXPECT_EQ(planned(policy).value().first().bound, ec_of(planned(policy).value()).numerics.rungs[0].error);
}

TEST_F(DeviceEcPlan, BooksEitherOrientation) {
  for (const Scalar scalar : {Scalar::kF32, Scalar::kC64}) {
    for (const problem::Shape& shape : {problem::Shape{scalar, 5000, 3, 700}, problem::Shape{scalar, 3, 5000, 701},
                                        problem::Shape{scalar, 257, 129, 77}}) {
      const Result<plan::Plan> plan = planned(ec_policy(), shape);
      ASSERT_TRUE(plan.ok()) << plan.status().reason();
      for (const bool is_transposed : {false, true}) {
        base::Carver counter;
        static_cast<void>(carve_device_ec(counter, plan.value(), is_transposed));
        EXPECT_LE(counter.bytes(), plan.value().schedule.workspace_bytes);
        // Carved where a workspace may begin, planes are where tensor maps want them.
        alignas(256) static std::byte memory[1];
        base::Carver carver(memory);
        const DeviceEcBuffers buffers = carve_device_ec(carver, plan.value(), is_transposed);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffers.a.planes) % product::kEcBlockBytes, 0U);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffers.b.planes) % product::kEcBlockBytes, 0U);
        EXPECT_EQ(static_cast<void*>(buffers.state), static_cast<void*>(memory));
      }
      Policy limited = ec_policy();
      limited.workspace_limit_bytes = plan.value().schedule.workspace_bytes - 1;
      EXPECT_EQ(planned(limited, shape).status().code(), StatusCode::kWorkspaceTooSmall);
    }
  }
}

TEST_F(DeviceEcPlan, OfABatchHasProductsTogether) {
  const problem::Shape shape{Scalar::kC64, 100, 90, 80};
  const Batch batch{500, false};
  const plan::Plan one = planned(ec_policy(), shape).value();
  const plan::Plan many = planned(ec_policy(), shape, batch).value();
  EXPECT_EQ(ec_of(one).products_together, 1);
  EXPECT_EQ(one.schedule.product_bytes, one.schedule.workspace_bytes);
  EXPECT_EQ(plan::numerics_hash(many), plan::numerics_hash(one));
  EXPECT_EQ(ec_of(many).products_together, 500);
  // Pieces of many products are not rounded up one by one, but for three pointers each.
  EXPECT_LE(many.schedule.product_bytes, 500 * (one.schedule.product_bytes + 3 * sizeof(void*)));
  EXPECT_GE(many.schedule.product_bytes,
            500 * (one.schedule.product_bytes - std::size_t{20} * base::Carver::kAlignment));
  EXPECT_EQ(many.schedule.workspace_bytes, device::device_together_bytes(shape, batch, many.schedule.product_bytes));
  EXPECT_GE(many.schedule.workspace_bytes, many.schedule.product_bytes + 500 * sizeof(device::DeviceState));
  EXPECT_LT(many.schedule.seconds, 500 * one.schedule.seconds);
  EXPECT_GT(many.schedule.seconds, 500 * kSeconds);

  Policy limited = ec_policy();
  limited.workspace_limit_bytes = many.schedule.workspace_bytes - 1;
  const plan::Plan halves = planned(limited, shape, batch).value();
  EXPECT_EQ(ec_of(halves).products_together, 250) << "equal parts";
  EXPECT_LE(halves.schedule.workspace_bytes, limited.workspace_limit_bytes);
  EXPECT_GT(halves.schedule.seconds, many.schedule.seconds);
  limited.workspace_limit_bytes = device::device_batch_bytes(shape, batch, one.schedule.workspace_bytes, 0);
  const plan::Plan least = planned(limited, shape, batch).value();
  EXPECT_EQ(ec_of(least).products_together, 1);
  EXPECT_EQ(least.schedule.workspace_bytes, limited.workspace_limit_bytes);
  EXPECT_DOUBLE_EQ(least.schedule.seconds, 500 * one.schedule.seconds) << "one after another";
  --limited.workspace_limit_bytes;
  EXPECT_EQ(planned(limited, shape, batch).status().code(), StatusCode::kWorkspaceTooSmall);
  EXPECT_TRUE(planned(limited, shape, {499, false}).ok());
}

TEST_F(DeviceEcPlan, TakesAsManyProductsTogetherAsLaunchesHoldAndMemoryAllows) {
  const auto together = [&](const problem::Shape& shape, const Batch& batch, const Policy& policy = ec_policy()) {
    return ec_of(planned(policy, shape, batch).value()).products_together;
  };
  EXPECT_EQ(together({Scalar::kF32, 512, 512, 512}, {64, false}), 64);
  EXPECT_EQ(together({Scalar::kF32, 512, 512, 512}, {64, true}), 64);
  EXPECT_EQ(together({Scalar::kF32, 1024, 1024, 1024}, {64, false}), 16);
  EXPECT_EQ(together({Scalar::kC64, 1024, 1024, 1024}, {16, false}), 4);
  EXPECT_EQ(together({Scalar::kF32, 16, 16, 32}, {5000, false}), 1000) << "in five launches";
  EXPECT_EQ(together({Scalar::kF32, 4096, 4096, 512}, {8, false}), 8);
  EXPECT_EQ(together({Scalar::kF32, 8192, 8192, 8192}, {8, false}), 1) << "their lines may need profiles";
  EXPECT_EQ(together({Scalar::kF32, 512, 512, 512}, {0, false}), 1);
  Policy waiting = ec_policy();
  waiting.may_sync = true;
  EXPECT_EQ(together({Scalar::kF32, 512, 512, 512}, {64, false}, waiting), 1);
}

TEST_F(DeviceEcPlan, OfAnEmptyShapeNeedsTheStateOnly) {
  base::Carver state;
  static_cast<void>(state.take<device::DeviceState>(1));
  for (const problem::Shape& shape : {problem::Shape{Scalar::kF32, 0, 7, 90}, problem::Shape{Scalar::kC64, 7, 0, 90}}) {
    const Result<plan::Plan> plan = planned(ec_policy(), shape);
    ASSERT_TRUE(plan.ok()) << plan.status().reason();
    EXPECT_EQ(plan.value().schedule.workspace_bytes, state.bytes());
    EXPECT_EQ(plan.value().schedule.seconds, 0.0);
  }
  Policy named = ec_policy(EcVariant::kScaled);
  EXPECT_TRUE(planned(named, {Scalar::kF32, 7, 9, 0}).ok());
}

TEST_F(DeviceEcPlan, IsChosenWhereItIsQuickestAndNoBitsArePromised) {
  ec_ = FakeEcEngine(1e-6);
  const problem::Shape shape{Scalar::kF32, 8192, 8192, 8192};
  Policy policy;
  EXPECT_EQ(planned(policy, shape).value().first().scheme, Scheme::kOzaki2);
  policy.reproducibility = Reproducibility::kNotGuaranteed;
  EXPECT_EQ(planned(policy, shape).value().first().scheme, Scheme::kEc);
  EXPECT_NE(planned(policy, {Scalar::kF64, 8192, 8192, 8192}).value().first().scheme, Scheme::kEc);
  policy.engine = EngineName::kHopper;
  EXPECT_EQ(planned(policy, shape).value().first().scheme, Scheme::kEc);
  policy.engine = EngineName::kAuto;
  ec_ = FakeEcEngine(1.0);
  const plan::Plan other = planned(policy, shape).value();
  EXPECT_NE(other.first().scheme, Scheme::kEc);
  bool says_why = false;
  for (const std::string& text : other.refusals) says_why = says_why || text.starts_with("ec: predicted");
  EXPECT_TRUE(says_why) << plan::explain(other);
}

}  // namespace
}  // namespace kizami::ec
