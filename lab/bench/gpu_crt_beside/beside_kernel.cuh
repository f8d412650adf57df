// SPDX-License-Identifier: MIT
// bench::run_beside() of one type.
#pragma once

#include "engines/hopper/reporting_product_sm90.cuh"
#include "gpu_crt_beside/crt_beside.hpp"
#include "schemes/ozaki2/device_crt_beside.cuh"

namespace bench {

[[nodiscard]] kizami::Status run_reporting_product(const kizami::product::ProductDesc& desc,
                                                   const kizami::product::Pointers& pointers,
                                                   const kizami::product::BlockReports& reports,
                                                   kizami::product::Queue queue);

template <class T>
kizami::Status run_beside(const BesideCall<T>& call, kizami::product::Queue queue) {
  if (call.place == CrtPlace::kWarps) {
    KIZAMI_RETURN_IF_ERROR(run_product_with_warps(call, queue));
  } else {
    KIZAMI_RETURN_IF_ERROR(run_reporting_product(call.desc, call.pointers, call.reports, queue));
  }
  return kizami::ozaki2::reconstruct_beside_product(call.crt, call.reports, call.num_sms, queue, call.shape,
                                                    call.times);
}

}  // namespace bench
