// SPDX-License-Identifier: MIT
#include "engines/tile/device_kernels.hpp"

#include <cuda_runtime_api.h>

#include <cstddef>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "base/cuda_status.hpp"
#include "base/device_upload.hpp"
#include "base/fork_safe.hpp"
#include "base/relaxed_capture.hpp"
#include "engines/tile/device.hpp"
#include "kizami/policy.hpp"
#include "num/moduli.hpp"
#include "tile_kernels/crt_record.hpp"

#if defined(KIZAMI_HAS_TILE)
extern "C" const unsigned long long kizami_tile_ozaki2[];
extern "C" const unsigned long long kizami_tile_product_slices[];
#endif

namespace kizami::engines {
namespace tile_engines {
namespace {

/// The memory is never given back: a BLAS may be called by destructors of static objects.
struct Devices {
  std::mutex mutex;
  std::map<int, DeviceKernels> loaded;
};
constinit base::PerProcess<Devices> devices;

#if defined(KIZAMI_HAS_TILE)
constexpr const char* kAbsence = nullptr;
constexpr int kCapabilities[] = {KIZAMI_TILE_CAPABILITIES};

template <class T>
Status upload(const T* values, std::size_t count, const T*& to) {
  constexpr const char* kWhat = "constants of tile kernels";
  void* memory = nullptr;
  KIZAMI_RETURN_IF_ERROR(base::cuda_status(cudaMalloc(&memory, count * sizeof(T)), kWhat));
  to = static_cast<const T*>(memory);
  return base::upload(memory, values, count * sizeof(T), kWhat);
}

Status load(int device, DeviceKernels& kernels) {
  int current = 0;
  KIZAMI_RETURN_IF_ERROR(base::cuda_status(cudaGetDevice(&current), "cudaGetDevice"));
  if (current != device) return {StatusCode::kInternal, "device " + std::to_string(device) + " is not the current one"};
  base::DeviceLimits limits;
  KIZAMI_RETURN_IF_ERROR(base::find_device_limits(limits));
  if (auto reason = why_no_kernels_for(limits)) return {StatusCode::kUnsupported, *std::move(reason)};
  const base::RelaxedCapture relaxed;
  KIZAMI_RETURN_IF_ERROR(kernels.ozaki2.load(kizami_tile_ozaki2, "the tile kernels of ozaki2"));
  const auto find = [&](const std::string& name, base::CudaModuleKernel& kernel) {
    return kernels.ozaki2.kernel(name.c_str(), kernel);
  };
  const auto find_both = [](const base::CudaModule& module, const std::string& name, ProductKernels& both) -> Status {
    KIZAMI_RETURN_IF_ERROR(module.kernel((name + "_any").c_str(), both.any));
    return module.kernel(name.c_str(), both.aligned);
  };
  KIZAMI_RETURN_IF_ERROR(find_both(kernels.ozaki2, "product_i8_store", kernels.store));
  KIZAMI_RETURN_IF_ERROR(find_both(kernels.ozaki2, "product_i8_store_add", kernels.store_add));
  KIZAMI_RETURN_IF_ERROR(find_both(kernels.ozaki2, "product_i8_reduce", kernels.reduce));
  KIZAMI_RETURN_IF_ERROR(find_both(kernels.ozaki2, "product_i8_reduce_add", kernels.reduce_add));
  if (limits.compute_capability == kFloatCapability) {
    KIZAMI_RETURN_IF_ERROR(
        kernels.product_slices.load(kizami_tile_product_slices, "the tile kernels of floating-point slices"));
  }
  for (int format = 1; format <= kFloatFormats && limits.compute_capability == kFloatCapability; ++format) {
    const std::string name = "product_" + std::string(to_string(static_cast<SliceFormat>(format)));
    KIZAMI_RETURN_IF_ERROR(
        find_both(kernels.product_slices, name, kernels.float_windows[static_cast<std::size_t>(format - 1)]));
  }
  for (int limbs = 1; limbs <= kMostLimbs; ++limbs) {
    SplitKernels& split = kernels.split[static_cast<std::size_t>(limbs - 1)];
    const std::string name = "residue_split_" + std::to_string(limbs);
    KIZAMI_RETURN_IF_ERROR(find(name, split.along));
    KIZAMI_RETURN_IF_ERROR(find(name + "_across", split.across));
  }
  for (int digits = kLeastDigits; digits <= kMostDigits; ++digits) {
    KIZAMI_RETURN_IF_ERROR(
        find("crt_" + std::to_string(digits), kernels.reconstruct[static_cast<std::size_t>(digits - kLeastDigits)]));
  }
  KIZAMI_RETURN_IF_ERROR(upload(num::kRealModuli.data(), num::kRealModuli.size(), kernels.moduli));
  const std::vector<double> records = tile_kernels::make_crt_records();
  return upload(records.data(), records.size(), kernels.crt_records);
}
#else
constexpr const char* kAbsence =
    "this build has no tile kernels for devices; ./kz tile-toolchain fetches their compiler, then build again";
constexpr int kCapabilities[] = {0};

Status load(int /*device*/, DeviceKernels& /*kernels*/) { return {StatusCode::kUnsupported, kAbsence}; }
#endif

}  // namespace

const char* why_no_kernels() { return kAbsence; }

std::optional<std::string> why_no_kernels_for(const base::DeviceLimits& limits) {
  if (kAbsence != nullptr) return kAbsence;
  constexpr int kBytesOn80 = 144 << 10;  // of shared memory, by its cubin; the others take what all of theirs have
  std::string names;
  for (const int capability : kCapabilities) {
    const bool is_of_kind =
        capability / 10 == limits.compute_capability / 10 && capability <= limits.compute_capability;
    if (is_of_kind && (capability != 80 || limits.shared_bytes >= kBytesOn80)) return std::nullopt;
    names += names.empty() ? "" : ", ";
    names += std::to_string(capability);
  }
  return "compute_capability = " + std::to_string(limits.compute_capability) +
         ", must be one that the tile kernels are compiled for: " + names +
         (limits.compute_capability / 10 == 8 ? ", with 144 KB of shared memory" : "");
}

const DeviceKernels* kernels_on(int device) {
  Devices& all = devices.get();
  const std::lock_guard lock(all.mutex);
  const auto found = all.loaded.find(device);
  return found == all.loaded.end() ? nullptr : &found->second;
}

Status current_kernels(const DeviceKernels*& kernels) {
  if (kAbsence != nullptr) return {StatusCode::kUnsupported, kAbsence};
  int device = 0;
  KIZAMI_RETURN_IF_ERROR(base::cuda_status(cudaGetDevice(&device), "the current device"));
  kernels = kernels_on(device);
  if (kernels != nullptr) return kernels->status;
  return {StatusCode::kInternal, "engine tile: device " + std::to_string(device) + " is not prepared"};
}

}  // namespace tile_engines

Status prepare_tile_device(int device) {
  tile_engines::Devices& all = tile_engines::devices.get();
  const std::lock_guard lock(all.mutex);
  const auto [found, is_new] = all.loaded.try_emplace(device);
  if (is_new) static_cast<void>(found->second.status = tile_engines::load(device, found->second));
  return found->second.status;
}

}  // namespace kizami::engines
