// SPDX-License-Identifier: MIT
// cuSOLVER's own functions, found at run time as those of cuBLAS are (dropin/cublas/native.hpp), and what a handle of it
// says.
#pragma once

#include <cuda_runtime_api.h>
#include <cusolverDn.h>

#include <cstdint>

#include "dropin/cublas/native.hpp"

namespace kizami::dropin::cusolver {

/// The stream of a handle. @return false: there is no such function, or it refuses the handle
[[nodiscard]] bool read_stream(cusolverDnHandle_t handle, cudaStream_t& stream);

/// cusolverDnDpotrf of a block, and the elements of workspace that it wants; its status otherwise.
[[nodiscard]] cusolverStatus_t native_potrf_size(cusolverDnHandle_t handle, cublasFillMode_t uplo, int n, double* a,
                                                 int lda, int& elements);
[[nodiscard]] cusolverStatus_t native_potrf(cusolverDnHandle_t handle, cublasFillMode_t uplo, int n, double* a, int lda,
                                            double* workspace, int elements, int* info);

}  // namespace kizami::dropin::cusolver
