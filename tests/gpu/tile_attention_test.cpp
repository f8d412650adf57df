// SPDX-License-Identifier: MIT
// Attention on the device: the one right result where every sum is exact, which is the host's, and within its bound of
// FP64 elsewhere; lengths to 16384, lengths that fill no tile, and nothing written beside O.
#if defined(KIZAMI_TEST_HAS_TILE)
#include <gtest/gtest.h>

#include <string>
#include <type_traits>
#include <vector>

#include "base/cuda_module.hpp"
#include "base/int_math.hpp"
#include "gpu/device_memory.hpp"
#include "tile_kernels/attention_cases.hpp"

extern "C" const unsigned long long kizami_tile_attention[];

namespace kizami::gpu_test {
namespace {

using tile_kernels_test::AttentionOperands;
using tile_kernels_test::AttentionShape;
using tile_kernels_test::Visible;
using TileAttention = DeviceTest;

/// Of ex2.approx.ftz in units of u: 2 units in the last place and the rounding of what they are counted from [PTX ISA].
constexpr double kExp2Units = 5;

constexpr AttentionShape kShapes[] = {{1, 1, 1, Visible::kAll},        {2, 128, 128, Visible::kAll},
                                      {3, 130, 259, Visible::kAll},    {1, 77, 1000, Visible::kAll},
                                      {1, 40, 255, Visible::kAll},     {1, 1, 1, Visible::kCausal},
                                      {2, 256, 256, Visible::kCausal}, {3, 301, 301, Visible::kCausal},
                                      {1, 200, 70, Visible::kCausal},  {1, 130, 500, Visible::kCausal}};

// Of src/tile_kernels/device/attention.cu:
constexpr int kKeysATile = 128;
int queries_a_tile(int head_size) { return head_size; }

template <class T>
std::vector<T> attention_on_device(const AttentionOperands<T>& x) {
  const std::string name = std::string("attention_") + (std::is_same_v<T, __half> ? "f16_" : "bf16_") +
                           std::to_string(x.head_size) + (x.shape.visible == Visible::kCausal ? "_causal" : "");
  const DeviceArray<T> q(x.q);
  const DeviceArray<T> k(x.k);
  const DeviceArray<T> v(x.v);
  const DeviceArray<T> o(x.q.size());
  base::CudaModule module;
  EXPECT_EQ(module.load(kizami_tile_attention, "attention").reason(), "");
  base::CudaModuleKernel kernel;
  EXPECT_EQ(module.kernel(name.c_str(), kernel).reason(), "");
  const dim3 grid(static_cast<unsigned>(base::ceil_div(x.shape.num_queries, queries_a_tile(x.head_size))),
                  static_cast<unsigned>(x.shape.num_heads));
  const T* const in[] = {q.data(), k.data(), v.data()};
  EXPECT_EQ(kernel
                .launch(grid, nullptr, in[0], in[1], in[2], o.data(), x.shape.num_heads, x.shape.num_queries,
                        x.shape.num_keys, x.c)
                .reason(),
            "");
  const std::vector<T> result = o.download();
  EXPECT_TRUE(o.guards_are_intact()) << name;
  return result;
}

template <class T>
void expect_short_rows(int head_size) {
  for (const AttentionShape& shape : kShapes) {
    SCOPED_TRACE(std::to_string(shape.num_queries) + " x " + std::to_string(shape.num_keys));
    const auto exact = tile_kernels_test::exact_attention<T>(shape, head_size);
    tile_kernels_test::expect_exact_attention(exact, attention_on_device(exact));
    for (const double sharpness : {0.0, 1.0, 8.0}) {
      const auto any = tile_kernels_test::random_attention<T>(shape, head_size, sharpness);
      tile_kernels_test::expect_attention(any, attention_on_device(any), kKeysATile, kExp2Units);
    }
  }
}

TEST_F(TileAttention, Fp16) {
  expect_short_rows<__half>(64);
  expect_short_rows<__half>(128);
}
TEST_F(TileAttention, Bf16) {
  expect_short_rows<__nv_bfloat16>(64);
  expect_short_rows<__nv_bfloat16>(128);
}

template <class T>
void expect_long_rows(int head_size) {
  for (const int n : {1024, 2048, 4096, 8192, 16384, 4097, 16383}) {
    for (const Visible visible : {Visible::kAll, Visible::kCausal}) {
      SCOPED_TRACE(std::to_string(n));
      const AttentionShape shape{2, n, n, visible};
      const auto exact = tile_kernels_test::exact_attention<T>(shape, head_size);
      tile_kernels_test::expect_exact_attention(exact, attention_on_device(exact), 211);
      const auto any = tile_kernels_test::random_attention<T>(shape, head_size, 1);
      tile_kernels_test::expect_attention(any, attention_on_device(any), kKeysATile, kExp2Units, 997);
    }
  }
}
TEST_F(TileAttention, LongFp16) { expect_long_rows<__half>(128); }
TEST_F(TileAttention, LongBf16) { expect_long_rows<__nv_bfloat16>(64); }

}  // namespace
}  // namespace kizami::gpu_test
#endif
