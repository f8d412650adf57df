// SPDX-License-Identifier: MIT
// Products of planes of one triangle: the residues of its tiles and of no others, where pairs are swapped too.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "base/int_math.hpp"
#include "engines/hopper/hopper.hpp"
#include "engines/hopper/triangle_params.hpp"
#include "gpu/device_memory.hpp"
#include "gpu/product_on_device.hpp"
#include "product/triangle.hpp"
#include "schemes/ozaki2/device_part.hpp"

namespace kizami::gpu_test::triangle_case {
namespace {

using TriangleProduct = Sm90Test;

TEST_F(TriangleProduct, WritesTheTilesOfOneTriangleAndNoOthers) {
  constexpr std::int64_t kTile = engines::hopper::kTriangleTile;
  for (const std::int64_t n : {1, 16, 255, 256, 257, 600, 1024, 2304}) {
    for (const bool is_lower : {true, false}) {
      const std::int64_t m = base::round_up(n, std::int64_t{16});
      const engines::HostProduct p({.m = m,
                                    .n = n,
                                    .k = n == 600 ? 1000 : 130,
                                    .moduli = engines::first_moduli(5),
                                    .has_unsigned_bytes = n == 257 || n == 600});
      const std::vector<std::uint8_t> all = engines::expected_c(p);
      std::vector<std::uint8_t> expected = p.initial_c;
      std::int64_t num_written = 0;
      for (std::int64_t plane = 0; plane < p.desc.num_products; ++plane) {
        for (std::int64_t j = 0; j < n; ++j) {
          for (std::int64_t i = 0; i < m; ++i) {
            if (is_lower ? i / kTile < j / kTile : i / kTile > j / kTile) continue;
            const auto at =
                p.c_offset + static_cast<std::size_t>(plane * p.desc.c_plane_stride + j * p.desc.c_col_stride + i);
            expected[at] = all[at];
            ++num_written;
          }
        }
      }
      engines::DeviceProduct device(p);
      const product::TriangleEngine* const engine = product::triangles_of(&engines::hopper_engine());
      ASSERT_NE(engine, nullptr);
      const Status status = engine->run({p.desc, is_lower}, device.pointers(), nullptr);
      ASSERT_TRUE(status.ok()) << status.reason();
      device.expect_c(expected, is_lower ? "lower" : "upper");
      EXPECT_TRUE(n != 2304 || num_written == 5 * 45 * kTile * kTile) << num_written;
      if (HasFailure()) return;
    }
  }
}

// Planes of conjugates: those of A, pairs exchanged, up to so many planes; B's own beyond.
TEST_F(TriangleProduct, TakesPlanesOfAWherePairsAreSwapped) {
  const product::TriangleEngine* const engine = product::triangles_of(&engines::hopper_engine());
  ASSERT_NE(engine, nullptr);
  for (const int count : {2, 4, 6}) {
    engines::HostProduct p(
        {.m = 528, .n = 528, .k = 200, .moduli = engines::first_moduli(6), .has_unsigned_bytes = count == 4});
    engines::DeviceProduct device(p);
    const DeviceArray<std::int32_t> on_device(std::vector<std::int32_t>{count});
    const Status status =
        engine->run({p.desc, /*is_lower=*/true, /*num_swapped=*/4}, device.pointers(on_device.data()), nullptr);
    ASSERT_TRUE(status.ok()) << status.reason();
    engines::HostProduct same = p;
    same.desc.num_products = count;
    const std::int64_t plane = p.desc.a_plane_stride;
    ASSERT_EQ(plane, p.desc.b_plane_stride);
    for (int l = 0; l < count && count <= 4; ++l)
      std::copy_n(p.a.begin() + (l ^ 1) * plane, plane, same.b.begin() + l * plane);
    const std::vector<std::uint8_t> all = engines::expected_c(same);
    const std::vector<std::uint8_t> got = device.c.download();
    std::int64_t wrong = 0;
    for (std::int64_t l = 0; l < count; ++l) {
      for (std::int64_t j = 0; j < p.desc.n; ++j) {
        for (std::int64_t i = j; i < p.desc.m; ++i) {
          const auto at =
              p.c_offset + static_cast<std::size_t>(l * p.desc.c_plane_stride + j * p.desc.c_col_stride + i);
          wrong += got[at] == all[at] ? 0 : 1;
        }
      }
    }
    EXPECT_EQ(wrong, 0) << count << " planes";
  }
}

}  // namespace
}  // namespace kizami::gpu_test::triangle_case
