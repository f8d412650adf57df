// SPDX-License-Identifier: MIT
// MmaForm::k256x128Long.
#include "engines/mma/product_i8_sm80.cuh"

namespace kizami::engines::mma {

FormKernels tile_256x128_long_kernels() { return kernels_of<MmaForm::k256x128Long>(); }

}  // namespace kizami::engines::mma
