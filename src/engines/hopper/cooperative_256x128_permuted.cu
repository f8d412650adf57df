// SPDX-License-Identifier: MIT
// HopperForm::kCooperative256x128Permuted.
#include "engines/hopper/product_i8_sm90.cuh"

namespace kizami::engines::hopper {

FormKernels cooperative_256x128_permuted_kernels() {
  return kernels_of<Form<HopperSchedule::kCooperative, LineOrder::kPermuted, 256, 128, 2, 4>>();
}

}  // namespace kizami::engines::hopper
