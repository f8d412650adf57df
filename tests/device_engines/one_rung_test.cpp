// SPDX-License-Identifier: MIT
// An engine that makes what its host says has one rung of a ladder where the others read on the device how far a call climbs: other bits, and
// FP64 arithmetic for operands that they have a rung for. So nobody is given it who has not asked for it, however quick it is.
#include <gtest/gtest.h>

#include <array>

#include "device_engines/h200_environment.hpp"
#include "device_engines/library.hpp"
#include "plan/plan.hpp"
#include "schemes/ozaki2/stage.hpp"

namespace kizami::plan {
namespace {

/// Answers like engine cublaslt, and faster than anybody.
class Quickest final : public product::Engine {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return like_.name(); }
  [[nodiscard]] product::MemorySpace space() const noexcept override { return like_.space(); }
  [[nodiscard]] std::variant<product::Offer, product::Refusal> query(const product::ProductDesc& d,
                                                                     const product::DeviceFacts& facts) const override {
    auto answer = like_.query(d, facts);
    // Less than other phases of its calls take beyond those of another engine.
    if (auto* const offer = std::get_if<product::Offer>(&answer)) offer->seconds = -1e-3;
    return answer;
  }
  [[nodiscard]] Status run(const product::ProductDesc& d, const product::Offer& offer,
                           const product::Pointers& pointers, std::byte* workspace,
                           product::Queue queue) const override {
    return like_.run(d, offer, pointers, workspace, queue);
  }

 private:
  Library like_;
};

Plan planned(const Policy& policy, bool has_hopper = true) {
  static const Quickest quickest;
  static const std::array<const product::Engine*, 2> engines = {&quickest, &engines::hopper_engine()};
  Environment environment = h200_environment();
  environment.engines = std::span(engines).first(has_hopper ? 2 : 1);
  const Result<Plan> made = make({Scalar::kF64, 100, 100, 100}, policy, environment);
  EXPECT_TRUE(made.ok()) << made.status().reason();
  return made.value();
}

Policy of(EngineName engine) {
  Policy policy;
  policy.scheme = Scheme::kOzaki2;
  policy.engine = engine;
  return policy;
}

void expect_planned(const Plan& plan, std::string_view engine, bool has_one_rung) {
  EXPECT_EQ(ozaki2::ozaki2_of(plan).engine->name(), engine);
  EXPECT_EQ(ozaki2::ozaki2_of(plan).ladder.num_rungs == 1, has_one_rung);
}

TEST(OneRung, IsForThoseWhoNameTheEngineOrHaveNoOther) {
  expect_planned(planned(of(EngineName::kAuto)), "hopper", false);
  expect_planned(planned(of(EngineName::kCublasLt)), "cublaslt", true);
  expect_planned(planned(of(EngineName::kAuto), /*has_hopper=*/false), "cublaslt", true);
}

TEST(OneRung, IsNoHindranceWhereThereIsNoMoreToHaveOrNobodyAsks) {
  Policy waits = of(EngineName::kAuto);
  waits.may_sync = true;  // the host climbs
  expect_planned(planned(waits), "cublaslt", false);
  Policy lowest = of(EngineName::kAuto);
  lowest.max_rungs = 1;
  expect_planned(planned(lowest), "cublaslt", true);
  Policy any_bits = of(EngineName::kAuto);
  any_bits.reproducibility = Reproducibility::kNotGuaranteed;
  expect_planned(planned(any_bits), "cublaslt", true);
  Policy forced = of(EngineName::kAuto);
  forced.forced_moduli = 15;
  expect_planned(planned(forced), "cublaslt", true);
}

TEST(OneRung, IsToldAsTheReason) {
  const Plan plan = planned(of(EngineName::kAuto));
  bool is_told = false;
  for (const std::string& refusal : plan.refusals)
    is_told = is_told || refusal.starts_with("cublaslt: has one rung of the ladder");
  EXPECT_TRUE(is_told);
}

}  // namespace
}  // namespace kizami::plan
