// SPDX-License-Identifier: MIT
// libcublasLt, opened at run time, as the few functions that the engine calls. One handle for each device, never
// destroyed: a BLAS may be called by destructors of static objects.
#pragma once

#include <cublasLt.h>

#include "kizami/status.hpp"

namespace kizami::engines {

struct CublasLt {
  decltype(&cublasLtCreate) create = nullptr;
  decltype(&cublasLtMatmul) matmul = nullptr;
  decltype(&cublasLtMatmulDescInit_internal) init_desc = nullptr;
  decltype(&cublasLtMatmulDescSetAttribute) set_desc = nullptr;
  decltype(&cublasLtMatrixLayoutInit_internal) init_layout = nullptr;
  decltype(&cublasLtMatrixLayoutSetAttribute) set_layout = nullptr;
  decltype(&cublasLtMatmulPreferenceInit_internal) init_preference = nullptr;
  decltype(&cublasLtMatmulPreferenceSetAttribute) set_preference = nullptr;
  decltype(&cublasLtMatmulAlgoGetHeuristic) find_algorithms = nullptr;
};

/// The library, or null with the reason in `why`.
[[nodiscard]] const CublasLt* cublaslt_library(std::string* why = nullptr);

/// The handle for a device, made by the first call; what that was refused with, later calls are too.
/// @status kUnsupported
[[nodiscard]] Result<cublasLtHandle_t> cublaslt_handle(int device);

}  // namespace kizami::engines
