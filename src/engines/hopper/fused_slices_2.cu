// SPDX-License-Identifier: MIT
#include "engines/hopper/fused_slices_sm90.cuh"

namespace kizami::engines::hopper {

template FusedSliceKernel fused_slice_kernel<2>();

}  // namespace kizami::engines::hopper
