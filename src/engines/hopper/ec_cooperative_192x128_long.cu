// SPDX-License-Identifier: MIT
#include "engines/hopper/product_ec_sm90.cuh"

namespace kizami::engines::hopper {

template EcKernel ec_kernel<EcForm::kCooperative192x128, product::EcPromotion::kLong>();

}  // namespace kizami::engines::hopper
