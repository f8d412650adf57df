// SPDX-License-Identifier: MIT
// The functions of a libcusolver.so that libkizami_cublas.so stands before or calls, for machines without a device: what
// a handle points to notes the calls. Dpotrf computes, in host memory.
#pragma once

#include <cusolverDn.h>

#include <cstdint>
#include <string>
#include <vector>

namespace kizami::dropin_test {

struct FakeSolver {
  cudaStream_t stream = nullptr;
  std::vector<std::string> calls;                     ///< functions, in order
  std::vector<std::int64_t> orders;                   ///< of each
  bool computes = true;                               ///< Dpotrf: false: addresses are no memory
  cusolverStatus_t status = CUSOLVER_STATUS_SUCCESS;  ///< of every function that computes

  [[nodiscard]] cusolverDnHandle_t get() { return reinterpret_cast<cusolverDnHandle_t>(this); }
};

}  // namespace kizami::dropin_test
