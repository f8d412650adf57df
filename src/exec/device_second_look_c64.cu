// SPDX-License-Identifier: MIT
#include <complex>

#include "exec/device_second_look.cuh"

namespace kizami::exec {

template Status launch_second_look<std::complex<float>>(const SecondLook<std::complex<float>>&, int, product::Queue);

}  // namespace kizami::exec
