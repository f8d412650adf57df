// SPDX-License-Identifier: MIT
// A double of kizami::cuda::make_plan() and gemm() for machines without a device: it hands the arguments of every call to on_call(), which
// each program that links it defines.
#pragma once

#include <complex>
#include <cstdint>

#include "kizami/cuda.hpp"

namespace kizami::dropin_test {

struct KizamiCall {
  Scalar scalar;
  cuda::Stream stream;
  Layout layout;
  Op op_a, op_b;
  std::int64_t m, n, k, lda, ldb, ldc;
  std::complex<double> alpha, beta;        ///< where there is no device pointer
  const void *device_alpha, *device_beta;  ///< or null
  const void *a, *b;
  void* c;
  Policy policy;
};

/// The scheme of all plans of the double.
extern Scheme planned_scheme;

/// What the double returns.
Status on_call(const KizamiCall& call);

}  // namespace kizami::dropin_test
