// SPDX-License-Identifier: MIT
// Launches of kernels by cudaLaunchKernelEx(), which the linker sends here first (--wrap): counted, and one of them
// refused.
#pragma once

#include <cuda_runtime_api.h>

namespace kizami::gpu_test {

/// From now on launches count from 0, and that with this number is refused with an error that CUDA recovers from.
/// @range number: -1, none
void refuse_launch(int number, cudaError_t error);

/// Launches since then, the refused one included.
[[nodiscard]] int num_launches();

}  // namespace kizami::gpu_test
