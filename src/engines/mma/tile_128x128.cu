// SPDX-License-Identifier: MIT
// MmaForm::k128x128.
#include "engines/mma/product_i8_sm80.cuh"

namespace kizami::engines::mma {

FormKernels tile_128x128_kernels() { return kernels_of<MmaForm::k128x128>(); }

}  // namespace kizami::engines::mma
