// SPDX-License-Identifier: MIT
// Scheme ozaki1 with floating slices: all slices of a matrix in one pass over it.
//   for p: v = (rest + sigma_p) - sigma_p;  slice_p = v 2^-c_p;  rest = rest - v
// sigma_p = 0.75 2^(rho + c_p) cuts v at a multiple of 2^(rho + c_p - 53), |v| <= 2^c_p, so that slice_p has 53 - rho
// bits and what is left is at most 2^(rho + c_p - 54): the next c is c_p - (54 - rho). All c follow from the first, of
// the largest element of a line (or of the matrix), and no pass needs the result of another.
#pragma once

#include <cstdint>

#include "num/float_slices.hpp"
#include "tile_kernels/matrix_view.hpp"

namespace kizami::tile_kernels {

/// What shares a scale.
enum class ScaleOf : std::uint8_t { kMatrix, kRow };

inline namespace KIZAMI_TILE_BACKEND {

/// @shape  x: rows x cols, row-major. slices: num_slices planes, rows x cols, row-major, plane p at p * plane_stride.
///         sigmas, inverse_scales: plane p has num::slice_sigma(c, rho, p) and 2^-c_p, one a row (kMatrix: one) at p *
///         scale_stride. grid: (ceil(rows / kTileRows) * ceil(cols / kTileCols), 1, 1)
/// @range  |x| <= 2^c, finite; sigmas finite and inverse_scales normal numbers. kAligned: addresses of 16 bytes,
///         strides of 16 elements, cols a multiple of 16 bytes of slices
/// @exact  sum_p slice_p 2^(c_p) + rest == x for the rest that is left, at most 2^(rho + c - 54 - (num_slices - 1)(54 - rho))
template <class Slice, int kTileRows, int kTileCols, ScaleOf kScaleOf, bool kAligned>
__tile__ void veltkamp_split_block(const double* x, int x_stride, Slice* slices, std::uint32_t plane_stride,
                                   int slice_stride, const double* sigmas, const double* inverse_scales,
                                   int scale_stride, int num_slices, int rows, int cols) {
  const int num_col_tiles = ct::ceildiv(cols, kTileCols);
  const int i = static_cast<int>(ct::bid().x) / num_col_tiles;
  const int j = static_cast<int>(ct::bid().x) % num_col_tiles;
  const int extent = matrix_extent<kAligned, Slice>(cols);
  auto rest = matrix_tiles<Order::kRowMajor, kTileRows, kTileCols>(matrix_base<kAligned>(x), rows, extent,
                                                                   matrix_stride<kAligned>(x_stride))
                  .load_masked(i, j);
  const auto slice_tiles = plane_tiles<Order::kRowMajor, kAligned, kTileRows, kTileCols>(
      slices, num_slices, rows, extent, plane_stride, slice_stride);
  for (const int p : ct::irange(0, num_slices)) {
    constexpr int kScaleRows = kScaleOf == ScaleOf::kRow ? kTileRows : 1;
    const int scale_rows = kScaleOf == ScaleOf::kRow ? rows : 1;
    const int scale_tile = kScaleOf == ScaleOf::kRow ? i : 0;
    const auto line_of = [&](const double* values) {
      return matrix_tiles<Order::kRowMajor, kScaleRows, 1>(values + p * scale_stride, scale_rows, 1, 1)
          .load_masked(scale_tile, 0);
    };
    const auto sigma = line_of(sigmas);
    const auto cut = (rest + sigma) - sigma;
    store_plane_tile(slice_tiles, ct::element_cast<Slice>(cut * line_of(inverse_scales)), p, i, j);
    rest = rest - cut;
  }
}

}  // namespace KIZAMI_TILE_BACKEND
}  // namespace kizami::tile_kernels
