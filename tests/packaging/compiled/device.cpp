// SPDX-License-Identifier: MIT
// A user's program over component cuda: the header is found with CUDA's, the library and the runtime are linked. Without a device a plan is refused
// with the reason.
#include <cuda_runtime_api.h>
#include <kizami/cuda.hpp>

#include <cstdio>

int main() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess) devices = 0;
  const kizami::Result<kizami::Plan> plan = kizami::cuda::make_plan(kizami::Scalar::kF64, 64, 64, 64);
  if (plan.ok()) return devices > 0 ? 0 : 1;
  std::printf("%d devices, refused: %s\n", devices, plan.status().reason().c_str());
  return plan.status().reason().empty() || kizami::cuda::last_call_writes_c() ? 1 : 0;
}
