// SPDX-License-Identifier: MIT
// Views and layouts: where each element of a tile lies in memory, for ranks 0 to 4, every layout and padding,
// overlapping and gathered tiles; what lies outside is padded and never touched.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <vector>

#include "tile/tests/host/tile_values.hpp"

namespace kizami::tile_test {
namespace {

using namespace ct::literals;

template <class E, std::size_t... kExtents>
using Tile = ct::tile<E, ct::shape<kExtents...>>;

/// Memory whose elements are their own addresses, between canaries.
class Memory {
 public:
  explicit Memory(std::size_t size) : values_(size + 2 * kMargin, kCanary) {
    for (std::size_t i = 0; i < size; ++i) values_[kMargin + i] = static_cast<float>(i);
  }
  [[nodiscard]] float* data() { return values_.data() + kMargin; }
  [[nodiscard]] float operator[](std::size_t i) const { return values_[kMargin + i]; }
  [[nodiscard]] bool has_canaries() const {
    for (std::size_t i = 0; i < kMargin; ++i) {
      if (values_[i] != kCanary || values_[values_.size() - 1 - i] != kCanary) return false;
    }
    return true;
  }

 private:
  static constexpr std::size_t kMargin = 256;
  static constexpr float kCanary = -77;
  std::vector<float> values_;
};

/// Where element `position` of a span lies, or -1 outside the extents.
std::int64_t address_of(const std::vector<std::int64_t>& position, const std::vector<std::int64_t>& extents,
                        const std::vector<std::int64_t>& strides) {
  std::int64_t address = 0;
  for (std::size_t d = 0; d < extents.size(); ++d) {
    if (position[d] < 0 || position[d] >= extents[d]) return -1;
    address += position[d] * strides[d];
  }
  return address;
}

/// Loads and stores the tile that starts at `start` through the view, and compares with address_of.
template <class View, class... Index>
void expect_view(const View& view, Memory& memory, const std::vector<std::int64_t>& start,
                 const std::vector<std::int64_t>& extents, const std::vector<std::int64_t>& strides, Index... index) {
  using T = typename View::view_tile_type;
  const Dims dims = dims_of<T>();
  const auto address = [&](std::size_t i) {
    const Dims c = coordinates(dims, i);
    std::vector<std::int64_t> position(start);
    for (std::size_t d = 0; d < c.size(); ++d) position[d] += static_cast<std::int64_t>(c[d]);
    return address_of(position, extents, strides);
  };
  const auto loaded = values_of(view.load_masked(index...));
  bool is_whole = true;
  for (std::size_t i = 0; i < loaded.size(); ++i) {
    const std::int64_t at = address(i);
    is_whole = is_whole && at >= 0;
    ASSERT_EQ(loaded[i], at >= 0 ? memory[static_cast<std::size_t>(at)] : 0.0F) << "element " << i;
  }
  if (is_whole) {
    EXPECT_EQ(values_of(view.load(index...)), loaded);
    EXPECT_EQ(values_of(view.template atomic_load<ct::memory_order::relaxed>(index...)), loaded);
  }
  const T tile = tile_of<T>([](std::size_t i) { return 1000 + i; });
  view.store_masked(tile, index...);
  for (std::size_t i = 0; i < loaded.size(); ++i) {
    const std::int64_t at = address(i);
    if (at >= 0) {
      ASSERT_EQ(memory[static_cast<std::size_t>(at)], static_cast<float>(1000 + i)) << "element " << i;
    }
  }
  EXPECT_TRUE(memory.has_canaries());
}

TEST(PartitionView, RowMajorWithEveryEdge) {
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 4; ++j) {
      Memory memory(5 * 13);
      const ct::partition_view view{ct::tensor_span{memory.data(), ct::extents{5, 13}}, ct::shape<2, 4>{}};
      expect_view(view, memory, {2 * i, 4 * j}, {5, 13}, {13, 1}, i, j);
    }
  }
}
TEST(PartitionView, LayoutsAndRanks) {
  {
    Memory memory(5 * 13);
    const ct::partition_view view{ct::tensor_span{memory.data(), ct::extents{5, 13}, ct::layout_left{}},
                                  ct::shape<4, 8>{}};
    expect_view(view, memory, {4, 8}, {5, 13}, {1, 5}, 1, 1);
  }
  {
    Memory memory(200);
    const ct::tensor_span span{memory.data(), ct::layout_strided_mapping{ct::extents{5, 3}, ct::strides{30, 2_ic}}};
    expect_view(ct::partition_view{span, ct::shape<4, 2>{}}, memory, {4, 2}, {5, 3}, {30, 2}, 1, 1);
  }
  {
    Memory memory(5 * 16);
    const ct::tensor_span span{memory.data(), ct::layout_right_padded_mapping{ct::extents{5, 13}, 8}};
    expect_view(ct::partition_view{span, ct::shape<4, 8>{}}, memory, {0, 8}, {5, 13}, {16, 1}, 0, 1);
  }
  {
    Memory memory(8 * 13);
    const ct::tensor_span span{memory.data(), ct::layout_left_padded_mapping{ct::extents{5, 13}, 8_ic}};
    expect_view(ct::partition_view{span, ct::shape<4, 8>{}}, memory, {4, 8}, {5, 13}, {1, 8}, 1, 1);
  }
  {
    Memory memory(40);
    expect_view(ct::partition_view{ct::tensor_span{memory.data(), ct::extents{37}}, ct::shape<8>{}}, memory, {32}, {37},
                {1}, 4);
  }
  {
    Memory memory(3 * 4 * 5);
    const ct::partition_view view{ct::tensor_span{memory.data(), ct::extents{3, 4, 5}}, ct::shape<2, 2, 4>{}};
    expect_view(view, memory, {2, 2, 4}, {3, 4, 5}, {20, 5, 1}, 1, 1, 1);
  }
  {
    Memory memory(2 * 3 * 4 * 5);
    const ct::partition_view view{ct::tensor_span{memory.data(), ct::shape<2, 3, 4, 5>{}}, ct::shape<1, 2, 4, 2>{}};
    expect_view(view, memory, {1, 2, 0, 4}, {2, 3, 4, 5}, {60, 20, 5, 1}, 1, 1, 0, 2);
  }
  {
    Memory memory(1);
    expect_view(ct::partition_view{ct::tensor_span{memory.data(), ct::shape<>{}}, ct::shape<>{}}, memory, {}, {}, {});
  }
}

