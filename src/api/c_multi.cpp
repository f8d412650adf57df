// SPDX-License-Identifier: MIT
// The C ABI: one product, and one triangle of a matrix times itself, on several devices.
#include "kizami/multi.h"

#include "api/c_call.hpp"
#include "kizami/multi.hpp"

static_assert(KIZAMI_MOST_DEVICES == kizami::multi::kMostDevices);

namespace kizami::api {
namespace {

Status read_devices(const int* devices, int num_devices, multi::Placement& placement) {
  KIZAMI_RETURN_IF_ERROR(not_null("devices", devices));
  if (num_devices < 1 || num_devices > KIZAMI_MOST_DEVICES) {
    return invalid("num_devices = " + std::to_string(num_devices) + ", must be in 1.." +
                   std::to_string(KIZAMI_MOST_DEVICES));
  }
  placement.devices.assign(devices, devices + num_devices);
  return {};
}

/// What can be said of a triangle before its matrices are looked at.
Status check_triangle(kizami_layout layout, kizami_op op, std::int64_t n, std::int64_t k, const void* alpha,
                      std::int64_t lda, const void* beta, std::int64_t ldc) {
  Layout order{};
  Op of_a{};
  KIZAMI_RETURN_IF_ERROR(read_enum("layout", layout, order));
  KIZAMI_RETURN_IF_ERROR(read_enum("op", op, of_a));
  KIZAMI_RETURN_IF_ERROR(not_null("alpha", alpha));
  KIZAMI_RETURN_IF_ERROR(not_null("beta", beta));
  KIZAMI_RETURN_IF_ERROR(problem::validate_shape(n, n, k));
  const Op across = is_transposed(of_a) ? Op::kNone : Op::kTranspose;
  return problem::validate_leading_dimensions(order, of_a, across, n, n, k, lda, lda, ldc);
}

}  // namespace
}  // namespace kizami::api

kizami_status kizami_multi_gemm(const int* devices, int num_devices, kizami_scalar scalar, kizami_layout layout,
                                kizami_op op_a, kizami_op op_b, int64_t m, int64_t n, int64_t k, const void* alpha,
                                const void* a, int64_t lda, const void* b, int64_t ldb, const void* beta, void* c,
                                int64_t ldc, const kizami_policy* policy, kizami_outcome* outcome) {
  using namespace kizami;  // NOLINT(google-build-using-namespace): a function of C
  return api::guarded([&]() -> Status {
    const api::Call call{layout, op_a, op_b, m, n, k, alpha, lda, ldb, beta, ldc};
    Scalar type{};
    KIZAMI_RETURN_IF_ERROR(api::read_enum("scalar", scalar, type));
    KIZAMI_RETURN_IF_ERROR(api::check(call));
    KIZAMI_RETURN_IF_ERROR(api::check_outcome(outcome));
    multi::Placement placement;
    KIZAMI_RETURN_IF_ERROR(api::read_devices(devices, num_devices, placement));
    Outcome made;
    KIZAMI_RETURN_IF_ERROR(with_scalar(type, [&]<class T>() {
      return multi::gemm<T>(placement, call.layout(), call.op_a(), call.op_b(), m, n, k, api::scalar_at<T>(alpha),
                            static_cast<const T*>(a), lda, static_cast<const T*>(b), ldb, api::scalar_at<T>(beta),
                            static_cast<T*>(c), ldc, policy == nullptr ? Policy{} : policy->value, &made);
    }));
    api::store_outcome(made, outcome);
    return {};
  });
}

kizami_status kizami_multi_syrk(const int* devices, int num_devices, kizami_scalar scalar, kizami_layout layout,
                                int is_lower, int is_hermitian, kizami_op op, int64_t n, int64_t k, const void* alpha,
                                const void* a, int64_t lda, const void* beta, void* c, int64_t ldc,
                                const kizami_policy* policy, kizami_outcome* outcome) {
  using namespace kizami;  // NOLINT(google-build-using-namespace): a function of C
  return api::guarded([&]() -> Status {
    Scalar type{};
    KIZAMI_RETURN_IF_ERROR(api::read_enum("scalar", scalar, type));
    KIZAMI_RETURN_IF_ERROR(api::in_range("is_lower", is_lower, 1));
    KIZAMI_RETURN_IF_ERROR(api::in_range("is_hermitian", is_hermitian, 1));
    KIZAMI_RETURN_IF_ERROR(api::check_triangle(layout, op, n, k, alpha, lda, beta, ldc));
    KIZAMI_RETURN_IF_ERROR(api::check_outcome(outcome));
    multi::Placement placement;
    KIZAMI_RETURN_IF_ERROR(api::read_devices(devices, num_devices, placement));
    const multi::Syrk triangle{is_lower == 1, is_hermitian == 1};
    Outcome made;
    KIZAMI_RETURN_IF_ERROR(with_scalar(type, [&]<class T>() {
      return multi::syrk<T>(placement, static_cast<Layout>(layout), triangle, static_cast<Op>(op), n, k,
                            api::scalar_at<T>(alpha), static_cast<const T*>(a), lda, api::scalar_at<T>(beta),
                            static_cast<T*>(c), ldc, policy == nullptr ? Policy{} : policy->value, &made);
    }));
    api::store_outcome(made, outcome);
    return {};
  });
}
