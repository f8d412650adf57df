// SPDX-License-Identifier: MIT
// Attention in debug mode: no access beyond an operand, no undefined element, every assumption kept.
#define KIZAMI_TILE_DEBUG
#include "tile_kernels/attention_cases.hpp"

namespace kizami::tile_kernels_test {

template <Visible kVisible>
void expect_checked_attention(const AttentionShape& shape) {
  const auto x = exact_attention<__half>(shape, 64);
  std::vector<__half> o(x.q.size());
  const dim3 grid(static_cast<unsigned>((shape.num_queries + 15) / 16), static_cast<unsigned>(shape.num_heads));
  const Status status =
      KIZAMI_TILE_LAUNCH((tile_kernels::attention_block<__half, 16, 16, 64, kVisible>), grid, nullptr, x.q.data(),
                         x.k.data(), x.v.data(), o.data(), shape.num_heads, shape.num_queries, shape.num_keys, x.c);
  ASSERT_TRUE(status.ok()) << status.reason();
  expect_exact_attention(x, o);
}
TEST(AttentionDebug, All) { expect_checked_attention<Visible::kAll>({2, 19, 37, Visible::kAll}); }
TEST(AttentionDebug, Causal) { expect_checked_attention<Visible::kCausal>({2, 37, 37, Visible::kCausal}); }

}  // namespace kizami::tile_kernels_test
