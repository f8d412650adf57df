// SPDX-License-Identifier: MIT
// Launching: every block runs once, whatever the threads and the order; two whole kernels, vector add and GEMM with
// masked edges; what a launch refuses.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <vector>

#include "kizami/tile.hpp"

namespace kizami::tile_test {
namespace ct = cuda::tiles;

inline namespace KIZAMI_TILE_BACKEND {

template <class T, int kSize>
__tile_global__ void vector_add(const T* __restrict__ a, const T* __restrict__ b, T* __restrict__ c, int n) {
  const auto x = static_cast<int>(ct::bid().x);
  const ct::partition_view view_a{ct::tensor_span{a, ct::extents{n}}, ct::shape<kSize>{}};
  const ct::partition_view view_b{ct::tensor_span{b, ct::extents{n}}, ct::shape<kSize>{}};
  const ct::partition_view view_c{ct::tensor_span{c, ct::extents{n}}, ct::shape<kSize>{}};
  ct::tile<T, ct::shape<kSize>> sum;
  [[cutile::hint(900, latency = 4)]] sum = view_a.load_masked(x);
  view_c.store_masked(sum + view_b.load_masked(x), x);
}

template <class T, int kRows, int kCols, int kDepth>
[[cutile::hint(900, occupancy = 2)]] __tile_global__ void gemm(const T* a, const T* b, float* c, int m, int n, int k) {
  const auto [row, col, unused] = ct::bid();
  static_cast<void>(unused);
  const ct::partition_view view_a{ct::tensor_span{a, ct::extents{m, k}}, ct::shape<kRows, kDepth>{}};
  const ct::partition_view view_b{ct::tensor_span{b, ct::extents{k, n}}, ct::shape<kDepth, kCols>{}};
  const ct::partition_view view_c{ct::tensor_span{c, ct::extents{m, n}}, ct::shape<kRows, kCols>{}};
  auto acc = ct::zeros<ct::tile<float, ct::shape<kRows, kCols>>>();
  for (const int step : ct::irange(0, ct::ceildiv(k, kDepth))) {
    acc = ct::mma(view_a.load_masked(row, step), view_b.load_masked(step, col), acc);
  }
  view_c.store_masked(acc, row, col);
}

__tile_global__ void count_blocks(std::uint32_t* counts, std::uint32_t* grid) {
  const auto [x, y, z] = ct::bid();
  const dim3 blocks = ct::num_blocks();
  if (x + y + z == 0) grid[0] = blocks.x * 10000 + blocks.y * 100 + blocks.z;
  counts[(z * blocks.y + y) * blocks.x + x] += 1;
}

__tile_global__ void throw_in_block(int block) {
  if (static_cast<int>(ct::bid().x) == block) throw block;
}

__tile_global__ void without_parameters() {}

/// Six tiles of 2 MiB live at once: more than the stack of a thread has, on most systems.
__tile_global__ void large_tiles(const float* in, float* out) {
  using Large = ct::tile<float, ct::shape<1024, 512>>;
  const ct::partition_view view{ct::tensor_span{in, ct::shape<1024, 512>{}}, ct::shape<1024, 512>{}};
  const Large a = view.load(0, 0);
  const Large b = a + a;
  const Large c = a * b;
  const Large d = c - b;
  const Large e = ct::max(c, d);
  ct::partition_view{ct::tensor_span{out, ct::shape<1024, 512>{}}, ct::shape<1024, 512>{}}.store(a + b + c + d + e, 0,
                                                                                                 0);
}

}  // namespace KIZAMI_TILE_BACKEND

TEST(Launch, VectorAddCoversEveryLength) {
  constexpr int kTile = 16;
  for (const int n : {1, 15, 16, 17, 33, 1000}) {
    std::vector<float> a;
    std::vector<float> b;
    for (int i = 0; i < n; ++i) {
      a.push_back(static_cast<float>(i));
      b.push_back(static_cast<float>(2 * i - 7));
    }
    std::vector<float> c(static_cast<std::size_t>(n) + 1, -1.0F);
    const Status status = KIZAMI_TILE_LAUNCH((vector_add<float, kTile>), static_cast<unsigned>((n + kTile - 1) / kTile),
                                             nullptr, a.data(), b.data(), c.data(), n);
    ASSERT_TRUE(status.ok()) << status.reason();
    for (int i = 0; i < n; ++i) ASSERT_EQ(c[static_cast<std::size_t>(i)], static_cast<float>(3 * i - 7)) << n;
    EXPECT_EQ(c.back(), -1.0F) << "the store is masked";
  }
}

/// GEMM of small integers, which FP32 adds exactly in any order.
template <class T>
void expect_gemm(int m, int n, int k) {
  const auto at = [](int i) { return static_cast<std::size_t>(i); };
  std::vector<T> a(at(m * k));
  std::vector<T> b(at(k * n));
  std::vector<float> c(at(m * n), -1.0F);
  const auto value_a = [](int i) { return static_cast<float>(i * 7 % 11 - 5); };
  const auto value_b = [](int i) { return static_cast<float>(i * 5 % 13 - 6); };
  for (int i = 0; i < m * k; ++i) a[at(i)] = static_cast<T>(value_a(i));
  for (int i = 0; i < k * n; ++i) b[at(i)] = static_cast<T>(value_b(i));
  const dim3 grid(static_cast<unsigned>((m + 31) / 32), static_cast<unsigned>((n + 63) / 64));
  const Status status = KIZAMI_TILE_LAUNCH((gemm<T, 32, 64, 16>), grid, nullptr, a.data(), b.data(), c.data(), m, n, k);
  ASSERT_TRUE(status.ok()) << status.reason();
  for (int i = 0; i < m; ++i) {
    for (int j = 0; j < n; ++j) {
      float expected = 0;
      for (int l = 0; l < k; ++l) expected += value_a(i * k + l) * value_b(l * n + j);
      ASSERT_EQ(c[at(i * n + j)], expected) << i << ", " << j << " of " << m << " x " << n << " x " << k;
    }
  }
}

TEST(Launch, GemmMasksItsEdges) {
  for (const int k : {1, 16, 37}) {
    expect_gemm<float>(64, 128, k);
    expect_gemm<float>(33, 65, k);
    expect_gemm<__half>(31, 63, k);
    expect_gemm<__nv_bfloat16>(1, 1, k);
  }
}

TEST(Launch, EveryBlockRunsOnceInAnyOrder) {
  for (const int threads : {0, 1, 3}) {
    for (const tile::BlockOrder order : {tile::BlockOrder::kAscending, tile::BlockOrder::kShuffled}) {
      tile::LaunchOptions options;
      options.max_threads = threads;
      options.block_order = order;
      std::vector<std::uint32_t> counts(7 * 5 * 3);
      std::uint32_t grid = 0;
      const Status status = KIZAMI_TILE_LAUNCH(count_blocks, dim3(7, 5, 3), &options, counts.data(), &grid);
      ASSERT_TRUE(status.ok()) << status.reason();
      EXPECT_EQ(grid, 70503U);
      for (const std::uint32_t count : counts) ASSERT_EQ(count, 1U);
    }
  }
}

TEST(Launch, KernelsHaveALargeStack) {
  std::vector<float> in(1024 * 512, 3.0F);
  std::vector<float> out(in.size());
  const Status status = KIZAMI_TILE_LAUNCH(large_tiles, 1, nullptr, in.data(), out.data());
  ASSERT_TRUE(status.ok()) << status.reason();
  for (const float x : out) ASSERT_EQ(x, 3.0F + 6.0F + 18.0F + 12.0F + 18.0F);
}

TEST(Launch, RefusesGridsThatCudaRefuses) {
  std::uint32_t count = 0;
  for (const dim3 grid : {dim3(0, 1, 1), dim3(1, 0, 1), dim3(1, 1, 1U << 24)}) {
    const Status status = KIZAMI_TILE_LAUNCH(count_blocks, grid, nullptr, &count, &count);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_NE(status.reason().find("count_blocks"), std::string::npos) << status.reason();
    EXPECT_NE(status.reason().find("[1, 16777215]"), std::string::npos) << status.reason();
  }
  EXPECT_EQ(count, 0U);
}

TEST(Launch, KernelsNeedNoParameters) { EXPECT_TRUE(KIZAMI_TILE_LAUNCH(without_parameters, dim3(3, 2), nullptr).ok()); }

// AddressSanitizer does not follow an exception on a stack as large as that of kernels.
#if defined(__SANITIZE_ADDRESS__)
constexpr bool kFollowsExceptions = false;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
constexpr bool kFollowsExceptions = false;
#else
constexpr bool kFollowsExceptions = true;
#endif
#else
constexpr bool kFollowsExceptions = true;
#endif

TEST(Launch, ExceptionsReachTheCaller) {
  if (!kFollowsExceptions) GTEST_SKIP() << "AddressSanitizer loses its way";
  for (const int threads : {1, 3}) {
    tile::LaunchOptions options;
    options.max_threads = threads;
    for (int block = 0; block < 20; ++block) {
      int thrown = -1;
      try {
        static_cast<void>(KIZAMI_TILE_LAUNCH(throw_in_block, dim3(20), &options, block));
      } catch (const int number) {
        thrown = number;
      }
      ASSERT_EQ(thrown, block);
      ASSERT_EQ(ct::bid().x, 0U) << "the thread is still in its block";
    }
    EXPECT_TRUE(KIZAMI_TILE_LAUNCH(throw_in_block, dim3(20), &options, -1).ok());
  }
}

TEST(Launch, OutsideALaunchThereIsOneBlock) {
  EXPECT_EQ(ct::bid().x + ct::bid().y + ct::bid().z, 0U);
  EXPECT_EQ(ct::num_blocks().x * ct::num_blocks().y * ct::num_blocks().z, 1U);
}

}  // namespace kizami::tile_test
