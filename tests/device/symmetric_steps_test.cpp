// SPDX-License-Identifier: MIT
// The kernel that writes out a symmetric matrix, step by step on the host: all elements to the bit, from one triangle.
#include "device/symmetric_steps.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <complex>
#include <cstdint>
#include <iterator>
#include <limits>
#include <vector>

#include "base/int_math.hpp"
#include "device/symmetric_matrix.hpp"

namespace kizami::device {
namespace {

using device_test::are_same;
using device_test::SymmetricMatrix;

template <class T>
void for_each_thread(const StoredTriangle<T>& stored, T* full, WriteOutTile<T>& tile, std::uint32_t block,
                     void (WriteOutSteps<T>::*step)() const) {
  for (int y = 0; y < kWriteOutColumnsAtOnce; ++y) {
    for (int x = 0; x < kWriteOutTile; ++x) (WriteOutSteps<T>(stored, full, tile, block, x, y).*step)();
  }
}

template <class T>
class WriteOut : public ::testing::Test {};
using Types = ::testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(WriteOut, Types);

TYPED_TEST(WriteOut, EveryElementFromOneTriangle) {
  using T = TypeParam;
  const RealOf<T> nan = std::numeric_limits<RealOf<T>>::quiet_NaN();
  for (const std::int64_t order : {1, 2, 31, 32, 33, 64, 100}) {
    for (const bool is_lower : {true, false}) {
      for (const bool is_hermitian : {false, true}) {
        const SymmetricMatrix<T> matrix(order, order + 3, {Side::kA, is_lower, is_hermitian});
        const StoredTriangle<T> stored{matrix.memory.data(), order + 3, order, is_lower, is_hermitian};
        std::vector<T> full(static_cast<std::size_t>(order * order), T(nan));
        const auto tiles = static_cast<std::uint32_t>(base::ceil_div(order, std::int64_t{kWriteOutTile}));
        for (std::uint32_t block = 0; block < write_out_blocks(tiles); ++block) {
          WriteOutTile<T> tile;
          for (auto& column : tile) std::fill(std::begin(column), std::end(column), T(nan));
          for_each_thread(stored, full.data(), tile, block, &WriteOutSteps<T>::load);
          for_each_thread(stored, full.data(), tile, block, &WriteOutSteps<T>::store);
        }
        EXPECT_TRUE(are_same(full, matrix.full)) << order << " lower " << is_lower << " hermitian " << is_hermitian;
      }
    }
  }
}

}  // namespace
}  // namespace kizami::device
