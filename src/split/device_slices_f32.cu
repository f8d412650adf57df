// SPDX-License-Identifier: MIT
#include "split/device_slices.cuh"

KIZAMI_INSTANTIATE_DEVICE_SLICES(float);
