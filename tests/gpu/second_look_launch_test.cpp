// SPDX-License-Identifier: MIT
// Launches of the second look: where it is not wanted, in a graph, and how long they take.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "certify/device_second_look.hpp"
#include "certify/statistics.hpp"
#include "check/matrix_classes.hpp"
#include "exec/environment.hpp"
#include "gpu/second_look_case.hpp"
#include "plan/plan.hpp"

namespace kizami::certify::look_case {
namespace {

/// A look whose device side is ready, at operands that need a high rung.
template <class T>
struct Prepared {
  Prepared() : a(100, 200, Storage::kLines, false), b(90, 200, Storage::kInner, false) {
    std::mt19937_64 rng(5);
    for (StoredLines<T>* x : {&a, &b}) {
      for (std::int64_t i = 0; i < x->lines.num_lines; ++i) {
        for (std::int64_t h = 0; h < 200; ++h)
          x->at(i, h) =
              static_cast<T>(std::ldexp(1.0 + static_cast<double>(rng() % 1000), static_cast<int>(rng() % 9)));
      }
    }
    a_host.stats.resize(100);
    b_host.stats.resize(90);
    gather_statistics(a.lines, nullptr, 1, a_host.stats.data());
    gather_statistics(b.lines, nullptr, 1, b_host.stats.data());
  }
  [[nodiscard]] plan::Plan plan() const {
    Policy policy;
    policy.scheme = Scheme::kOzaki2;
    return plan::make({kScalarOf<T>, 100, 90, 200}, policy, exec::environment()).value();
  }

