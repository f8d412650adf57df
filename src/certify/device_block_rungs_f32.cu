// SPDX-License-Identifier: MIT
#include "certify/device_block_rungs.cuh"

namespace kizami::certify {

template Status launch_block_rungs<float>(const SecondLook<float>&, int, product::Queue, DigitCore);

}  // namespace kizami::certify
