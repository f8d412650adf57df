// SPDX-License-Identifier: MIT
// HopperForm::kPingPong128x128.
#include "engines/hopper/product_i8_sm90.cuh"

namespace kizami::engines::hopper {

FormKernels ping_pong_128x128_kernels() {
  return kernels_of<Form<HopperSchedule::kPingPong, LineOrder::kInOrder, 128, 128, 2, 7>>();
}

}  // namespace kizami::engines::hopper
