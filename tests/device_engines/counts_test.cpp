// SPDX-License-Identifier: MIT
// No count wraps in plans for a device, by the engines that it has, see plan/counts.hpp.
#include "plan/counts.hpp"

#include "device_engines/h200_environment.hpp"

namespace kizami::plan {
namespace {

class CountsOnADevice : public testing::TestWithParam<Scalar> {};

TEST_P(CountsOnADevice, NeverWrap) {
  expect_counted(GetParam(), {Scheme::kAuto, Scheme::kNative, Scheme::kOzaki2, Scheme::kOzaki1, Scheme::kEc},
                 h200_environment(/*has_cublaslt=*/true));
}

INSTANTIATE_TEST_SUITE_P(AllTypes, CountsOnADevice,
                         testing::Values(Scalar::kF32, Scalar::kF64, Scalar::kC64, Scalar::kC128),
                         [](const auto& test) { return std::string(to_string(test.param)); });

}  // namespace
}  // namespace kizami::plan
