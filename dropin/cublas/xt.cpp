// SPDX-License-Identifier: MIT
#include "dropin/cublas/xt.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "base/fork_safe.hpp"
#include "dropin/cublas/choice.hpp"
#include "dropin/cublas/device_failure.hpp"
#include "dropin/policy/answer.hpp"
#include "kizami/cuda.hpp"
#include "kizami/multi.hpp"

namespace kizami::dropin::cublas {
namespace {

constexpr const char* kNoDevices = "no device is selected";
constexpr const char* kTooManyDevices = "more devices are selected than Kizami shares a product with";
constexpr const char* kRefused = "Kizami refuses";

struct Selected {
  std::mutex mutex;
  std::map<cublasXtHandle_t, std::vector<int>> devices;
};
constinit base::PerProcess<Selected> selected;

[[nodiscard]] std::vector<int> devices_of(cublasXtHandle_t handle) {
  Selected& all = selected.get();
  const std::lock_guard lock(all.mutex);
  const auto found = all.devices.find(handle);
  return found == all.devices.end() ? std::vector<int>{} : found->second;
}

/// Why the call is native, or null.
[[nodiscard]] const char* why_native(const Call& call, std::span<const int> devices, const Configuration& configuration,
                                     const Settings& settings) {
  if (configuration.why_off != nullptr) return configuration.why_off;
  if (!is_valid(call)) return kNotUnderstood;
  if (call.m == 0 || call.n == 0 || call.k == 0) return kNothing;
  if (settings.policy.scheme == Scheme::kNative) return kScheme;
  if (has_device_failed()) return kDeviceFailed;
  if (is_below(call.m, call.n, call.k, settings.min_size)) return kSmall;
  if (devices.empty()) return kNoDevices;
  if (devices.size() > static_cast<std::size_t>(multi::kMostDevices)) return kTooManyDevices;
  return chosen(settings, call).why_native;
}

[[nodiscard]] Status multiply(const Call& call, std::vector<int> devices, const Policy& policy, Outcome& outcome) {
  return with_scalar(call.scalar, [&]<class T>() {
    return multi::gemm<T>({.devices = std::move(devices), .speeds = {}, .parts = 0}, Layout::kColMajor,
                          op_of(call.op_a), op_of(call.op_b), call.m, call.n, call.k, factor_at<T>(call.alpha, false),
                          static_cast<const T*>(call.a), call.lda, static_cast<const T*>(call.b), call.ldb,
                          factor_at<T>(call.beta, false), static_cast<T*>(call.c), call.ldc, policy, &outcome);
  });
}

[[nodiscard]] bool overwrites_c(const Call& call) {
  return with_scalar(call.scalar, [&]<class T>() { return factor_at<T>(call.beta, false) == T{}; });
}

XtAnswer answer(const Call& call, cublasXtHandle_t handle) {
  XtAnswer answer;
  const Configuration& configuration = process_configuration();
  if (has_complaint(configuration)) report_complaint(configuration);
  const Settings& settings = settings_of(call, call.scalar, call.caller, configuration);
  answer.is_recorded = is_recorded(configuration, settings);
  std::vector<int> devices = devices_of(handle);
  answer.why_native = why_native(call, devices, configuration, settings);
  if (answer.why_native != nullptr) return answer;
  if (configuration.is_dry_run) {
    answer.why_native = kept("dry run of " + std::string(kizami::to_string(chosen(settings, call).scheme)), "dry run");
    return answer;
  }
  CallReport report = report_of(call, call.name, call.caller);
  const auto begin = std::chrono::steady_clock::now();
  const Status status = multiply(call, std::move(devices), policy_of(settings), report.outcome);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  if (!status.ok()) {
    if (status.code() == StatusCode::kInternal) {
      const cublasStatus_t lost = device_failed(call, status, !cuda::last_call_writes_c() || overwrites_c(call));
      if (lost != CUBLAS_STATUS_SUCCESS) {
        answer.is_answered = true;
        answer.status = lost;
        return answer;
      }
    }
    answer.why_native = kept(status.reason(), kRefused);
    return answer;
  }
  answer.is_answered = true;
  if (!answer.is_recorded) return answer;
  report.seconds = took.count();
  report.native_seconds = predicted_native(call);
  keep(report, configuration, settings);
  return answer;
}

}  // namespace

void note_devices(cublasXtHandle_t handle, std::span<const int> devices) {
  Selected& all = selected.get();
  const std::lock_guard lock(all.mutex);
  all.devices[handle].assign(devices.begin(), devices.end());
}

void forget_devices(cublasXtHandle_t handle) {
  Selected& all = selected.get();
  const std::lock_guard lock(all.mutex);
  all.devices.erase(handle);
}

XtAnswer answer_xt(const Call& call, cublasXtHandle_t handle) noexcept {
  try {
    return answer(call, handle);
  } catch (...) {  // no memory; C may be written
    std::fprintf(stderr, "kizami: %s: an exception where none was expected\n", call.name);
    XtAnswer failed;
    failed.is_answered = true;
    failed.status = CUBLAS_STATUS_INTERNAL_ERROR;
    return failed;
  }
}

void record_native_xt(const Call& call, const XtAnswer& answer, double seconds) noexcept {
  try {
    const Configuration& configuration = process_configuration();
    CallReport report = report_of(call, call.name, call.caller);
    report.why_native = answer.why_native;
    report.seconds = seconds;
    keep(report, configuration, settings_of(call, call.scalar, call.caller, configuration));
  } catch (...) {  // no memory for a line of the log
  }
}

}  // namespace kizami::dropin::cublas
