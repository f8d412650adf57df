// SPDX-License-Identifier: MIT
// Within this scope the thread may allocate, or wait for a stream that is not captured, while another one is.
#pragma once

#include <cuda_runtime_api.h>

namespace kizami::dropin::cublas {

/// Where CUDA refuses it, what is called within says so.
class RelaxedCapture {
 public:
  RelaxedCapture() noexcept { exchange(); }
  ~RelaxedCapture() { exchange(); }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  void exchange() noexcept {
    if (cudaThreadExchangeStreamCaptureMode(&mode_) != cudaSuccess) static_cast<void>(cudaGetLastError());
  }
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

}  // namespace kizami::dropin::cublas
