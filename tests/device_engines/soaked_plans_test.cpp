// SPDX-License-Identifier: MIT
// Large cases of the soak (tests/gpu_soak) against the planner: in the workspace that libkizami_cublas takes they have
// the kernels that only large products have.
#include <gtest/gtest.h>

#include <algorithm>
#include <complex>
#include <map>
#include <string>

#include "device_engines/h200_environment.hpp"
#include "gpu_soak/case.hpp"
#include "plan/plan.hpp"
#include "schemes/ozaki2/device_buffers.hpp"
#include "schemes/ozaki2/device_crt.hpp"

namespace kizami::plan {
namespace {

static_assert(gpu_soak::kLargeResult == ozaki2::kOwnRepairElements);

TEST(SoakedPlans, OfLargeCasesHaveTheKernelsOfLargeProducts) {
  const Environment environment = h200_environment();
  Policy policy;
  policy.scheme = Scheme::kOzaki2;
  policy.workspace_limit_bytes = std::size_t{32} << 30;  // a quarter of the device is what cuda.hpp takes
  gpu_soak::Limits limits;
  limits.large_every = 1;
  std::map<std::string, int> seen;
  std::size_t most_bytes = 0;
  constexpr std::uint64_t kNumCases = 1000;
  for (std::uint64_t seed = 0; seed < kNumCases; ++seed) {
    const gpu_soak::Case x = gpu_soak::draw_case(seed, limits);
    if (!x.is_large) continue;
    const gpu_soak::Section& s = x.first();
    const Result<Plan> made = make({x.scalar, s.m, s.n, s.k}, policy, environment);
    ASSERT_TRUE(made.ok()) << made.status().reason();
    const Plan& plan = made.value();
    most_bytes = std::max(most_bytes, plan.schedule.workspace_bytes);
    const std::string type(1, gpu_soak::letter_of(x.scalar));
    seen[type + " repairs"] += ozaki2::repairs_have_own_kernel(plan);
    seen[type + " scout"] += ozaki2::has_scout(plan);
    seen[type + " learned look, no scout"] += ozaki2::learns_look(plan) && !ozaki2::has_scout(plan);
    seen[type + " learned look"] += ozaki2::learns_look(plan);
    const Chunk& chunk = ozaki2::ozaki2_of(plan).chunk;
    const std::int64_t least = is_complex(x.scalar)
                                   ? ozaki2::DeviceReconstruction<std::complex<double>>{}.least_for_bytes
                                   : ozaki2::DeviceReconstruction<double>{}.least_for_bytes;
    seen[type + " CRT of bytes"] += chunk.mc * chunk.nc >= least;
  }
  EXPECT_EQ(seen.size(), 20U);
  for (const auto& [kind, count] : seen) EXPECT_GE(count, 20) << kind;
  EXPECT_LE(most_bytes, std::size_t{2} << 30);  // of 32 at once: what the soak leaves them, Soak::least_left()
}

}  // namespace
}  // namespace kizami::plan
