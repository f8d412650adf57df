// SPDX-License-Identifier: MIT
// Attention on the host: within its bound, exact where every sum is, and what NaN does.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tile_kernels/attention_cases.hpp"

namespace kizami::tile_kernels_test {
namespace {

/// Of exp2 of the C library, in units of u: less than one unit in the last place.
constexpr double kExp2Units = 2;

constexpr AttentionShape kAttentionShapes[] = {{1, 1, 1, Visible::kAll},      {2, 16, 32, Visible::kAll},
                                               {3, 33, 70, Visible::kAll},    {1, 5, 200, Visible::kAll},
                                               {1, 20, 95, Visible::kAll},    {1, 1, 1, Visible::kCausal},
                                               {2, 64, 64, Visible::kCausal}, {3, 75, 75, Visible::kCausal},
                                               {1, 50, 20, Visible::kCausal}, {1, 20, 90, Visible::kCausal}};

template <class T, int kTileQ, int kTileK, int kHead>
std::vector<T> attention_on_host(const AttentionOperands<T>& x) {
  std::vector<T> o(x.q.size());
  const dim3 grid(static_cast<unsigned>((x.shape.num_queries + kTileQ - 1) / kTileQ),
                  static_cast<unsigned>(x.shape.num_heads));
  const auto launch = [&](auto kernel) {
    return tile::launch("attention", kernel, grid, nullptr, x.q.data(), x.k.data(), x.v.data(), o.data(),
                        x.shape.num_heads, x.shape.num_queries, x.shape.num_keys, x.c);
  };
  const Status status = x.shape.visible == Visible::kCausal
                            ? launch(tile_kernels::attention_block<T, kTileQ, kTileK, kHead, Visible::kCausal>)
                            : launch(tile_kernels::attention_block<T, kTileQ, kTileK, kHead, Visible::kAll>);
  EXPECT_TRUE(status.ok()) << status.reason();
  return o;
}

template <class T, int kTileQ, int kTileK, int kHead>
void expect_within_bound() {
  for (const AttentionShape& shape : kAttentionShapes) {
    for (const double sharpness : {0.0, 1.0, 8.0}) {
      const auto x = random_attention<T>(shape, kHead, sharpness);
      expect_attention(x, attention_on_host<T, kTileQ, kTileK, kHead>(x), kTileK, kExp2Units);
    }
  }
}
template <class T, int kTileQ, int kTileK, int kHead>
void expect_exact() {
  for (const AttentionShape& shape : kAttentionShapes) {
    const auto x = exact_attention<T>(shape, kHead);
    expect_exact_attention(x, attention_on_host<T, kTileQ, kTileK, kHead>(x));
  }
}

TEST(Attention, Fp16WithinItsBound) { expect_within_bound<__half, 16, 32, 64>(); }
TEST(Attention, Bf16WithinItsBound) { expect_within_bound<__nv_bfloat16, 32, 16, 128>(); }
TEST(Attention, Fp16ExactWhereSumsAre) { expect_exact<__half, 16, 32, 64>(); }
TEST(Attention, Bf16ExactWhereSumsAre) { expect_exact<__nv_bfloat16, 32, 16, 128>(); }

TEST(Attention, AQueryWithNaNBecomesNaNAlone) {
  auto x = random_attention<__half>({2, 20, 40, Visible::kCausal}, 64, 1);
  const std::vector<__half> before = attention_on_host<__half, 16, 32, 64>(x);
  x.q[x.row(1, 3, 20) + 5] = static_cast<__half>(std::nanf(""));
  const std::vector<__half> after = attention_on_host<__half, 16, 32, 64>(x);
  for (std::size_t i = 0; i < before.size(); ++i) {
    const bool is_row = i >= x.row(1, 3, 20) && i < x.row(1, 4, 20);
    ASSERT_TRUE(is_row ? std::isnan(wide(after[i])) : wide(after[i]) == wide(before[i])) << i;
  }
}

}  // namespace
}  // namespace kizami::tile_kernels_test