  StoredLines<T> a;
  StoredLines<T> b;
  HostOperand a_host;
  HostOperand b_host;
};

std::vector<std::uint8_t> bytes_of(const device::DeviceState& state) {
  const auto* const first = reinterpret_cast<const std::uint8_t*>(&state);
  return {first, first + sizeof state};
}

TEST_F(SecondLookTest, IsNotTakenUnlessTheSampleFails) {
  const Prepared<double> prepared;
  const plan::Plan plan = prepared.plan();
  for (const bool is_scaling_only : {false, true}) {
    DeviceLook<double> device(plan, prepared.a, prepared.a_host, prepared.b, prepared.b_host, {});
    device::DeviceState state{};
    state.sampled_failures = is_scaling_only ? 5 : 0;
    state.is_scaling_only = is_scaling_only ? 1 : 0;
    state.selection.rung = 0;
    state.num_products = 14;
    device.state.upload({state});
    ASSERT_TRUE(launch_second_look(device.look, num_sms_of_device(), nullptr).ok());
    EXPECT_EQ(bytes_of(device.state.download()[0]), bytes_of(state));
    const auto is_all = [](const auto& array, int byte) {
      const auto values = array.download();
      const auto* const first = reinterpret_cast<const std::uint8_t*>(values.data());
      return std::all_of(first, first + values.size() * sizeof values[0], [&](std::uint8_t x) { return x == byte; });
    };
    constexpr int kPoison = 0xA5;
    EXPECT_TRUE(is_all(device.a.digits, device.a.kUnwrittenDigit));
    EXPECT_TRUE(is_all(device.b.digits, device.b.kUnwrittenDigit));
    EXPECT_TRUE(is_all(device.a.inner_shift, kPoison));
    EXPECT_TRUE(is_all(device.bits, kPoison));
    EXPECT_TRUE(device.guards_are_intact());
  }
}

TEST_F(SecondLookTest, IsCapturedInAGraph) {
  const Prepared<double> prepared;
  const plan::Plan plan = prepared.plan();
  DeviceLook<double> device(plan, prepared.a, prepared.a_host, prepared.b, prepared.b_host, {});
  HostOperand a_host = prepared.a_host;
  HostOperand b_host = prepared.b_host;
  const HostLook host = look_on_host(plan, prepared.a.lines, a_host, prepared.b.lines, b_host);
  cudaStream_t stream = nullptr;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  gpu_test::check(cudaStreamCreate(&stream), "stream");
  gpu_test::check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "capture");
  const Status status = launch_second_look(device.look, num_sms_of_device(), stream);
  gpu_test::check(cudaStreamEndCapture(stream, &graph), "capture");
  ASSERT_TRUE(status.ok()) << status.reason();
  gpu_test::check(cudaGraphInstantiate(&executable, graph, 0), "instantiate");
  for (int round = 0; round < 2; ++round) {
    device.state.upload({state_of_a_failed_sample()});
    gpu_test::check(cudaGraphLaunch(executable, stream), "graph");
    gpu_test::check(cudaStreamSynchronize(stream), "graph");
    compare(plan, host, a_host, b_host, device);
  }
  gpu_test::check(cudaGraphExecDestroy(executable), "graph");
  gpu_test::check(cudaGraphDestroy(graph), "graph");
  gpu_test::check(cudaStreamDestroy(stream), "stream");
}

/// Seconds of a launch, the least of some; not a test: --gtest_also_run_disabled_tests --gtest_filter='*DISABLED_Time*'
template <class T>
void time_look(std::int64_t size, double phi, const char* name, Way way) {
  StoredLines<T> a(size, size, Storage::kInner, false);
  StoredLines<T> b(size, size, Storage::kLines, false);
  std::mt19937_64 rng(9);
  std::normal_distribution<double> normal;
  for (StoredLines<T>* x : {&a, &b}) {
    for (T& v : x->values) {
      const double u = static_cast<double>(rng() >> 11) * 0x1p-53;
      const auto next = [&] { return (u - 0.5) * std::exp(phi * normal(rng)); };
      if constexpr (kTerms<T> == 2) {
        const auto re = static_cast<RealOf<T>>(next());
        v = T(re, static_cast<RealOf<T>>(next()));
      } else {
        v = static_cast<T>(next());
      }
    }
  }
  HostOperand a_host;
  HostOperand b_host;
  a_host.stats.resize(static_cast<std::size_t>(size));
  b_host.stats.resize(static_cast<std::size_t>(size));
  gather_statistics(a.lines, nullptr, 2, a_host.stats.data());
  gather_statistics(b.lines, nullptr, 2, b_host.stats.data());
  Policy policy;
  policy.scheme = Scheme::kOzaki2;
  const plan::Plan plan = plan::make({kScalarOf<T>, size, size, size}, policy, exec::environment()).value();
  DeviceLook<T> device(plan, a, a_host, b, b_host, {});
  cudaEvent_t begin = nullptr;
  cudaEvent_t end = nullptr;
  gpu_test::check(cudaEventCreate(&begin), "event");
  gpu_test::check(cudaEventCreate(&end), "event");
  for (const std::uint64_t failures : {0, 1}) {
    float least = 1e9F;
    device::DeviceState state{};
    for (int round = 0; round < 5; ++round) {
      state = {};
      state.sampled_failures = failures;
      device.state.upload({state});
      gpu_test::check(cudaEventRecord(begin), "event");
      ASSERT_TRUE(launch(device.look, num_sms_of_device(), nullptr, way).ok());
      gpu_test::check(cudaEventRecord(end), "event");
      gpu_test::check(cudaEventSynchronize(end), "event");
      float milliseconds = 0;
      gpu_test::check(cudaEventElapsedTime(&milliseconds, begin, end), "event");
      least = std::min(least, milliseconds);
    }
    state = device.state.download()[0];
    std::printf("[ time     ] %s %s %lld phi %g %s: %.4f ms, rung %d%s, repaired %lld\n",
                way == Way::kAlone     ? "alone"
                : way == Way::kMmaSync ? "mma.sync"
                                       : "of device",
                name, static_cast<long long>(size), phi, failures == 0 ? "not taken" : "taken",
                static_cast<double>(least), state.selection.rung,
                state.statistics.has_equilibrated ? ", looked at equilibrated" : "",
                static_cast<long long>(state.selection.num_repaired));
  }
  gpu_test::check(cudaEventDestroy(begin), "event");
  gpu_test::check(cudaEventDestroy(end), "event");
}

TEST_F(SecondLookTest, DISABLED_Time) {
  for (const Way way : {Way::kAlone, Way::kOfDevice, Way::kMmaSync}) {
    time_look<double>(2048, 1.0, "f64", way);
    for (const double phi : {1.0, 2.0, 4.0}) time_look<double>(4096, phi, "f64", way);
    time_look<float>(4096, 1.0, "f32", way);
    time_look<std::complex<double>>(4096, 2.0, "c128", way);
  }
  time_look<double>(8192, 1.0, "f64", Way::kOfDevice);
}

}  // namespace
}  // namespace kizami::certify::look_case
