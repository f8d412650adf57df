// SPDX-License-Identifier: MIT
// After CUDA refused a part of a call, or a device failed: Kizami is off for the rest of the process, and says so once.
#pragma once

#include "dropin/cublas/call.hpp"
#include "kizami/status.hpp"

namespace kizami::dropin::cublas {

/// Why calls are native then.
inline constexpr const char* kDeviceFailed = "CUDA failed before";

/// Whether Kizami is off. It then asks CUDA for nothing more.
[[nodiscard]] bool has_device_failed();

/// Turns Kizami off, and says so on stderr, with what to do: once in a process.
/// @param error            what a product of the call came to
/// @param is_c_whole       C is as it was, or is not read by the call (beta is a 0 in host memory)
/// @return CUBLAS_STATUS_SUCCESS: the native library can answer the call; CUBLAS_STATUS_EXECUTION_FAILED: CUDA does not
///         work any more in this process, or C may be lost
[[nodiscard]] cublasStatus_t device_failed(const Call& call, const Status& error, bool is_c_whole);

/// Whether the stream is in a capture that the program has broken (or may not be used beside another stream's capture),
/// so that nothing can be enqueued before that has ended: no failure of the device, and cuBLAS says so with a status of
/// its own.
[[nodiscard]] bool is_in_broken_capture(cudaStream_t stream);

/// As if no device had failed: for tests.
void forget_device_failure();

}  // namespace kizami::dropin::cublas
