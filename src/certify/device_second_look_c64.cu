// SPDX-License-Identifier: MIT
#include <complex>

#include "certify/device_second_look.cuh"

namespace kizami::certify {

template Status launch_second_look<std::complex<float>>(const SecondLook<std::complex<float>>&, int, product::Queue);

}  // namespace kizami::certify
