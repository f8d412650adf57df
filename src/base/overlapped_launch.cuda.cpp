// SPDX-License-Identifier: MIT
#include "base/overlapped_launch.hpp"

#include <string>

#include "base/balanced_launch.hpp"

namespace kizami::base {

namespace {

Status enqueue(const char* what, const void* kernel, dim3 grid, dim3 block, int cluster,
               cudaClusterSchedulingPolicy policy, std::size_t shared_bytes, cudaStream_t queue, void** arguments) {
  DeviceLimits limits;
  KIZAMI_RETURN_IF_ERROR(find_device_limits(limits));
  KIZAMI_RETURN_IF_ERROR(check_shared_bytes(what, kernel, shared_bytes, limits));
  if (cluster > limits.most_cluster()) {
    return {StatusCode::kInternal, std::string(what) + " asks for clusters of " + std::to_string(cluster) +
                                       " blocks, of which the device has at most " +
                                       std::to_string(limits.most_cluster())};
  }
  cudaLaunchAttribute attributes[3] = {};
  unsigned count = 0;
  if (limits.has_early_launch()) {
    attributes[count].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes[count++].val.programmaticStreamSerializationAllowed = 1;
  }
  if (cluster > 0 && limits.has_clusters()) {
    attributes[count].id = cudaLaunchAttributeClusterDimension;
    attributes[count++].val.clusterDim = {static_cast<unsigned>(cluster), 1, 1};
    if (policy != cudaClusterSchedulingPolicyDefault) {
      attributes[count].id = cudaLaunchAttributeClusterSchedulingPolicyPreference;
      attributes[count++].val.clusterSchedulingPolicyPreference = policy;
    }
  }
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = shared_bytes;
  config.stream = queue;
  config.attrs = attributes;
  config.numAttrs = count;
  return cuda_status(cudaLaunchKernelExC(&config, kernel, arguments), what);
}

}  // namespace

Status enqueue_overlapped(const char* what, const void* kernel, dim3 grid, dim3 block, int cluster,
                          std::size_t shared_bytes, cudaStream_t queue, void** arguments) {
  return enqueue(what, kernel, grid, block, cluster, cudaClusterSchedulingPolicyDefault, shared_bytes, queue,
                 arguments);
}

Status launch_balanced_clusters(const char* what, const void* kernel, unsigned blocks, unsigned threads, int cluster,
                                std::size_t shared_bytes, cudaStream_t queue, void* parameter) {
  return enqueue(what, kernel, dim3(blocks), dim3(threads), cluster, cudaClusterSchedulingPolicyLoadBalancing,
                 shared_bytes, queue, &parameter);
}

}  // namespace kizami::base
