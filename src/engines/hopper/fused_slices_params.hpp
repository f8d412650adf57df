// SPDX-License-Identifier: MIT
// What the host hands to the fused kernel of slices: one struct, passed by value.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engines/hopper/tile_walk.hpp"
#include "kizami/types.hpp"

namespace kizami::engines::hopper {

struct FusedSliceParams : TileWalk {  // num_k_blocks is at least 1
  std::int32_t slice_stride;          ///< bytes
  std::int32_t step;
  std::int32_t unit;
  const std::int32_t* row_exponents;
  const std::int32_t* col_exponents;
  const std::int32_t* is_scaling_only;
  const std::int32_t* takes_signs;
  // of FP64, or of FP32 where has_floats
  MatrixView<double> c;
  Factor<double> alpha;
  Factor<double> beta;
  MatrixView<float> float_c;
  Factor<float> float_alpha;
  Factor<float> float_beta;
  std::int32_t has_floats;
  std::int32_t has_aligned_c;  ///< columns of C are contiguous, and two elements can be stored at once
};
static_assert(sizeof(FusedSliceParams) <= 4096, "the limit of kernel parameters");

inline constexpr int kFusedTileI = 64;
inline constexpr int kFusedTileJ = 128;
inline constexpr int kFusedCluster = 2;

/// A compiled kernel, as cudaLaunchKernelExC takes it. Each in a unit of its own, for the time that they take to
/// compile.
struct FusedSliceKernel {
  const void* kernel;
  std::size_t shared_bytes;
};
template <int kSlices>
[[nodiscard]] FusedSliceKernel fused_slice_kernel();

}  // namespace kizami::engines::hopper
