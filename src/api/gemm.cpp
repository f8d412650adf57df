// SPDX-License-Identifier: MIT
#include "kizami/gemm.hpp"

#include "api/op_view.hpp"
#include "exec/environment.hpp"
#include "kizami/kizami.hpp"
#include "problem/problem.hpp"

namespace kizami {

template <class T>
Status gemm(Layout layout, Op op_a, Op op_b, std::int64_t m, std::int64_t n, std::int64_t k, T alpha, const T* a,
            std::int64_t lda, const T* b, std::int64_t ldb, T beta, T* c, std::int64_t ldc, const Policy& policy,
            Outcome* outcome) {
  KIZAMI_RETURN_IF_ERROR(problem::validate_shape(m, n, k));
  KIZAMI_RETURN_IF_ERROR(problem::validate_leading_dimensions(layout, op_a, op_b, m, n, k, lda, ldb, ldc));
  return gemm(alpha, api::op_view(layout, op_a, a, m, k, lda), api::op_view(layout, op_b, b, k, n, ldb), beta,
              blas_view(c, m, n, ldc, layout), policy, outcome);
}

template <class T>
Status gemm(T alpha, MatrixView<const T> a, MatrixView<const T> b, T beta, MatrixView<T> c, const Policy& policy,
            Outcome* outcome) {
  if (b.rows != a.cols) {
    return {StatusCode::kInvalidArgument,
            "B has " + std::to_string(b.rows) + " rows, must be the columns of A = " + std::to_string(a.cols)};
  }
  const Result<Plan> plan = make_plan(kScalarOf<T>, a.rows, b.cols, a.cols, policy);
  if (!plan.ok()) return plan.status();
  return run<T>(plan.value(), alpha, a, b, beta, c, {}, outcome);
}

const char* version() { return KIZAMI_VERSION; }

std::string machine_report() { return exec::machine_report(); }

#define KIZAMI_INSTANTIATE(T)                                                                                  \
  template Status gemm<T>(Layout, Op, Op, std::int64_t, std::int64_t, std::int64_t, T, const T*, std::int64_t, \
                          const T*, std::int64_t, T, T*, std::int64_t, const Policy&, Outcome*);               \
  template Status gemm<T>(T, MatrixView<const T>, MatrixView<const T>, T, MatrixView<T>, const Policy&, Outcome*)

KIZAMI_INSTANTIATE(float);
KIZAMI_INSTANTIATE(double);
KIZAMI_INSTANTIATE(std::complex<float>);
KIZAMI_INSTANTIATE(std::complex<double>);
#undef KIZAMI_INSTANTIATE

}  // namespace kizami
