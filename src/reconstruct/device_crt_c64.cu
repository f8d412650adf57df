// SPDX-License-Identifier: MIT
#include "reconstruct/device_crt.cuh"

KIZAMI_INSTANTIATE_DEVICE_CRT(std::complex<float>);
