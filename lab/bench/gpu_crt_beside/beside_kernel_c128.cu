// SPDX-License-Identifier: MIT
#include <complex>

#include "gpu_crt_beside/beside_kernel.cuh"

template kizami::Status bench::run_beside<std::complex<double>>(const BesideCall<std::complex<double>>&,
                                                                kizami::product::Queue);
