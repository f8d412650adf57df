// SPDX-License-Identifier: MIT

#include "exec/device_second_look.cuh"

namespace kizami::exec {

template Status launch_second_look<float>(const SecondLook<float>&, int, product::Queue);

}  // namespace kizami::exec
