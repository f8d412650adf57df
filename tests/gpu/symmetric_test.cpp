// SPDX-License-Identifier: MIT
// Products of a matrix of which one triangle is stored: the bits of gemm() with all of it, and what is not stored is not
// read.
#include <gtest/gtest.h>

#include <complex>
#include <cstdint>
#include <vector>

#include "device/symmetric.hpp"
#include "device/symmetric_matrix.hpp"
#include "gpu/device_memory.hpp"
#include "kizami/cuda.hpp"
#include "kizami/cuda_triangle.hpp"

namespace kizami::gpu_test {
namespace {

using device_test::are_same;
using device_test::drawn;
using device_test::SymmetricMatrix;

template <class T>
class SymmetricCall : public DeviceTest {};
using Types = ::testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(SymmetricCall, Types);

TYPED_TEST(SymmetricCall, IsWrittenOut) {
  using T = TypeParam;
  for (const std::int64_t order : {1, 2, 31, 32, 33, 64, 100, 1000}) {
    for (const bool is_lower : {true, false}) {
      for (const bool is_hermitian : {false, true}) {
        const SymmetricMatrix<T> stored(order, order + 3, {Side::kA, is_lower, is_hermitian});
        const DeviceArray<T> a(stored.memory);
        const DeviceArray<T> full(static_cast<std::size_t>(order * order));
        ASSERT_TRUE(
            device::write_out<T>({a.data(), order + 3, order, is_lower, is_hermitian}, full.data(), nullptr).ok());
        EXPECT_TRUE(are_same(full.download(), stored.full))
            << order << " lower " << is_lower << " hermitian " << is_hermitian;
        EXPECT_TRUE(full.guards_are_intact());
      }
    }
  }
}

TYPED_TEST(SymmetricCall, HasTheBitsOfGemm) {
  using T = TypeParam;
  const std::int64_t m = 150;
  const std::int64_t n = 170;
  const DeviceArray<T> b(drawn<T>(static_cast<std::size_t>(m * n), 2));
  const std::vector<T> before = drawn<T>(static_cast<std::size_t>(m * n), 3);
  for (const Layout layout : {Layout::kColMajor, Layout::kRowMajor}) {
    const std::int64_t ld = layout == Layout::kColMajor ? m : n;
    for (const Side side : {Side::kA, Side::kB}) {
      for (const bool is_lower : {true, false}) {
        for (const bool is_hermitian : {false, true}) {
          const std::int64_t order = side == Side::kA ? m : n;
          // In memory a row-major matrix is its transpose: of a Hermitian one the conjugate.
          const bool is_lower_in_memory = is_lower == (layout == Layout::kColMajor);
          const SymmetricMatrix<T> stored(order, order + 5, {side, is_lower_in_memory, is_hermitian});
          const DeviceArray<T> a(stored.memory);
          const DeviceArray<T> all(stored.full);
          const DeviceArray<T> c(before);
          const DeviceArray<T> expected(before);
          Outcome outcome;
          const Status status = cuda::symm<T>(nullptr, layout, {side, is_lower, is_hermitian}, m, n, T{2}, a.data(),
                                              order + 5, b.data(), ld, T{-1}, c.data(), ld, {}, &outcome);
          ASSERT_TRUE(status.ok()) << status.reason();
          const T* const first = side == Side::kA ? all.data() : b.data();
          const T* const second = side == Side::kA ? b.data() : all.data();
          ASSERT_TRUE(cuda::gemm<T>(nullptr, layout, Op::kNone, Op::kNone, m, n, order, T{2}, first,
                                    side == Side::kA ? order : ld, second, side == Side::kA ? ld : order, T{-1},
                                    expected.data(), ld)
                          .ok());
          EXPECT_TRUE(are_same(c.download(), expected.download()))
              << "row-major " << (layout == Layout::kRowMajor) << " side " << static_cast<int>(side) << " lower "
              << is_lower << " hermitian " << is_hermitian;
        }
      }
    }
  }
}

TYPED_TEST(SymmetricCall, RefusesNoMatrixAndAnOverlap) {
  using T = TypeParam;
  const DeviceArray<T> x(std::vector<T>(400));
  const auto code = [&](const T* a, T* c) {
    return cuda::symm<T>(nullptr, Layout::kColMajor, {}, 10, 10, T{1}, a, 10, x.data() + 200, 10, T{0}, c, 10).code();
  };
  EXPECT_EQ(code(nullptr, x.data()), StatusCode::kInvalidArgument);
  EXPECT_EQ(code(x.data(), x.data() + 50), StatusCode::kInvalidArgument);
  EXPECT_EQ(code(x.data(), x.data() + 100), StatusCode::kOk);
}

/// As gemm(): kernels load complex elements whole.
TYPED_TEST(SymmetricCall, RefusesComplexElementsOffTheirBoundary) {
  using T = TypeParam;
  if constexpr (kIsComplex<T>) {
    const DeviceArray<T> x(std::vector<T>(400));
    const auto* const off = reinterpret_cast<const T*>(reinterpret_cast<const RealOf<T>*>(x.data()) + 1);
    const Status status = cuda::symm<T>(nullptr, Layout::kColMajor, {}, 10, 10, T{1}, off, 10, x.data() + 200, 10, T{0},
                                        x.data() + 300, 10);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_EQ(status.reason().find("A does not begin on a"), 0U) << status.reason();
  }
}

}  // namespace
}  // namespace kizami::gpu_test
