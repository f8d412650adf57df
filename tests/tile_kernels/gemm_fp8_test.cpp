// SPDX-License-Identifier: MIT
// GEMM tile kernel: both FP8 formats.
#include "tile_kernels/gemm_cases.hpp"

namespace kizami::tile_kernels_test {

TEST(GemmFp8, E4m3) { expect_gemms<GemmTypes<__nv_fp8_e4m3, __nv_fp8_e4m3, float, __half>>(); }
TEST(GemmFp8, E5m2) { expect_gemms<GemmTypes<__nv_fp8_e5m2, __nv_fp8_e5m2, float, __half>>(); }

}  // namespace kizami::tile_kernels_test
