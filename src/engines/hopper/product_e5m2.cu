// SPDX-License-Identifier: MIT
#include "engines/hopper/product_float_sm90.cuh"

namespace kizami::engines::hopper {

FloatKernel product_e5m2_kernel() { return float_kernel<SliceFormat::kE5m2>(); }

}  // namespace kizami::engines::hopper
