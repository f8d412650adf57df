// SPDX-License-Identifier: MIT
// The entry points of grouped batches: groups of products, each group of one shape.
#pragma once

#include <cstddef>
#include <exception>
#include <vector>

#include "dropin/cublas/gemm_entries.hpp"

namespace kizami::dropin::cublas {

/// What describes the groups: arrays of `count` in host memory.
template <class Int>
struct Groups {
  const cublasOperation_t* op_a;
  const cublasOperation_t* op_b;
  const Int* m;
  const Int* n;
  const Int* k;
  const Int* lda;
  const Int* ldb;
  const Int* ldc;
  Int count;
  const Int* sizes;  ///< products of each group

  [[nodiscard]] bool is_there() const {
    if (count <= 0 || sizes == nullptr || op_a == nullptr || op_b == nullptr) return false;
    for (const Int* array : {m, n, k, lda, ldb, ldc}) {
      if (array == nullptr) return false;
    }
    return true;
  }
  /// Products before group i.
  [[nodiscard]] std::int64_t offset(std::size_t i) const {
    std::int64_t sum = 0;
    for (std::size_t j = 0; j < i; ++j) sum += sizes[j];
    return sum;
  }
};

/// One call for each group, as far as sizes are not negative; none if something is missing, memory or an array.
/// @shape alpha, beta: [count]; a, b, c: of all groups, one after another
template <class Factor, class Int>
std::vector<Call> calls_of(const Entry& entry, cublasHandle_t handle, const Groups<Int>& groups, const Factor* alpha,
                           const void* const* a, const void* const* b, const Factor* beta, void* const* c) noexcept
    try {
  std::vector<Call> calls;
  if (!groups.is_there() || alpha == nullptr || beta == nullptr || a == nullptr || b == nullptr || c == nullptr)
    return calls;
  calls.reserve(static_cast<std::size_t>(groups.count));
  std::int64_t offset = 0;
  for (Int i = 0; i < groups.count; ++i) {
    Call call = call_of(entry, handle, groups.op_a[i], groups.op_b[i], groups.m[i], groups.n[i], groups.k[i], alpha + i,
                        a + offset, groups.lda[i], b + offset, groups.ldb[i], beta + i, const_cast<void**>(c + offset),
                        groups.ldc[i]);
    call.scalar = kScalarOfElement<Factor>;
    call.form = Form::kPointers;
    call.num_products = groups.sizes[i];
    call.has_host_factors = true;
    calls.push_back(call);
    if (groups.sizes[i] < 0) break;
    offset += groups.sizes[i];
  }
  return calls;
} catch (const std::exception&) {  // no memory, or a count beyond any
  return {};
}

/// cublas<t>gemmGroupedBatched.
template <class E, class Int>
cublasStatus_t grouped(const Entry& entry, cublasHandle_t handle, const cublasOperation_t* op_a,
                       const cublasOperation_t* op_b, const Int* m, const Int* n, const Int* k, const E* alpha,
                       const E* const* a, const Int* lda, const E* const* b, const Int* ldb, const E* beta, E* const* c,
                       const Int* ldc, Int count, const Int* sizes) {
  using Function = cublasStatus_t(cublasHandle_t, const cublasOperation_t*, const cublasOperation_t*, const Int*,
                                  const Int*, const Int*, const E*, const E* const*, const Int*, const E* const*,
                                  const Int*, const E*, E* const*, const Int*, Int, const Int*);
  auto* function = entry.native.as<Function>();
  const Groups<Int> groups{op_a, op_b, m, n, k, lda, ldb, ldc, count, sizes};
  const std::vector<Call> calls =
      calls_of(entry, handle, groups, alpha, reinterpret_cast<const void* const*>(a),
               reinterpret_cast<const void* const*>(b), beta, reinterpret_cast<void* const*>(c));
  return take(calls, function != nullptr, [&](std::size_t i) {
    const std::int64_t done = groups.offset(i);
    return function(handle, op_a + i, op_b + i, m + i, n + i, k + i, alpha + i, a + done, lda + i, b + done, ldb + i,
                    beta + i, c + done, ldc + i, static_cast<Int>(count - static_cast<Int>(i)), sizes + i);
  });
}

/// cublasGemmGroupedBatchedEx. The factors have the type of the arithmetic.
template <class Int>
cublasStatus_t grouped_ex(const Entry& entry, cublasHandle_t handle, const cublasOperation_t* op_a,
                          const cublasOperation_t* op_b, const Int* m, const Int* n, const Int* k, const void* alpha,
                          const void* const* a, cudaDataType type_a, const Int* lda, const void* const* b,
                          cudaDataType type_b, const Int* ldb, const void* beta, void* const* c, cudaDataType type_c,
                          const Int* ldc, Int count, const Int* sizes, cublasComputeType_t compute) {
  using Function = cublasStatus_t(cublasHandle_t, const cublasOperation_t*, const cublasOperation_t*, const Int*,
                                  const Int*, const Int*, const void*, const void* const*, cudaDataType, const Int*,
                                  const void* const*, cudaDataType, const Int*, const void*, void* const*, cudaDataType,
                                  const Int*, Int, const Int*, cublasComputeType_t);
  auto* function = entry.native.as<Function>();
  const Groups<Int> groups{op_a, op_b, m, n, k, lda, ldb, ldc, count, sizes};
  const bool is_f64 = compute == CUBLAS_COMPUTE_64F;
  std::vector<Call> calls = is_f64 ? calls_of(entry, handle, groups, static_cast<const double*>(alpha), a, b,
                                              static_cast<const double*>(beta), c)
                                   : calls_of(entry, handle, groups, static_cast<const float*>(alpha), a, b,
                                              static_cast<const float*>(beta), c);
  for (Call& call : calls) {
    const Scalar scalar = call.scalar;
    set_types(call, {type_a, type_b, type_c, compute});
    if (call.why_native == nullptr && call.scalar != scalar) call.why_native = kOtherTypes;
  }
  const std::size_t size_of_factor = is_f64 ? sizeof(double) : sizeof(float);
  return take(calls, function != nullptr, [&](std::size_t i) {
    if (i == 0)
      return function(handle, op_a, op_b, m, n, k, alpha, a, type_a, lda, b, type_b, ldb, beta, c, type_c, ldc, count,
                      sizes, compute);
    const std::int64_t done = groups.offset(i);
    return function(handle, op_a + i, op_b + i, m + i, n + i, k + i,
                    static_cast<const std::byte*>(alpha) + i * size_of_factor, a + done, type_a, lda + i, b + done,
                    type_b, ldb + i, static_cast<const std::byte*>(beta) + i * size_of_factor, c + done, type_c,
                    ldc + i, static_cast<Int>(count - static_cast<Int>(i)), sizes + i, compute);
  });
}

}  // namespace kizami::dropin::cublas
