// SPDX-License-Identifier: MIT
// The forms of schedule kPingPong.
#include "engines/hopper/product_i8_sm90.cuh"

namespace kizami::engines::hopper {

FormKernels ping_pong_128x128_kernels() {
  return kernels_of<Form<HopperSchedule::kPingPong, LineOrder::kInOrder, 128, 128, 2, 7>>();
}

FormKernels ping_pong_128x128_permuted_kernels() {
  return kernels_of<Form<HopperSchedule::kPingPong, LineOrder::kPermuted, 128, 128, 2, 7>>();
}

FormKernels ping_pong_128x128_alone_kernels() {
  return kernels_of<Form<HopperSchedule::kPingPong, LineOrder::kInOrder, 128, 128, 1, 7>>();
}

FormKernels ping_pong_192x128_permuted_kernels() {
  return kernels_of<Form<HopperSchedule::kPingPong, LineOrder::kPermuted, 192, 128, 2, 5>>();
}

}  // namespace kizami::engines::hopper
