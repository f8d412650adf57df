// SPDX-License-Identifier: MIT
// What programs call instead of cuSOLVER's functions: those whose order of operations decides what products gain.
#include <cusolverDn.h>

#include <cstddef>
#include <cstdint>

#include "dropin/cusolver/getrf.hpp"
#include "dropin/cusolver/native_solver.hpp"
#include "dropin/cusolver/potrf.hpp"
#include "kizami/export.h"

using namespace kizami::dropin::cusolver;  // NOLINT(google-build-using-namespace): the exported functions are global

namespace {

using kizami::dropin::cublas::find_in;
using kizami::dropin::cublas::Library;
using kizami::dropin::cublas::NativeFunction;

/// As the program called it.
template <class... Arguments>
cusolverStatus_t forward(NativeFunction& native, Arguments... arguments) {
  auto* const function = native.as<cusolverStatus_t(Arguments...)>();
  return function == nullptr ? CUSOLVER_STATUS_NOT_INITIALIZED : function(arguments...);
}

}  // namespace

// NOLINTBEGIN(bugprone-macro-parentheses): types and names
#define KIZAMI_CUSOLVER_FUNCTION(name, ...)                                          \
  extern "C" KIZAMI_API cusolverStatus_t name(__VA_ARGS__);                          \
  static constinit NativeFunction native_##name(find_in<Library::kCusolver>, #name); \
  extern "C" cusolverStatus_t name(__VA_ARGS__)
// NOLINTEND(bugprone-macro-parentheses)

KIZAMI_CUSOLVER_FUNCTION(cusolverDnDpotrf, cusolverDnHandle_t handle, cublasFillMode_t uplo, int n, double* a, int lda,
                         double* workspace, int elements, int* info) {
  const SolverAnswer answer = potrf({handle, __builtin_return_address(0), n, a, lda, info}, uplo);
  if (answer.is_answered) return answer.status;
  return forward(native_cusolverDnDpotrf, handle, uplo, n, a, lda, workspace, elements, info);
}

KIZAMI_CUSOLVER_FUNCTION(cusolverDnXpotrf, cusolverDnHandle_t handle, cusolverDnParams_t params, cublasFillMode_t uplo,
                         std::int64_t n, cudaDataType type, void* a, std::int64_t lda, cudaDataType compute_type,
                         void* on_device, std::size_t device_bytes, void* on_host, std::size_t host_bytes, int* info) {
  if (type == CUDA_R_64F && compute_type == CUDA_R_64F) {
    const SolverAnswer answer =
        potrf({handle, __builtin_return_address(0), n, static_cast<double*>(a), lda, info}, uplo);
    if (answer.is_answered) return answer.status;
  }
  return forward(native_cusolverDnXpotrf, handle, params, uplo, n, type, a, lda, compute_type, on_device, device_bytes,
                 on_host, host_bytes, info);
}

KIZAMI_CUSOLVER_FUNCTION(cusolverDnDgetrf, cusolverDnHandle_t handle, int m, int n, double* a, int lda,
                         double* workspace, int* pivots, int* info) {
  if (m == n) {
    const SolverAnswer answer = getrf({handle, __builtin_return_address(0), n, a, lda, info}, pivots);
    if (answer.is_answered) return answer.status;
  }
  return forward(native_cusolverDnDgetrf, handle, m, n, a, lda, workspace, pivots, info);
}

KIZAMI_CUSOLVER_FUNCTION(cusolverDnXgetrf, cusolverDnHandle_t handle, cusolverDnParams_t params, std::int64_t m,
                         std::int64_t n, cudaDataType type, void* a, std::int64_t lda, std::int64_t* pivots,
                         cudaDataType compute_type, void* on_device, std::size_t device_bytes, void* on_host,
                         std::size_t host_bytes, int* info) {
  if (m == n && type == CUDA_R_64F && compute_type == CUDA_R_64F) {
    const SolverAnswer answer =
        getrf({handle, __builtin_return_address(0), n, static_cast<double*>(a), lda, info}, pivots);
    if (answer.is_answered) return answer.status;
  }
  return forward(native_cusolverDnXgetrf, handle, params, m, n, type, a, lda, pivots, compute_type, on_device,
                 device_bytes, on_host, host_bytes, info);
}
