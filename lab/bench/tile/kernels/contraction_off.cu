// SPDX-License-Identifier: MIT
// Compiled with --fmad=false, as every unit of the project.
#include "contraction.cuh"