TEST(PartitionView, PaddingIsWhatTheTagSays) {
  std::vector<float> memory(3, 1.0F);
  const ct::partition_view view{ct::tensor_span{memory.data(), ct::extents{3}}, ct::shape<4>{}};
  EXPECT_EQ(values_of(view.load_masked(0)), (std::vector<float>{1, 1, 1, 0}));
  EXPECT_EQ(values_of(view.load_masked<ct::view_padding::positive_inf>(0))[3], INFINITY);
  EXPECT_EQ(values_of(view.load_masked(ct::view_padding_negative_inf_t{}, 0))[3], -INFINITY);
  EXPECT_TRUE(std::isnan(values_of(view.load_masked(ct::view_padding_nan_t{}, 0))[3]));
  EXPECT_TRUE(std::signbit(values_of(view.load_masked(ct::view_padding_negative_zero_t{}, 0))[3]));
  std::vector<__half> halves(3, __half(1.0F));
  const ct::partition_view narrow{ct::tensor_span{halves.data(), ct::extents{3}}, ct::shape<4>{}};
  EXPECT_TRUE(std::isnan(static_cast<float>(values_of(narrow.load_masked(ct::view_padding_nan_t{}, 0))[3])));
}

TEST(PartitionView, StoresConvertWithoutNarrowing) {
  std::vector<double> memory(4);
  const ct::partition_view view{ct::tensor_span{memory.data(), ct::extents{4}}, ct::shape<4>{}};
  view.store(ct::full<Tile<__half, 4>>(0.5F), 0);
  EXPECT_EQ(memory, (std::vector<double>(4, 0.5)));
}

TEST(PartitionView, OffsetsBeyondFourGigabytesAreRight) {
  // Not dereferenced beyond the first tile: the span is one row of a huge pitch.
  std::vector<float> memory(8, 2.0F);
  const ct::extents<std::uint64_t, ct::dynamic_extent, ct::dynamic_extent> extents{1, 8};
  const ct::strides<std::uint64_t, ct::dynamic_stride, 1> strides{std::uint64_t{1} << 40};
  const ct::partition_view view{ct::tensor_span{memory.data(), ct::layout_strided_mapping{extents, strides}},
                                ct::shape<2, 8>{}};
  EXPECT_EQ(values_of(view.load_masked(0, 0))[7], 2.0F);
  EXPECT_EQ(values_of(view.load_masked(0, 0))[8], 0.0F);
}

TEST(StridedView, TilesOverlapOrLeaveGaps) {
  for (int i = 0; i < 3; ++i) {
    Memory memory(7 * 9);
    const ct::tensor_span span{memory.data(), ct::extents{7, 9}};
    expect_view(ct::strided_view{span, ct::shape<4, 4>{}, ct::strides{2_ic, 3_ic}}, memory, {2 * i, 3 * i}, {7, 9},
                {9, 1}, i, i);
    Memory other(7 * 9);
    const ct::tensor_span gaps{other.data(), ct::extents{7, 9}};
    expect_view(ct::strided_view{gaps, ct::shape<1, 2>{}, ct::strides{3_ic, 4_ic}}, other, {3 * i, 4 * i}, {7, 9},
                {9, 1}, i, i);
  }
}

