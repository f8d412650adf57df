// SPDX-License-Identifier: MIT
#include "dropin/cusolver/level3_calls.hpp"

#include "dropin/cublas/level3_entries.hpp"

namespace kizami::dropin::cusolver {
namespace {

using cublas::Entry;
using cublas::find_in;
using cublas::Library;
using cublas::NativeFunction;

constinit NativeFunction dgemm(find_in<Library::kCublas>, "cublasDgemm_v2_64");
constinit NativeFunction dsyrk(find_in<Library::kCublas>, "cublasDsyrk_v2_64");
constinit NativeFunction dtrsm(find_in<Library::kCublas>, "cublasDtrsm_v2_64");

constexpr double kOne = 1;
constexpr double kMinusOne = -1;

bool is_there(NativeFunction& function) { return function.as<void()>() != nullptr; }

}  // namespace

bool has_level3() { return is_there(dgemm) && is_there(dsyrk) && is_there(dtrsm); }

cublasStatus_t subtract_product(const void* caller, cublasHandle_t blas, const Matrix& a, const Matrix& b,
                                const Matrix& c) {
  return cublas::product<double, std::int64_t>(Entry{dgemm, Routine::kGemm, caller}, blas, CUBLAS_OP_N, CUBLAS_OP_N,
                                               c.rows, c.cols, a.cols, &kMinusOne, a.data, a.ld, b.data, b.ld, &kOne,
                                               c.data, c.ld);
}

cublasStatus_t subtract_rank_k(const void* caller, cublasHandle_t blas, cublasFillMode_t uplo, cublasOperation_t op,
                               const Matrix& a, const Matrix& c) {
  return cublas::rank_k<double, double, std::int64_t>(Entry{dsyrk, Routine::kSyrk, caller}, blas, uplo, op, c.rows,
                                                      op == CUBLAS_OP_N ? a.cols : a.rows, &kMinusOne, a.data, a.ld,
                                                      &kOne, c.data, c.ld);
}

cublasStatus_t solve_transposed(const void* caller, cublasHandle_t blas, cublasSideMode_t side, cublasFillMode_t uplo,
                                const Matrix& l, const Matrix& b) {
  return cublas::solve<double, std::int64_t>(Entry{dtrsm, Routine::kTrsm, caller}, blas, side, uplo, CUBLAS_OP_T,
                                             CUBLAS_DIAG_NON_UNIT, b.rows, b.cols, &kOne, l.data, l.ld, b.data, b.ld);
}

cublasStatus_t solve_unit_lower(const void* caller, cublasHandle_t blas, const Matrix& l, const Matrix& b) {
  return cublas::solve<double, std::int64_t>(Entry{dtrsm, Routine::kTrsm, caller}, blas, CUBLAS_SIDE_LEFT,
                                             CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, CUBLAS_DIAG_UNIT, b.rows, b.cols,
                                             &kOne, l.data, l.ld, b.data, b.ld);
}

}  // namespace kizami::dropin::cusolver
