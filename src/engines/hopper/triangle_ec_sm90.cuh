// SPDX-License-Identifier: MIT
// The product of split FP32 operands of one triangle of C: product_ec_sm90() of the tiles that have an element of it.
// What lies beyond the diagonal in a tile that the diagonal crosses is multiplied, and neither read nor written.
#pragma once

#include "engines/hopper/ec_forms.hpp"
#include "engines/hopper/product_ec_sm90.cuh"

namespace kizami::engines::hopper {

template <class Shape>
__device__ __forceinline__ TilePlace place_of(std::uint32_t tile, const EcTriangleParams& params) {
  const TileAt at = tile_in_bands(tile, params.bands);
  return {0, static_cast<int>(at.i) * Shape::kTileI, static_cast<int>(at.j) * (Shape::kTileJ * Shape::kCluster)};
}

template <product::EcPromotion promotion>
EcKernel ec_triangle_kernel() {
  using F = EcShapeOf<kEcTriangleForm>;
  static_assert(product::takes_ec_triangles(promotion));
  constexpr auto* kKernel = &product_ec_sm90<F, stages_of(promotion), EcTriangleParams>;
  return {reinterpret_cast<const void*>(kKernel), F::kSharedBytes};
}

}  // namespace kizami::engines::hopper

#define KIZAMI_INSTANTIATE_EC_TRIANGLE_KERNEL(promotion) \
  template ::kizami::engines::hopper::EcKernel           \
  kizami::engines::hopper::ec_triangle_kernel<kizami::product::EcPromotion::promotion>()
