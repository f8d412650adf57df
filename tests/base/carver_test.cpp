// SPDX-License-Identifier: MIT
// Booking and carving agree, and sizes that no memory can hold are counted as such.
#include "base/carver.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <vector>

#include "base/aligned_buffer.hpp"

namespace kizami::base {
namespace {

struct Pieces {
  std::int32_t* first;
  double* second;
  std::byte* early;
  std::byte* late;
};

Pieces carve(Carver& carver) {
  Pieces pieces{};
  pieces.first = carver.take<std::int32_t>(3);
  pieces.second = carver.take<double>(5, std::int64_t{7});
  const std::size_t mark = carver.mark();
  pieces.early = carver.take<std::byte>(1000);
  carver.rewind(mark);
  pieces.late = carver.take<std::byte>(10);
  return pieces;
}

TEST(Carver, CountsWhatItCarves) {
  Carver counter;
  const Pieces none = carve(counter);
  EXPECT_EQ(none.first, nullptr);
  EXPECT_EQ(none.late, nullptr);
  EXPECT_EQ(counter.bytes(), 64U + 320U + 1024U) << "the largest of what is never alive together";

  const AlignedBuffer memory(counter.bytes());
  ASSERT_TRUE(memory.ok());
  Carver carver(memory.data());
  const Pieces pieces = carve(carver);
  EXPECT_EQ(reinterpret_cast<std::byte*>(pieces.first), memory.data());
  EXPECT_EQ(reinterpret_cast<std::byte*>(pieces.second), memory.data() + 64);
  EXPECT_EQ(pieces.early, memory.data() + 64 + 320);
  EXPECT_EQ(pieces.late, pieces.early);
  EXPECT_EQ(carver.bytes(), counter.bytes());
}

TEST(Carver, NothingIsNothing) {
  Carver counter;
  static_cast<void>(counter.take<double>(0, std::int64_t{1} << 62));
  EXPECT_EQ(counter.bytes(), 0U);
}

TEST(Carver, SizesBeyondMemorySaturate) {
  constexpr std::int64_t kHuge = std::int64_t{1} << 40;
  Carver counter;
  static_cast<void>(counter.take<double>(kHuge, kHuge));
  EXPECT_GE(counter.bytes(), std::numeric_limits<std::size_t>::max() - 64);
  static_cast<void>(counter.take<double>(1));
  EXPECT_GE(counter.bytes(), std::numeric_limits<std::size_t>::max() - 64);
  EXPECT_FALSE(AlignedBuffer(counter.bytes()).ok());
}

}  // namespace
}  // namespace kizami::base
