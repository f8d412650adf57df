// SPDX-License-Identifier: MIT
// While a stream is captured in the global mode, the calling thread may not allocate, load kernels or ask about them.
// What the library does once for all calls is none of the graph's business: this scope lets it.
#pragma once

#include <cuda_runtime_api.h>

namespace kizami::base {

class RelaxedCapture {
 public:
  RelaxedCapture() { static_cast<void>(cudaThreadExchangeStreamCaptureMode(&mode_)); }
  ~RelaxedCapture() { static_cast<void>(cudaThreadExchangeStreamCaptureMode(&mode_)); }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

}  // namespace kizami::base
