// SPDX-License-Identifier: MIT
#include "dropin/cublas/solve_block.hpp"

#include <cuda_runtime_api.h>

#include <string>

#include "dropin/cublas/solve_block_steps.hpp"

namespace kizami::dropin::cublas {
namespace {

template <class T>
__global__ void __launch_bounds__(kSolveThreads, 2) solve_block_smxx(const __grid_constant__ Forward<T> system) {
  extern __shared__ __align__(16) unsigned char memory[];
  auto& shared = *reinterpret_cast<SolveShared<T>*>(memory);
  SolveSteps<T> thread(system, shared, reinterpret_cast<T*>(memory + sizeof(SolveShared<T>)),
                       static_cast<int>(threadIdx.x), blockIdx.x);
  solve_in_steps<T>(
      thread.num_panels(),
      [&](const auto& step) {
        step(thread);
        __syncthreads();
      },
      [&](const auto& step) {
        step(thread);
        __syncwarp();
      });
}

Status status_of(cudaError_t error) {
  if (error == cudaSuccess) return {};
  static_cast<void>(cudaGetLastError());
  const StatusCode code = error == cudaErrorMemoryAllocation ? StatusCode::kOutOfMemory : StatusCode::kInternal;
  return {code, std::string("the solution with a diagonal block: ") + cudaGetErrorString(error)};
}

}  // namespace

template <class T>
Status solve_block(const Forward<T>& system, cudaStream_t stream) {
  const auto bytes = static_cast<std::size_t>(solve_shared_bytes<T>(system.order));
  const auto* const kernel = reinterpret_cast<const void*>(&solve_block_smxx<T>);
  const cudaError_t granted = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                   static_cast<int>(solve_shared_bytes<T>(kMostSolved)));
  if (granted != cudaSuccess) return status_of(granted);
  const auto blocks = static_cast<unsigned>((system.width + kSolveColumns - 1) / kSolveColumns);
  Forward<T> parameter = system;
  void* parameters[] = {&parameter};
  return status_of(cudaLaunchKernel(kernel, dim3(blocks), dim3(kSolveThreads), parameters, bytes, stream));
}

template Status solve_block<float>(const Forward<float>&, cudaStream_t);
template Status solve_block<double>(const Forward<double>&, cudaStream_t);

}  // namespace kizami::dropin::cublas
