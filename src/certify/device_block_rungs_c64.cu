// SPDX-License-Identifier: MIT
#include <complex>

#include "certify/device_block_rungs.cuh"

namespace kizami::certify {

template Status launch_block_rungs<std::complex<float>>(const SecondLook<std::complex<float>>&, int, product::Queue,
                                                        DigitCore);

}  // namespace kizami::certify
