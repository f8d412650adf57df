// SPDX-License-Identifier: MIT
// HopperForm::kCooperative192x256.
#include "engines/hopper/product_i8_sm90.cuh"

namespace kizami::engines::hopper {

FormKernels cooperative_192x256_kernels() {
  return kernels_of<Form<HopperSchedule::kCooperative, LineOrder::kInOrder, 192, 256, 2, 4>>();
}

}  // namespace kizami::engines::hopper
