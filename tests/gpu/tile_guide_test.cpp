// SPDX-License-Identifier: MIT
// The kernels of the guide (tile/docs/guide.md) on the device: the same cases as on the host, in page-locked memory,
// which both reach.
#if defined(KIZAMI_TEST_HAS_TILE)
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <new>

#include "base/cuda_module.hpp"
#include "gpu/device_memory.hpp"
#include "tile/tests/guide/guide_kernels.hpp"

extern "C" const unsigned long long kizami_tile_guide_kernels[];

namespace kizami::tile_guide {
inline namespace KIZAMI_TILE_BACKEND {

using GuideOnDevice = gpu_test::DeviceTest;

template <class T>
struct GuideAllocator {
  using value_type = T;
  GuideAllocator() = default;
  template <class U>
  GuideAllocator(const GuideAllocator<U>& /*other*/) {}  // NOLINT(google-explicit-constructor): as allocators convert
  [[nodiscard]] T* allocate(std::size_t n) {
    void* data = nullptr;
    if (cudaMallocHost(&data, n * sizeof(T)) != cudaSuccess) throw std::bad_alloc();
    return static_cast<T*>(data);
  }
  void deallocate(T* data, std::size_t /*n*/) { static_cast<void>(cudaFreeHost(data)); }
  friend bool operator==(const GuideAllocator& /*a*/, const GuideAllocator& /*b*/) { return true; }
};

/// Runs the kernel of that name in the cubin; `kernel` is the host's, for the types of its parameters.
template <class... Parameters, class... Arguments>
Status launch_on_device(const char* name, void (* /*kernel*/)(Parameters...), dim3 grid, Arguments... arguments) {
  base::CudaModule module;
  if (Status status = module.load(kizami_tile_guide_kernels, "guide_kernels"); !status.ok()) return status;
  base::CudaModuleKernel entry;
  if (Status status = module.kernel(name, entry); !status.ok()) return status;
  if (Status status = entry.launch(grid, nullptr, static_cast<Parameters>(arguments)...); !status.ok()) return status;
  gpu_test::check(cudaDeviceSynchronize(), name);
  return {};
}

}  // namespace KIZAMI_TILE_BACKEND
}  // namespace kizami::tile_guide

#define GUIDE_ON_DEVICE
#define GUIDE_TEST(name) TEST_F(GuideOnDevice, name)
#define GUIDE_LAUNCH(kernel, grid, stream, ...) launch_on_device(#kernel, kernel, grid, __VA_ARGS__)
#include "tile/tests/guide/guide_cases.hpp"
#endif
