// SPDX-License-Identifier: MIT
// Launches whose start hides behind the end of the kernel before them in the queue (programmatic dependent launch).
// Every kernel of such a chain begins with follow_previous_kernel(): it may then be on its multiprocessors early, but
// touches nothing before all that was enqueued earlier is done. Devices before sm_90 have none of it: there the
// functions for kernels do nothing, and launches follow one another.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include "base/cuda_status.hpp"
#include "base/device_limits.hpp"
#include "kizami/status.hpp"

namespace kizami::base {

#ifdef __CUDACC__
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
#define KIZAMI_GRID_DEPENDENCY(instruction) asm volatile("griddepcontrol." instruction ";" ::: "memory")
#else
#define KIZAMI_GRID_DEPENDENCY(instruction) static_cast<void>(0)
#endif

/// Lets the next kernel of the queue be set up once all blocks of this one have begun, and waits for the end of the
/// kernel before, unless the launch has done so. All threads of a kernel call it before they read or write global
/// memory.
__device__ inline void follow_previous_kernel() {
  KIZAMI_GRID_DEPENDENCY("launch_dependents");
  KIZAMI_GRID_DEPENDENCY("wait");
}

/// The same in two: of a kernel that says when the next one may be set up, and otherwise when its blocks end. Blocks of the next
/// one that wait on multiprocessors for the end of a long kernel begin later than those that come at its end.
__device__ inline void wait_for_previous_kernel() { KIZAMI_GRID_DEPENDENCY("wait"); }
/// By any thread of each block.
__device__ inline void let_next_kernel_begin() { KIZAMI_GRID_DEPENDENCY("launch_dependents"); }

/// Behind a wait, where the kernel before has changed what its own blocks had read: this one may have begun on their multiprocessors, whose L1
/// caches hold what they read.
__device__ inline void read_no_older_copy() { asm volatile("fence.acq_rel.gpu;" ::: "memory"); }

// Two kernels side by side, of which neither reads what the other writes: the first begins with let_next_run_beside(),
// the second with run_beside_previous(), and ends with join_previous(). The second may begin when all that was enqueued
// before the first is done, and is done only when the first is: whoever follows has waited for both
// (docs/adr/0027-kernels-side-by-side.md).

/// Waits for the end of all that was enqueued before, and then lets the next kernel begin beside this one. All threads
/// of a kernel call it before they read or write global memory, those of blocks that end at once too.
__device__ inline void let_next_run_beside() {
  KIZAMI_GRID_DEPENDENCY("wait");
  KIZAMI_GRID_DEPENDENCY("launch_dependents");
}
/// Begins a kernel beside one that began with let_next_run_beside(). What earlier kernels wrote is there, and no older
/// copy of it is read.
__device__ inline void run_beside_previous() {
  KIZAMI_GRID_DEPENDENCY("launch_dependents");
  read_no_older_copy();
}
/// By all threads of a kernel that has begun with run_beside_previous(), before they end: waits for the kernel beside
/// it.
__device__ inline void join_previous() { KIZAMI_GRID_DEPENDENCY("wait"); }
#undef KIZAMI_GRID_DEPENDENCY
#endif

/// Enqueues, in clusters of so many blocks, a kernel that begins with follow_previous_kernel(). In tests with assumed limits
/// all shared memory of the kernel is held against them; where they are the device's own, the driver does.
/// @range  cluster 0: the kernel knows of none; else blocks of the grid are a multiple. arguments as of cudaLaunchKernel()
/// @status kInternal: the device has no such clusters, or not that much shared memory for a block; CUDA's own words
[[nodiscard]] Status enqueue_overlapped(const char* what, const void* kernel, dim3 grid, dim3 block, int cluster,
                                        std::size_t shared_bytes, cudaStream_t queue, void** arguments);

#ifdef __CUDACC__
/// Enqueues a kernel that begins with follow_previous_kernel().
template <class... Parameters, class... Arguments>
[[nodiscard]] Status launch_overlapped_in(int cluster, const char* what, void (*kernel)(Parameters...), dim3 grid,
                                          dim3 block, std::size_t shared_bytes, cudaStream_t queue,
                                          Arguments&&... arguments) {
  return [&](Parameters... converted) {
    void* pointers[] = {&converted...};
    return enqueue_overlapped(what, reinterpret_cast<const void*>(kernel), grid, block, cluster, shared_bytes, queue,
                              pointers);
  }(static_cast<Arguments&&>(arguments)...);
}
template <class... Parameters, class... Arguments>
[[nodiscard]] Status launch_overlapped(const char* what, void (*kernel)(Parameters...), dim3 grid, dim3 block,
                                       std::size_t shared_bytes, cudaStream_t queue, Arguments&&... arguments) {
  return launch_overlapped_in(0, what, kernel, grid, block, shared_bytes, queue,
                              static_cast<Arguments&&>(arguments)...);
}
#endif

/// Enqueues, in clusters, a kernel of one parameter that begins with follow_previous_kernel(); blocks: a multiple of
/// cluster.
[[nodiscard]] inline Status launch_overlapped_clusters(const char* what, const void* kernel, unsigned blocks,
                                                       unsigned threads, int cluster, std::size_t shared_bytes,
                                                       cudaStream_t queue, void* parameter) {
  return enqueue_overlapped(what, kernel, dim3(blocks), dim3(threads), cluster, shared_bytes, queue, &parameter);
}

}  // namespace kizami::base
