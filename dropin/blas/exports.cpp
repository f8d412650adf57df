// SPDX-License-Identifier: MIT
// What programs call instead of their BLAS. Each function under all names that are in use:
//   dgemm_, cblas_dgemm                    integers of PlainInt: the reference BLAS, OpenBLAS, MKL, BLIS
//   dgemm_64_, cblas_dgemm64_              64-bit integers: OpenBLAS with suffix 64_
//   cblas_dgemm_64                         64-bit integers: MKL and the reference BLAS with both interfaces
//   scipy_dgemm_, scipy_cblas_dgemm        the OpenBLAS within the wheels of SciPy
//   scipy_dgemm_64_, scipy_cblas_dgemm64_  64-bit integers: within the wheels of NumPy
// Everything else of BLAS stays the program's own.
#include <complex>
#include <cstdint>

#include "dropin/blas/cblas.hpp"
#include "dropin/blas/fortran.hpp"
#include "dropin/blas/plain_int.hpp"
#include "dropin/policy/configuration.hpp"
#include "dropin/policy/record.hpp"
#include "dropin/policy/runtime_exports.hpp"
#include "kizami/export.h"

namespace kizami::dropin::blas {
namespace {

using ComplexFloat = std::complex<float>;
using ComplexDouble = std::complex<double>;

/// The environment is read when the library is loaded: what the program sets later does not count.
__attribute__((constructor)) void read_environment() {
  if (keeps_record(process_configuration())) static_cast<void>(process_record());
}

}  // namespace
}  // namespace kizami::dropin::blas

// NOLINTBEGIN(bugprone-macro-parentheses): types and names
#define KIZAMI_FUNCTION(name, ...)                                   \
  extern "C" KIZAMI_API void name(__VA_ARGS__);                      \
  namespace kizami::dropin::blas {                                   \
  static constinit NativeFunction native_##name(find_native, #name); \
  }                                                                  \
  extern "C" void name(__VA_ARGS__)
