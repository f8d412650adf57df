// SPDX-License-Identifier: MIT
// Scheme ozaki2, second phase of the split: the residues of rint(x first second) modulo each of the moduli, with the
// arithmetic of schemes/ozaki2/residue_row.cpp: the integer is cut into limbs of 44 bits, and Horner's rule runs modulo
// p in FP64.
//   y <- (y mod p) (2^44 mod p) + X_i,  |y| <= 2^8 2^8 + 2^43;   y mod p = y - rint(y / p) p by a fused multiply-add, exactly
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "tile_kernels/matrix_view.hpp"

namespace kizami::tile_kernels {
inline namespace KIZAMI_TILE_BACKEND {

/// rint(x), ties to even. From 2^52 on every FP64 number is an integer; below, adding and subtracting 2^52 rounds.
template <class Tile>
__tile__ Tile round_to_integers(Tile x) {
  const auto magic = ct::select(x < 0.0, ct::full<Tile>(-0x1p52), ct::full<Tile>(0x1p52));
  const auto rounded = (x + magic) - magic;
  return ct::select(ct::abs(x) < 0x1p52, rounded, x);
}

/// In [2^52, 2^53) FP64 numbers are the integers, and x + 1.5 2^52 is x rounded and, in the lowest bits, as two's
/// complement.
inline constexpr double kIntegersFrom = 0x1.8p52;

/// rint(x). @range |x| < 2^51
template <class Tile>
__tile__ Tile round_small(Tile x) {
  return (x + kIntegersFrom) - kIntegersFrom;
}

/// y minus a multiple of p: within 3p/4 of zero for |y| < 2^44.
template <class Tile>
__tile__ Tile reduced_coarsely(Tile y, double p, double inverse) {
  return ct::fma(round_small(Tile(y * inverse)), ct::full<Tile>(-p), y);
}

/// FP64 numbers that are integers as INT64 ones, kBitsOfIntegers more, and INT64 ones as numbers: by the bits of x +
/// 1.5 2^52, which takes less than a conversion. @range |x| < 2^51
inline constexpr std::int64_t kBitsOfIntegers = 0x4338000000000000;  // of kIntegersFrom
template <class Tile>
__tile__ auto biased_integers(Tile x) {
  return ct::element_bitcast<std::int64_t>(Tile(x + kIntegersFrom));
}
template <class Tile>
__tile__ auto numbers_of_integers(Tile x) {
  return ct::element_bitcast<double>(Tile(x + ct::full<Tile>(kBitsOfIntegers))) - kIntegersFrom;
}

/// What limb t of num_limbs counts, the most significant one being 0.
__tile__ constexpr double limb_unit(std::size_t num_limbs, std::size_t t) {
  double unit = 1;
  for (std::size_t below = t + 1; below < num_limbs; ++below) unit *= 0x1p44;
  return unit;
}

/// residue_split_block; kUpper: 0 .. kLimbs - 2, the limbs but for the last one. Their indices are constants, by packs:
/// a tile that is chosen by a variable would lie in memory (tile/docs/kernels.md).
template <int kTileRows, int kTileCols, bool kAligned, Order kOrder, class Element, std::size_t... kUpper>
__tile__ void residue_split_tile(const Element* x, int x_stride, const double* first, const double* second,
                                 const std::int16_t* moduli, int num_moduli, std::int8_t* planes,
                                 std::int64_t plane_stride, int row_stride, int rows, int cols, int padded_rows,
                                 int padded_cols, std::index_sequence<kUpper...> /*unused*/) {
  using Tile = ct::tile<double, ct::shape<kTileRows, kTileCols>>;
  constexpr std::size_t kLimbs = sizeof...(kUpper) + 1;
  const int num_col_tiles = ct::ceildiv(padded_cols, kTileCols);
  const int i = static_cast<int>(ct::bid().x) / num_col_tiles;
  const int j = static_cast<int>(ct::bid().x) % num_col_tiles;
  const auto factor_of_rows = [&](const double* factors) {
    return matrix_tiles<Order::kRowMajor, kTileRows, 1>(factors, rows, 1, 1).load_masked(i, 0);
  };
  auto rest = ct::zeros<Tile>();
  if (j * kTileCols < cols) {  // a tile of padding alone lies outside x
    rest =
        ct::element_cast<double>(matrix_tiles<kOrder, kTileRows, kTileCols>(x, rows, cols, x_stride).load_masked(i, j));
  }
  rest = round_to_integers(Tile(rest * factor_of_rows(first) * factor_of_rows(second)));
  Tile limbs[kLimbs];  // most significant first
  ((limbs[kUpper] = round_to_integers(Tile(rest * (1 / limb_unit(kLimbs, kUpper)))),
    rest = rest - limbs[kUpper] * limb_unit(kLimbs, kUpper)),  // both are multiples of one unit in 53 bits: exact
   ...);
  limbs[kLimbs - 1] = rest;
  for (const int l : ct::irange(0, num_moduli)) {
    const int p = moduli[l];
    const auto modulus = static_cast<double>(p);
    const double inverse = 1.0 / p;
    [[maybe_unused]] const auto radix = static_cast<double>((std::int64_t{1} << 44) % p);  // of one limb: none
    Tile y = limbs[0];
    ((y = reduced_coarsely(y, modulus, inverse) * radix + limbs[kUpper + 1]), ...);
    y = reduced_coarsely(y, modulus, inverse);
    auto r = ct::element_cast<std::int32_t>(biased_integers(y));  // the low 32 bits
    const auto none = ct::zeros<decltype(r)>();
    const auto one = ct::full<decltype(r)>(p);
    r = r - ct::select(r > (p + 1) / 2 - 1, one, none) + ct::select(r < -(p / 2), one, none);
    matrix_tiles<Order::kRowMajor, kTileRows, kTileCols>(matrix_base<kAligned>(planes + l * plane_stride), padded_rows,
                                                         matrix_extent<kAligned, std::int8_t>(padded_cols),
                                                         matrix_stride<kAligned>(row_stride))
        .store_masked(ct::element_cast<std::int8_t>(r), i, j);
  }
}

/// @shape  x: rows x cols in kOrder, FP64 or FP32; first, second: [rows], powers of two or 0. planes: num_moduli planes
///         of padded_rows x padded_cols, row-major, plane l at l * plane_stride, zero beyond rows and cols. grid:
///         (ceil(padded_rows / kTileRows) * ceil(padded_cols / kTileCols), 1, 1)
/// @range  |x first second| < 2^(52 + 44 (kLimbs - 1)), no product of the three leaves the range of normal numbers
///         unless it is 0; moduli in 19..256; padded_cols >= cols, rows <= padded_rows <= rows of whole tiles.
///         kAligned: planes has an address of 16 bytes, its strides and padded_cols are multiples of 16
/// @exact  symmetric residues, one rounding of x first second to an integer, ties to even
template <int kLimbs, int kTileRows, int kTileCols, bool kAligned, Order kOrder = Order::kRowMajor,
          class Element = double>
__tile__ void residue_split_block(const Element* x, int x_stride, const double* first, const double* second,
                                  const std::int16_t* moduli, int num_moduli, std::int8_t* planes,
                                  std::int64_t plane_stride, int row_stride, int rows, int cols, int padded_rows,
                                  int padded_cols) {
  static_assert(kLimbs >= 1 && kLimbs <= 4);
  residue_split_tile<kTileRows, kTileCols, kAligned, kOrder>(x, x_stride, first, second, moduli, num_moduli, planes,
                                                             plane_stride, row_stride, rows, cols, padded_rows,
                                                             padded_cols, std::make_index_sequence<kLimbs - 1>{});
}

}  // namespace KIZAMI_TILE_BACKEND
}  // namespace kizami::tile_kernels
