// SPDX-License-Identifier: MIT
#include "gpu_refused_launches/refusals.hpp"

namespace kizami::gpu_test {
namespace {

int refused = -1;
int count = 0;
cudaError_t with = cudaSuccess;

}  // namespace

void refuse_launch(int number, cudaError_t error) {
  refused = number;
  with = error;
  count = 0;
}

int num_launches() { return count; }

extern "C" cudaError_t __real_cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* function,
                                                  void** arguments);
extern "C" cudaError_t __wrap_cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* function,
                                                  void** arguments) {
  return count++ == refused ? with : __real_cudaLaunchKernelExC(config, function, arguments);
}

}  // namespace kizami::gpu_test
