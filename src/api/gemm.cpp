// SPDX-License-Identifier: MIT
#include "kizami/gemm.hpp"

#include <vector>

#include "api/op_view.hpp"
#include "base/default_threads.hpp"
#include "base/instantiate.hpp"
#include "exec/environment.hpp"
#include "kizami/kizami.hpp"
#include "problem/batch.hpp"
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

template <class In>
Status gemm_dd(Layout layout, Op op_a, Op op_b, std::int64_t m, std::int64_t n, std::int64_t k, DoubleDouble alpha,
               const In* a, std::int64_t lda, const In* b, std::int64_t ldb, DoubleDouble beta, DoubleDouble* c,
               std::int64_t ldc, const Policy& policy, Outcome* outcome) {
  KIZAMI_RETURN_IF_ERROR(problem::validate_shape(m, n, k));
  KIZAMI_RETURN_IF_ERROR(problem::validate_leading_dimensions(layout, op_a, op_b, m, n, k, lda, ldb, ldc));
  const Result<Plan> plan = make_plan(Scalar::kDD, m, n, k, policy);
  if (!plan.ok()) return plan.status();
  return run_dd<In>(plan.value(), alpha, api::op_view(layout, op_a, a, m, k, lda),
                    api::op_view(layout, op_b, b, k, n, ldb), beta, blas_view(c, m, n, ldc, layout), {}, outcome);
}

namespace {

/// The pointers of a valid batch as views, and their products. `a_at(i)`, `b_at(i)`, `c_at(i)` are the i-th pointers.
template <class T, class AAt, class BAt, class CAt>
Status multiply_batch(Layout layout, Op op_a, Op op_b, std::int64_t m, std::int64_t n, std::int64_t k, T alpha,
                      const AAt& a_at, std::int64_t lda, const BAt& b_at, std::int64_t ldb, T beta, const CAt& c_at,
                      std::int64_t ldc, std::int64_t num_products, const Policy& policy, Outcome* outcomes) {
  const Result<Plan> plan = make_plan(kScalarOf<T>, m, n, k, policy);
  if (!plan.ok()) return plan.status();
  const auto count = static_cast<std::size_t>(num_products);
  std::vector<MatrixView<const T>> a(count);
  std::vector<MatrixView<const T>> b(count);
  std::vector<MatrixView<T>> c(count);
  for (std::size_t i = 0; i < count; ++i) {
    a[i] = api::op_view(layout, op_a, a_at(i), m, k, lda);
    b[i] = api::op_view(layout, op_b, b_at(i), k, n, ldb);
    c[i] = blas_view(c_at(i), m, n, ldc, layout);
  }
  return run_batched<T>(plan.value(), alpha, a, b, beta, c,
                        outcomes == nullptr ? std::span<Outcome>{} : std::span<Outcome>(outcomes, count));
}

}  // namespace

template <class T>
Status gemm_strided_batched(Layout layout, Op op_a, Op op_b, std::int64_t m, std::int64_t n, std::int64_t k, T alpha,
                            const T* a, std::int64_t lda, std::int64_t stride_a, const T* b, std::int64_t ldb,
                            std::int64_t stride_b, T beta, T* c, std::int64_t ldc, std::int64_t stride_c,
                            std::int64_t num_products, const Policy& policy, Outcome* outcomes) {
  KIZAMI_RETURN_IF_ERROR(problem::validate_shape(m, n, k));
  KIZAMI_RETURN_IF_ERROR(problem::validate_leading_dimensions(layout, op_a, op_b, m, n, k, lda, ldb, ldc));
  KIZAMI_RETURN_IF_ERROR(problem::validate_num_products(num_products));
  KIZAMI_RETURN_IF_ERROR(
      problem::validate_batch_strides(layout, m, n, ldc, {stride_a, stride_b, stride_c}, num_products));
  const auto at = [](auto* first, std::int64_t stride) {
    return [=](std::size_t i) { return first + static_cast<std::int64_t>(i) * stride; };
  };
  return multiply_batch<T>(layout, op_a, op_b, m, n, k, alpha, at(a, stride_a), lda, at(b, stride_b), ldb, beta,
                           at(c, stride_c), ldc, num_products, policy, outcomes);
}

template <class T>
Status gemm_batched(Layout layout, Op op_a, Op op_b, std::int64_t m, std::int64_t n, std::int64_t k, T alpha,
                    const T* const* a, std::int64_t lda, const T* const* b, std::int64_t ldb, T beta, T* const* c,
                    std::int64_t ldc, std::int64_t num_products, const Policy& policy, Outcome* outcomes) {
  KIZAMI_RETURN_IF_ERROR(problem::validate_shape(m, n, k));
  KIZAMI_RETURN_IF_ERROR(problem::validate_leading_dimensions(layout, op_a, op_b, m, n, k, lda, ldb, ldc));
  KIZAMI_RETURN_IF_ERROR(problem::validate_num_products(num_products));
  if (num_products > 0 && (a == nullptr || b == nullptr || c == nullptr)) {
    return {StatusCode::kInvalidArgument,
            "an array of pointers is null, must hold num_products = " + std::to_string(num_products) + " pointers"};
  }
  const auto at = [](auto* array) { return [=](std::size_t i) { return array[i]; }; };
  return multiply_batch<T>(layout, op_a, op_b, m, n, k, alpha, at(a), lda, at(b), ldb, beta, at(c), ldc, num_products,
                           policy, outcomes);
}

const char* version() { return KIZAMI_VERSION; }

std::string machine_report() { return exec::machine_report(); }

int default_threads() { return base::default_threads(); }

#define KIZAMI_INSTANTIATE(T)                                                                                      \
  template Status gemm<T>(Layout, Op, Op, std::int64_t, std::int64_t, std::int64_t, T, const T*, std::int64_t,     \
                          const T*, std::int64_t, T, T*, std::int64_t, const Policy&, Outcome*);                   \
  template Status gemm<T>(T, MatrixView<const T>, MatrixView<const T>, T, MatrixView<T>, const Policy&, Outcome*); \
  template Status gemm_strided_batched<T>(Layout, Op, Op, std::int64_t, std::int64_t, std::int64_t, T, const T*,   \
                                          std::int64_t, std::int64_t, const T*, std::int64_t, std::int64_t, T, T*, \
                                          std::int64_t, std::int64_t, std::int64_t, const Policy&, Outcome*);      \
  template Status gemm_batched<T>(Layout, Op, Op, std::int64_t, std::int64_t, std::int64_t, T, const T* const*,    \
                                  std::int64_t, const T* const*, std::int64_t, T, T* const*, std::int64_t,         \
                                  std::int64_t, const Policy&, Outcome*)

KIZAMI_FOR_EACH_ELEMENT(KIZAMI_INSTANTIATE);
#undef KIZAMI_INSTANTIATE

#define KIZAMI_INSTANTIATE_DD(In)                                                                                \
  template Status gemm_dd<In>(Layout, Op, Op, std::int64_t, std::int64_t, std::int64_t, DoubleDouble, const In*, \
                              std::int64_t, const In*, std::int64_t, DoubleDouble, DoubleDouble*, std::int64_t,  \
                              const Policy&, Outcome*)

KIZAMI_INSTANTIATE_DD(double);
KIZAMI_INSTANTIATE_DD(DoubleDouble);
#undef KIZAMI_INSTANTIATE_DD

}  // namespace kizami
