// SPDX-License-Identifier: MIT
// What programs call instead of cublasXt's products, and the two functions that say which devices they are for.
#include <cublasXt.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "dropin/cublas/audit.hpp"
#include "dropin/cublas/export.hpp"
#include "dropin/cublas/gemm_entries.hpp"
#include "dropin/cublas/xt.hpp"

namespace kizami::dropin::cublas {
namespace {

/// Sizes beyond all memory are negative, and so not understood.
[[nodiscard]] std::int64_t size_of(std::size_t size) {
  return size <= static_cast<std::size_t>(std::numeric_limits<std::int64_t>::max()) ? static_cast<std::int64_t>(size)
                                                                                    : -1;
}

template <class E>
cublasStatus_t xt_product(const Entry& entry, cublasXtHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b,
                          std::size_t m, std::size_t n, std::size_t k, const E* alpha, const E* a, std::size_t lda,
                          const E* b, std::size_t ldb, const E* beta, E* c, std::size_t ldc) {
  auto* function = entry.native.as<cublasStatus_t(cublasXtHandle_t, cublasOperation_t, cublasOperation_t, std::size_t,
                                                  std::size_t, std::size_t, const E*, const E*, std::size_t, const E*,
                                                  std::size_t, const E*, E*, std::size_t)>();
  if (function == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  const auto forward = [&] { return function(handle, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc); };
  if (depth > 0) return forward();
  const Inside inside;
  static_cast<void>(take_names());  // of a call that keeps nothing
  Call call = call_of(entry, nullptr, op_a, op_b, size_of(m), size_of(n), size_of(k), alpha, a, size_of(lda), b,
                      size_of(ldb), beta, c, size_of(ldc));
  call.scalar = kScalarOfElement<E>;
  if (handle != nullptr) call.context.emplace();
  const bool is_only_watched = is_audited();
  const XtAnswer answer = is_only_watched ? XtAnswer{} : answer_xt(call, handle);
  if (answer.is_answered) return answer.status;
  const auto begin = std::chrono::steady_clock::now();
  const cublasStatus_t status = forward();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  if (is_only_watched) note_waiting_call(call, took.count());
  if (answer.is_recorded) record_native_xt(call, answer, took.count());
  return status;
}

}  // namespace
}  // namespace kizami::dropin::cublas

using namespace kizami::dropin::cublas;  // NOLINT(google-build-using-namespace): the exported functions are global
using kizami::dropin::Routine;

// NOLINTBEGIN(bugprone-macro-parentheses): types and names
#define KIZAMI_XT_PRODUCT(name, E)                                                                                     \
  KIZAMI_CUBLAS_FUNCTION(name, cublasXtHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, std::size_t m, \
                         std::size_t n, std::size_t k, const E* alpha, const E* a, std::size_t lda, const E* b,        \
                         std::size_t ldb, const E* beta, E* c, std::size_t ldc) {                                      \
    return xt_product<E>(KIZAMI_ENTRY(name, kGemm), handle, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc); \
  }
// NOLINTEND(bugprone-macro-parentheses)
KIZAMI_XT_PRODUCT(cublasXtSgemm, float)
KIZAMI_XT_PRODUCT(cublasXtDgemm, double)
KIZAMI_XT_PRODUCT(cublasXtCgemm, cuComplex)
KIZAMI_XT_PRODUCT(cublasXtZgemm, cuDoubleComplex)

KIZAMI_CUBLAS_FUNCTION(cublasXtDeviceSelect, cublasXtHandle_t handle, int count, int devices[]) {
  auto* function = native_cublasXtDeviceSelect.as<decltype(cublasXtDeviceSelect)>();
  if (function == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  const cublasStatus_t status = function(handle, count, devices);
  if (status == CUBLAS_STATUS_SUCCESS && devices != nullptr && count > 0)
    note_devices(handle, std::span<const int>(devices, static_cast<std::size_t>(count)));
  return status;
}

KIZAMI_CUBLAS_FUNCTION(cublasXtDestroy, cublasXtHandle_t handle) {
  auto* function = native_cublasXtDestroy.as<decltype(cublasXtDestroy)>();
  if (function == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  forget_devices(handle);
  return function(handle);
}
