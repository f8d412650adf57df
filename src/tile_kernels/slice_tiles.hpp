// SPDX-License-Identifier: MIT
// What the products of slices share: one exact step along k, and how the result is stored.
#pragma once

#include <cstddef>
#include <utility>

#include "tile_kernels/gemm.hpp"

namespace kizami::tile_kernels {
inline namespace KIZAMI_TILE_BACKEND {

/// A_p B_q of kParts tiles along k, from tile l on, by FP32 sums that start at zero.
template <class Sum, class ATiles, class BTiles, std::size_t... kPart>
__tile__ Sum exact_product(const ATiles& a, int p, int row, const BTiles& b, int q, int col, int l,
                           std::index_sequence<kPart...> /*unused*/) {
  auto x = ct::zeros<Sum>();
  ((x = ct::mma(load_plane_tile(a, p, row, l + static_cast<int>(kPart)),
                load_plane_tile(b, q, l + static_cast<int>(kPart), col), x)),
   ...);
  return x;
}

/// Stores a tile of C. By TMA, which takes shared memory for it, the loop before it would have one stage of tiles in place of three
/// (docs/tile/kernels.md).
template <class View, class Tile>
__tile__ void store_result(const View& tiles, Tile tile, int row, int col) {
  [[cutile::hint(900, allow_tma = false)]] tiles.store_masked(tile, row, col);
}

}  // namespace KIZAMI_TILE_BACKEND
}  // namespace kizami::tile_kernels
