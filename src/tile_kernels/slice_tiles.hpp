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

}  // namespace KIZAMI_TILE_BACKEND
}  // namespace kizami::tile_kernels
