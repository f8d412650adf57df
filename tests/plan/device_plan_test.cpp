// SPDX-License-Identifier: MIT
// Plans for operands in device memory, made without any device.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/carver.hpp"
#include "base/int_math.hpp"
#include "device/batch_buffers.hpp"
#include "exec/schemes.hpp"
#include "fake_engine.hpp"
#include "h200_facts.hpp"
#include "plan/plan.hpp"
#include "schemes/native/device_plan.hpp"
#include "schemes/ozaki2/device_buffers.hpp"

namespace kizami::plan {
namespace {

/// An engine that makes as many planes as device memory says, or as many as its host says.
class DeviceEngine : public FakeEngine {
 public:
  DeviceEngine(std::string name, bool reads_count, double seconds)
      : FakeEngine(std::move(name), offering(seconds, std::size_t{1} << 20)), reads_count_(reads_count) {}
  [[nodiscard]] product::MemorySpace space() const noexcept override { return product::MemorySpace::kDevice; }
  [[nodiscard]] bool reads_num_products() const noexcept override { return reads_count_; }

 private:
  bool reads_count_;
};

Environment device_of(const std::vector<const product::Engine*>& engines) {
  Environment environment;
  environment.schemes = exec::schemes();
  environment.engines = engines;
  static const FakeCublas cublas;
  environment.native_device_engine = &cublas;
  environment.facts = h200_facts();
  return environment;
}

Policy ozaki2() {
  Policy policy;
  policy.scheme = Scheme::kOzaki2;
  return policy;
}

TEST(DevicePlan, LadderIsWholeWhereTheEngineReadsTheCount) {
  const DeviceEngine reader("reader", true, 1e-3);
  const DeviceEngine teller("teller", false, 1e-3);
  const problem::Shape shape{Scalar::kF64, 1000, 900, 800};
  const auto rungs = [&](const product::Engine& engine, const Policy& policy) {
    const Result<Plan> plan = make(shape, policy, device_of({&engine}));
    EXPECT_TRUE(plan.ok()) << plan.status().reason();
    return ozaki2::ozaki2_of(plan.value()).ladder.num_rungs;
  };
  const int whole = rungs(reader, ozaki2());
  EXPECT_GT(whole, 5);
  EXPECT_EQ(rungs(teller, ozaki2()), 1);
  Policy waiting = ozaki2();
  waiting.may_sync = true;
  EXPECT_EQ(rungs(teller, waiting), whole);
  Policy short_ladder = ozaki2();
  short_ladder.max_rungs = 3;
  EXPECT_EQ(rungs(reader, short_ladder), 3);
}

TEST(DevicePlan, NumericsAreThoseOfAHostPlanOfAsManyRungs) {
  const DeviceEngine teller("teller", false, 1e-3);
  const FakeEngine host("host");
  const problem::Shape shape{Scalar::kC128, 500, 400, 3000};
  const Result<Plan> on_device = make(shape, ozaki2(), device_of({&teller}));
  Policy one_rung = ozaki2();
  one_rung.max_rungs = 1;
  const Result<Plan> on_host = make(shape, one_rung, FakeMachine({&host}).environment());
  ASSERT_TRUE(on_device.ok() && on_host.ok());
  EXPECT_EQ(numerics_hash(on_device.value()), numerics_hash(on_host.value()));
}

TEST(DevicePlan, KeepsToTheWorkspaceLimit) {
  const DeviceEngine reader("reader", true, 1e-3);
  for (const Scalar scalar : {Scalar::kF32, Scalar::kF64, Scalar::kC64, Scalar::kC128}) {
    for (const problem::Shape& shape :
         {problem::Shape{scalar, 16384, 16384, 16384}, problem::Shape{scalar, 64, 20000, 300000},
          problem::Shape{scalar, 300000, 3, 17}, problem::Shape{scalar, 1, 1, 1}}) {
      for (const std::size_t megabytes : {512, 2048}) {
        Policy policy = ozaki2();
        policy.workspace_limit_bytes = megabytes << 20;
        const Result<Plan> plan = make(shape, policy, device_of({&reader}));
        ASSERT_TRUE(plan.ok()) << plan.status().reason();
        base::Carver counter;
        static_cast<void>(ozaki2::carve_device(counter, plan.value()));
        EXPECT_EQ(counter.bytes(), plan.value().schedule.workspace_bytes);
        EXPECT_LE(counter.bytes(), policy.workspace_limit_bytes);
        EXPECT_EQ(ozaki2::ozaki2_of(plan.value()).chunk.kc % device::kDeviceInnerPad, 0);
      }
    }
  }
}

/// The limits that libkizami_cublas.so tries on a full device, dropin/cublas/workspace_search.hpp.
TEST(DevicePlan, OfALargeProductFitsIntoHalvesDownTo64MiB) {
  const DeviceEngine reader("reader", true, 1e-3);
  for (const Scalar scalar : {Scalar::kF32, Scalar::kF64, Scalar::kC64, Scalar::kC128}) {
    const problem::Shape shape{scalar, 8192, 8192, 8192};
    const Result<Plan> wished = make(shape, ozaki2(), device_of({&reader}));
    ASSERT_TRUE(wished.ok()) << wished.status().reason();
    EXPECT_GT(wished.value().schedule.workspace_bytes, std::size_t{2} << 30);
    for (std::size_t limit = std::size_t{2} << 30; limit >= std::size_t{64} << 20; limit /= 2) {
      Policy policy = ozaki2();
      policy.workspace_limit_bytes = limit;
      const Result<Plan> plan = make(shape, policy, device_of({&reader}));
      ASSERT_TRUE(plan.ok()) << limit << ": " << plan.status().reason();
      EXPECT_LE(plan.value().schedule.workspace_bytes, limit);
      EXPECT_GT(plan.value().schedule.workspace_bytes, limit / 8) << "the limit is used";
      EXPECT_EQ(numerics_hash(plan.value()), numerics_hash(wished.value()));
    }
  }
}

TEST(DevicePlan, OfAnEmptyShapeNeedsTheStateOnly) {
  const DeviceEngine reader("reader", true, 1e-3);
  base::Carver state;
  static_cast<void>(state.take<device::DeviceState>(1));
  for (const Scalar scalar : {Scalar::kF32, Scalar::kC128}) {
    for (const problem::Shape& shape :
         {problem::Shape{scalar, 0, 7, 9}, problem::Shape{scalar, 7, 0, 9}, problem::Shape{scalar, 700, 900, 0},
          problem::Shape{scalar, 0, 0, 9}, problem::Shape{scalar, 0, 0, 0}}) {
      for (const Accuracy accuracy : {Accuracy::native(), Accuracy::at_bits(20)}) {
        for (const Gauge gauge : {Gauge::kEntry, Gauge::kNorm}) {
          Policy policy = ozaki2();
          policy.accuracy = accuracy;
          policy.gauge = gauge;
          const Result<Plan> plan = make(shape, policy, device_of({&reader}));
          ASSERT_TRUE(plan.ok()) << plan.status().reason();
          EXPECT_EQ(plan.value().schedule.workspace_bytes, state.bytes());
          EXPECT_EQ(plan.value().schedule.seconds, 0.0);
        }
      }
    }
  }
  EXPECT_TRUE(reader.asked.empty());
}

/// An engine that wants scratch for one product only.
class PickyEngine final : public DeviceEngine {
 public:
  explicit PickyEngine(std::function<bool(const product::ProductDesc&)> wants)
      : DeviceEngine("picky", true, 1e-3), wants_(std::move(wants)) {}
  [[nodiscard]] Answer query(const product::ProductDesc& desc, const product::DeviceFacts&) const override {
    return product::Offer{wants_(desc) ? kBytes : 0, 1e-3, 1};
  }
  static constexpr std::size_t kBytes = std::size_t{3} << 20;

