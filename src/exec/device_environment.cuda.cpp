// SPDX-License-Identifier: MIT
#include "exec/device_environment.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <optional>
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
#include "exec/calibration_file.hpp"
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

/// Bytes a second that the memory's clock and width allow.
Status find_bandwidth(int device, double& bytes_per_second) {
  int kilohertz = 0;
  int bits = 0;
  for (const auto& [value, attribute] :
       {std::pair(&kilohertz, cudaDevAttrMemoryClockRate), {&bits, cudaDevAttrGlobalMemoryBusWidth}}) {
    KIZAMI_RETURN_IF_ERROR(
        base::cuda_status(cudaDeviceGetAttribute(value, attribute, device), "cudaDeviceGetAttribute"));
  }
  bytes_per_second = 2.0 * 1e3 * kilohertz * bits / 8;
  return {};
}

/// "<uuid>-<driver>-<version>"
Status find_calibration_key(int device, std::string& key) {
  cudaDeviceProp properties{};
  int driver = 0;
  KIZAMI_RETURN_IF_ERROR(base::cuda_status(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties"));
  KIZAMI_RETURN_IF_ERROR(base::cuda_status(cudaDriverGetVersion(&driver), "cudaDriverGetVersion"));
  constexpr char kDigits[] = "0123456789abcdef";
  key.clear();
  for (const char part : properties.uuid.bytes) {
    const auto byte = static_cast<unsigned char>(part);
    key += kDigits[byte / 16];
    key += kDigits[byte % 16];
  }
  key += '-';
  key += std::to_string(driver);
  key += "-" KIZAMI_VERSION;
  return {};
}

Status find_rates(const model::Device* assumed, product::DeviceFacts& facts) {
  if (assumed != nullptr) {
    facts.rates = rates_of(*assumed);
    return {};
  }
  std::string path;
  KIZAMI_RETURN_IF_ERROR(find_calibration_path(path));
  if (const std::optional<model::Device> measured = read_calibration(path)) {
    facts.rates = rates_of(*measured);
    facts.rates.are_measured = true;
    return {};
  }
  model::Device device;
  KIZAMI_RETURN_IF_ERROR(describe_current_device(facts, device));
  facts.rates = rates_of(device);
  // Those that the library was made on.
  facts.rates.are_measured = facts.has_wgmma() && model::find_device(device.name) != nullptr;
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
  if (!facts.has_wgmma()) static_cast<void>(prepared.status = self_test(environment_of(prepared)));
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

Status find_calibration_path(std::string& path) {
  const base::RelaxedCapture relaxed;
  int device = 0;
  std::string key;
  KIZAMI_RETURN_IF_ERROR(base::cuda_status(cudaGetDevice(&device), "the current device"));
  KIZAMI_RETURN_IF_ERROR(find_calibration_key(device, key));
  path = calibration_path_of(key);
  return {};
}

Status describe_current_device(const base::DeviceLimits& limits, model::Device& description) {
  const base::RelaxedCapture relaxed;
  cudaDeviceProp properties{};
  KIZAMI_RETURN_IF_ERROR(
      base::cuda_status(cudaGetDeviceProperties(&properties, limits.device), "cudaGetDeviceProperties"));
  if (const model::Device* const described = model::find_device(properties.name)) {
    description = *described;
    return {};
  }
  double bytes_per_second = 0;
  KIZAMI_RETURN_IF_ERROR(find_bandwidth(limits.device, bytes_per_second));
  description = description_by_attributes(limits, bytes_per_second, properties.name);
  return {};
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
  limits.num_sms = std::min(limits.num_sms, own.num_sms);  // some kernels need all their blocks at once
  all.assumed = described;
  base::assume_device_limits(&limits);
  return {};
}

}  // namespace kizami::exec
