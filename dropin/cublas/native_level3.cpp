// SPDX-License-Identifier: MIT
#include "dropin/cublas/native_level3.hpp"

#include <complex>

#include "dropin/cublas/native.hpp"

namespace kizami::dropin::cublas {
namespace {

using Int = std::int64_t;

// In the order of Routine. Real types have no Hermitian routines, and cuBLAS has no gemmt; nor are these asked for.
#define KIZAMI_NATIVE(name) \
  { find_in<Library::kCublas>, "cublas" name "_64" }
#define KIZAMI_NATIVES(letter)                                                                             \
  {                                                                                                        \
    KIZAMI_NATIVE(letter "gemm_v2"), KIZAMI_NATIVE(letter "gemm3m"), KIZAMI_NATIVE(letter "gemmt"),        \
        KIZAMI_NATIVE(letter "syrk_v2"), KIZAMI_NATIVE(letter "herk_v2"), KIZAMI_NATIVE(letter "syrkx"),   \
        KIZAMI_NATIVE(letter "herkx"), KIZAMI_NATIVE(letter "syr2k_v2"), KIZAMI_NATIVE(letter "her2k_v2"), \
        KIZAMI_NATIVE(letter "symm_v2"), KIZAMI_NATIVE(letter "hemm_v2"), KIZAMI_NATIVE(letter "trmm_v2"), \
        KIZAMI_NATIVE(letter "trsm_v2")                                                                    \
  }
constinit NativeFunction natives[4][kNumRoutines]{KIZAMI_NATIVES("S"), KIZAMI_NATIVES("D"), KIZAMI_NATIVES("C"),
                                                  KIZAMI_NATIVES("Z")};
#undef KIZAMI_NATIVES
#undef KIZAMI_NATIVE

template <class T>
NativeFunction& native(Routine routine) {
  static_assert(static_cast<int>(Scalar::kC128) == 3);
  return natives[static_cast<int>(kScalarOf<T>)][static_cast<int>(routine)];
}

cublasOperation_t operation(char letter) {
  return letter == 'N' ? CUBLAS_OP_N : letter == 'T' ? CUBLAS_OP_T : CUBLAS_OP_C;
}
cublasFillMode_t fill_mode(char uplo) { return uplo == 'L' ? CUBLAS_FILL_MODE_LOWER : CUBLAS_FILL_MODE_UPPER; }
cublasSideMode_t side_mode(char side) { return side == 'L' ? CUBLAS_SIDE_LEFT : CUBLAS_SIDE_RIGHT; }

/// A factor as cuBLAS reads it, whose complex numbers lie on boundaries of their size: those of C++ on half of it.
template <class T>
struct alignas(sizeof(T)) Factor {
  T value;
};

}  // namespace

template <class T>
bool NativeLevel3<T>::is_there(Routine routine) {
  return native<T>(routine).template as<void()>() != nullptr &&
         native<T>(Routine::kGemm).template as<void()>() != nullptr;
}

template <class T>
cublasStatus_t NativeLevel3<T>::gemm(cublasHandle_t handle, char op_a, char op_b, Int m, Int n, Int k, T alpha,
                                     const T* a, Int lda, const T* b, Int ldb, T beta, T* c, Int ldc) {
  using Function = cublasStatus_t(cublasHandle_t, cublasOperation_t, cublasOperation_t, Int, Int, Int, const T*,
                                  const T*, Int, const T*, Int, const T*, T*, Int);
  const Factor<T> of_product{alpha};
  const Factor<T> of_c{beta};
  return native<T>(Routine::kGemm)
      .template as<Function>()(handle, operation(op_a), operation(op_b), m, n, k, &of_product.value, a, lda, b, ldb,
                               &of_c.value, c, ldc);
}

template <class T>
cublasStatus_t NativeLevel3<T>::triangle(const Call& x, Int size, T alpha, const T* a, const T* b, T beta, T* c) {
  NativeFunction& function = native<T>(x.routine);
  const Factor<T> of_product{alpha};
  const Factor<T> of_c{beta};
  const Real real_alpha = real_part(alpha);
  const Real real_beta = real_part(beta);
  const auto one_operand = [&](auto* alpha_at, auto* beta_at) {
    using FactorAt = decltype(alpha_at);
    using Function = cublasStatus_t(cublasHandle_t, cublasFillMode_t, cublasOperation_t, Int, Int, FactorAt, const T*,
                                    Int, FactorAt, T*, Int);
    return function.as<Function>()(x.handle, fill_mode(x.uplo), operation(x.op_a), size, x.k, alpha_at, a, x.lda,
                                   beta_at, c, x.ldc);
  };
  const auto two_operands = [&](auto* beta_at) {
    using Function = cublasStatus_t(cublasHandle_t, cublasFillMode_t, cublasOperation_t, Int, Int, const T*, const T*,
                                    Int, const T*, Int, decltype(beta_at), T*, Int);
    return function.as<Function>()(x.handle, fill_mode(x.uplo), operation(x.op_a), size, x.k, &of_product.value, a,
                                   x.lda, b, x.ldb, beta_at, c, x.ldc);
  };
  if (x.routine == Routine::kHerk) return one_operand(&real_alpha, &real_beta);
  if (x.routine == Routine::kSyrk) return one_operand(&of_product.value, &of_c.value);
  return is_hermitian(x.routine) ? two_operands(&real_beta) : two_operands(&of_c.value);
}

template <class T>
cublasStatus_t NativeLevel3<T>::triangular(const Call& x, Int m, Int n, T alpha, const T* a, const T* b, T* c) {
  const Factor<T> factor{alpha};
  const cublasDiagType_t diag = x.diag == 'U' ? CUBLAS_DIAG_UNIT : CUBLAS_DIAG_NON_UNIT;
  if (x.routine == Routine::kTrsm) {
    using Solve = cublasStatus_t(cublasHandle_t, cublasSideMode_t, cublasFillMode_t, cublasOperation_t,
                                 cublasDiagType_t, Int, Int, const T*, const T*, Int, T*, Int);
    return native<T>(x.routine).template as<Solve>()(x.handle, side_mode(x.side), fill_mode(x.uplo), operation(x.op_a),
                                                     diag, m, n, &factor.value, a, x.lda, c, x.ldc);
  }
  using Multiply = cublasStatus_t(cublasHandle_t, cublasSideMode_t, cublasFillMode_t, cublasOperation_t,
                                  cublasDiagType_t, Int, Int, const T*, const T*, Int, const T*, Int, T*, Int);
  return native<T>(x.routine).template as<Multiply>()(x.handle, side_mode(x.side), fill_mode(x.uplo), operation(x.op_a),
                                                      diag, m, n, &factor.value, a, x.lda, b, x.ldb, c, x.ldc);
}

template class NativeLevel3<float>;
template class NativeLevel3<double>;
template class NativeLevel3<std::complex<float>>;
template class NativeLevel3<std::complex<double>>;

}  // namespace kizami::dropin::cublas