 private:
  std::function<bool(const product::ProductDesc&)> wants_;
};

TEST(DevicePlan, BooksScratchForEveryProductThatACallLaunches) {
  using product::Epilogue;
  using product::ProductDesc;
  Policy policy = ozaki2();
  policy.workspace_limit_bytes = std::size_t{96} << 20;
  const problem::Shape shape{Scalar::kF64, 5001, 4003, 9100};
  const auto engine_bytes = [&](const std::function<bool(const ProductDesc&)>& wants) {
    const PickyEngine picky(wants);
    const Result<Plan> plan = make(shape, policy, device_of({&picky}));
    EXPECT_TRUE(plan.ok()) << plan.status().reason();
    base::Carver counter;
    const ozaki2::DeviceBuffers buffers = ozaki2::carve_device(counter, plan.value());
    return std::max(buffers.main.engine_bytes, buffers.sampled.engine_bytes);
  };
  const Result<Plan> plan = [&] {
    const PickyEngine picky([](const ProductDesc&) { return true; });
    return make(shape, policy, device_of({&picky}));
  }();
  ASSERT_TRUE(plan.ok()) << plan.status().reason();
  const Chunk chunk = ozaki2::ozaki2_of(plan.value()).chunk;
  ASSERT_TRUE(chunk.mc < shape.m && chunk.nc < shape.n && chunk.kc < shape.k);
  const std::int64_t m = base::round_up(shape.m % chunk.mc, device::kReadRows);
  EXPECT_EQ(engine_bytes([&](const ProductDesc& d) {
              return d.epilogue == Epilogue::kReduce && d.m == m && d.n == shape.n % chunk.nc &&
                     d.k == shape.k % chunk.kc;
            }),
            PickyEngine::kBytes);
  EXPECT_EQ(engine_bytes(
                [&](const ProductDesc& d) { return d.epilogue == Epilogue::kReduce && d.m % device::kReadRows != 0; }),
            0U);
}

TEST(DevicePlan, RefusesWhatOnlyTheElementsTellUnlessItMayWait) {
  const DeviceEngine reader("reader", true, 1e-3);
  const problem::Shape shape{Scalar::kF64, 100, 100, 100};
  for (const auto& change : std::vector<void (*)(Policy&)>{[](Policy& p) { p.reject_nonfinite = true; },
                                                           [](Policy& p) { p.allow_fp64_arithmetic = false; }}) {
    Policy policy = ozaki2();
    change(policy);
    const Result<Plan> refused = make(shape, policy, device_of({&reader}));
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.status().code(), StatusCode::kUnsupported);
    EXPECT_NE(refused.status().reason().find("sync = allowed"), std::string::npos) << refused.status().reason();
    policy.may_sync = true;
    EXPECT_TRUE(make(shape, policy, device_of({&reader})).ok());
  }
  Policy correct = ozaki2();
  correct.accuracy = Accuracy::correct();
  const Result<Plan> refused = make(shape, correct, device_of({&reader}));
  EXPECT_EQ(refused.status().code(), StatusCode::kUnsupported);
  EXPECT_NE(refused.status().reason().find("accuracy = correct, must be"), std::string::npos);
}

TEST(DevicePlan, TakesTheVendorsProductWhereThatIsPredictedFaster) {
  const DeviceEngine slow("slow", true, 1.0);
  const DeviceEngine fast("fast", true, 1e-6);
  Policy policy;
  policy.reproducibility = Reproducibility::kNotGuaranteed;
  const problem::Shape shape{Scalar::kF64, 8192, 8192, 8192};
  EXPECT_EQ(make(shape, policy, device_of({&slow})).value().first().scheme, Scheme::kNative);
  EXPECT_EQ(make(shape, policy, device_of({&fast})).value().first().scheme, Scheme::kOzaki2);
  policy.accuracy = Accuracy::at_bits(50);  // more than k u = 2^-40 promises
  EXPECT_EQ(make(shape, policy, device_of({&slow})).value().first().scheme, Scheme::kOzaki2);
}

TEST(DeviceBatch, HasTheNumericsOfOneProductAndItsWorkspaceForEachLane) {
  const DeviceEngine reader("reader", true, 1e-3);
  for (const Scalar scalar : {Scalar::kF32, Scalar::kF64, Scalar::kC64, Scalar::kC128}) {
    const problem::Shape shape{scalar, 700, 600, 500};
    const Result<Plan> one = make(shape, ozaki2(), device_of({&reader}));
    ASSERT_TRUE(one.ok()) << one.status().reason();
    EXPECT_EQ(one.value().schedule.workspace_bytes, one.value().schedule.product_bytes);
    for (const std::int64_t count : {0, 1, 2, 1000}) {
      for (const bool has_device_arrays : {false, true}) {
        const Batch batch{count, has_device_arrays};
        const Result<Plan> many = make(shape, ozaki2(), device_of({&reader}), batch);
        ASSERT_TRUE(many.ok()) << many.status().reason();
        const Schedule& schedule = many.value().schedule;
        EXPECT_EQ(schedule.batch, batch);
        EXPECT_EQ(numerics_hash(many.value()), numerics_hash(one.value()));
        EXPECT_EQ(schedule.product_bytes, one.value().schedule.product_bytes);
        const std::size_t states = count > 1 ? static_cast<std::size_t>(count) * sizeof(device::DeviceState) : 0;
        const std::size_t copies = has_device_arrays ? static_cast<std::size_t>(700 * 500 + 500 * 600 + 700 * 600) *
                                                           static_cast<std::size_t>(size_bytes(scalar))
                                                     : 0;
        // C has 30 tiles of 128 x 128: eight products side by side, if they fit; one after another where they share copies.
        const auto lanes =
            static_cast<std::size_t>(device::batch_lanes(shape, batch, schedule.product_bytes, SIZE_MAX));
        EXPECT_EQ(lanes > 1, count > 1 && !has_device_arrays);
        EXPECT_GE(schedule.workspace_bytes, lanes * schedule.product_bytes + states + copies);
        EXPECT_LE(schedule.workspace_bytes, lanes * (schedule.product_bytes + device::kWorkspaceAlignment) + states +
                                                copies + 4 * base::Carver::kAlignment);
        const double one_by_one = static_cast<double>(count) * one.value().schedule.seconds;
        if (lanes > 1) {
          EXPECT_LT(schedule.seconds, one_by_one);
          EXPECT_GT(schedule.seconds, 0.9 * one_by_one) << "latencies are the least of so long products";
        } else {
          EXPECT_DOUBLE_EQ(schedule.seconds, one_by_one);
        }
        EXPECT_EQ(explain(many.value()).find("batch") != std::string::npos, batch != Batch{});
      }
    }
  }
}

TEST(DeviceBatch, HasAWorkspaceOfPiecesThatDoNotMeet) {
  const DeviceEngine reader("reader", true, 1e-3);
  const Result<Plan> plan = make({Scalar::kC64, 33, 1, 7}, ozaki2(), device_of({&reader}), {9, true});
  ASSERT_TRUE(plan.ok()) << plan.status().reason();
  const Schedule& schedule = plan.value().schedule;
  std::vector<std::byte> memory(schedule.workspace_bytes + base::Carver::kAlignment);
  std::byte* const first = memory.data() + (base::Carver::kAlignment -
                                            reinterpret_cast<std::uintptr_t>(memory.data()) % base::Carver::kAlignment);
  base::Carver carver(first);
  const device::DeviceBatchBuffers buffers =
      device::carve_device_batch(carver, plan.value().shape, schedule.batch, schedule.product_bytes, 1);
  const auto* const states = reinterpret_cast<std::byte*>(buffers.states);
  const auto* const a = static_cast<std::byte*>(buffers.a);
  const auto* const b = static_cast<std::byte*>(buffers.b);
  const auto* const c = static_cast<std::byte*>(buffers.c);
  ASSERT_EQ(buffers.lanes.size(), 1U);
  EXPECT_EQ(buffers.lanes[0], first);
  EXPECT_GE(states, first + schedule.product_bytes);
  EXPECT_GE(a, states + 9 * sizeof(device::DeviceState));
  EXPECT_GE(b, a + 33 * 7 * 8);
  EXPECT_GE(c, b + 7 * 1 * 8);
  EXPECT_GE(first + schedule.workspace_bytes, c + 33 * device::staged_line(1) * 8);
}

TEST(DeviceBatch, HasAsManyLanesAsFillTheCardAndFitTheWorkspace) {
  constexpr std::size_t kBytes = std::size_t{1} << 20;
  const auto lanes = [&](std::int64_t m, std::int64_t n, std::int64_t products, std::size_t workspace) {
    return device::batch_lanes({Scalar::kF64, m, n, 512}, {products, false}, kBytes, workspace);
  };
  EXPECT_EQ(lanes(1024, 1024, 64, SIZE_MAX), 8);  // of 64 tiles each
  EXPECT_EQ(lanes(1024, 1024, 3, SIZE_MAX), 3);
  EXPECT_EQ(lanes(1024, 1024, 1, SIZE_MAX), 1);
  EXPECT_EQ(lanes(1024, 2048, 64, SIZE_MAX), 4);
  EXPECT_EQ(lanes(2048, 2048, 64, SIZE_MAX), 2);
  EXPECT_EQ(lanes(4096, 2048, 64, SIZE_MAX), 1);
  EXPECT_EQ(lanes(1, std::int64_t{1} << 40, 64, SIZE_MAX), 1);
  EXPECT_EQ(lanes(1024, 1024, 64, 3 * kBytes + 64 * sizeof(device::DeviceState) + 4 * base::Carver::kAlignment), 3);
  EXPECT_EQ(lanes(1024, 1024, 64, 0), 1);
  EXPECT_EQ(device::batch_lanes({Scalar::kF64, 1024, 1024, 512}, {64, true}, kBytes, SIZE_MAX), 1);
  EXPECT_EQ(device::batch_lanes({Scalar::kF64, 1024, 1024, 512}, {64, false}, 480 * kBytes, SIZE_MAX), 3);
  for (const std::size_t limit : {std::size_t{0}, 2 * kBytes, 3 * kBytes, 100 * kBytes}) {
    const problem::Shape shape{Scalar::kF64, 1024, 1024, 512};
    const std::size_t bytes = device::device_batch_bytes(shape, {64, false}, kBytes, limit);
    EXPECT_EQ(device::batch_lanes(shape, {64, false}, kBytes, bytes),
              device::batch_lanes(shape, {64, false}, kBytes, limit))
        << "what a plan books is what a call finds";
  }
}

TEST(DeviceBatch, KeepsToTheWorkspaceLimitWithAllItsStates) {
  const DeviceEngine reader("reader", true, 1e-3);
  const problem::Shape shape{Scalar::kF64, 3000, 3000, 3000};
  Policy policy = ozaki2();
  policy.workspace_limit_bytes = std::size_t{256} << 20;
  const Result<Plan> one = make(shape, policy, device_of({&reader}));
  const Result<Plan> many = make(shape, policy, device_of({&reader}), {300000, false});
  ASSERT_TRUE(one.ok() && many.ok());
  EXPECT_LE(many.value().schedule.workspace_bytes, policy.workspace_limit_bytes);
  EXPECT_LT(many.value().schedule.product_bytes, one.value().schedule.product_bytes);  // its chunks are smaller
  EXPECT_EQ(make(shape, policy, device_of({&reader}), {std::int64_t{1} << 40, false}).status().code(),
            StatusCode::kWorkspaceTooSmall);
}

TEST(DeviceBatch, OfSmallProductsIsLeftToTheVendor) {
  const DeviceEngine quick("quick", true, 0.0);
  Policy policy;
  policy.reproducibility = Reproducibility::kNotGuaranteed;
  const auto plan_of = [&](std::int64_t n, std::int64_t count) {
    return make({Scalar::kF64, n, n, n}, policy, device_of({&quick}), {count, false}).value();
  };
  EXPECT_EQ(plan_of(4096, 1).first().scheme, Scheme::kOzaki2);
  EXPECT_EQ(plan_of(4096, 50).first().scheme, Scheme::kOzaki2);
  EXPECT_EQ(plan_of(32, 1).first().scheme, Scheme::kNative);
  const Plan many = plan_of(32, 10000);
  EXPECT_EQ(many.first().scheme, Scheme::kNative);
  EXPECT_LT(many.schedule.seconds, 1000 * plan_of(32, 1).schedule.seconds);
  EXPECT_GT(many.schedule.seconds, plan_of(32, 1).schedule.seconds);
  // Not less than its bytes take.
  EXPECT_GT(many.schedule.seconds, 10000.0 * 3 * 32 * 32 * 8 / 4.8e12);
}

TEST(DeviceNative, BooksScratchWithinTheLimitAndRoomForPointers) {
  Policy policy;
  policy.scheme = Scheme::kNative;
  const problem::Shape shape{Scalar::kC128, 30, 20, 10};
  const auto planned = [&](const Batch& batch) { return make(shape, policy, device_of({}), batch); };
  const auto bytes_of = [&](const Batch& batch) {
    const Result<Plan> plan = planned(batch);
    EXPECT_TRUE(plan.ok()) << plan.status().reason();
    base::Carver counter;
    static_cast<void>(native::carve_device_native(counter, plan.value()));
    EXPECT_EQ(counter.bytes(), plan.value().schedule.workspace_bytes);
    return counter.bytes();
  };
  const std::size_t one = bytes_of({});
  EXPECT_GE(one, std::size_t{32} << 20);
  EXPECT_EQ(bytes_of({1000, true}), one);
  EXPECT_GE(bytes_of({1000, false}), one + 3 * 1000 * sizeof(void*));
  policy.workspace_limit_bytes = 100000;
  EXPECT_LE(bytes_of({1000, false}), policy.workspace_limit_bytes);
  EXPECT_GT(planned({1000, false}).value().schedule.product_bytes, 0U);
  policy.workspace_limit_bytes = 20000;
  const Result<Plan> refused = planned({1000, false});
  EXPECT_EQ(refused.status().code(), StatusCode::kWorkspaceTooSmall);
  EXPECT_NE(refused.status().reason().find("for scheme native"), std::string::npos) << refused.status().reason();
}

TEST(DeviceNative, IsNotTakenWhereNonFiniteElementsAreRefused) {
  const DeviceEngine slow("slow", true, 1.0);
  Policy policy;
  policy.reproducibility = Reproducibility::kNotGuaranteed;
  policy.may_sync = true;
  policy.reject_nonfinite = true;
  EXPECT_EQ(make({Scalar::kF64, 99, 99, 99}, policy, device_of({&slow})).value().first().scheme, Scheme::kOzaki2);
  policy.scheme = Scheme::kNative;
  EXPECT_EQ(make({Scalar::kF64, 99, 99, 99}, policy, device_of({&slow})).status().code(), StatusCode::kUnsupported);
}

TEST(DeviceBatch, OfANegativeNumberIsRefused) {
  const DeviceEngine reader("reader", true, 1e-3);
  const Result<Plan> refused = make({Scalar::kF64, 3, 4, 5}, ozaki2(), device_of({&reader}), {-2, false});
  EXPECT_EQ(refused.status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(refused.status().reason(), "num_products = -2, must be >= 0");
}

}  // namespace
}  // namespace kizami::plan
