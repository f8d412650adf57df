// SPDX-License-Identifier: MIT
#include "base/device_limits.hpp"

#include <cuda_runtime_api.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <utility>

#include "base/cuda_status.hpp"
#include "base/relaxed_capture.hpp"

namespace kizami::base {
namespace {

#ifdef KIZAMI_CODE_IS_FAST
constexpr bool kIsOnlyChecked = true;
#else
constexpr bool kIsOnlyChecked = false;
#endif

std::atomic<const DeviceLimits*> assumed{nullptr};

constexpr std::size_t kKnownDevices = 16;  ///< others take turns

/// A kernel like any other: the driver says which code of it runs.
__global__ void probe_code() {}

Status ask(DeviceLimits& limits) {
  if (kIsOnlyChecked) {
    return {StatusCode::kUnsupported,
            "the device code of this build was compiled to be checked, not to be run (KIZAMI_CUDA_FAST_COMPILE): ./kz "
            "build compiles it for use"};
  }
  const RelaxedCapture relaxed;
  int major = 0;
  int minor = 0;
  int kilohertz = 0;
  for (const auto& [value, attribute] : {std::pair(&major, cudaDevAttrComputeCapabilityMajor),
                                         {&minor, cudaDevAttrComputeCapabilityMinor},
                                         {&limits.num_sms, cudaDevAttrMultiProcessorCount},
                                         {&limits.shared_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin},
                                         {&limits.l2_bytes, cudaDevAttrL2CacheSize},
                                         {&kilohertz, cudaDevAttrClockRate}}) {
    KIZAMI_RETURN_IF_ERROR(
        cuda_status(cudaDeviceGetAttribute(value, attribute, limits.device), "cudaDeviceGetAttribute"));
  }
  limits.compute_capability = 10 * major + minor;
  limits.clock_hz = 1e3 * kilohertz;
  cudaFuncAttributes code{};
  if (const cudaError_t error = cudaFuncGetAttributes(&code, probe_code); error != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
    return {StatusCode::kUnsupported,
            "device " + std::to_string(limits.device) + " has compute capability " + std::to_string(major) + "." +
                std::to_string(minor) +
                ", for which this build has no code (" KIZAMI_CODE_ARCHITECTURES "): " + cudaGetErrorString(error)};
  }
  limits.code_capability = code.ptxVersion;
  return {};
}

}  // namespace

Status find_device_limits(DeviceLimits& limits) {
  int device = 0;
  KIZAMI_RETURN_IF_ERROR(cuda_status(cudaGetDevice(&device), "the current device"));
  if (const DeviceLimits* const all = assumed.load(std::memory_order_acquire); all != nullptr) {
    limits = *all;
    limits.device = device;
    limits.is_assumed = true;
    return {};
  }
  // Of each device: to ask for the clock takes a millisecond, and calls on several devices change between them.
  static thread_local std::array<DeviceLimits, kKnownDevices> all_known;
  DeviceLimits& known = all_known[static_cast<std::size_t>(device) % kKnownDevices];
  if (known.device != device) {
    DeviceLimits fresh;
    fresh.device = device;
    KIZAMI_RETURN_IF_ERROR(ask(fresh));
    known = fresh;
  }
  limits = known;
  return {};
}

void assume_device_limits(const DeviceLimits* limits) {
  assumed.store(limits == nullptr ? nullptr : new DeviceLimits(*limits), std::memory_order_release);
}

Status check_shared_bytes(const char* what, const void* kernel, std::size_t bytes, const DeviceLimits& limits) {
  if (limits.is_assumed) {
    cudaFuncAttributes own{};
    KIZAMI_RETURN_IF_ERROR(cuda_status(cudaFuncGetAttributes(&own, kernel), what));
    bytes += own.sharedSizeBytes;
  }
  if (bytes <= static_cast<std::size_t>(limits.shared_bytes)) return {};
  return {StatusCode::kInternal, std::string(what) + " asks for " + std::to_string(bytes) +
                                     " bytes of shared memory, of which compute capability " +
                                     std::to_string(limits.compute_capability / 10) + "." +
                                     std::to_string(limits.compute_capability % 10) + " gives a block " +
                                     std::to_string(limits.shared_bytes)};
}

}  // namespace kizami::base
