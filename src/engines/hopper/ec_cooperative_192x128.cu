// SPDX-License-Identifier: MIT
// EcForm::kCooperative192x128.
#include "engines/hopper/product_ec_sm90.cuh"

namespace kizami::engines::hopper {

EcFormKernels ec_cooperative_192x128_kernels() {
  return ec_kernels_of<EcShape<EcForm::kCooperative192x128, false, 192, 128, 2, 5>>();
}

}  // namespace kizami::engines::hopper
