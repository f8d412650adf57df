// SPDX-License-Identifier: MIT
// GEMM tile kernel: FP32 and FP64.
#include "tile_kernels/gemm_cases.hpp"

namespace kizami::tile_kernels_test {

TEST(GemmWide, Fp32) { expect_gemms<GemmTypes<float, float, float, float>>(); }
TEST(GemmWide, Fp64) { expect_gemms<GemmTypes<double, double, double, double>>(); }

TEST(GemmWide, InfinityAtTheEndOfKMeetsNoPadding) {
  // The last step along k is padded by 13: Inf times a padded zero would be NaN.
  using Types = GemmTypes<float, float, float, float>;
  constexpr int kK = 19;
  std::vector<float> A(2 * kK, 1.0F);
  std::vector<float> B(kK * 3, 2.0F);
  A[kK - 1] = std::numeric_limits<float>::infinity();
  std::vector<float> C(6, 0.0F);
  ASSERT_TRUE(
      KIZAMI_TILE_LAUNCH((tile_kernels::gemm_block<Types, 32, 64, 16, Order::kRowMajor, Order::kRowMajor, false>), 1,
                         nullptr, A.data(), kK, B.data(), 3, C.data(), 3, 2, 3, kK, 1)
          .ok());
  for (int j = 0; j < 3; ++j) {
    EXPECT_EQ(C[static_cast<std::size_t>(j)], std::numeric_limits<float>::infinity());
    EXPECT_EQ(C[static_cast<std::size_t>(3 + j)], 2.0F * kK);
  }
}

}  // namespace kizami::tile_kernels_test
