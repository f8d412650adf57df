// SPDX-License-Identifier: MIT
// What the host hands to the product kernels that walk one triangle of C.
#pragma once

#include <cstddef>

#include "engines/hopper/product_params.hpp"
#include "engines/triangle_order.hpp"

namespace kizami::engines::hopper {

struct TriangleParams : ProductParams {
  TensorMapBits swapped_map;    ///< of A's lines, as those of B
  std::uint32_t swapped_tiles;  ///< so many tiles in all, or fewer: B_l is plane l ^ 1 there
  TriangleOrder triangle;
};
static_assert(sizeof(TriangleParams) <= 4096, "the limit of kernel parameters");

/// Tiles of a cluster are square, so that the diagonal crosses as few elements beyond it as can be.
inline constexpr int kTriangleTile = 256;

/// HopperForm::kCooperative256x128Permuted for kReduce, kCooperative256x128 for kCompare.
struct TriangleKernels {
  const void* reduce;
  const void* compare;
  std::size_t shared_bytes;  ///< of each
  const void* reduce_unsigned;
};
[[nodiscard]] TriangleKernels triangle_kernels();

}  // namespace kizami::engines::hopper
