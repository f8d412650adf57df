// SPDX-License-Identifier: MIT
#include "engines/hopper/product_float_sm90.cuh"

namespace kizami::engines::hopper {

FloatKernel product_bf16_kernel() { return float_kernel<SliceFormat::kBf16>(); }

}  // namespace kizami::engines::hopper
