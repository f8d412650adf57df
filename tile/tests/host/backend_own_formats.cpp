// SPDX-License-Identifier: MIT
#define KIZAMI_TILE_OWN_FORMATS
#include "tile/tests/host/backend_kernel.hpp"

namespace kizami::tile_test {

static_assert(!std::is_class_v<__half> || sizeof(__half) == 2);
static_assert(std::is_same_v<__half, tile::ArithmeticNarrow<Fp16>>, "not CUDA's");
static_assert(static_cast<float>(__half(1.0F) + __half(0x1p-11F)) == 1.0F, "ties to even");
static_assert(static_cast<float>(__half(3.0F) / __half(2.0F) - __half(1.0F)) == 0.5F);
static_assert(static_cast<float>(-__nv_bfloat16(2.5F)) == -2.5F && __nv_bfloat16(1.0F) < __nv_bfloat16(2.0F));
static_assert(static_cast<float>(__nv_fp8_e4m3(1e9F)) == 448.0F && static_cast<float>(__nv_fp8_e5m2(-1.125F)) == -1.0F);

BackendReport own_formats_report() { return make_report(); }

}  // namespace kizami::tile_test
