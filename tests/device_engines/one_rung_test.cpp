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

/// Answers like another engine, but for the seconds.
class Timed final : public product::Engine {
 public:
  Timed(const product::Engine& like, double seconds) : like_(like), seconds_(seconds) {}

  [[nodiscard]] std::string_view name() const noexcept override { return like_.name(); }
  [[nodiscard]] bool needs_workspace() const noexcept override { return like_.needs_workspace(); }
  [[nodiscard]] product::MemorySpace space() const noexcept override { return like_.space(); }
  [[nodiscard]] bool reads_num_products() const noexcept override { return like_.reads_num_products(); }
  [[nodiscard]] bool promotes_sums() const noexcept override { return like_.promotes_sums(); }
  [[nodiscard]] std::variant<product::Offer, product::Refusal> query(const product::ProductDesc& d,
                                                                     const product::DeviceFacts& facts) const override {
    auto answer = like_.query(d, facts);
    if (auto* const offer = std::get_if<product::Offer>(&answer)) offer->seconds = seconds_;
    return answer;
  }
  [[nodiscard]] Status run(const product::ProductDesc& d, const product::Offer& offer,
                           const product::Pointers& pointers, std::byte* workspace,
                           product::Queue queue) const override {
    return like_.run(d, offer, pointers, workspace, queue);
  }

 private:
  const product::Engine& like_;
  double seconds_;
};

Plan planned(const Policy& policy, bool has_hopper = true) {
  static const Library library;
  static const Timed quick(library, 1e-9);
  static const Timed slow(engines::hopper_engine(), 1.0);
  static const std::array<const product::Engine*, 2> engines = {&quick, &slow};
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
