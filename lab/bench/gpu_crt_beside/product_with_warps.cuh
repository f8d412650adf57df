// SPDX-License-Identifier: MIT
// bench::run_product_with_warps() of one type: what a CRT calls seldom is inlined here, for the product has wgmma.
#pragma once

#define KIZAMI_NO_CALLS
#include "engines/hopper/reporting_product_sm90.cuh"
#include "gpu_crt_beside/crt_beside.hpp"
#include "schemes/ozaki2/device_crt_beside.cuh"

namespace bench {

template <class T>
kizami::Status run_product_with_warps(const BesideCall<T>& call, kizami::product::Queue queue) {
  constexpr int kPieces = sizeof(kizami::RealOf<T>) == 8 ? 3 : 2;
  const kizami::ozaki2::kernels::CrtCompanion<T, kPieces> companion{{call.crt, call.reports}};
  return kizami::engines::hopper::launch_reporting_product(call.desc, call.pointers, call.reports, queue, companion);
}

}  // namespace bench
