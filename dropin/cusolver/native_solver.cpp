// SPDX-License-Identifier: MIT
#include "dropin/cusolver/native_solver.hpp"

namespace kizami::dropin::cusolver {
namespace {

using cublas::find_in;
using cublas::Library;
using cublas::NativeFunction;

constinit NativeFunction get_stream(find_in<Library::kCusolver>, "cusolverDnGetStream");
constinit NativeFunction potrf_size(find_in<Library::kCusolver>, "cusolverDnDpotrf_bufferSize");
constinit NativeFunction potrf(find_in<Library::kCusolver>, "cusolverDnDpotrf");

}  // namespace

bool read_stream(cusolverDnHandle_t handle, cudaStream_t& stream) {
  auto* const function = get_stream.as<cusolverStatus_t(cusolverDnHandle_t, cudaStream_t*)>();
  return function != nullptr && function(handle, &stream) == CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t native_potrf_size(cusolverDnHandle_t handle, cublasFillMode_t uplo, int n, double* a, int lda,
                                   int& elements) {
  auto* const function =
      potrf_size.as<cusolverStatus_t(cusolverDnHandle_t, cublasFillMode_t, int, double*, int, int*)>();
  return function == nullptr ? CUSOLVER_STATUS_NOT_INITIALIZED : function(handle, uplo, n, a, lda, &elements);
}

cusolverStatus_t native_potrf(cusolverDnHandle_t handle, cublasFillMode_t uplo, int n, double* a, int lda,
                              double* workspace, int elements, int* info) {
  auto* const function =
      potrf.as<cusolverStatus_t(cusolverDnHandle_t, cublasFillMode_t, int, double*, int, double*, int, int*)>();
  return function == nullptr ? CUSOLVER_STATUS_NOT_INITIALIZED
                             : function(handle, uplo, n, a, lda, workspace, elements, info);
}

}  // namespace kizami::dropin::cusolver
