// SPDX-License-Identifier: MIT
#include <complex>

#include "certify/device_block_rungs.cuh"

namespace kizami::certify {

template Status launch_block_rungs<std::complex<double>>(const SecondLook<std::complex<double>>&, int, product::Queue,
                                                         DigitCore);

}  // namespace kizami::certify
