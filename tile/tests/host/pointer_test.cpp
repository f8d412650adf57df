// SPDX-License-Identifier: MIT
// Tiles of pointers: arithmetic, comparison, loads and stores with masks and padding, and the atomic functions, alone
// and from many blocks at once.
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "tile/tests/host/tile_values.hpp"

namespace kizami::tile_test {

inline namespace KIZAMI_TILE_BACKEND {

template <class T>
__tile_global__ void histogram(T* counts) {
  using Index = ct::tile<int, ct::shape<8>>;
  const auto bins = counts + (ct::iota<Index>() + static_cast<int>(ct::bid().x)) % 4;
  ct::atomic_add(bins, ct::full<ct::tile<T, ct::shape<8>>>(T(1)), ct::memory_order_relaxed_t{});
}

}  // namespace KIZAMI_TILE_BACKEND

namespace {

using namespace ct::literals;

template <class E, std::size_t... kExtents>
using Tile = ct::tile<E, ct::shape<kExtents...>>;

TEST(PointerTiles, ArithmeticAndComparison) {
  std::vector<float> memory(16);
  float* const p = memory.data();
  const auto forward = p + ct::iota<Tile<int, 4>>();
  const auto back = (p + 8) - ct::iota<Tile<long, 4>>();
  EXPECT_EQ(values_of(forward), (std::vector<float*>{p, p + 1, p + 2, p + 3}));
  EXPECT_EQ(values_of(ct::iota<Tile<unsigned, 4>>() + p), values_of(forward));
  EXPECT_EQ(values_of(back), (std::vector<float*>{p + 8, p + 7, p + 6, p + 5}));
  EXPECT_EQ(values_of(back - forward), (std::vector<std::ptrdiff_t>{8, 6, 4, 2}));
  EXPECT_EQ(values_of(forward + (ct::iota<Tile<int, 2, 1>>() - 1)),
            (std::vector<float*>{p - 1, p, p + 1, p + 2, p, p + 1, p + 2, p + 3}));
  using Bools = std::vector<unsigned char>;
  EXPECT_EQ(values_of(forward < p + 2), (Bools{1, 1, 0, 0}));
  EXPECT_EQ(values_of(forward >= back - 3), (Bools{0, 0, 0, 1}));
  EXPECT_EQ(values_of(forward == nullptr), (Bools{0, 0, 0, 0}));
  EXPECT_EQ(values_of(forward != nullptr), (Bools{1, 1, 1, 1}));
  const Tile<const float*, 4> constant = forward;
  EXPECT_EQ(values_of(constant == forward), (Bools{1, 1, 1, 1}));
}

TEST(PointerTiles, GatherAndScatter) {
  std::vector<int> memory(16);
  std::iota(memory.begin(), memory.end(), 0);
  const auto scattered = memory.data() + (2 + 9 * ct::iota<Tile<int, 2, 2>>()) % 16;
  EXPECT_EQ(values_of(ct::load(scattered)), (std::vector<int>{2, 11, 4, 13}));
  const auto mask = ct::iota<Tile<int, 2, 2>>() % 2 == 0;
  EXPECT_EQ(values_of(ct::load_masked(scattered, mask, -1)), (std::vector<int>{2, -1, 4, -1}));
  EXPECT_EQ(values_of(ct::load_masked(scattered, ct::iota<Tile<int, 2>>(), ct::iota<Tile<int, 2, 1>>() - 9)),
            (std::vector<int>{-9, 11, -8, 13}));
  EXPECT_EQ(values_of(ct::load_masked(scattered, false, ct::iota<Tile<std::int8_t, 2, 2>>())),
            (std::vector<int>{0, 1, 2, 3}));
  ct::store(scattered, ct::iota<Tile<std::int8_t, 2, 2>>() + std::int8_t{100});
  EXPECT_EQ(memory[2] + memory[11] + memory[4] + memory[13], 406);
  ct::store_masked(scattered, ct::zeros<Tile<int, 2, 2>>(), mask);
  EXPECT_EQ(memory[2] + memory[4], 0);
  EXPECT_EQ(memory[11] + memory[13], 204);
  float x = 1;
  ct::store(&x, 2.5F);
  EXPECT_EQ(ct::load(&x), 2.5F);
  // Masked pointers are not touched, wherever they point.
  const Tile<int*, 2> nowhere = ct::full<Tile<int*, 2>>(nullptr);
  EXPECT_EQ(values_of(ct::load_masked(nowhere, false, 3)), (std::vector<int>{3, 3}));
  ct::store_masked(nowhere, ct::zeros<Tile<int, 2>>(), false);
}

TEST(Atomics, GiveTheOldElements) {
  constexpr ct::memory_order_acq_rel_t kBoth;
  std::vector<int> memory{12, 12, 12, 12};
  const auto p = memory.data() + ct::iota<Tile<int, 4>>();
  const auto value = ct::iota<Tile<int, 4>>() + 9;
  const auto expect = [&](auto update, const std::vector<int>& after) {
    memory.assign(4, 12);
    EXPECT_EQ(values_of(update()), (std::vector<int>(4, 12)));
    EXPECT_EQ(memory, after);
  };
  expect([&] { return ct::atomic_add(p, value, kBoth); }, {21, 22, 23, 24});
  expect([&] { return ct::atomic_sub(p, value, kBoth, ct::thread_scope_device_t{}); }, {3, 2, 1, 0});
  expect([&] { return ct::atomic_max(p, value + 2, kBoth); }, {12, 12, 13, 14});
  expect([&] { return ct::atomic_min(p, value, kBoth); }, {9, 10, 11, 12});
  expect([&] { return ct::atomic_and(p, value, kBoth); }, {8, 8, 8, 12});
  expect([&] { return ct::atomic_or(p, value, kBoth); }, {13, 14, 15, 12});
  expect([&] { return ct::atomic_xor(p, value, kBoth); }, {5, 6, 7, 0});
  expect([&] { return ct::atomic_xchg(p, value, kBoth); }, {9, 10, 11, 12});
  const auto mask = ct::iota<Tile<int, 4>>() < 2;
  expect([&] { return ct::select(mask, ct::atomic_add_masked(p, value, mask, kBoth), ct::full<Tile<int, 4>>(12)); },
         {21, 22, 12, 12});
  expect([&] { return ct::atomic_compare_exchange(p, ct::full<Tile<int, 4>>(12), value, kBoth); }, {9, 10, 11, 12});
  memory.assign(4, 12);
  static_cast<void>(ct::atomic_compare_exchange_masked(p, value + 1, value, mask, kBoth));
  EXPECT_EQ(memory, (std::vector<int>(4, 12)));
  ct::atomic_store_masked(p, value, mask, ct::memory_order_release_t{});
  EXPECT_EQ(values_of(ct::atomic_load(p, ct::memory_order_acquire_t{})), (std::vector<int>{9, 10, 12, 12}));
  EXPECT_EQ(values_of(ct::atomic_load_masked(p, mask, -1, ct::memory_order_relaxed_t{})),
            (std::vector<int>{9, 10, -1, -1}));
  std::vector<std::uint8_t> bytes{1, 2};
  ct::atomic_store(bytes.data() + ct::iota<Tile<int, 2>>(), ct::full<Tile<std::uint8_t, 2>>(7),
                   ct::memory_order_relaxed_t{});
  EXPECT_EQ(bytes, (std::vector<std::uint8_t>{7, 7}));
}

template <class E>
class AtomicSums : public testing::Test {};
using Sums = testing::Types<int, std::uint64_t, float, double, __half, __nv_bfloat16>;
TYPED_TEST_SUITE(AtomicSums, Sums);

TYPED_TEST(AtomicSums, LoseNothingAcrossBlocks) {
  using E = TypeParam;
  std::vector<E> counts(4, E(0));
  tile::LaunchOptions options;
  options.max_threads = 4;
  const Status status = KIZAMI_TILE_LAUNCH((histogram<E>), 100, &options, counts.data());
  ASSERT_TRUE(status.ok()) << status.reason();
  // 200 in each bin: an integer that every type holds.
  for (const E count : counts) EXPECT_EQ(static_cast<double>(static_cast<float>(count)), 200.0);
}

}  // namespace
}  // namespace kizami::tile_test
