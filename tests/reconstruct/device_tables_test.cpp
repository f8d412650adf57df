// SPDX-License-Identifier: MIT
// The constants of the device's CRT: each count fits the kernel that its limbs choose.
#include <gtest/gtest.h>

#include <vector>

#include "num/crt_table.hpp"
#include "reconstruct/device.hpp"

namespace kizami::reconstruct {
namespace {

TEST(DeviceCrtTables, FitTheKernels) {
  for (const num::Ring ring : {num::Ring::kReal, num::Ring::kComplex}) {
    const bool is_complex = ring == num::Ring::kComplex;
    const std::size_t parts = is_complex ? 2 : 1;
    const std::vector<DeviceCrtTable> tables = make_device_crt_tables(ring);
    ASSERT_EQ(tables.size(), parts * static_cast<std::size_t>(num::max_moduli(ring) - num::kMinModuli + 1));
    for (std::size_t at = 0; at < tables.size(); ++at) {
      const int count = num::kMinModuli + static_cast<int>(at / parts);
      const DeviceCrtTable& table = tables[at];
      EXPECT_EQ(table.num_planes, num::num_planes(ring, count));
      EXPECT_LE(table.num_planes, 4 * device_words(is_complex, table.num_limbs)) << count;
      EXPECT_LE(table.num_limbs, kDeviceLimbs) << count;
      if (table.num_limbs < 7) {  // the kernels rely on it
        EXPECT_EQ(table.top_limb, table.num_limbs - 1) << count;
      }
      // All but the top limb hold whole bytes of P; the kernel relies on it where it is compiled for so many limbs.
      EXPECT_LE(table.num_bytes, 4 * (table.top_limb + 1)) << count;
      // The choice in reconstruct_device().
      if (count <= (is_complex ? 15 : 14)) {
        EXPECT_LE(table.num_limbs, 4) << count;
      } else if (is_complex || count <= 26) {
        EXPECT_LE(table.num_limbs, 7) << count;
      }
    }
  }
}

TEST(DeviceCrtTables, HoldTheWeights) {
  for (const num::Ring ring : {num::Ring::kReal, num::Ring::kComplex}) {
    const std::size_t parts = ring == num::Ring::kComplex ? 2 : 1;
    const std::vector<DeviceCrtTable> tables = make_device_crt_tables(ring);
    for (std::size_t at = 0; at < tables.size(); ++at) {
      const int count = num::kMinModuli + static_cast<int>(at / parts);
      const num::CrtTable& crt =
          num::crt_table(ring, count, at % parts == 0 ? num::Part::kReal : num::Part::kImaginary);
      for (int q = 0; q < crt.num_planes; ++q) {
        // Modulo 2^61 - 1, from bytes and from digits of 36 bits.
        constexpr std::uint64_t kPrime = (std::uint64_t{1} << 61) - 1;
        __extension__ using uint128 = unsigned __int128;
        uint128 from_bytes = 0;
        for (int b = 4 * kDeviceLimbs - 1; b >= 0; --b)
          from_bytes = (from_bytes * 256 + (tables[at].weight[b][q / 4] >> (8 * (q % 4)) & 255u)) % kPrime;
        uint128 from_digits = 0;
        for (int d = crt.num_digits - 1; d >= 0; --d) {
          from_digits = ((from_digits << num::kCrtDigitBits) + static_cast<std::uint64_t>(crt.weight[q][d])) % kPrime;
        }
        EXPECT_EQ(static_cast<std::uint64_t>(from_bytes), static_cast<std::uint64_t>(from_digits)) << count << ' ' << q;
      }
    }
  }
}

}  // namespace
}  // namespace kizami::reconstruct
