// SPDX-License-Identifier: MIT
#include "fp64/device_rung.cuh"

KIZAMI_INSTANTIATE_DEVICE_RUNG(double);
