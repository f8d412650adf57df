// SPDX-License-Identifier: MIT
// Compiled with --fmad=true, the default of nvcc.
#include "contraction.cuh"
