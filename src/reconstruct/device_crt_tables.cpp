// SPDX-License-Identifier: MIT
#include <algorithm>

#include "num/crt_table.hpp"
#include "reconstruct/device.hpp"

namespace kizami::reconstruct {
namespace {

[[nodiscard]] std::uint32_t limb_of(const num::CrtInt& x, int limb) {
  return static_cast<std::uint32_t>(x.limb[static_cast<std::size_t>(limb / 2)] >> (limb % 2 * 32));
}

[[nodiscard]] DeviceCrtTable make(const num::CrtTable& crt) {
  DeviceCrtTable table;
  const int bits = num::bit_width(crt.product_wide);
  table.num_planes = crt.num_planes;
  table.num_bytes = (bits + 7) / 8;
  // |sum| <= num_planes 2^7 P, and a sign
  int sum_bits = bits + 8;
  for (int planes = 1; planes < crt.num_planes; planes *= 2) ++sum_bits;
  table.num_limbs = std::max(2, (sum_bits + 31) / 32);
  table.quotient = 1.0;
  for (int limb = 0; limb < table.num_limbs - 2; ++limb) table.quotient *= 0x1p32;
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
    tables.push_back(make(num::crt_table(ring, count)));
    if (ring == num::Ring::kComplex) tables.push_back(make(num::crt_table(ring, count, num::Part::kImaginary)));
  }
  return tables;
}

}  // namespace kizami::reconstruct
