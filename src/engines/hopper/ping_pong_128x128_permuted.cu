// SPDX-License-Identifier: MIT
// HopperForm::kPingPong128x128Permuted.
#include "engines/hopper/product_i8_sm90.cuh"

namespace kizami::engines::hopper {

FormKernels ping_pong_128x128_permuted_kernels() {
  return kernels_of<Form<HopperSchedule::kPingPong, LineOrder::kPermuted, 128, 128, 2, 7>>();
}

}  // namespace kizami::engines::hopper
