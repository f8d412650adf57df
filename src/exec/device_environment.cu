// SPDX-License-Identifier: MIT
#include "exec/device_environment.hpp"

#include <cuda_runtime_api.h>

#include <array>
#include <map>
#include <mutex>
#include <vector>

#include "base/cuda_status.hpp"
#include "base/fork_safe.hpp"
#include "base/relaxed_capture.hpp"
#include "engines/cublas/cublas.hpp"
#include "engines/cublaslt/cublaslt.hpp"
#include "engines/hopper/ec_forms.hpp"
#include "engines/hopper/hopper.hpp"
#include "engines/mma/mma.hpp"
#include "engines/mma/product_i8.hpp"
#include "engines/tile/device.hpp"
#include "exec/schemes.hpp"
#include "schemes/ozaki2/device_crt_memory.hpp"

namespace kizami::exec {
namespace {

struct PreparedDevice {
  product::DeviceFacts facts;
  std::vector<const product::Engine*> engines;  ///< in order of preference
  std::array<const product::EcEngine*, 1> ec_engines{};
  std::array<const product::FloatEngine*, 1> float_engines{};
};

/// The memory is never given back: a BLAS may be called by destructors of static objects.
struct Devices {
  std::mutex mutex;
  std::map<int, PreparedDevice> prepared;
};
constinit base::PerProcess<Devices> devices;

Status prepare(int device, PreparedDevice& prepared) {
  const base::RelaxedCapture relaxed;
  product::DeviceFacts& facts = prepared.facts;
  facts.space = product::MemorySpace::kDevice;
  facts.device = device;
  int major = 0;
  int minor = 0;
  const auto read = [device](int& value, cudaDeviceAttr attribute) {
    return base::cuda_status(cudaDeviceGetAttribute(&value, attribute, device), "cudaDeviceGetAttribute");
  };
  KIZAMI_RETURN_IF_ERROR(read(major, cudaDevAttrComputeCapabilityMajor));
  KIZAMI_RETURN_IF_ERROR(read(minor, cudaDevAttrComputeCapabilityMinor));
  KIZAMI_RETURN_IF_ERROR(read(facts.num_sms, cudaDevAttrMultiProcessorCount));
  facts.compute_capability = 10 * major + minor;
  if (facts.compute_capability != 90) {
    return {StatusCode::kUnsupported, "device " + std::to_string(device) + " has compute capability " +
                                          std::to_string(major) + "." + std::to_string(minor) +
                                          ", this build has kernels for 9.0 only"};
  }
  std::size_t free_bytes = 0;
  KIZAMI_RETURN_IF_ERROR(base::cuda_status(cudaMemGetInfo(&free_bytes, &facts.memory_bytes), "cudaMemGetInfo"));
  prepared.engines.push_back(&engines::hopper_engine());
  prepared.ec_engines = {&engines::hopper_ec_engine()};
  prepared.float_engines = {&engines::mma_engine()};
  static_cast<void>(engines::prepare_cublaslt(device));  // the engine's query() says what is wrong
  prepared.engines.push_back(&engines::cublaslt_engine());
  prepared.engines.push_back(&engines::mma_product_engine());
  static_cast<void>(engines::prepare_tile_device(device));  // likewise
  prepared.engines.push_back(&engines::tile_device_engine());
  return ozaki2::prepare_crt_tables(device);
}

}  // namespace

Result<plan::Environment> device_environment() {
  int device = 0;
  if (const cudaError_t error = cudaGetDevice(&device); error != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
    return Status(StatusCode::kUnsupported, std::string("no CUDA device: ") + cudaGetErrorString(error));
  }
  Devices& all = devices.get();
  const std::lock_guard lock(all.mutex);
  auto found = all.prepared.find(device);
  if (found == all.prepared.end()) {
    PreparedDevice fresh;
    KIZAMI_RETURN_IF_ERROR(prepare(device, fresh));
    found = all.prepared.emplace(device, std::move(fresh)).first;
  }
  const PreparedDevice& prepared = found->second;
  plan::Environment environment;
  environment.facts = prepared.facts;
  environment.engines = prepared.engines;
  environment.ec_engines = prepared.ec_engines;
  environment.float_engines = prepared.float_engines;
  environment.native_device_engine = &engines::cublas_engine();
  environment.schemes = schemes();
  return environment;
}

}  // namespace kizami::exec
