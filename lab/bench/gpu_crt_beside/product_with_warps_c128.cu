// SPDX-License-Identifier: MIT
#include <complex>

#include "gpu_crt_beside/product_with_warps.cuh"

template kizami::Status bench::run_product_with_warps<std::complex<double>>(const BesideCall<std::complex<double>>&,
                                                                            kizami::product::Queue);
