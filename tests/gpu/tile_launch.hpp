// SPDX-License-Identifier: MIT
// What tests of tile kernels on the device share: grids, plane strides, and a kernel of a cubin run to its end.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "base/cuda_module.hpp"
#include "gpu/device_memory.hpp"

namespace kizami::gpu_test {

inline std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }
inline unsigned blocks(int rows, int tile_rows, int cols, int tile_cols) {
  return static_cast<unsigned>(((rows + tile_rows - 1) / tile_rows) * ((cols + tile_cols - 1) / tile_cols));
}

/// A plane stride.
inline std::uint32_t elements(int rows, int cols) {
  return static_cast<std::uint32_t>(rows) * static_cast<std::uint32_t>(cols);
}
template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

/// Runs a kernel of a cubin to its end.
template <class... Arguments>
void run(const unsigned long long* cubin, const char* name, dim3 grid, Arguments... arguments) {
  base::CudaModule module;
  ASSERT_EQ(module.load(cubin, name).reason(), "");
  base::CudaModuleKernel kernel;
  ASSERT_EQ(module.kernel(name, kernel).reason(), "");
  ASSERT_EQ(kernel.launch(grid, nullptr, arguments...).reason(), "");
  check(cudaDeviceSynchronize(), name);
}

}  // namespace kizami::gpu_test
