// SPDX-License-Identifier: MIT
// EcForm::kCooperative128x128.
#include "engines/hopper/product_ec_sm90.cuh"

namespace kizami::engines::hopper {

EcFormKernels ec_cooperative_128x128_kernels() {
  return ec_kernels_of<EcShape<EcForm::kCooperative128x128, false, 128, 128, 2, 6>>();
}

}  // namespace kizami::engines::hopper
