// SPDX-License-Identifier: MIT
// The entry points of GEMM by kinds: each makes a Call of its arguments, and passes these on as they came where Kizami
// does not answer. Int is int, or int64_t of the twins ..._64.
#pragma once

#include <cstdint>
#include <type_traits>

#include "dropin/cublas/native.hpp"
#include "dropin/cublas/take.hpp"
#include "dropin/cublas/types.hpp"

namespace kizami::dropin::cublas {

/// What an entry point is.
struct Entry {
  NativeFunction& native;
  Routine routine;
  const void* caller;
};

template <class E>
inline constexpr Scalar kScalarOfElement = std::is_same_v<E, float>       ? Scalar::kF32
                                           : std::is_same_v<E, double>    ? Scalar::kF64
                                           : std::is_same_v<E, cuComplex> ? Scalar::kC64
                                                                          : Scalar::kC128;

inline constexpr const char* kCertainAlgorithm = "an algorithm is asked for";

inline void set_algorithm(Call& call, cublasGemmAlgo_t algorithm) {
  const bool is_open = algorithm == CUBLAS_GEMM_DEFAULT || algorithm == CUBLAS_GEMM_DEFAULT_TENSOR_OP;
  if (call.why_native == nullptr && !is_open) call.why_native = kCertainAlgorithm;
}

inline Call call_of(const Entry& entry, cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b,
                    std::int64_t m, std::int64_t n, std::int64_t k, const void* alpha, const void* a, std::int64_t lda,
                    const void* b, std::int64_t ldb, const void* beta, void* c, std::int64_t ldc) {
  Call call;
  call.routine = entry.routine;
  call.name = entry.native.name();
  call.caller = entry.caller;
  call.handle = handle;
  call.op_a = letter_of(op_a);
  call.op_b = letter_of(op_b);
  call.m = m;
  call.n = n;
  call.k = k;
  call.alpha = alpha;
  call.a = a;
  call.lda = lda;
  call.b = b;
  call.ldb = ldb;
  call.beta = beta;
  call.c = c;
  call.ldc = ldc;
  return call;
}

/// One call; the native function takes `arguments`.
template <class... Arguments>
cublasStatus_t take_one(const Call& call, const Entry& entry, Arguments... arguments) {
  auto* function = entry.native.as<cublasStatus_t(Arguments...)>();
  return take({&call, 1}, function != nullptr, [&](std::size_t) { return function(arguments...); });
}

/// cublas<t>gemm, cublas<t>gemm3m.
template <class E, class Int>
cublasStatus_t product(const Entry& entry, cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, Int m,
                       Int n, Int k, const E* alpha, const E* a, Int lda, const E* b, Int ldb, const E* beta, E* c,
                       Int ldc) {
  Call call = call_of(entry, handle, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
  call.scalar = kScalarOfElement<E>;
  return take_one(call, entry, handle, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

/// cublasSgemmEx, cublasCgemmEx, cublasCgemm3mEx: factors of type F, arithmetic of FP32.
template <class F, class Int>
cublasStatus_t typed_product(const Entry& entry, cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b,
                             Int m, Int n, Int k, const F* alpha, const void* a, cudaDataType type_a, Int lda,
                             const void* b, cudaDataType type_b, Int ldb, const F* beta, void* c, cudaDataType type_c,
                             Int ldc) {
  Call call = call_of(entry, handle, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
  set_types(call, {type_a, type_b, type_c, CUBLAS_COMPUTE_32F});
  if (call.scalar != kScalarOfElement<F>) call.why_native = kOtherTypes;
  return take_one(call, entry, handle, op_a, op_b, m, n, k, alpha, a, type_a, lda, b, type_b, ldb, beta, c, type_c,
                  ldc);
}

/// cublasGemmEx.
template <class Int>
cublasStatus_t product_ex(const Entry& entry, cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b,
                          Int m, Int n, Int k, const void* alpha, const void* a, cudaDataType type_a, Int lda,
                          const void* b, cudaDataType type_b, Int ldb, const void* beta, void* c, cudaDataType type_c,
                          Int ldc, cublasComputeType_t compute, cublasGemmAlgo_t algorithm) {
  Call call = call_of(entry, handle, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
  set_types(call, {type_a, type_b, type_c, compute});
  set_algorithm(call, algorithm);
  return take_one(call, entry, handle, op_a, op_b, m, n, k, alpha, a, type_a, lda, b, type_b, ldb, beta, c, type_c, ldc,
                  compute, algorithm);
}

/// cublas<t>gemmBatched, cublasCgemm3mBatched.
template <class E, class Int>
cublasStatus_t batched(const Entry& entry, cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, Int m,
                       Int n, Int k, const E* alpha, const E* const* a, Int lda, const E* const* b, Int ldb,
                       const E* beta, E* const* c, Int ldc, Int count) {
  Call call = call_of(entry, handle, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, const_cast<E**>(c), ldc);
  call.scalar = kScalarOfElement<E>;
  call.form = Form::kPointers;
  call.num_products = count;
  return take_one(call, entry, handle, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, count);
}

/// cublasGemmBatchedEx.
template <class Int>
cublasStatus_t batched_ex(const Entry& entry, cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b,
                          Int m, Int n, Int k, const void* alpha, const void* const* a, cudaDataType type_a, Int lda,
                          const void* const* b, cudaDataType type_b, Int ldb, const void* beta, void* const* c,
                          cudaDataType type_c, Int ldc, Int count, cublasComputeType_t compute,
                          cublasGemmAlgo_t algorithm) {
  Call call = call_of(entry, handle, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, const_cast<void**>(c), ldc);
  set_types(call, {type_a, type_b, type_c, compute});
  set_algorithm(call, algorithm);
  call.form = Form::kPointers;
  call.num_products = count;
  return take_one(call, entry, handle, op_a, op_b, m, n, k, alpha, a, type_a, lda, b, type_b, ldb, beta, c, type_c, ldc,
                  count, compute, algorithm);
}

/// cublas<t>gemmStridedBatched, cublasCgemm3mStridedBatched.
template <class E, class Int>
cublasStatus_t strided(const Entry& entry, cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, Int m,
                       Int n, Int k, const E* alpha, const E* a, Int lda, long long stride_a, const E* b, Int ldb,
                       long long stride_b, const E* beta, E* c, Int ldc, long long stride_c, Int count) {
  Call call = call_of(entry, handle, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
  call.scalar = kScalarOfElement<E>;
  call.form = Form::kStrided;
  call.num_products = count;
  call.stride_a = stride_a;
  call.stride_b = stride_b;
  call.stride_c = stride_c;
  return take_one(call, entry, handle, op_a, op_b, m, n, k, alpha, a, lda, stride_a, b, ldb, stride_b, beta, c, ldc,
                  stride_c, count);
}

/// cublasGemmStridedBatchedEx.
template <class Int>
cublasStatus_t strided_ex(const Entry& entry, cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b,
                          Int m, Int n, Int k, const void* alpha, const void* a, cudaDataType type_a, Int lda,
                          long long stride_a, const void* b, cudaDataType type_b, Int ldb, long long stride_b,
                          const void* beta, void* c, cudaDataType type_c, Int ldc, long long stride_c, Int count,
                          cublasComputeType_t compute, cublasGemmAlgo_t algorithm) {
  Call call = call_of(entry, handle, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
  set_types(call, {type_a, type_b, type_c, compute});
  set_algorithm(call, algorithm);
  call.form = Form::kStrided;
  call.num_products = count;
  call.stride_a = stride_a;
  call.stride_b = stride_b;
  call.stride_c = stride_c;
  return take_one(call, entry, handle, op_a, op_b, m, n, k, alpha, a, type_a, lda, stride_a, b, type_b, ldb, stride_b,
                  beta, c, type_c, ldc, stride_c, count, compute, algorithm);
}

}  // namespace kizami::dropin::cublas
