// SPDX-License-Identifier: MIT
#include "reconstruct/device_slices.cuh"

KIZAMI_INSTANTIATE_DEVICE_SLICE_SUMS(double);
