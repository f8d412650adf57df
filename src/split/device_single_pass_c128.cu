// SPDX-License-Identifier: MIT
#include "split/device_single_pass.cuh"

KIZAMI_INSTANTIATE_SINGLE_PASS(std::complex<double>);
