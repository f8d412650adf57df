// SPDX-License-Identifier: MIT
// Cases of the check kit's grammar in device memory: the same call as on the host, and the same bits.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "api/api_case.hpp"
#include "exec/device_environment.hpp"
#include "gpu/device_memory.hpp"
#include "gpu/device_problem.hpp"
#include "kizami/cuda.hpp"

namespace kizami::gpu_test {

using api_test::case_of;
using check::Case;

template <class T>
[[nodiscard]] std::vector<T> stored(const check::Operand<T>& operand) {
  return {operand.data(), operand.data() + operand.stored().num_elems};
}

/// The operands of a case in device memory, C as it is before the call.
template <class T>
struct DeviceOperands {
  explicit DeviceOperands(const check::Operands<T>& host) : a(stored(host.a)), b(stored(host.b)), c(stored(host.c)) {}

  DeviceArray<T> a;
  DeviceArray<T> b;
  DeviceArray<T> c;
};

/// A policy that leaves the numerics to the planner, on an engine.
[[nodiscard]] inline Policy device_policy(const Case& c, EngineName engine) {
  Policy policy = c.policy;
  policy.scheme = Scheme::kOzaki2;
  policy.engine = engine;
  return policy;
}

/// Enqueues the case.
template <class T>
Status enqueue(const Case& c, const Plan& plan, const DeviceOperands<T>& x, const DeviceArray<std::byte>& workspace,
               Factor<T> alpha, Factor<T> beta, cuda::Stream stream) {
  const device::DeviceProblem<T> p = device_problem<T>(c, alpha, x.a.data(), x.b.data(), beta, x.c.data());
  return cuda::run<T>(plan, p.alpha, p.a, p.b, p.beta, p.c, {workspace.data(), workspace.size()}, stream);
}

/// Kernels that `call(stream)` enqueues, which is captured and not run.
template <class Call>
[[nodiscard]] std::size_t captured_kernels(const Call& call) {
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "capture");
  const Status status = call(stream);
  EXPECT_TRUE(status.ok()) << status.reason();
  cudaGraph_t graph = nullptr;
  check(cudaStreamEndCapture(stream, &graph), "end of capture");
  std::size_t count = 0;
  check(cudaGraphGetNodes(graph, nullptr, &count), "nodes");
  std::vector<cudaGraphNode_t> nodes(count);
  check(cudaGraphGetNodes(graph, nodes.data(), &count), "nodes");
  std::size_t kernels = 0;
  for (cudaGraphNode_t node : nodes) {
    cudaGraphNodeType type{};
    check(cudaGraphNodeGetType(node, &type), "a node");
    kernels += type == cudaGraphNodeTypeKernel ? 1 : 0;
  }
  check(cudaGraphDestroy(graph), "graph");
  check(cudaStreamDestroy(stream), "stream");
  return kernels;
}

/// What a test makes of the operands of a case before the call.
template <class T>
using Change = std::function<void(check::Operands<T>&)>;

template <class T>
[[nodiscard]] check::Operands<T> changed_operands(const Case& c, const Change<T>& change) {
  check::Operands<T> operands(c, api_test::kThreads);
  if (change) change(operands);
  return operands;
}

template <class T>
struct DeviceResult {
  std::vector<T> c;  ///< as stored
  Outcome outcome;
};

/// The case by an engine. Fails the test if anything but C's elements changes.
template <class T>
[[nodiscard]] DeviceResult<T> multiply(const Case& c, const Policy& policy, const Change<T>& change = {}) {
  const check::Operands<T> host = changed_operands<T>(c, change);
  const DeviceOperands<T> x(host);
  DeviceResult<T> result;
  const Result<Plan> plan = cuda::make_plan(c.scalar, c.m, c.n, c.k, policy);
  if (!plan.ok()) {
    ADD_FAILURE() << check::print(c) << ": " << plan.status().reason();
    return result;
  }
  const DeviceArray<std::byte> workspace(plan.value().workspace_bytes());
  const Status status = enqueue<T>(c, plan.value(), x, workspace, check::alpha_of<T>(c), check::beta_of<T>(c), nullptr);
  EXPECT_TRUE(status.ok()) << check::print(c) << ": " << status.reason();
  const Result<Outcome> outcome = cuda::read_outcome(plan.value(), {workspace.data(), workspace.size()}, nullptr);
  EXPECT_TRUE(outcome.ok()) << check::print(c) << ": " << outcome.status().reason();
  if (outcome.ok()) result.outcome = outcome.value();
  result.c = x.c.download();
  EXPECT_TRUE(x.a.guards_are_intact() && x.b.guards_are_intact() && x.c.guards_are_intact() &&
              workspace.guards_are_intact())
      << check::print(c);
  EXPECT_EQ(0, std::memcmp(x.a.download().data(), host.a.data(), x.a.size() * sizeof(T))) << check::print(c);
  EXPECT_EQ(0, std::memcmp(x.b.download().data(), host.b.data(), x.b.size() * sizeof(T))) << check::print(c);
  return result;
}

