// SPDX-License-Identifier: MIT
// The device that a launch goes to.
#pragma once

#include <cuda_runtime_api.h>

#include "base/cuda_status.hpp"
#include "kizami/status.hpp"

namespace kizami::engines::hopper {

struct CurrentDevice {
  int ordinal = 0;
  int num_sms = 0;
};
/// @status kInternal with CUDA's words
inline Status find_current_device(CurrentDevice& device) {
  KIZAMI_RETURN_IF_ERROR(base::cuda_status(cudaGetDevice(&device.ordinal), "the current device"));
  return base::cuda_status(cudaDeviceGetAttribute(&device.num_sms, cudaDevAttrMultiProcessorCount, device.ordinal),
                           "the number of multiprocessors");
}

}  // namespace kizami::engines::hopper
