// SPDX-License-Identifier: MIT
#include "dropin/cublas/device_failure.hpp"

#include <cuda_runtime_api.h>

#include <atomic>
#include <cstddef>
#include <string>

#include "dropin/cublas/relaxed_capture.hpp"
#include "dropin/policy/record.hpp"

namespace kizami::dropin::cublas {
namespace {

std::atomic<bool> has_failed{false};

/// After some errors (a kernel that faults) CUDA returns them from every function. Waits for nothing.
bool does_cuda_work() {
  const RelaxedCapture relaxed;
  std::size_t free_bytes = 0;
  std::size_t all_bytes = 0;
  const bool works = cudaMemGetInfo(&free_bytes, &all_bytes) == cudaSuccess;
  if (!works) static_cast<void>(cudaGetLastError());
  return works;
}

std::string size_of(const Call& call) {
  return std::to_string(call.m) + "x" + std::to_string(call.n) + "x" + std::to_string(call.k);
}

}  // namespace

bool has_device_failed() { return has_failed.load(std::memory_order_acquire); }

void forget_device_failure() { has_failed = false; }

cublasStatus_t device_failed(const Call& call, const Status& error, bool is_c_whole) {
  const bool is_told = has_failed.exchange(true, std::memory_order_acq_rel);
  const bool works = does_cuda_work();
  const cublasStatus_t status = works && is_c_whole ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
  if (is_told) return status;
  std::string text = std::string("kizami: ") + call.name + " " + size_of(call) + ": " + error.reason() + "; ";
  if (!works) {
    text +=
        "CUDA does not work any more in this process, and calls return CUBLAS_STATUS_EXECUTION_FAILED: start it again, "
        "with "
        "KIZAMI_SCHEME=native to see whether it fails without Kizami, or in compute-sanitizer, which names the kernel; "
        "nvidia-smi -q names errors of the device\n";
  } else {
    text += status == CUBLAS_STATUS_SUCCESS
                ? "this call and every later one are left to the native library"
                : "this call returns CUBLAS_STATUS_EXECUTION_FAILED, for C may be written in "
                  "part, and every later one is left to the native library";
    text +=
        "; KIZAMI_SCHEME=native leaves all to it from the beginning, KIZAMI_WORKSPACE_TOTAL leaves a full device more "
        "room\n";
  }
  (void)write_text("", text);
  return status;
}

bool is_in_broken_capture(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  const cudaError_t error = cudaStreamIsCapturing(stream, &status);
  if (error != cudaSuccess) static_cast<void>(cudaGetLastError());
  return status == cudaStreamCaptureStatusInvalidated || error == cudaErrorStreamCaptureImplicit;
}

}  // namespace kizami::dropin::cublas
