// SPDX-License-Identifier: MIT
// Gauge entry of scheme ozaki1 for a device: the rungs and the scheme behind them are those of the host, and one
// workspace has room for whatever comes.
#include "schemes/ozaki1/device_rungs_plan.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "engines/desc_check.hpp"
#include "exec/schemes.hpp"
#include "schemes/ozaki1/device_plan.hpp"
#include "schemes/ozaki2/stage.hpp"
#include "tests/plan/fake_engine.hpp"
#include "tests/plan/h200_facts.hpp"

namespace kizami::ozaki1 {
namespace {

/// Takes what engine hopper takes.
class CertifyingEngine final : public plan::FakeEngine {
 public:
  explicit CertifyingEngine(bool compares = true)
      : plan::FakeEngine("hopper", [compares](const product::ProductDesc& d) -> Answer {
          const engines::Abilities abilities{
              .compares = compares, .takes_windows = true, .takes_floats = true, .promotes_sums = true};
          if (auto reason = engines::why_refused(d, abilities)) return product::Refusal{*reason};
          const double macs =
              static_cast<double>(d.m) * static_cast<double>(d.n) * static_cast<double>(d.k) * d.num_products;
          return product::Offer{.workspace_bytes = 64, .seconds = 1e-6 + macs / 7e14, .threads = 1};
        }) {}
  [[nodiscard]] product::MemorySpace space() const noexcept override { return product::MemorySpace::kDevice; }
  [[nodiscard]] bool reads_num_products() const noexcept override { return true; }
  [[nodiscard]] bool promotes_sums() const noexcept override { return true; }
};

[[nodiscard]] Policy certified() {
  Policy policy;
  policy.scheme = Scheme::kOzaki1;
  policy.may_sync = true;
  return policy;
}

Result<plan::Plan> make_on_device(const problem::Shape& shape, const Policy& policy, bool compares = true) {
  static const CertifyingEngine comparing(true);
  static const CertifyingEngine storing(false);
  const product::Engine* const engines[] = {compares ? &comparing : &storing};
  plan::Environment environment;
  environment.schemes = exec::schemes();
  environment.facts = plan::h200_facts();
  environment.engines = engines;
  return plan::make(shape, policy, environment);
}

/// Everything that a call may carve lies within the workspace.
void expect_room(const plan::Plan& plan) {
  const auto bytes = [](const auto& carve) {
    base::Carver counter;
    carve(counter);
    return counter.bytes();
  };
  const std::size_t room = plan.schedule.product_bytes;
  EXPECT_LE(room, plan.schedule.workspace_bytes);
  EXPECT_LE(bytes([&](base::Carver& c) { static_cast<void>(ozaki2::carve_device(c, plan)); }), room);
  EXPECT_LE(bytes([&](base::Carver& c) { static_cast<void>(carve_device_slice_certificate(c, plan)); }), room);
  for (int r = 0; r < ozaki1_of(plan).numerics.num_rungs; ++r) {
    const plan::Plan one = plan_at_slice_rung(plan, r);
    EXPECT_EQ(ozaki1_of(one).numerics.last(), ozaki1_of(plan).numerics.rungs[static_cast<std::size_t>(r)]);
    EXPECT_FALSE(has_slice_rungs(one));
    EXPECT_LE(bytes([&](base::Carver& c) { static_cast<void>(carve_device_slices(c, one)); }), room);
  }
}

TEST(DeviceSliceRungs, HaveTheNumericsOfTheHost) {
  for (const Scalar scalar : {Scalar::kF64, Scalar::kF32, Scalar::kC128}) {
    for (const int bits : {0, 20, 50}) {
      for (const std::int64_t k : {1, 500, 40000}) {
        Policy policy = certified();
        if (bits > 0) policy.accuracy = Accuracy::at_bits(bits);
        const problem::Shape shape{scalar, 300, 200, k};
        const plan::FakeEngine engine("cpu_ref");
        const plan::FakeMachine host({&engine});
        const Result<plan::Plan> on_host = plan::make(shape, policy, host.environment());
        const Result<plan::Plan> on_device = make_on_device(shape, policy);
        ASSERT_EQ(on_device.ok(), on_host.ok()) << on_device.status().reason();
        if (!on_host.ok()) continue;
        const plan::Plan& plan = on_device.value();
        EXPECT_TRUE(has_slice_rungs(plan));
        EXPECT_TRUE(ozaki2::ozaki2_of(plan).has_certificate);
        EXPECT_EQ(plan::numerics_hash(plan), plan::numerics_hash(on_host.value()));
        EXPECT_EQ(plan.first().bound, on_host.value().first().bound);
        EXPECT_EQ(plan.first().gauge, Gauge::kEntry);
        expect_room(plan);
      }
    }
  }
}

TEST(DeviceSliceRungs, KeepTheLimitOfTheWorkspace) {
  const problem::Shape shape{Scalar::kC128, 3000, 2500, 20000};
  for (const bool compares : {true, false}) {
    Policy policy = certified();
    const std::size_t whole = make_on_device(shape, policy, compares).value().schedule.workspace_bytes;
    for (const std::size_t limit : {whole, whole / 3, whole / 20}) {
      policy.workspace_limit_bytes = limit;
      const Result<plan::Plan> plan = make_on_device(shape, policy, compares);
      ASSERT_TRUE(plan.ok()) << plan.status().reason();
      EXPECT_LE(plan.value().schedule.workspace_bytes, limit);
      expect_room(plan.value());
    }
    policy.workspace_limit_bytes = 4096;
    const Result<plan::Plan> refused = make_on_device(shape, policy, compares);
    ASSERT_EQ(refused.status().code(), StatusCode::kWorkspaceTooSmall);
    const std::string reason = refused.status().reason();
    policy.workspace_limit_bytes = std::stoull(reason.substr(reason.find(">= ") + 3));
    EXPECT_TRUE(make_on_device(shape, policy, compares).ok()) << reason;
  }
}

TEST(DeviceSliceRungs, ComparesInTheProductWhereTheEngineDoes) {
  const auto sampled = [](std::size_t limit, bool compares) {
    Policy policy = certified();
    policy.workspace_limit_bytes = limit;
    const plan::Plan plan = make_on_device({Scalar::kF64, 4000, 4000, 4000}, policy, compares).value();
    base::Carver counter;
    return carve_device_slice_certificate(counter, plan).sampled;
  };
  EXPECT_TRUE(sampled(0, true).is_compared);
  EXPECT_GT(sampled(0, true).allowance, 0.0F);
  EXPECT_FALSE(sampled(0, false).is_compared);
  EXPECT_FALSE(sampled(std::size_t{40} << 20, true).is_compared) << "chunks of lines";
}

TEST(DeviceSliceRungs, NeedAHostThatMayWait) {
  Policy policy = certified();
  policy.may_sync = false;
  const Result<plan::Plan> refused = make_on_device({Scalar::kF64, 30, 20, 10}, policy);
  EXPECT_EQ(refused.status().code(), StatusCode::kUnsupported);
  EXPECT_EQ(refused.status().reason(),
            "scheme ozaki1: gauge = entry without slices by name and sync = never, must be allowed: the host waits "
            "for the rung, for operands in device memory");
}

TEST(DeviceSliceRungs, OfEmptyCalls) {
  for (const problem::Shape& shape :
       {problem::Shape{Scalar::kF64, 0, 20, 10}, {Scalar::kF64, 30, 0, 10}, {Scalar::kC64, 30, 20, 0}}) {
    const Result<plan::Plan> plan = make_on_device(shape, certified());
    ASSERT_TRUE(plan.ok()) << plan.status().reason();
    expect_room(plan.value());
  }
}

}  // namespace
}  // namespace kizami::ozaki1
