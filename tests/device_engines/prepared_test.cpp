// SPDX-License-Identifier: MIT
// What plans say of prepared operands on a device, without one: how much is kept, of which schemes, and who may use it.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>

#include "device_engines/h200_environment.hpp"
#include "engines/mma/mma.hpp"
#include "exec/device_prepared.hpp"
#include "num/moduli.hpp"
#include "plan/plan.hpp"
#include "schemes/ozaki2/stage.hpp"

namespace kizami::exec {
namespace {

using problem::Shape;

plan::Plan planned(const Shape& shape, const Policy& policy = {}, const Batch& batch = {}) {
  static const std::array<const product::FloatEngine*, 1> float_engines = {&engines::mma_engine()};
  plan::Environment environment = plan::h200_environment();
  environment.float_engines = float_engines;
  const Result<plan::Plan> made = plan::make(shape, policy, environment, batch);
  EXPECT_TRUE(made.ok()) << made.status().reason();
  return made.value();
}

Policy named(Scheme scheme) {
  Policy policy;
  policy.scheme = scheme;
  if (scheme != Scheme::kOzaki2) policy.reproducibility = Reproducibility::kNotGuaranteed;
  if (scheme == Scheme::kOzaki1) policy.slices.num_slices = 7;
  return policy;
}

std::size_t bytes_of(const plan::Plan& plan, Side side) {
  std::size_t bytes = 0;
  const Status status = prepared_device_bytes(plan, side, bytes);
  EXPECT_TRUE(status.ok()) << status.reason();
  return bytes;
}

/// As if the plan had prepared an operand.
device::Prepared prepared_by(const plan::Plan& plan, Side side) {
  device::Prepared prepared;
  prepared.scalar = plan.shape.scalar;
  prepared.scheme = plan.first().scheme;
  prepared.side = side;
  prepared.device = plan.schedule.facts.device;
  prepared.num_lines = side == Side::kA ? plan.shape.m : plan.shape.n;
  prepared.length = plan.shape.k;
  prepared.numerics_hash = plan::prepared_hash(plan);
  prepared.bytes = bytes_of(plan, side);
  return prepared;
}

void expect_refused(const Status& status, StatusCode code, const std::string& words) {
  EXPECT_EQ(status.code(), code) << status.reason();
  EXPECT_NE(status.reason().find(words), std::string::npos) << status.reason();
}

// The planes of the lowest rung, the samples, and little else. Lowest rungs of FP32 and complex numbers leave room for fewer samples.
TEST(DevicePrepared, KeepsThePlanesOfTheLowestRung) {
  struct Case {
    Scalar scalar;
    std::int64_t stride;  // of the sampled elements
  };
  for (const auto& [scalar, stride] :
       {Case{Scalar::kF32, 16}, Case{Scalar::kF64, 4}, Case{Scalar::kC64, 8}, Case{Scalar::kC128, 8}}) {
    const plan::Plan plan = planned({scalar, 8192, 256, 8192}, named(Scheme::kOzaki2));
    const num::Ladder& ladder = ozaki2::ozaki2_of(plan).ladder;
    ASSERT_GT(ladder.num_rungs, 1);
    const std::int64_t elements = std::int64_t{8192} * 8192;
    const std::int64_t planes = num::num_planes(plan::ring_of(scalar), ladder.rungs[0].num_moduli) * elements;
    const std::int64_t samples = elements / stride * (is_complex(scalar) ? 2 : 1);
    const auto bytes = static_cast<std::int64_t>(bytes_of(plan, Side::kA));
    EXPECT_GE(bytes, planes + samples);
    EXPECT_LE(bytes, planes + samples + (elements >> 5));
  }
}

TEST(DevicePrepared, SchemeEcKeepsBothPartsOfEachTerm) {
  constexpr std::int64_t kElements = std::int64_t{4096} * 2048;
  const plan::Plan real = planned({Scalar::kF32, 4096, 256, 2048}, named(Scheme::kEc));
  const plan::Plan complex = planned({Scalar::kC64, 4096, 256, 2048}, named(Scheme::kEc));
  EXPECT_EQ(bytes_of(real, Side::kA) / kElements, 4);             // two FP16 numbers
  EXPECT_EQ(bytes_of(complex, Side::kA) / kElements, 3 * 2 * 4);  // as A of the kernels twice, and as B
}

TEST(DevicePrepared, ServesPlansOfEqualNumerics) {
  for (const Scheme scheme : {Scheme::kOzaki2, Scheme::kEc}) {
    const plan::Plan wide = planned({Scalar::kF32, 3000, 4000, 500}, named(scheme));
    const plan::Plan narrow = planned({Scalar::kF32, 3000, 2000, 500}, named(scheme));
    const Status status = validate_device_prepared(narrow, Side::kA, prepared_by(wide, Side::kA));
    EXPECT_TRUE(status.ok()) << status.reason();
  }
}

// Small C are promoted more often, which leaves more to range errors: lines are judged by other limits.
TEST(DevicePrepared, OfSchemeEcIsForOnePromotion) {
  const plan::Plan wide = planned({Scalar::kF32, 3000, 4000, 500}, named(Scheme::kEc));
  const plan::Plan narrow = planned({Scalar::kF32, 3000, 16, 500}, named(Scheme::kEc));
  expect_refused(validate_device_prepared(narrow, Side::kA, prepared_by(wide, Side::kA)), StatusCode::kInvalidArgument,
                 "was prepared by a plan of other numerics");
}

TEST(DevicePrepared, IsRefusedWithTheValueAndTheLimit) {
  const plan::Plan plan = planned({Scalar::kF64, 100, 200, 300}, named(Scheme::kOzaki2));
  const device::Prepared good = prepared_by(plan, Side::kA);
  ASSERT_TRUE(validate_device_prepared(plan, Side::kA, good).ok());
  const auto expect = [&](const auto& change, const std::string& words) {
    device::Prepared bad = good;
    change(bad);
    expect_refused(validate_device_prepared(plan, Side::kA, bad), StatusCode::kInvalidArgument, words);
  };
  expect([](auto& p) { p.scalar = Scalar::kF32; }, "prepared operand A is f32, must be f64 as the plan is");
  expect([](auto& p) { p.side = Side::kB; }, "was prepared as operand B, must be as A");
  expect([](auto& p) { p.num_lines = 99; }, "has 99 lines of 300, must be 100 of 300");
  expect([](auto& p) { p.length = 301; }, "has 100 lines of 301, must be 100 of 300");
  expect([](auto& p) { p.numerics_hash ^= 1; }, "was prepared by a plan of other numerics");
  expect([](auto& p) { p.device = 1; }, "is on device 1, must be on that of the plan, 0");
  expect([](auto& p) { p.bytes = 0; }, "has 0 bytes, must have " + std::to_string(good.bytes));
}

TEST(DevicePrepared, OfOtherAccuracyIsOfOtherNumerics) {
  Policy coarse = named(Scheme::kOzaki2);
  coarse.accuracy = Accuracy::at_bits(30);
  const plan::Plan fine = planned({Scalar::kF64, 100, 200, 300}, named(Scheme::kOzaki2));
  expect_refused(validate_device_prepared(fine, Side::kA, prepared_by(planned(fine.shape, coarse), Side::kA)),
                 StatusCode::kInvalidArgument, "numerics");
}

TEST(DevicePrepared, SchemesThatKeepNothingSaySo) {
  const Shape shape{Scalar::kF32, 100, 200, 300};
  std::size_t bytes = 0;
  expect_refused(prepared_device_bytes(planned(shape, named(Scheme::kNative)), Side::kA, bytes),
                 StatusCode::kUnsupported,
                 "scheme native without moduli has nothing to prepare; ask for scheme ozaki2");
  expect_refused(prepared_device_bytes(planned(shape, named(Scheme::kOzaki1)), Side::kA, bytes),
                 StatusCode::kUnsupported, "scheme ozaki1 keeps nothing of operands in device memory");
  Policy by_planes = named(Scheme::kEc);
  by_planes.engine = EngineName::kMma;
  by_planes.ec.variant = EcVariant::kMarkidis;
  by_planes.ec.check_range = false;
  expect_refused(prepared_device_bytes(planned(shape, by_planes), Side::kA, bytes), StatusCode::kUnsupported,
                 "variant markidis by planes keeps nothing");
  expect_refused(prepared_device_bytes(planned(shape, named(Scheme::kOzaki2), {2, false}), Side::kA, bytes),
                 StatusCode::kInvalidArgument, "the plan is for a batch of 2 products, must be for one");
  plan::Plan on_host = planned(shape, named(Scheme::kOzaki2));
  on_host.schedule.facts.space = product::MemorySpace::kHost;
  expect_refused(prepared_device_bytes(on_host, Side::kA, bytes), StatusCode::kInvalidArgument,
                 "operands in host memory, must be for device memory");
}

TEST(DevicePrepared, OfAnEmptyProductTakesNothing) {
  EXPECT_EQ(bytes_of(planned({Scalar::kF64, 100, 0, 300}, named(Scheme::kOzaki2)), Side::kA), 0U);
}

}  // namespace
}  // namespace kizami::exec