/// Before what is done about a call under an audit that is only counted. Where nothing is audited it is one look at
/// memory.
#define KIZAMI_COUNT(name, ...)                                       \
  if (audit_state.load(std::memory_order_relaxed) == AuditState::kOn) \
    if (TinyTable* const table = only_counted({&native_##name, __builtin_return_address(0), packed(__VA_ARGS__)}))
#define KIZAMI_CALLER(name, routine) native_##name, Routine::routine, __builtin_return_address(0)

#define KIZAMI_FORTRAN_PRODUCT(name, routine, T, Int, Factor)                                                          \
  KIZAMI_FUNCTION(name, const char* op_a, const char* op_b, const Int* m, const Int* n, const Int* k, const T* alpha,  \
                  const T* a, const Int* lda, const T* b, const Int* ldb, const T* beta, T* c, const Int* ldc) {       \
    KIZAMI_COUNT(name, *op_a, *op_b, *m, *n, *k)                                                                       \
    return forwarded(table, native_##name, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, fortran::kLength, \
                     fortran::kLength);                                                                                \
    fortran::product<T, Int>(KIZAMI_CALLER(name, routine), op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);  \
  }
#define KIZAMI_FORTRAN_TRIANGLE_OF_PRODUCT(name, routine, T, Int, Factor)                                             \
  KIZAMI_FUNCTION(name, const char* uplo, const char* op_a, const char* op_b, const Int* n, const Int* k,             \
                  const T* alpha, const T* a, const Int* lda, const T* b, const Int* ldb, const T* beta, T* c,        \
                  const Int* ldc) {                                                                                   \
    KIZAMI_COUNT(name, *uplo, *op_a, *op_b, *n, *k)                                                                   \
    return forwarded(table, native_##name, uplo, op_a, op_b, n, k, alpha, a, lda, b, ldb, beta, c, ldc,               \
                     fortran::kLength, fortran::kLength, fortran::kLength);                                           \
    fortran::triangle_of_product<T, Int>(KIZAMI_CALLER(name, routine), uplo, op_a, op_b, n, k, alpha, a, lda, b, ldb, \
                                         beta, c, ldc);                                                               \
  }
#define KIZAMI_FORTRAN_SYMMETRIC(name, routine, T, Int, Factor)                                                      \
  KIZAMI_FUNCTION(name, const char* side, const char* uplo, const Int* m, const Int* n, const T* alpha, const T* a,  \
                  const Int* lda, const T* b, const Int* ldb, const T* beta, T* c, const Int* ldc) {                 \
    KIZAMI_COUNT(name, *side, *uplo, *m, *n)                                                                         \
    return forwarded(table, native_##name, side, uplo, m, n, alpha, a, lda, b, ldb, beta, c, ldc, fortran::kLength,  \
                     fortran::kLength);                                                                              \
    fortran::symmetric<T, Int>(KIZAMI_CALLER(name, routine), side, uplo, m, n, alpha, a, lda, b, ldb, beta, c, ldc); \
  }
#define KIZAMI_FORTRAN_RANK_K(name, routine, T, Int, Factor)                                                           \
  KIZAMI_FUNCTION(name, const char* uplo, const char* op, const Int* n, const Int* k, const Factor* alpha, const T* a, \
                  const Int* lda, const Factor* beta, T* c, const Int* ldc) {                                          \
    KIZAMI_COUNT(name, *uplo, *op, *n, *k)                                                                             \
    return forwarded(table, native_##name, uplo, op, n, k, alpha, a, lda, beta, c, ldc, fortran::kLength,              \
                     fortran::kLength);                                                                                \
    fortran::rank_k<T, Int, Factor>(KIZAMI_CALLER(name, routine), uplo, op, n, k, alpha, a, lda, beta, c, ldc);        \
  }
#define KIZAMI_FORTRAN_RANK_2K(name, routine, T, Int, Factor)                                                      \
  KIZAMI_FUNCTION(name, const char* uplo, const char* op, const Int* n, const Int* k, const T* alpha, const T* a,  \
                  const Int* lda, const T* b, const Int* ldb, const Factor* beta, T* c, const Int* ldc) {          \
    KIZAMI_COUNT(name, *uplo, *op, *n, *k)                                                                         \
    return forwarded(table, native_##name, uplo, op, n, k, alpha, a, lda, b, ldb, beta, c, ldc, fortran::kLength,  \
                     fortran::kLength);                                                                            \
    fortran::rank_2k<T, Int, Factor>(KIZAMI_CALLER(name, routine), uplo, op, n, k, alpha, a, lda, b, ldb, beta, c, \
                                     ldc);                                                                         \
  }
#define KIZAMI_FORTRAN_TRIANGULAR(name, routine, T, Int, Factor)                                                  \
  KIZAMI_FUNCTION(name, const char* side, const char* uplo, const char* op, const char* diag, const Int* m,       \
                  const Int* n, const T* alpha, const T* a, const Int* lda, T* b, const Int* ldb) {               \
    KIZAMI_COUNT(name, *side, *uplo, *op, *diag, *m, *n)                                                          \
    return forwarded(table, native_##name, side, uplo, op, diag, m, n, alpha, a, lda, b, ldb, fortran::kLength,   \
                     fortran::kLength, fortran::kLength, fortran::kLength);                                       \
    fortran::triangular<T, Int>(KIZAMI_CALLER(name, routine), side, uplo, op, diag, m, n, alpha, a, lda, b, ldb); \
  }

#define KIZAMI_CBLAS_PRODUCT(name, routine, T, Int, Factor)                                                          \
  KIZAMI_FUNCTION(name, int order, int op_a, int op_b, Int m, Int n, Int k, cblas::FactorArgument<T> alpha,          \
                  const T* a, Int lda, const T* b, Int ldb, cblas::FactorArgument<T> beta, T* c, Int ldc) {          \
    KIZAMI_COUNT(name, order, op_a, op_b, m, n, k)                                                                   \
    return forwarded(table, native_##name, order, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);         \
    cblas::product<T, Int>(KIZAMI_CALLER(name, routine), order, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, \
                           ldc);                                                                                     \
  }
#define KIZAMI_CBLAS_TRIANGLE_OF_PRODUCT(name, routine, T, Int, Factor)                                               \
  KIZAMI_FUNCTION(name, int order, int uplo, int op_a, int op_b, Int n, Int k, cblas::FactorArgument<T> alpha,        \
                  const T* a, Int lda, const T* b, Int ldb, cblas::FactorArgument<T> beta, T* c, Int ldc) {           \
    KIZAMI_COUNT(name, order, uplo, op_a, op_b, n, k)                                                                 \
    return forwarded(table, native_##name, order, uplo, op_a, op_b, n, k, alpha, a, lda, b, ldb, beta, c, ldc);       \
    cblas::triangle_of_product<T, Int>(KIZAMI_CALLER(name, routine), order, uplo, op_a, op_b, n, k, alpha, a, lda, b, \
                                       ldb, beta, c, ldc);                                                            \
  }
#define KIZAMI_CBLAS_SYMMETRIC(name, routine, T, Int, Factor)                                                       \
  KIZAMI_FUNCTION(name, int order, int side, int uplo, Int m, Int n, cblas::FactorArgument<T> alpha, const T* a,    \
                  Int lda, const T* b, Int ldb, cblas::FactorArgument<T> beta, T* c, Int ldc) {                     \
    KIZAMI_COUNT(name, order, side, uplo, m, n)                                                                     \
    return forwarded(table, native_##name, order, side, uplo, m, n, alpha, a, lda, b, ldb, beta, c, ldc);           \
    cblas::symmetric<T, Int>(KIZAMI_CALLER(name, routine), order, side, uplo, m, n, alpha, a, lda, b, ldb, beta, c, \
                             ldc);                                                                                  \
  }
#define KIZAMI_CBLAS_RANK_K(name, routine, T, Int, Factor)                                                           \
  KIZAMI_FUNCTION(name, int order, int uplo, int op, Int n, Int k, cblas::FactorArgument<Factor> alpha, const T* a,  \
                  Int lda, cblas::FactorArgument<Factor> beta, T* c, Int ldc) {                                      \
    KIZAMI_COUNT(name, order, uplo, op, n, k)                                                                        \
    return forwarded(table, native_##name, order, uplo, op, n, k, alpha, a, lda, beta, c, ldc);                      \
    cblas::rank_k<T, Int, Factor>(KIZAMI_CALLER(name, routine), order, uplo, op, n, k, alpha, a, lda, beta, c, ldc); \
  }
#define KIZAMI_CBLAS_RANK_2K(name, routine, T, Int, Factor)                                                          \
  KIZAMI_FUNCTION(name, int order, int uplo, int op, Int n, Int k, cblas::FactorArgument<T> alpha, const T* a,       \
                  Int lda, const T* b, Int ldb, cblas::FactorArgument<Factor> beta, T* c, Int ldc) {                 \
    KIZAMI_COUNT(name, order, uplo, op, n, k)                                                                        \
    return forwarded(table, native_##name, order, uplo, op, n, k, alpha, a, lda, b, ldb, beta, c, ldc);              \
    cblas::rank_2k<T, Int, Factor>(KIZAMI_CALLER(name, routine), order, uplo, op, n, k, alpha, a, lda, b, ldb, beta, \
                                   c, ldc);                                                                          \
  }
#define KIZAMI_CBLAS_TRIANGULAR(name, routine, T, Int, Factor)                                                         \
  KIZAMI_FUNCTION(name, int order, int side, int uplo, int op, int diag, Int m, Int n, cblas::FactorArgument<T> alpha, \
                  const T* a, Int lda, T* b, Int ldb) {                                                                \
    KIZAMI_COUNT(name, order, side, uplo, op, diag, m, n)                                                              \
    return forwarded(table, native_##name, order, side, uplo, op, diag, m, n, alpha, a, lda, b, ldb);                  \
    cblas::triangular<T, Int>(KIZAMI_CALLER(name, routine), order, side, uplo, op, diag, m, n, alpha, a, lda, b, ldb); \
  }

#define KIZAMI_ALL_NAMES(kind, stem, routine, T, Factor)                                           \
  KIZAMI_FORTRAN_##kind(stem##_, routine, T, PlainInt, Factor)                                     \
      KIZAMI_FORTRAN_##kind(stem##_64_, routine, T, std::int64_t, Factor)                          \
          KIZAMI_FORTRAN_##kind(scipy_##stem##_, routine, T, int, Factor)                          \
              KIZAMI_FORTRAN_##kind(scipy_##stem##_64_, routine, T, std::int64_t, Factor)          \
                  KIZAMI_CBLAS_##kind(cblas_##stem, routine, T, PlainInt, Factor)                  \
                      KIZAMI_CBLAS_##kind(cblas_##stem##64_, routine, T, std::int64_t, Factor)     \
                          KIZAMI_CBLAS_##kind(cblas_##stem##_64, routine, T, std::int64_t, Factor) \
                              KIZAMI_CBLAS_##kind(scipy_cblas_##stem, routine, T, int, Factor)     \
                                  KIZAMI_CBLAS_##kind(scipy_cblas_##stem##64_, routine, T, std::int64_t, Factor)

using namespace kizami::dropin::blas;  // NOLINT(google-build-using-namespace): the exported functions are global
using kizami::dropin::audit_state;
using kizami::dropin::AuditState;
using kizami::dropin::only_counted;
using kizami::dropin::packed;
using kizami::dropin::Routine;
using kizami::dropin::TinyTable;

#define KIZAMI_FOUR_TYPES(kind, name, routine)                         \
  KIZAMI_ALL_NAMES(kind, s##name, routine, float, float)               \
  KIZAMI_ALL_NAMES(kind, d##name, routine, double, double)             \
  KIZAMI_ALL_NAMES(kind, c##name, routine, ComplexFloat, ComplexFloat) \
  KIZAMI_ALL_NAMES(kind, z##name, routine, ComplexDouble, ComplexDouble)
#define KIZAMI_COMPLEX_TYPES(kind, name, routine)               \
  KIZAMI_ALL_NAMES(kind, c##name, routine, ComplexFloat, float) \
  KIZAMI_ALL_NAMES(kind, z##name, routine, ComplexDouble, double)

KIZAMI_FOUR_TYPES(PRODUCT, gemm, kGemm)
KIZAMI_COMPLEX_TYPES(PRODUCT, gemm3m, kGemm3m)
KIZAMI_FOUR_TYPES(TRIANGLE_OF_PRODUCT, gemmt, kGemmt)
KIZAMI_FOUR_TYPES(SYMMETRIC, symm, kSymm)
KIZAMI_COMPLEX_TYPES(SYMMETRIC, hemm, kHemm)
KIZAMI_FOUR_TYPES(RANK_K, syrk, kSyrk)
KIZAMI_COMPLEX_TYPES(RANK_K, herk, kHerk)
KIZAMI_FOUR_TYPES(RANK_2K, syr2k, kSyr2k)
KIZAMI_COMPLEX_TYPES(RANK_2K, her2k, kHer2k)
KIZAMI_FOUR_TYPES(TRIANGULAR, trmm, kTrmm)
KIZAMI_FOUR_TYPES(TRIANGULAR, trsm, kTrsm)
// NOLINTEND(bugprone-macro-parentheses)
