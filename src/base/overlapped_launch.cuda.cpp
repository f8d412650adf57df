// SPDX-License-Identifier: MIT
#include "base/overlapped_launch.hpp"

#include <string>

namespace kizami::base {

Status enqueue_overlapped(const char* what, const void* kernel, dim3 grid, dim3 block, int cluster,
                          std::size_t shared_bytes, cudaStream_t queue, void** arguments) {
  DeviceLimits limits;
  KIZAMI_RETURN_IF_ERROR(find_device_limits(limits));
  KIZAMI_RETURN_IF_ERROR(check_shared_bytes(what, kernel, shared_bytes, limits));
  if (cluster > limits.most_cluster()) {
    return {StatusCode::kInternal, std::string(what) + " asks for clusters of " + std::to_string(cluster) +
                                       " blocks, of which the device has at most " +
                                       std::to_string(limits.most_cluster())};
  }
  cudaLaunchAttribute attributes[2] = {};
  unsigned count = 0;
  if (limits.has_early_launch()) {
    attributes[count].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes[count++].val.programmaticStreamSerializationAllowed = 1;
  }
  if (cluster > 0 && limits.has_clusters()) {
    attributes[count].id = cudaLaunchAttributeClusterDimension;
    attributes[count++].val.clusterDim = {static_cast<unsigned>(cluster), 1, 1};
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

}  // namespace kizami::base
