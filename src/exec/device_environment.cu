// SPDX-License-Identifier: MIT
#include "exec/device_environment.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/cuda_status.hpp"
#include "base/device_limits.hpp"
#include "base/fork_safe.hpp"
#include "base/relaxed_capture.hpp"
#include "engines/cublas/cublas.hpp"
#include "engines/cublaslt/cublaslt.hpp"
#include "engines/hopper/ec_forms.hpp"
#include "engines/hopper/hopper.hpp"
#include "engines/mma/mma.hpp"
#include "engines/mma/product_i8.hpp"
#include "engines/tile/device.hpp"
#include "exec/device_rates.hpp"
#include "exec/device_self_test.hpp"
#include "exec/schemes.hpp"
#include "kizami/predict.hpp"
#include "schemes/ozaki2/device_crt_memory.hpp"

namespace kizami::exec {
namespace {

struct PreparedDevice {
  Status status;  ///< not ok: no call may use it, and nobody asks it again
  product::DeviceFacts facts;
  std::vector<const product::Engine*> engines;  ///< in order of preference
  std::array<const product::EcEngine*, 1> ec_engines{};
  std::array<const product::FloatEngine*, 1> float_engines{};
};

/// The memory is never given back: a BLAS may be called by destructors of static objects.
struct Devices {
  std::mutex mutex;
  std::map<int, PreparedDevice> prepared;
  const model::Device* assumed = nullptr;
};
constinit base::PerProcess<Devices> devices;

/// With cp.async, and mma.sync of signed bytes.
constexpr int kLeastCapability = 80;

Status find_rates(const model::Device* assumed, product::DeviceFacts& facts) {
  const model::Device* described = assumed;
  if (described == nullptr) {
    cudaDeviceProp properties{};
    KIZAMI_RETURN_IF_ERROR(
        base::cuda_status(cudaGetDeviceProperties(&properties, facts.device), "cudaGetDeviceProperties"));
    described = model::find_device(properties.name);
  }
  if (described != nullptr) {
    facts.rates = rates_of(*described);
    return {};
  }
  int kilohertz = 0;
  int bits = 0;
  for (const auto& [value, attribute] :
       {std::pair(&kilohertz, cudaDevAttrMemoryClockRate), {&bits, cudaDevAttrGlobalMemoryBusWidth}}) {
    KIZAMI_RETURN_IF_ERROR(
        base::cuda_status(cudaDeviceGetAttribute(value, attribute, facts.device), "cudaDeviceGetAttribute"));
  }
  facts.rates = rates_by_attributes(facts, 2.0 * 1e3 * kilohertz * bits / 8);
  return {};
}

plan::Environment environment_of(const PreparedDevice& prepared) {
  plan::Environment environment;
  environment.facts = prepared.facts;
  environment.engines = prepared.engines;
  environment.ec_engines = prepared.ec_engines;
  environment.float_engines = prepared.float_engines;
  environment.native_device_engine = &engines::cublas_engine();
  environment.schemes = schemes();
  return environment;
}

Status prepare(const model::Device* assumed, PreparedDevice& prepared) {
  const base::RelaxedCapture relaxed;
  product::DeviceFacts& facts = prepared.facts;
  facts.space = product::MemorySpace::kDevice;
  KIZAMI_RETURN_IF_ERROR(base::find_device_limits(facts));
  if (facts.compute_capability < kLeastCapability) {
    return {StatusCode::kUnsupported, "device " + std::to_string(facts.device) + " has compute capability " +
                                          std::to_string(facts.compute_capability / 10) + "." +
                                          std::to_string(facts.compute_capability % 10) + ", must be at least 8.0"};
  }
  std::size_t free_bytes = 0;
  KIZAMI_RETURN_IF_ERROR(base::cuda_status(cudaMemGetInfo(&free_bytes, &facts.memory_bytes), "cudaMemGetInfo"));
  KIZAMI_RETURN_IF_ERROR(find_rates(assumed, facts));
  prepared.engines.push_back(&engines::hopper_engine());
  prepared.ec_engines = {&engines::hopper_ec_engine()};
  prepared.float_engines = {&engines::mma_engine()};
  static_cast<void>(engines::prepare_cublaslt(facts.device));  // the engine's query() says what is wrong
  prepared.engines.push_back(&engines::cublaslt_engine());
  prepared.engines.push_back(&engines::mma_product_engine());
  static_cast<void>(engines::prepare_tile_device(facts.device));  // likewise
  prepared.engines.push_back(&engines::tile_device_engine());
  KIZAMI_RETURN_IF_ERROR(ozaki2::prepare_crt_tables(facts.device));
  // What has been run: code for 9.0 on 9.0.
  if (!facts.has_wgmma()) prepared.status = self_test(environment_of(prepared));
  return {};
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
    KIZAMI_RETURN_IF_ERROR(prepare(all.assumed, fresh));
    found = all.prepared.emplace(device, std::move(fresh)).first;
  }
  if (!found->second.status.ok()) return found->second.status;
  return environment_of(found->second);
}

Status assume_device(std::string_view name) {
  Devices& all = devices.get();
  const std::lock_guard lock(all.mutex);
  all.prepared.clear();
  all.assumed = nullptr;
  base::assume_device_limits(nullptr);
  if (name.empty()) return {};
  const model::Device* const described = model::find_device(name);
  if (described == nullptr) return {StatusCode::kInvalidArgument, "no card is called " + std::string(name)};
  base::DeviceLimits own;
  KIZAMI_RETURN_IF_ERROR(base::find_device_limits(own));
  base::DeviceLimits limits = limits_of(*described);
  limits.code_capability = std::min(limits.code_capability, own.code_capability);
  all.assumed = described;
  base::assume_device_limits(&limits);
  return {};
}

}  // namespace kizami::exec
