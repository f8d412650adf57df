// SPDX-License-Identifier: MIT
#include "product_orders/ordered_kernels.cuh"

namespace bench {

using namespace kizami::engines;

OrderedKernels ordered_256x128_permuted() {
  return ordered_kernels_of<hopper::Form<HopperSchedule::kCooperative, LineOrder::kPermuted, 256, 128, 2, 4>>();
}

}  // namespace bench
