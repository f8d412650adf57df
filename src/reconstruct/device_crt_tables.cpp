// SPDX-License-Identifier: MIT
#include <algorithm>

#include "num/crt_table.hpp"
#include "reconstruct/device.hpp"

namespace kizami::reconstruct {
namespace {

[[nodiscard]] std::uint32_t limb_of(const num::CrtInt& x, int limb) {
  return static_cast<std::uint32_t>(x.limb[static_cast<std::size_t>(limb / 2)] >> (limb % 2 * 32));
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
    num::CrtInt weight;
    for (int d = crt.num_digits - 1; d >= 0; --d) {
      weight = num::add(num::mul_small(weight, std::uint64_t{1} << num::kCrtDigitBits),
                        num::CrtInt(static_cast<std::uint64_t>(crt.weight[q][d])));
    }
    for (int b = 0; b < table.num_bytes; ++b) {
      const std::uint32_t byte = limb_of(weight, b / 4) >> (b % 4 * 8) & 255u;
      table.weight[b][q / 4] |= byte << (q % 4 * 8);
    }
  }
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

}  // namespace kizami::reconstruct
