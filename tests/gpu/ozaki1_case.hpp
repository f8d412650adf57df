// SPDX-License-Identifier: MIT
// Cases of scheme ozaki1 in device memory against the same, or others of equal digits, on the host.
#pragma once

#include <string>

#include "gpu/device_case.hpp"

namespace kizami::gpu_test {

/// The case on the device, and `like` it by the host. Fails unless bits and outcomes agree.
template <class T>
Outcome expect_bits(const Case& c, const Case& like, EngineName engine) {
  Policy policy = c.policy;
  policy.engine = engine;
  Case on_host = like;
  on_host.policy.workspace_limit_bytes = 0;
  on_host.policy.may_sync = false;
  if (on_host.policy.slices.sums == SliceSums::kFused) on_host.policy.slices.sums = SliceSums::kAuto;
  const std::string what = check::print(c) + " on " + std::string(to_string(engine));
  const DeviceResult<T> got = multiply<T>(c, policy);
  check::Operands<T> x(on_host, api_test::kThreads);
  Outcome want;
  const Status status = api_test::call(on_host, x, want);
  EXPECT_TRUE(status.ok()) << what << ": " << status.reason();
  EXPECT_EQ(got.outcome.scheme, want.scheme) << what;
  EXPECT_EQ(got.outcome.slices, want.slices) << what;
  EXPECT_EQ(got.outcome.bound, want.bound) << what;
  EXPECT_EQ(got.outcome.nonfinite_rows, want.nonfinite_rows) << what;
  EXPECT_EQ(got.outcome.nonfinite_cols, want.nonfinite_cols) << what;
  if (got.outcome.engine != "none") {
    EXPECT_EQ(got.outcome.engine, to_string(engine)) << what;
  }
  expect_same(got.c, stored(x.c), what);
  return got.outcome;
}

[[nodiscard]] inline Case sliced_case(const std::string& line) {
  Case c = case_of(line + " scheme=ozaki1");
  if (c.policy.slices.num_slices == 0) c.policy.gauge = Gauge::kNorm;
  c.policy.may_sync = c.policy.slices.num_slices == kUntilZero;
  return c;
}
/// Limits the workspace to one of so many parts of what the engine would like.
inline void limit_workspace(Case& c, EngineName engine, std::size_t parts) {
  Policy policy = c.policy;
  policy.engine = engine;
  policy.workspace_limit_bytes = 0;
  const std::size_t whole = cuda::make_plan(c.scalar, c.m, c.n, c.k, policy).value().workspace_bytes();
  const std::size_t library = engine == EngineName::kCublasLt ? std::size_t{33} << 20 : 0;  // does not shrink
  c.policy.workspace_limit_bytes = library + (whole - library) / parts;
}
inline Outcome expect_bits(const Case& c, const Case& like, EngineName engine) {
  return with_scalar(c.scalar, [&]<class T>() { return expect_bits<T>(c, like, engine); });
}
inline Outcome expect_bits(const Case& c, EngineName engine) { return expect_bits(c, c, engine); }
inline Outcome expect_bits(const std::string& line, EngineName engine) {
  return expect_bits(sliced_case(line), engine);
}
inline void expect_bits_on_all(const std::string& line) {
  for (const EngineName engine : device_engines()) expect_bits(line, engine);
}

}  // namespace kizami::gpu_test
