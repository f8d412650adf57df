// SPDX-License-Identifier: MIT
#include <complex>

#include "gpu_crt_beside/product_with_warps.cuh"

template kizami::Status bench::run_product_with_warps<std::complex<float>>(const BesideCall<std::complex<float>>&,
                                                                           kizami::product::Queue);