TEST(GatherScatterView, TakesPositionsFromTheIndexTile) {
  Memory memory(8 * 10);
  const ct::tensor_span span{memory.data(), ct::extents{8, 10}};
  const ct::gather_scatter_view rows{span, ct::shape<4, 4>{}, 0_ic};
  const std::vector<std::size_t> chosen{5, 0, 5, 7};
  const auto index = tile_of<Tile<int, 4>>([&](std::size_t i) { return chosen[i]; });
  const auto loaded = values_of(rows.load(index, 3));
  for (std::size_t i = 0; i < 16; ++i) EXPECT_EQ(loaded[i], static_cast<float>(10 * chosen[i / 4] + 3 + i % 4));
  const auto masked = values_of(rows.load_masked(index + 2, 8));
  for (std::size_t i = 0; i < 16; ++i) {
    const bool is_inside = chosen[i / 4] + 2 < 8 && 8 + i % 4 < 10;
    EXPECT_EQ(masked[i], is_inside ? static_cast<float>(10 * (chosen[i / 4] + 2) + 8 + i % 4) : 0.0F);
  }
  const ct::gather_scatter_view columns{span, ct::shape<2, 4>{}, 1_ic};
  columns.store_masked(ct::full<Tile<float, 2, 4>>(-5), 6,
                       tile_of<Tile<int, 4>>([](std::size_t i) { return 3 * i + 1; }));
  for (std::size_t i = 0; i < 80; ++i) {
    const bool is_stored = i / 10 >= 6 && i % 10 % 3 == 1;
    EXPECT_EQ(memory[i], is_stored ? -5.0F : static_cast<float>(i));
  }
  EXPECT_TRUE(memory.has_canaries());
}

TEST(Views, AtomicUpdates) {
  std::vector<int> memory(6, 12);
  const ct::partition_view view{ct::tensor_span{memory.data(), ct::extents{6}}, ct::shape<4>{}};
  const auto value = ct::iota<Tile<int, 4>>() + 9;  // 9, 10, 11, 12
  constexpr ct::memory_order_relaxed_t kRelaxed;
  constexpr ct::thread_scope_device_t kDevice;
  const auto after = [&](auto update) {
    std::fill(memory.begin(), memory.end(), 12);
    update();
    return memory;
  };
  EXPECT_EQ(after([&] { view.atomic_add(value, kRelaxed, kDevice, 0); }), (std::vector<int>{21, 22, 23, 24, 12, 12}));
  EXPECT_EQ(after([&] { view.atomic_sub(value, kRelaxed, kDevice, 1); }), (std::vector<int>{12, 12, 12, 12, 3, 2}))
      << "masked";
  EXPECT_EQ(after([&] { view.atomic_max(value + 2, kRelaxed, kDevice, 0); }),
            (std::vector<int>{12, 12, 13, 14, 12, 12}));
  EXPECT_EQ(after([&] { view.atomic_min(value, kRelaxed, kDevice, 0); }), (std::vector<int>{9, 10, 11, 12, 12, 12}));
  EXPECT_EQ(after([&] { view.atomic_and(value, kRelaxed, kDevice, 0); }), (std::vector<int>{8, 8, 8, 12, 12, 12}));
  EXPECT_EQ(after([&] { view.atomic_or(value, kRelaxed, kDevice, 0); }), (std::vector<int>{13, 14, 15, 12, 12, 12}));
  EXPECT_EQ(after([&] { view.atomic_xor(value, kRelaxed, kDevice, 0); }), (std::vector<int>{5, 6, 7, 0, 12, 12}));
  view.atomic_store_masked(value, ct::memory_order_release_t{}, 1);
  EXPECT_EQ(memory[5], 10);
  EXPECT_EQ(values_of(view.atomic_load_masked(ct::view_padding_zero_t{}, ct::memory_order_acquire_t{}, 1)),
            (std::vector<int>{9, 10, 0, 0}));
}

/// A foreign mdspan: rows of a fixed pitch, its mapping written by a user.
struct PitchedLayout {
  template <class X>
  struct mapping {
    using extents_type = X;
    using index_type = typename X::index_type;
    using rank_type = typename X::rank_type;
    using layout_type = PitchedLayout;
    X shape;
    [[nodiscard]] static constexpr bool is_always_strided() noexcept { return true; }
    [[nodiscard]] static constexpr std::size_t static_stride(rank_type i) noexcept { return i == 0 ? 100 : 1; }
    [[nodiscard]] constexpr index_type stride(rank_type i) const noexcept { return i == 0 ? 100 : 1; }
    [[nodiscard]] constexpr const X& extents() const noexcept { return shape; }
  };
};
TEST(Views, AcceptLayoutsOfUsers) {
  using X = ct::extents<std::uint32_t, 3, 5>;
  static_assert(ct::layout_mapping<PitchedLayout::mapping<X>>);
  Memory memory(300);
  const ct::tensor_span<float, X, PitchedLayout> span{memory.data(), PitchedLayout::mapping<X>{}};
  expect_view(ct::partition_view{span, ct::shape<2, 4>{}}, memory, {2, 4}, {3, 5}, {100, 1}, 1, 1);
}

}  // namespace
}  // namespace kizami::tile_test
