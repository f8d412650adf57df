// SPDX-License-Identifier: MIT
#include "dropin_cublas/fake_cusolver.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>

using kizami::dropin_test::FakeSolver;

namespace {

FakeSolver& noted(cusolverDnHandle_t handle, const char* name, std::int64_t n) {
  auto& solver = *reinterpret_cast<FakeSolver*>(handle);
  solver.calls.emplace_back(name);
  solver.orders.push_back(n);
  return solver;
}

/// Column by column. @return info
int factor(cublasFillMode_t uplo, int n, double* a, int lda) {
  const auto at = [&](int i, int j) -> double& {
    return uplo == CUBLAS_FILL_MODE_LOWER ? a[i + std::int64_t{j} * lda] : a[j + std::int64_t{i} * lda];
  };
  for (int j = 0; j < n; ++j) {
    double rest = at(j, j);
    for (int k = 0; k < j; ++k) rest -= at(j, k) * at(j, k);
    if (!(rest > 0)) return j + 1;
    at(j, j) = std::sqrt(rest);
    for (int i = j + 1; i < n; ++i) {
      double sum = at(i, j);
      for (int k = 0; k < j; ++k) sum -= at(i, k) * at(j, k);
      at(i, j) = sum / at(j, j);
    }
  }
  return 0;
}

}  // namespace

extern "C" {
cusolverStatus_t CUSOLVERAPI cusolverDnGetStream(cusolverDnHandle_t handle, cudaStream_t* stream) {
  *stream = reinterpret_cast<FakeSolver*>(handle)->stream;
  return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t CUSOLVERAPI cusolverDnDpotrf_bufferSize(cusolverDnHandle_t, cublasFillMode_t, int n, double*, int,
                                                         int* elements) {
  *elements = n;
  return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t CUSOLVERAPI cusolverDnDpotrf(cusolverDnHandle_t handle, cublasFillMode_t uplo, int n, double* a,
                                              int lda, double*, int elements, int* info) {
  const FakeSolver& solver = noted(handle, "Dpotrf", n);
  if (!solver.computes || solver.status != CUSOLVER_STATUS_SUCCESS) return solver.status;
  if (elements < n) return CUSOLVER_STATUS_INVALID_VALUE;
  *info = factor(uplo, n, a, lda);
  return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t CUSOLVERAPI cusolverDnXpotrf(cusolverDnHandle_t handle, cusolverDnParams_t, cublasFillMode_t,
                                              std::int64_t n, cudaDataType, void*, std::int64_t, cudaDataType, void*,
                                              std::size_t, void*, std::size_t, int*) {
  return noted(handle, "Xpotrf", n).status;
}
cusolverStatus_t CUSOLVERAPI cusolverDnDgetrf(cusolverDnHandle_t handle, int, int n, double*, int, double*, int*,
                                              int*) {
  return noted(handle, "Dgetrf", n).status;
}
cusolverStatus_t CUSOLVERAPI cusolverDnXgetrf(cusolverDnHandle_t handle, cusolverDnParams_t, std::int64_t,
                                              std::int64_t n, cudaDataType, void*, std::int64_t, std::int64_t*,
                                              cudaDataType, void*, std::size_t, void*, std::size_t, int*) {
  return noted(handle, "Xgetrf", n).status;
}
}
