// SPDX-License-Identifier: MIT
#include "certify/device_second_look.cuh"

namespace kizami::certify {

template Status launch_second_look<double>(const SecondLook<double>&, int, product::Queue);

}  // namespace kizami::certify
