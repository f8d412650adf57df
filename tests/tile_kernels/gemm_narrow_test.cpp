// SPDX-License-Identifier: MIT
// GEMM tile kernel: FP16 and BF16.
#include "tile_kernels/gemm_cases.hpp"

namespace kizami::tile_kernels_test {

TEST(GemmNarrow, Fp16) { expect_gemms<GemmTypes<__half, __half, float, __half>>(); }
TEST(GemmNarrow, Fp16StoredInFp32) { expect_gemms<GemmTypes<__half, __half, float, float>>(); }
TEST(GemmNarrow, Bf16) { expect_gemms<GemmTypes<__nv_bfloat16, __nv_bfloat16, float, __nv_bfloat16>>(); }

}  // namespace kizami::tile_kernels_test
