// SPDX-License-Identifier: MIT
#include "dropin/fake_kizami.hpp"

namespace kizami {

Scheme dropin_test::planned_scheme = Scheme::kOzaki2;

Scheme Plan::scheme() const { return dropin_test::planned_scheme; }

namespace cuda {

Result<Plan> make_plan(Scalar, std::int64_t, std::int64_t, std::int64_t, const Policy&, const Batch&) {
  return Plan(nullptr);
}

template <class T>
Status gemm(Stream stream, Layout layout, Op op_a, Op op_b, std::int64_t m, std::int64_t n, std::int64_t k,
            Factor<T> alpha, const T* a, std::int64_t lda, const T* b, std::int64_t ldb, Factor<T> beta, T* c,
            std::int64_t ldc, const Policy& policy, Outcome* outcome) {
  if (outcome != nullptr) return {StatusCode::kInternal, "asking for the outcome would wait for the stream"};
  return dropin_test::on_call({kScalarOf<T>, stream, layout, op_a, op_b, m, n, k, lda, ldb, ldc, alpha.value,
                               beta.value, alpha.device, beta.device, a, b, c, policy});
}

#define KIZAMI_FAKE_GEMM(T)                                                                                   \
  template Status gemm(Stream, Layout, Op, Op, std::int64_t, std::int64_t, std::int64_t, Factor<T>, const T*, \
                       std::int64_t, const T*, std::int64_t, Factor<T>, T*, std::int64_t, const Policy&, Outcome*);
KIZAMI_FAKE_GEMM(float)
KIZAMI_FAKE_GEMM(double)
KIZAMI_FAKE_GEMM(std::complex<float>)
KIZAMI_FAKE_GEMM(std::complex<double>)
#undef KIZAMI_FAKE_GEMM

}  // namespace cuda
}  // namespace kizami
