// SPDX-License-Identifier: MIT
#include "split/device_ec_split.cuh"

KIZAMI_INSTANTIATE_EC_SPLIT(float);
