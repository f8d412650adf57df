// SPDX-License-Identifier: MIT
// The GEMM tile kernel in debug mode: no access beyond a matrix, no element stored twice, no undefined element, every
// assumption kept.
#define KIZAMI_TILE_DEBUG
#include "tile_kernels/gemm_cases.hpp"

namespace kizami::tile_kernels_test {

template <class Types>
void expect_checked_gemms() {
  for (const Shape& shape : {Shape{33, 65, 17}, Shape{64, 64, 16}, Shape{3, 70, 1}}) {
    expect_gemm<Types, Order::kRowMajor, Order::kRowMajor, false>(shape, 2, 2);
    expect_gemm<Types, Order::kColMajor, Order::kColMajor, true>(shape, 1, 2);
  }
}
TEST(GemmDebug, Fp32) { expect_checked_gemms<GemmTypes<float, float, float, float>>(); }
TEST(GemmDebug, I8) { expect_checked_gemms<GemmTypes<std::int8_t, std::int8_t, std::int32_t, std::int32_t>>(); }

}  // namespace kizami::tile_kernels_test
