// SPDX-License-Identifier: MIT
// GEMM tile kernel: TF32 in memory, and FP32 cast to it.
#include "tile_kernels/gemm_cases.hpp"

namespace kizami::tile_kernels_test {

TEST(GemmTf32, InMemory) { expect_gemms<GemmTypes<__nv_tf32, __nv_tf32, float, float>>(); }
TEST(GemmTf32, CastFromFp32) { expect_gemms<GemmTypes<float, __nv_tf32, float, float>>(); }

}  // namespace kizami::tile_kernels_test
