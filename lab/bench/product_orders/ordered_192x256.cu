// SPDX-License-Identifier: MIT
#include "product_orders/ordered_kernels.cuh"

namespace bench {

using namespace kizami::engines;

OrderedKernels ordered_192x256() {
  return ordered_kernels_of<hopper::Form<HopperSchedule::kCooperative, LineOrder::kInOrder, 192, 256, 2, 4>>();
}

}  // namespace bench
