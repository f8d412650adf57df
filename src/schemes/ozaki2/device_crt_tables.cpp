// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>

#include "num/crt_table.hpp"
#include "schemes/ozaki2/device_crt.hpp"

namespace kizami::ozaki2 {
namespace {

[[nodiscard]] std::uint32_t limb_of(const num::CrtInt& x, int limb) {
  return static_cast<std::uint32_t>(x.limb[static_cast<std::size_t>(limb / 2)] >> (limb % 2 * 32));
}

[[nodiscard]] num::CrtInt weight_of(const num::CrtTable& crt, int plane) {
  num::CrtInt weight;
  for (int d = crt.num_digits - 1; d >= 0; --d) {
    weight = num::add(num::mul_small(weight, std::uint64_t{1} << num::kCrtDigitBits),
                      num::CrtInt(static_cast<std::uint64_t>(crt.weight[plane][d])));
  }
  return weight;
}

/// Pieces of x or of -x, each rounded to the nearest multiple of its grid. @range x < 2^(grid[0] + 38)
void cut(num::CrtInt x, bool is_negative, const std::int32_t (&grid)[kDevicePieces], double (&pieces)[kDevicePieces]) {
  const double sign = is_negative ? -1.0 : 1.0;
  std::uint64_t carry = 0;
  for (int i = kDevicePieces - 1; i >= 0; --i) {
    const int above = i == 0 ? 64 : grid[i - 1] - grid[i];
    const std::uint64_t bits = num::shift_right(x, grid[i]).limb[0];
    const std::uint64_t value = (above >= 64 ? bits : bits & ((std::uint64_t{1} << above) - 1)) + carry;
    carry = i > 0 && above > 0 && value > (std::uint64_t{1} << (above - 1)) ? 1 : 0;
    const double piece = static_cast<double>(value) - (carry != 0 ? std::ldexp(1.0, above) : 0.0);
    pieces[i] = piece == 0.0 ? 0.0 : sign * std::ldexp(piece, grid[i]);  // no negative zeros
  }
}

/// Bytes of a piece of the weight of plane q. @range |piece| < 2^39 units
void set_digits(double units, int q, std::uint32_t (&digits)[kPieceDigits][(kPiecePlanes + 15) / 16 * 4]) {
  auto left = static_cast<std::int64_t>(units);
  for (auto& words : digits) {
    const auto digit = static_cast<std::int8_t>(left & 255);
    words[q / 16 * 4 + q % 4] |= std::uint32_t{static_cast<std::uint8_t>(digit)} << (8 * (q % 16 / 4));
    left = (left - digit) / 256;
  }
}

[[nodiscard]] DeviceCrtPieces make_pieces(const num::CrtTable& crt) {
  // So many bits are exact: sums of 16 weights times 2^12 + 2^8 stay below 2^53 of the grid, device_tables_test.cpp.
  constexpr int kPieceBits = 37;
  DeviceCrtPieces pieces;
  const int bits = num::bit_width(crt.product_wide) - 1;
  if (bits > kDevicePieces * kPieceBits || crt.num_planes > kPiecePlanes) return pieces;
  pieces.grid[0] = std::max(0, bits - kPieceBits);
  for (int i = 1; i < kDevicePieces; ++i) pieces.grid[i] = std::max(0, pieces.grid[i - 1] - kPieceBits);
  pieces.count = 2;
  while (pieces.grid[pieces.count - 1] != 0) ++pieces.count;
  pieces.inverse = 1.0 / num::to_double_down(crt.product_wide);
  cut(crt.product_wide, false, pieces.grid, pieces.product);
  cut(crt.half_wide, false, pieces.grid, pieces.half);
  for (int q = 0; q < crt.num_planes; ++q) {
    const num::CrtInt weight = weight_of(crt, q);
    const bool is_above_half = num::less(crt.half_wide, weight);
    cut(is_above_half ? num::sub(crt.product_wide, weight) : weight, is_above_half, pieces.grid, pieces.weight[q]);
    for (int i = 0; i < kDevicePieces; ++i) {
      set_digits(std::ldexp(pieces.weight[q][i], -pieces.grid[i]), q, pieces.digits[i]);
      pieces.offset[q / kPieceGroup][i] -= 4224.0 * pieces.weight[q][i];
      pieces.weight[q][i] *= 4096.0;
    }
  }
  return pieces;
}

[[nodiscard]] DeviceCrtTable make(const num::CrtTable& crt, bool is_complex) {
  DeviceCrtTable table;
  const int bits = num::bit_width(crt.product_wide);
  table.num_planes = crt.num_planes;
  table.num_bytes = (bits + 7) / 8;
  // Sums of bytes are below 2^sum_bits in magnitude; biased by that and one byte they are positive.
  int sum_bits = 7 + 8;
  for (int planes = 1; planes < crt.num_planes; planes *= 2) ++sum_bits;
  table.num_limbs = std::max(2, (8 * (table.num_bytes - 1) + sum_bits + 2 + 31) / 32);
  table.top_limb = table.num_limbs - 1;
  // The kernel for so many limbs must also have the words for all planes.
  while (table.num_limbs <= 7 && crt.num_planes > 4 * device_words(is_complex, table.num_limbs)) ++table.num_limbs;
  if (table.num_limbs > 7) table.num_limbs = kDeviceLimbs;
  // bias_b = 2^sum_bits + byte b of the residue that makes the whole a multiple of P.
  using Wide = num::WideUint<num::kCrtLimbs + 1>;
  Wide whole;
  for (int b = 0; b < table.num_bytes; ++b) whole = num::add(whole, num::shift_left(Wide(1), sum_bits + 8 * b));
  const Wide product = num::resize<num::kCrtLimbs + 1>(crt.product_wide);
  Wide rest = whole;  // modulo P, by shifted subtractions
  for (int shift = num::bit_width(whole) - bits; shift >= 0; --shift) {
    const Wide shifted = num::shift_left(product, shift);
    if (!num::less(rest, shifted)) rest = num::sub(rest, shifted);
  }
  const Wide missing = num::sub(product, rest);
  for (int b = 0; b < table.num_bytes; ++b) {
    const auto byte = static_cast<std::uint32_t>(missing.limb[static_cast<std::size_t>(b / 8)] >> (b % 8 * 8)) & 255u;
    table.bias[b] = (1u << sum_bits) + byte;
  }
  table.quotient = 1.0;
  for (int limb = 0; limb < table.top_limb - 1; ++limb) table.quotient *= 0x1p32;
  table.quotient /= num::to_double_down(crt.product_wide);
  for (int limb = 0; limb < kDeviceLimbs; ++limb) {
    table.product[limb] = limb_of(crt.product_wide, limb);
    table.half[limb] = limb_of(crt.half_wide, limb);
  }
  for (int q = 0; q < crt.num_planes; ++q) {
    const num::CrtInt weight = weight_of(crt, q);
    for (int b = 0; b < table.num_bytes; ++b) {
      const std::uint32_t byte = limb_of(weight, b / 4) >> (b % 4 * 8) & 255u;
      table.weight[b][q / 4] |= byte << (q % 4 * 8);
    }
  }
  table.pieces = make_pieces(crt);
  return table;
}

}  // namespace

std::vector<DeviceCrtTable> make_device_crt_tables(num::Ring ring) {
  std::vector<DeviceCrtTable> tables;
  for (int count = num::kMinModuli; count <= num::max_moduli(ring); ++count) {
    tables.push_back(make(num::crt_table(ring, count), ring == num::Ring::kComplex));
    if (ring == num::Ring::kComplex) tables.push_back(make(num::crt_table(ring, count, num::Part::kImaginary), true));
  }
  return tables;
}

}  // namespace kizami::ozaki2
