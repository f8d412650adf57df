// SPDX-License-Identifier: MIT
// The C ABI: one product on several devices.
#include "kizami/multi.h"

#include "api/c_call.hpp"
#include "kizami/multi.hpp"

static_assert(KIZAMI_MOST_DEVICES == kizami::multi::kMostDevices);

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
    KIZAMI_RETURN_IF_ERROR(api::not_null("devices", devices));
    if (num_devices < 1 || num_devices > KIZAMI_MOST_DEVICES) {
      return api::invalid("num_devices = " + std::to_string(num_devices) + ", must be in 1.." +
                          std::to_string(KIZAMI_MOST_DEVICES));
    }
    multi::Placement placement;
    placement.devices.assign(devices, devices + num_devices);
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
