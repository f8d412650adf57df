// SPDX-License-Identifier: MIT
#include "engines/hopper/product_float_sm90.cuh"

namespace kizami::engines::hopper {

FloatKernel product_e4m3_kernel() { return float_kernel<SliceFormat::kE4m3>(); }

}  // namespace kizami::engines::hopper
