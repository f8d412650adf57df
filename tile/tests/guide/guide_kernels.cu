// SPDX-License-Identifier: MIT
// The guide's kernels under NVIDIA's compiler.
#include "guide_kernels.hpp"
