// SPDX-License-Identifier: MIT
// Compiled, never run: shows that nvcc accepts the headers which host and device share, and emits device code.
#if __has_include("kizami/status.hpp")
#include "kizami/status.hpp"
#endif

#include <cstdint>

__global__ void add_planes_smxx(const std::int8_t* a, const std::int8_t* b, std::int32_t* sum, std::int64_t num_elems) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < num_elems) sum[i] = static_cast<std::int32_t>(a[i]) + static_cast<std::int32_t>(b[i]);
}
