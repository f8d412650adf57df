// SPDX-License-Identifier: MIT
// No count wraps in plans for a device, by the engines that it has, see plan/counts.hpp.
#include "plan/counts.hpp"

#include <array>

#include "engines/cublaslt/cublaslt.hpp"
#include "engines/hopper/ec_forms.hpp"
#include "engines/hopper/hopper.hpp"
#include "plan/h200_facts.hpp"

namespace kizami::plan {
namespace {

class CountsOnADevice : public testing::TestWithParam<Scalar> {};

TEST_P(CountsOnADevice, NeverWrap) {
  const std::array<const product::Engine*, 2> engines = {&engines::hopper_engine(), &engines::cublaslt_engine()};
  const std::array<const product::EcEngine*, 1> ec_engines = {&engines::hopper_ec_engine()};
  Environment environment;
  environment.engines = engines;
  environment.ec_engines = ec_engines;
  environment.has_native_blas = true;
  environment.facts = h200_facts();
  expect_counted(GetParam(), {Scheme::kAuto, Scheme::kNative, Scheme::kOzaki2, Scheme::kOzaki1, Scheme::kEc},
                 environment);
}

INSTANTIATE_TEST_SUITE_P(AllTypes, CountsOnADevice,
                         testing::Values(Scalar::kF32, Scalar::kF64, Scalar::kC64, Scalar::kC128),
                         [](const auto& test) { return std::string(to_string(test.param)); });

}  // namespace
}  // namespace kizami::plan
