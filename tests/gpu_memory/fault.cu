// SPDX-License-Identifier: MIT
#include "gpu_memory/fault.hpp"

#include <cuda_runtime_api.h>

#include <cstdint>

namespace {

__global__ void write_nowhere(std::uintptr_t address) { *reinterpret_cast<volatile int*>(address) = 1; }

}  // namespace

bool break_device() {
  constexpr std::uintptr_t kNowhere = 16;
  write_nowhere<<<1, 1>>>(kNowhere);
  return cudaDeviceSynchronize() != cudaSuccess;
}
