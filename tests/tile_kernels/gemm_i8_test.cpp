// SPDX-License-Identifier: MIT
// GEMM tile kernel: INT8, exactly.
#include "tile_kernels/gemm_cases.hpp"

namespace kizami::tile_kernels_test {

TEST(GemmI8, Exact) { expect_gemms<GemmTypes<std::int8_t, std::int8_t, std::int32_t, std::int32_t>>(); }

TEST(GemmI8, LargestSums) {
  // k = 2^17 - 1 products of -128 and -128: 2^31 - 2^14, the largest that INT32 holds.
  using Types = GemmTypes<std::int8_t, std::int8_t, std::int32_t, std::int32_t>;
  constexpr int kK = (1 << 17) - 1;
  const std::vector<std::int8_t> A(kK, -128);
  std::int32_t C = 0;
  ASSERT_TRUE(
      KIZAMI_TILE_LAUNCH((tile_kernels::gemm_block<Types, 32, 64, 16, Order::kRowMajor, Order::kColMajor, false>), 1,
                         nullptr, A.data(), kK, A.data(), kK, &C, 1, 1, 1, kK, 1)
          .ok());
  EXPECT_EQ(C, std::int64_t{kK} * 128 * 128);
}

}  // namespace kizami::tile_kernels_test
