// SPDX-License-Identifier: MIT
#include "dropin/cublas/emulate.hpp"

#include <optional>
#include <utility>

#include "dropin/cublas/kept.hpp"
#include "kizami/cuda.hpp"
#include "kizami/cuda_triangle.hpp"

namespace kizami::dropin::cublas {
namespace {

template <class T>
Status multiply(const Call& x, const Context& context, const Policy& policy, const EffortNote& note) {
  const Factor<T> alpha = factor_of<T>(x.alpha, context);
  const Factor<T> beta = factor_of<T>(x.beta, context);
  const Op op_a = op_of(x.op_a);
  const Op op_b = op_of(x.op_b);
  if (x.form == Form::kPointers) {
    return cuda::gemm_batched<T>(context.stream, Layout::kColMajor, op_a, op_b, x.m, x.n, x.k, alpha,
                                 PointerArray<const T>::at(static_cast<const T* const*>(x.a)), x.lda,
                                 PointerArray<const T>::at(static_cast<const T* const*>(x.b)), x.ldb, beta,
                                 PointerArray<T>::at(static_cast<T* const*>(x.c)), x.ldc, x.num_products, policy,
                                 nullptr, note);
  }
  const T* a = static_cast<const T*>(x.a);
  const T* b = static_cast<const T*>(x.b);
  T* c = static_cast<T*>(x.c);
  if (x.routine == Routine::kGemmt) {
    return cuda::gemmt<T>(context.stream, Layout::kColMajor, {x.uplo == 'L', x.has_real_diagonal}, op_a, op_b, x.n, x.k,
                          alpha, a, x.lda, b, x.ldb, beta, c, x.ldc, policy, nullptr, note);
  }
  if (is_symmetric(x.routine)) {
    return cuda::symm<T>(context.stream, Layout::kColMajor,
                         {x.side == 'L' ? Side::kA : Side::kB, x.uplo == 'L', is_hermitian(x.routine)}, x.m, x.n, alpha,
                         a, x.lda, b, x.ldb, beta, c, x.ldc, policy, nullptr, note);
  }
  if (x.form == Form::kStrided) {
    return cuda::gemm_strided_batched<T>(context.stream, Layout::kColMajor, op_a, op_b, x.m, x.n, x.k, alpha, a, x.lda,
                                         x.stride_a, b, x.ldb, x.stride_b, beta, c, x.ldc, x.stride_c, x.num_products,
                                         policy, nullptr, note);
  }
  return cuda::gemm<T>(context.stream, Layout::kColMajor, op_a, op_b, x.m, x.n, x.k, alpha, a, x.lda, b, x.ldb, beta, c,
                       x.ldc, policy, nullptr, note);
}

}  // namespace

Status emulate(const Call& call, const Context& context, const Policy& policy, const EffortNote& note,
               const CallNames& names) {
  if (is_product(call.routine) && call.form == Form::kOne) {
    if (auto answered = multiply_kept(call, context, policy, note, names)) return *std::move(answered);
  }
  return with_scalar(call.scalar, [&]<class T>() { return multiply<T>(call, context, policy, note); });
}

}  // namespace kizami::dropin::cublas
