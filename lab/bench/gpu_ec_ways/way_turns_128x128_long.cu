// SPDX-License-Identifier: MIT
#include "gpu_ec_ways/product_ways_sm90.cuh"

KIZAMI_INSTANTIATE_EC_WAY(kCooperative128x128, kLong, kTurns, false);
