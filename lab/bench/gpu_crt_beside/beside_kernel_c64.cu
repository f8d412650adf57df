// SPDX-License-Identifier: MIT
#include <complex>

#include "gpu_crt_beside/beside_kernel.cuh"

template kizami::Status bench::run_beside<std::complex<float>>(const BesideCall<std::complex<float>>&,
                                                               kizami::product::Queue);
