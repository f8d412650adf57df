// SPDX-License-Identifier: MIT
// The cubins of tile_kernels/device/{ozaki2,product_slices}.cu, loaded into devices, and the constants that their
// kernels read there.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "base/cuda_module.hpp"
#include "base/device_limits.hpp"
#include "kizami/status.hpp"

namespace kizami::engines::tile_engines {

/// The kernels of a result: where TMA may store it, and anywhere.
struct ProductKernels {
  base::CudaModuleKernel aligned;
  base::CudaModuleKernel any;
};
/// The kernels of one split: lines that are contiguous, and lines across memory.
struct SplitKernels {
  base::CudaModuleKernel along;
  base::CudaModuleKernel across;
};

/// Formats of floating-point slices: all but the first of SliceFormat.
inline constexpr int kFloatFormats = 4;
inline constexpr int kMostLimbs = 2;
inline constexpr int kLeastDigits = 3;
inline constexpr int kMostDigits = 6;

/// What one device has loaded.
struct DeviceKernels {
  Status status;
  base::CudaModule ozaki2, product_slices;
  ProductKernels store, store_add, reduce, reduce_add;
  std::array<ProductKernels, kFloatFormats> float_windows;                         ///< by format, from kFp16 on
  std::array<SplitKernels, kMostLimbs> split;                                      ///< by limbs, from 1 on
  std::array<base::CudaModuleKernel, kMostDigits - kLeastDigits + 1> reconstruct;  ///< by digits, from kLeastDigits on
  const std::int16_t* moduli = nullptr;                                            ///< num::kRealModuli
  const double* crt_records = nullptr;                                             ///< tile_kernels::CrtRecord
};

/// Why this build has no kernels, or null.
[[nodiscard]] const char* why_no_kernels();
/// Why it has none that run on such a device, or nothing. A cubin of x.y runs on x.z, z >= y, where a block may have the
/// shared memory that it takes.
[[nodiscard]] std::optional<std::string> why_no_kernels_for(const base::DeviceLimits& limits);
/// Those of floating-point slices: how tensor cores add is recorded of 9.0 alone.
inline constexpr int kFloatCapability = 90;
/// What is known of a device; null: nobody prepared it. Valid for ever.
[[nodiscard]] const DeviceKernels* kernels_on(int device);
/// The same of the current device, for a launch. @status kUnsupported, kInternal: there are none
Status current_kernels(const DeviceKernels*& kernels);

}  // namespace kizami::engines::tile_engines
