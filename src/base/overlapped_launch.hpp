// SPDX-License-Identifier: MIT
// Launches whose start hides behind the end of the kernel before them in the queue (programmatic dependent launch).
// Every kernel of such a chain begins with follow_previous_kernel(): it may then be on its multiprocessors early, but
// touches nothing before all that was enqueued earlier is done.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include "base/cuda_status.hpp"
#include "kizami/status.hpp"

namespace kizami::base {

#ifdef __CUDACC__
/// Lets the next kernel of the queue be set up once all blocks of this one have begun, and waits for the end of the
/// kernel before, unless the launch has done so. All threads of a kernel call it before they read or write global
/// memory.
__device__ inline void follow_previous_kernel() {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
  asm volatile("griddepcontrol.wait;" ::: "memory");
}

// Two kernels side by side, of which neither reads what the other writes: the first begins with let_next_run_beside(),
// the second with run_beside_previous(), and ends with join_previous(). The second may begin when all that was enqueued
// before the first is done, and is done only when the first is: whoever follows has waited for both
// (docs/adr/0027-kernels-side-by-side.md).

/// Waits for the end of all that was enqueued before, and then lets the next kernel begin beside this one. All threads
/// of a kernel call it before they read or write global memory, those of blocks that end at once too.
__device__ inline void let_next_run_beside() {
  asm volatile("griddepcontrol.wait;" ::: "memory");
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}
/// Begins a kernel beside one that began with let_next_run_beside(). What earlier kernels wrote is there, and no older
/// copy of it is read.
__device__ inline void run_beside_previous() {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
  asm volatile("fence.acq_rel.gpu;" ::: "memory");
}
/// By all threads of a kernel that has begun with run_beside_previous(), before they end: waits for the kernel beside
/// it.
__device__ inline void join_previous() { asm volatile("griddepcontrol.wait;" ::: "memory"); }
#endif

/// The launch attribute.
[[nodiscard]] inline cudaLaunchAttribute overlapped_start() {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  return attribute;
}

#ifdef __CUDACC__
/// Enqueues a kernel that begins with follow_previous_kernel().
template <class... Parameters, class... Arguments>
[[nodiscard]] Status launch_overlapped(const char* what, void (*kernel)(Parameters...), dim3 grid, dim3 block,
                                       std::size_t shared_bytes, cudaStream_t queue, Arguments&&... arguments) {
  cudaLaunchAttribute attribute = overlapped_start();
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = shared_bytes;
  config.stream = queue;
  config.attrs = &attribute;
  config.numAttrs = 1;
  return cuda_status(cudaLaunchKernelEx(&config, kernel, static_cast<Arguments&&>(arguments)...), what);
}
#endif

/// Enqueues, in clusters, a kernel of one parameter that begins with follow_previous_kernel(); blocks: a multiple of
/// cluster.
[[nodiscard]] inline Status launch_overlapped_clusters(const char* what, const void* kernel, unsigned blocks,
                                                       unsigned threads, int cluster, std::size_t shared_bytes,
                                                       cudaStream_t queue, void* parameter) {
  cudaLaunchAttribute attributes[2] = {overlapped_start(), {}};
  attributes[1].id = cudaLaunchAttributeClusterDimension;
  attributes[1].val.clusterDim = {static_cast<unsigned>(cluster), 1, 1};
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(blocks);
  config.blockDim = dim3(threads);
  config.dynamicSmemBytes = shared_bytes;
  config.stream = queue;
  config.attrs = attributes;
  config.numAttrs = 2;
  return cuda_status(cudaLaunchKernelExC(&config, kernel, &parameter), what);
}

}  // namespace kizami::base
