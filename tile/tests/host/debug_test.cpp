// SPDX-License-Identifier: MIT
// The debug mode: each broken rule gives one sentence that names kernel, block, tile and index, a correct kernel none;
// the orders of blocks and reductions can be chosen.
#define KIZAMI_TILE_DEBUG
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "kizami/tile.hpp"

namespace kizami::tile_test {
namespace {
namespace ct = cuda::tiles;
using namespace ct::literals;

template <class E, std::size_t... kExtents>
using Tile = ct::tile<E, ct::shape<kExtents...>>;

/// Expects that body reports exactly one fault, with both texts in it.
template <class Body>
void expect_fault(const Body& body, const std::string& text, const std::string& also = "") {
  const tile::FaultCollector collector;
  body();
  ASSERT_EQ(collector.faults().size(), 1U) << text;
  EXPECT_NE(collector.faults()[0].find(text), std::string::npos) << collector.faults()[0];
  EXPECT_NE(collector.faults()[0].find(also), std::string::npos) << collector.faults()[0];
}
template <class Body>
void expect_no_fault(const Body& body) {
  const tile::FaultCollector collector;
  body();
  EXPECT_TRUE(collector.faults().empty()) << collector.faults()[0];
}

TEST(Debug, LoadsAndStoresOutOfBounds) {
  std::vector<float> memory(6 * 5);
  const ct::partition_view view{ct::tensor_span{memory.data(), ct::extents{6, 5}}, ct::shape<2, 4>{}};
  expect_no_fault([&] { static_cast<void>(view.load(2, 0)); });
  expect_no_fault([&] { static_cast<void>(view.load_masked(2, 1)); });
  const tile::FaultCollector collector;
  static_cast<void>(view.load(2, 1));  // columns 4..7 of 5: six elements beyond
  ASSERT_EQ(collector.faults().size(), 6U);
  EXPECT_EQ(collector.faults()[0],
            "load: tile<float, 2x4>, element (0, 1): index (4, 5) is outside the extents (6, 5)");
  expect_fault([&] { static_cast<void>(view.load_masked(3, 0)); }, "lies wholly outside the span",
               "dimension 0 starts at 6");
  expect_fault([&] { view.store_masked(ct::zeros<Tile<float, 2, 4>>(), 0, 2); }, "lies wholly outside the span");
  const ct::partition_view column{ct::tensor_span{memory.data(), ct::extents{3}}, ct::shape<4>{}};
  expect_fault([&] { column.store(ct::zeros<Tile<float, 4>>(), 0); }, "store: tile<float, 4>, element (3)",
               "index (3)");
}

TEST(Debug, UndefinedElements) {
  std::vector<float> memory(8);
  const ct::partition_view view{ct::tensor_span{memory.data(), ct::extents{8}}, ct::shape<4>{}};
  Tile<float, 4> never_set;
  expect_no_fault([&] { static_cast<void>(never_set + 1.0F); });
  expect_no_fault([&] { static_cast<void>(ct::reshape(never_set, ct::shape<2, 2>{})); });
  const tile::FaultCollector collector;
  view.store(never_set * 2.0F, 0);
  EXPECT_EQ(collector.faults().size(), 4U) << "undefined operands make undefined results";

  const auto pointers = memory.data() + ct::iota<Tile<int, 4>>();
  const auto half_loaded = ct::load_masked(pointers, ct::iota<Tile<int, 4>>() != 2);
  expect_fault([&] { view.store(half_loaded, 1); }, "store: tile<float, 4>, element (2)",
               "the stored element is undefined");
  expect_no_fault([&] { ct::store_masked(pointers, half_loaded, ct::iota<Tile<int, 4>>() != 2); });
  expect_no_fault(
      [&] { view.store(ct::select(ct::iota<Tile<int, 4>>() == 2, ct::zeros<Tile<float, 4>>(), half_loaded), 0); });
  expect_fault([&] { static_cast<void>(ct::select(half_loaded > 0.0F, half_loaded, half_loaded)); },
               "select, condition", "(2)");
  expect_fault([&] { static_cast<void>(static_cast<float>(ct::sum(half_loaded, 0_ic))); }, "conversion to a scalar");
}

TEST(Debug, DoubleStoresWithinACall) {
  std::vector<int> memory(8);
  const auto twice = memory.data() + ct::iota<Tile<int, 4>>() / 2;
  const tile::FaultCollector collector;
  ct::store(twice, ct::iota<Tile<int, 4>>());
  ASSERT_EQ(collector.faults().size(), 2U);
  EXPECT_EQ(collector.faults()[0], "store: tile<int32, 4>, element (1): stored to the same address as element (0)");
  expect_no_fault([&] { ct::atomic_store(twice, ct::iota<Tile<int, 4>>(), ct::memory_order_relaxed_t{}); });
  // Rows that overlap: a stride shorter than a row.
  const ct::tensor_span overlapping{memory.data(), ct::layout_strided_mapping{ct::extents{2, 4}, ct::strides{3, 1_ic}}};
  expect_fault(
      [&] {
        ct::partition_view{overlapping, ct::shape<2, 4>{}}.store(ct::zeros<Tile<int, 2, 4>>(), 0, 0);
      },
      "element (1, 0): stored to the same address as element (0, 3)");
}

TEST(Debug, PointersAndAtomics) {
  const Tile<float*, 2> nothing = ct::full<Tile<float*, 2>>(nullptr);
  const tile::FaultCollector collector;
  static_cast<void>(ct::load(nothing));
  ASSERT_EQ(collector.faults().size(), 2U);
  EXPECT_EQ(collector.faults()[0], "load: tile<float*, 2>, element (0): the pointer is null");
  std::vector<float> memory(2);
  auto* const crooked = reinterpret_cast<float*>(reinterpret_cast<char*>(memory.data()) + 1);
  expect_fault([&] { static_cast<void>(ct::load(crooked)); }, "the pointer is not aligned to its type");
}

TEST(Debug, ArithmeticThatTheLanguageLeavesUndefined) {
  constexpr int kMax = std::numeric_limits<int>::max();
  const auto x = ct::iota<Tile<int, 2, 2>>() + (kMax - 3);
  expect_fault([&] { static_cast<void>(x + ct::iota<Tile<int, 2, 2>>() / 3); },
               "operator+: tile<int32, 2x2>, element (1, 1)", "the result overflows");
  expect_fault([] { static_cast<void>(ct::full<Tile<int, 1>>(7) / ct::zeros<Tile<int, 1>>()); }, "division by zero");
  expect_fault([] { static_cast<void>(ct::full<Tile<int, 1>>(7) << ct::full<Tile<int, 1>>(32)); }, "shift count");
  expect_fault([] { static_cast<void>(-ct::full<Tile<int, 1>>(std::numeric_limits<int>::min())); }, "unary -",
               "overflows");
  expect_fault([] { static_cast<void>(ct::element_cast<std::int8_t>(ct::full<Tile<float, 1>>(128.0F))); },
               "element_cast", "beyond the integer type");
  expect_no_fault([] { static_cast<void>(ct::full<Tile<unsigned, 1>>(~0U) + 1U * ct::ones<Tile<unsigned, 1>>()); });
  expect_fault([] { static_cast<void>(ct::sum(ct::full<Tile<std::int8_t, 2>>(100), 0_ic)); }, "sum: tile<int8, 1>",
               "overflows");
  expect_fault([] { static_cast<void>(ct::partial_prod(ct::full<Tile<std::int16_t, 2>>(300), 0_ic)); }, "element (1)",
               "overflows");
  const auto bytes = ct::full<Tile<std::int8_t, 1, 4>>(127);
  expect_fault(
      [&] {
        static_cast<void>(
            ct::mma(bytes, ct::full<Tile<std::int8_t, 4, 1>>(127), ct::full<Tile<int, 1, 1>>(kMax - 100)));
      },
      "mma: tile<int32, 1x1>, element (0, 0)", "the sum overflows");
  expect_fault([] { static_cast<void>(ct::extract(ct::iota<Tile<int, 4>>(), ct::shape<2>{}, 2)); }, "extract: index 2");
}

// However many partial results overflow: one sentence for one result, in every order.
TEST(Debug, OneOverflowingReductionIsOneFault) {
  for (const tile::ReductionOrder order :
       {tile::ReductionOrder::kSequential, tile::ReductionOrder::kPairwise, tile::ReductionOrder::kShuffled}) {
    const auto num_faults = [order](const auto& body) {
      tile::FaultCollector collector;
      collector.set_reduction_order(order, 7);
      body();
      return collector.faults().size();
    };
    constexpr int kMax = std::numeric_limits<int>::max();
    EXPECT_EQ(num_faults([] { static_cast<void>(ct::sum(ct::full<Tile<int, 256>>(kMax), 0_ic)); }), 1U);
    EXPECT_EQ(num_faults([] { static_cast<void>(ct::prod(ct::full<Tile<int, 64>>(kMax), 0_ic)); }), 1U);
    EXPECT_EQ(num_faults([] { static_cast<void>(ct::sum(ct::full<Tile<int, 2, 256>>(kMax), 1_ic)); }), 2U);
    EXPECT_EQ(num_faults([] { static_cast<void>(ct::partial_sum(ct::full<Tile<int, 256>>(kMax), 0_ic)); }), 1U);
  }
}

TEST(Debug, AssumptionsThatDoNotHold) {
  std::vector<float> memory(64);
  const float* const p = memory.data();
  expect_no_fault([&] { static_cast<void>(ct::assume_aligned<4>(p)); });
  expect_fault([&] { static_cast<void>(ct::assume_aligned(p + 1, 8_ic)); }, "assume_aligned", "not aligned as assumed");
  expect_fault([] { static_cast<void>(ct::assume_divisible(24, 16_ic)); }, "assume_divisible", "not divisible");
  expect_fault([] { static_cast<void>(ct::assume_bounded(ct::iota<Tile<int, 4>>(), 0_ic, 2_ic)); }, "element (3)",
               "bounds");
  expect_fault([] { static_cast<void>(ct::assume_bounded_above(5, 4_ic)); }, "above the assumed bound");
  expect_fault([] { static_cast<void>(ct::assume_bounded_below(-5, 0_ic)); }, "below the assumed bound");
  const auto ladder = 8 * ct::iota<Tile<int, 4>>();
  expect_no_fault([&] { static_cast<void>(ct::assume_divisible_strided(ladder, 16_ic, 2_ic, 0_ic)); });
  expect_fault(
      [&] {
        static_cast<void>(ct::assume_divisible_strided(ladder + ct::iota<Tile<int, 4>>() / 2, 16_ic, 2_ic, 0_ic));
      },
      "element (2)");
  expect_no_fault([&] { static_cast<void>(ct::assume_blocked(ct::iota<Tile<int, 4>>() / 2, ct::shape<2>{})); });
  expect_fault([&] { static_cast<void>(ct::assume_blocked(ct::iota<Tile<int, 2>>(), ct::shape<2>{})); },
               "differs from the first");
}

inline namespace KIZAMI_TILE_BACKEND {

/// Block b stores tile b, but the last one stores tile 0 again.
__tile_global__ void colliding(int* memory) {
  const ct::partition_view view{ct::tensor_span{memory, ct::extents{16}}, ct::shape<4>{}};
  const auto x = static_cast<int>(ct::bid().x);
  view.store(ct::full<Tile<int, 4>>(x), x == 3 ? 0 : x);
}
__tile_global__ void beyond(const float* in, float* out, int n) {
  const ct::partition_view source{ct::tensor_span{in, ct::extents{n}}, ct::shape<4>{}};
  const ct::partition_view target{ct::tensor_span{out, ct::extents{n}}, ct::shape<4>{}};
  const auto x = ct::bid().x;
  target.store_masked(source.load(x), x);
}
__tile_global__ void sum_in_order(const float* in, float* out) {
  const ct::partition_view source{ct::tensor_span{in, ct::extents{8}}, ct::shape<8>{}};
  ct::store(out, static_cast<float>(ct::sum(source.load(0), 0_ic)));
}
__tile_global__ void write_order(int* order, int* next) {
  const int turn = ct::atomic_add(next, 1, ct::memory_order_relaxed_t{});
  ct::atomic_store(order + ct::bid().x, turn, ct::memory_order_relaxed_t{});
}

}  // namespace KIZAMI_TILE_BACKEND

TEST(Debug, StoresOfTwoBlocksToOneAddress) {
  std::vector<int> memory(16);
  tile::LaunchOptions options;
  options.max_threads = 1;
  std::vector<std::string> faults;
  options.on_fault = [&](const std::string& fault) { faults.push_back(fault); };
  const Status status = KIZAMI_TILE_LAUNCH(colliding, 4, &options, memory.data());
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(
      status.reason(),
      "kernel colliding, block (3, 0, 0): store: tile<int32, 4>, element (0): block (0, 0, 0) of this launch stores to "
      "the same address (4 faults in this launch)");
  EXPECT_EQ(faults.size(), 4U);
  EXPECT_TRUE(KIZAMI_TILE_LAUNCH(colliding, 3, &options, memory.data()).ok()) << "the next launch starts anew";
}

TEST(Debug, LaunchesFailWithKernelAndBlock) {
  std::vector<float> in(6);
  std::vector<float> out(6);
  const Status status = KIZAMI_TILE_LAUNCH(beyond, 2, nullptr, in.data(), out.data(), 6);
  EXPECT_EQ(status.reason(),
            "kernel beyond, block (1, 0, 0): load: tile<float, 4>, element (2): index (6) is outside the extents (6) "
            "(2 faults in this launch)");
}

TEST(Debug, TheOrderOfReductionsCanBeChosen) {
  // 2^24 and ones: the sum depends on the order.
  const std::vector<float> in{0x1p24F, 1, 1, 1, 1, 1, 1, 1};
  const auto run = [&](tile::ReductionOrder order, std::uint64_t seed) {
    tile::LaunchOptions options;
    options.reduction_order = order;
    options.seed = seed;
    float out = 0;
    EXPECT_TRUE(KIZAMI_TILE_LAUNCH(sum_in_order, 1, &options, in.data(), &out).ok());
    return out;
  };
  EXPECT_EQ(run(tile::ReductionOrder::kSequential, 1), 0x1p24F);
  EXPECT_EQ(run(tile::ReductionOrder::kPairwise, 1), 0x1p24F + 6);
  bool differs = false;
  for (std::uint64_t seed = 1; seed < 20; ++seed) {
    const float first = run(tile::ReductionOrder::kShuffled, seed);
    EXPECT_EQ(first, run(tile::ReductionOrder::kShuffled, seed)) << "a seed stands for one order";
    differs = differs || first != 0x1p24F;
  }
  EXPECT_TRUE(differs);
}

TEST(Debug, TheOrderOfBlocksCanBeShuffled) {
  const auto run = [](tile::BlockOrder order, std::uint64_t seed) {
    tile::LaunchOptions options;
    options.max_threads = 1;
    options.block_order = order;
    options.seed = seed;
    std::vector<int> turns(16, -1);
    int next = 0;
    EXPECT_TRUE(KIZAMI_TILE_LAUNCH(write_order, 16, &options, turns.data(), &next).ok());
    return turns;
  };
  std::vector<int> ascending(16);
  for (std::size_t i = 0; i < 16; ++i) ascending[i] = static_cast<int>(i);
  EXPECT_EQ(run(tile::BlockOrder::kAscending, 1), ascending);
  const auto shuffled = run(tile::BlockOrder::kShuffled, 1);
  EXPECT_NE(shuffled, ascending);
  EXPECT_EQ(shuffled, run(tile::BlockOrder::kShuffled, 1));
  EXPECT_NE(shuffled, run(tile::BlockOrder::kShuffled, 2));
}

TEST(DebugDeathTest, OutsideALaunchAFaultEndsTheProgram) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_DEATH(static_cast<void>(ct::extract(ct::iota<Tile<int, 4>>(), ct::shape<2>{}, 2)),
               "outside a launch: extract: index 2");
}

}  // namespace
}  // namespace kizami::tile_test
