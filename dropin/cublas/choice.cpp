// SPDX-License-Identifier: MIT
#include "dropin/cublas/choice.hpp"

#include <cuda_runtime_api.h>

#include <atomic>
#include <cstdio>

#include "dropin/cublas/device_failure.hpp"
#include "dropin/policy/answer.hpp"
#include "kizami/calibrate.hpp"
#include "kizami/cuda.hpp"
#include "kizami/cuda_triangle.hpp"

namespace kizami::dropin::cublas {
namespace {

constexpr const char* kUnmeasured = "the device is not calibrated, and the gain too small to be sure of";

/// Whether anything is emulated on the current device by that engine: if not, it is not for the shape that was refused.
void report_if_unusable(int device, const Settings& settings) {
  constexpr int kMaxDevices = 62;
  constexpr std::int64_t kSize = 1024;
  static std::atomic<std::uint64_t> asked{0};
  const std::uint64_t bit = std::uint64_t{1} << (device < 0 ? 0 : device < kMaxDevices ? device + 1 : kMaxDevices + 1);
  if ((asked.fetch_or(bit) & bit) != 0) return;
  Policy policy;
  policy.scheme = Scheme::kOzaki2;
  policy.engine = settings.policy.engine;
  const Result<Plan> plan = cuda::make_plan(Scalar::kF64, kSize, kSize, kSize, policy);
  if (!plan.ok())
    std::fprintf(stderr, "kizami: %s; every call is left to the native library\n", plan.status().reason().c_str());
}

bool pays_unmeasured(const Settings& settings, const Call& call, double seconds) {
  const double gain = least_gain(settings);
  if (gain <= 1.0) return true;
  const double native = native_alternative(settings, call);
  return native == 0 || native >= gain * seconds;
}

Choice choose(const Settings& settings, int device, const Call& call, std::size_t workspace_limit) {
  Choice choice{};
  choice.settings = &settings;
  choice.device = device;
  choice.scalar = call.scalar;
  choice.has_device_arrays = call.form == Form::kPointers;
  choice.is_triangle = call.routine == Routine::kGemmt;
  choice.m = call.m;
  choice.n = call.n;
  choice.k = call.k;
  choice.num_products = call.num_products;
  choice.workspace_limit = workspace_limit;
  const Result<Plan> made = plan_of(call, policy_within(settings, workspace_limit));
  if (!made.ok() && made.status().code() == StatusCode::kOutOfMemory) {  // for what the library keeps on a device
    choice.settings = nullptr;                                           // another call asks again
    choice.why_native = kNoMemoryOnDevice;
    return choice;
  }
  if (!made.ok() && made.status().code() == StatusCode::kInternal) {  // CUDA failed where a device is prepared
    static_cast<void>(device_failed(call, made.status(), true));
    choice.why_native = kDeviceFailed;
    return choice;
  }
  if (!made.ok()) {
    if (workspace_limit == 0) report_if_unusable(device, settings);
    choice.why_native = kept_refusal(made.status());
    return choice;
  }
  const Plan& plan = made.value();
  choice.why_native = plan.scheme() == Scheme::kNative ? kByPlan : nullptr;
  choice.scheme = plan.scheme();
  choice.engine = kept(plan.engine(), "?");
  choice.moduli = plan.base_moduli();
  choice.bound = plan.bound();
  choice.gauge = plan.gauge();
  choice.seconds = plan.predicted_seconds();
  if (choice.why_native == nullptr && !pays_unmeasured(settings, call, choice.seconds)) choice.why_native = kUnmeasured;
  if (choice.why_native == nullptr && may_learn(settings)) choice.native_seconds = native_alternative(settings, call);
  choice.workspace_bytes = plan.workspace_bytes();
  return choice;
}

bool is_for(const Choice& choice, const Settings& settings, int device, const Call& call, std::size_t workspace_limit) {
  return choice.workspace_limit == workspace_limit && choice.settings == &settings && choice.device == device &&
         choice.scalar == call.scalar && choice.m == call.m && choice.n == call.n && choice.k == call.k &&
         choice.num_products == call.num_products && choice.has_device_arrays == (call.form == Form::kPointers) &&
         choice.is_triangle == (call.routine == Routine::kGemmt);
}

}  // namespace

int current_device() {
  int device = -1;
  return cudaGetDevice(&device) == cudaSuccess ? device : -1;
}

double least_gain(const Settings& settings) {
  constexpr double kGain = 1.3;
  if (settings.policy.scheme != Scheme::kAuto) return 1;
  const Result<bool> is_calibrated = cuda::is_calibrated();
  if (!is_calibrated.ok() || is_calibrated.value()) return 1;
  static std::atomic<bool> has_told{false};
  if (!has_told.exchange(true)) {
    std::fprintf(
        stderr,
        "kizami: the rates of this device are not measured, so only products are emulated that are predicted %.1f "
        "times faster; kizami calibrate measures them, in 25 seconds\n",
        kGain);
  }
  return kGain;
}

Result<Plan> plan_of(const Call& call, const Policy& policy) {
  if (call.routine == Routine::kGemmt) return cuda::make_triangle_plan(call.scalar, call.n, call.k, policy);
  return cuda::make_plan(call.scalar, call.m, call.n, call.k, policy,
                         {call.num_products, call.form == Form::kPointers});
}

Policy policy_within(const Settings& settings, std::size_t workspace_limit) {
  Policy policy = policy_of(settings);
  if (workspace_limit != 0) policy.workspace_limit_bytes = workspace_limit;
  return policy;
}

const Choice& chosen(const Settings& settings, const Call& call, std::size_t workspace_limit) {
  const int device = current_device();
  const std::uint64_t rest = reinterpret_cast<std::uintptr_t>(&settings) + 64 * workspace_limit +
                             8 * static_cast<std::uint64_t>(device) + static_cast<std::uint64_t>(call.scalar) +
                             (static_cast<std::uint64_t>(call.num_products) << 32);
  return remembered<Choice>(
      call.m, call.n, call.k, rest,
      [&](const Choice& choice) { return is_for(choice, settings, device, call, workspace_limit); },
      [&] { return choose(settings, device, call, workspace_limit); });
}

double native_alternative(const Settings& settings, const Call& call) {
  Policy policy = policy_of(settings);
  policy.scheme = Scheme::kNative;
  const Result<Plan> plan = plan_of(call, policy);
  return plan.ok() ? plan.value().predicted_seconds() : 0;
}

double predicted_native(const Call& call) {
  if (has_device_failed() || call.num_products < 1) return 0;
  return dropin::predicted_native(call, [&](const Policy& policy) { return plan_of(call, policy); });
}

}  // namespace kizami::dropin::cublas