/// The case by the host with the numerics that the device has: as many rungs.
template <class T>
[[nodiscard]] DeviceResult<T> host_result(const Case& c, int max_rungs, const Change<T>& change = {}) {
  Case on_host = c;
  on_host.policy.scheme = Scheme::kOzaki2;
  on_host.policy.max_rungs = max_rungs;
  on_host.policy.workspace_limit_bytes = 0;
  on_host.policy.may_sync = false;
  check::Operands<T> x = changed_operands<T>(on_host, change);
  DeviceResult<T> result;
  const Status status = api_test::call(on_host, x, result.outcome);
  EXPECT_TRUE(status.ok()) << check::print(on_host) << ": " << status.reason();
  result.c = stored(x.c);
  return result;
}

/// Whether two stored results are equal bit for bit, where two NaNs are equal.
template <class T>
void expect_same(const std::vector<T>& got, const std::vector<T>& want, const std::string& what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  std::size_t wrong = 0;
  std::size_t first = got.size();
  for (std::size_t i = 0; i < got.size(); ++i) {
    const T x = api_test::with_nans_of(want[i], got[i]);
    if (std::memcmp(&x, &want[i], sizeof(T)) == 0) continue;
    first = std::min(first, i);
    ++wrong;
  }
  if (wrong == 0) return;
  ADD_FAILURE() << what << ": " << wrong << " of " << got.size() << " elements differ, the first is " << first
                << ": got " << check::part_of(got[first], check::Part::kReal) << ", want "
                << check::part_of(want[first], check::Part::kReal);
}

/// Runs the case on the device and on the host, compares bits and outcomes, and returns the outcome.
template <class T>
Outcome expect_bits_of_host(const Case& c, EngineName engine, bool may_sync, const Change<T>& change = {}) {
  Policy policy = device_policy(c, engine);
  policy.may_sync = may_sync;
  const int max_rungs = engine == EngineName::kCublasLt && !may_sync ? 1 : c.policy.max_rungs;
  const std::string what = check::print(c) + " on " + std::string(to_string(engine)) + (may_sync ? ", may_sync" : "");
  const DeviceResult<T> got = multiply<T>(c, policy, change);
  const DeviceResult<T> want = host_result<T>(c, max_rungs, change);
  EXPECT_EQ(got.outcome.rung, want.outcome.rung) << what;
  EXPECT_EQ(got.outcome.moduli, want.outcome.moduli) << what;
  EXPECT_EQ(got.outcome.equilibrated, want.outcome.equilibrated) << what;
  EXPECT_EQ(got.outcome.repaired, want.outcome.repaired) << what;
  EXPECT_EQ(got.outcome.nonfinite_rows, want.outcome.nonfinite_rows) << what;
  EXPECT_EQ(got.outcome.nonfinite_cols, want.outcome.nonfinite_cols) << what;
  EXPECT_EQ(got.outcome.bound, want.outcome.bound) << what;
  expect_same(got.c, want.c, what);
  return got.outcome;
}

inline Outcome expect_bits_of_host(const std::string& line, EngineName engine, bool may_sync = false) {
  const Case c = case_of(line);
  return with_scalar(c.scalar, [&]<class T>() { return expect_bits_of_host<T>(c, engine, may_sync); });
}

/// The engines of compute capability 9.0, each with a name for messages.
inline constexpr EngineName kDeviceEngines[] = {
    EngineName::kHopper,
    EngineName::kCublasLt,
#if defined(KIZAMI_TEST_HAS_TILE)
    EngineName::kTile,
#endif
};
/// And of every other device, or of one that is taken for such (main.cpp).
inline constexpr EngineName kPortableEngines[] = {EngineName::kMma, EngineName::kCublasLt};

/// Those of this machine.
[[nodiscard]] inline std::span<const EngineName> device_engines() {
  static const bool is_portable = [] {
    const Result<plan::Environment> environment = exec::device_environment();
    return environment.ok() && !environment.value().facts.has_wgmma();
  }();
  return is_portable ? std::span<const EngineName>(kPortableEngines) : std::span<const EngineName>(kDeviceEngines);
}
/// The engine of the library's own kernels, which follows the state of a call.
[[nodiscard]] inline EngineName own_engine() { return device_engines().front(); }
/// Whether there are fused sums of slices, floating-point slices and scheme ec, which are of engine hopper alone.
[[nodiscard]] inline bool has_hopper() { return own_engine() == EngineName::kHopper; }

}  // namespace kizami::gpu_test
