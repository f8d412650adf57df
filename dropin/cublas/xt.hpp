// SPDX-License-Identifier: MIT
// Products of cublasXt, which libcublas.so has beside its own: of matrices in host memory or on any device, shared by
// the devices that the program has selected. Kizami shares them by kizami/multi.hpp.
#pragma once

#include <cublasXt.h>

#include <span>

#include "dropin/cublas/call.hpp"

namespace kizami::dropin::cublas {

/// The devices of a handle, from its cublasXtDeviceSelect() to its cublasXtDestroy(): nobody else tells them. Safe from
/// any thread.
void note_devices(cublasXtHandle_t handle, std::span<const int> devices);
void forget_devices(cublasXtHandle_t handle);

/// What became of a call.
struct XtAnswer {
  bool is_answered = false;
  cublasStatus_t status = CUBLAS_STATUS_SUCCESS;  ///< if it is
  bool is_recorded = false;                       ///< what the native library is left with is to be recorded
  const char* why_native = nullptr;               ///< of such a call
};
/// Answers the call, or leaves it untouched. @param call  of Routine::kGemm, with an empty context
/// @queue blocks until C is written, as cublasXt does
[[nodiscard]] XtAnswer answer_xt(const Call& call, cublasXtHandle_t handle) noexcept;
void record_native_xt(const Call& call, const XtAnswer& answer, double seconds) noexcept;

}  // namespace kizami::dropin::cublas
