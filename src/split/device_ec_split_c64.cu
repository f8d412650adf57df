// SPDX-License-Identifier: MIT
#include <complex>

#include "split/device_ec_split.cuh"

KIZAMI_INSTANTIATE_EC_SPLIT(std::complex<float>);
