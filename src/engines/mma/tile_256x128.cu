// SPDX-License-Identifier: MIT
// MmaForm::k256x128.
#include "engines/mma/product_i8_sm80.cuh"

namespace kizami::engines::mma {

FormKernels tile_256x128_kernels() { return kernels_of<MmaForm::k256x128>(); }

}  // namespace kizami::engines::mma
