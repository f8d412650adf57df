// SPDX-License-Identifier: MIT
// EcForm::kSplitInner128x64.
#include "engines/hopper/product_ec_sm90.cuh"

namespace kizami::engines::hopper {

EcFormKernels ec_split_inner_128x64_kernels() {
  return ec_kernels_of<EcShape<EcForm::kSplitInner128x64, true, 128, 64, 2, 8>>();
}

}  // namespace kizami::engines::hopper
