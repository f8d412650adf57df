// SPDX-License-Identifier: MIT
// The answers of the double of kizami in the preloaded library: it prints what it is called with.
// FAKE_KIZAMI_REFUSES: it returns an error. FAKE_KIZAMI_NESTED: it calls cuBLAS by its name.
#include <cublas_v2.h>

#include <stdio.h>

#include <cstdio>
#include <cstdlib>

#include "dropin/fake_kizami.hpp"
#include "dropin/preload/fake_handle.hpp"

namespace kizami::dropin_test {

Status on_call(const KizamiCall& call) {
  flockfile(stdout);  // one line a call, whatever other threads print
  std::printf("kizami %s ops %s%s size %lldx%lldx%lld ld %lld %lld %lld stream %p", to_string(call.scalar).data(),
              to_string(call.op_a).data(), to_string(call.op_b).data(), static_cast<long long>(call.m),
              static_cast<long long>(call.n), static_cast<long long>(call.k), static_cast<long long>(call.lda),
              static_cast<long long>(call.ldb), static_cast<long long>(call.ldc), static_cast<void*>(call.stream));
  if (call.device_alpha == nullptr) {
    std::printf(" factors %g%+gi %g%+gi", call.alpha.real(), call.alpha.imag(), call.beta.real(), call.beta.imag());
  } else {
    std::printf(" factors at %p %p", call.device_alpha, call.device_beta);
  }
  std::printf(" bits %d scheme %s engine %s\n", call.policy.accuracy.bits, to_string(call.policy.scheme).data(),
              to_string(call.policy.engine).data());
  funlockfile(stdout);
  if (std::getenv("FAKE_KIZAMI_NESTED") != nullptr) {
    FakeHandle handle;
    const float one = 1;
    static_cast<void>(cublasSgemm_v2(reinterpret_cast<cublasHandle_t>(&handle), CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one,
                                     nullptr, 1, nullptr, 1, &one, nullptr, 1));
  }
  if (std::getenv("FAKE_KIZAMI_REFUSES") != nullptr) return {StatusCode::kUnsupported, "the test says so"};
  return {};
}

}  // namespace kizami::dropin_test
