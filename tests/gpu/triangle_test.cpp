// SPDX-License-Identifier: MIT
// Products of one triangle of C by scheme ozaki2: the bits of all of C, the other triangle as it was, and half of the work,
// which is counted in tiles of residues and in planes.
#include <gtest/gtest.h>

#include <complex>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "engines/hopper/triangle_params.hpp"
#include "gpu/device_memory.hpp"
#include "gpu/product_on_device.hpp"
#include "gpu/triangle_case.hpp"
#include "kizami/cuda_triangle.hpp"
#include "num/crt_table.hpp"
#include "plan/plan.hpp"
#include "schemes/ozaki2/device_buffers.hpp"

namespace kizami::gpu_test::triangle_case {
namespace {

template <class T>
class TriangleCall : public Sm90Test {};
using Types = ::testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(TriangleCall, Types);

TYPED_TEST(TriangleCall, BitsOfAllOfC) {
  for (const PartKind kind : {PartKind::kLower, PartKind::kUpper}) {
    for (const bool is_hermitian : {false, true}) {
      if (is_hermitian && !kIsComplex<TypeParam>) continue;
      for (const std::int64_t n : {1, 5, 130, 513}) {
        Spec s{.n = n, .k = n == 130 ? 1000 : 77, .kind = kind, .is_hermitian = is_hermitian};
        s.is_transposed = n == 5 || (n == 513 && kind == PartKind::kUpper);
        s.is_row_major = n == 130;
        expect_bits_of_all<TypeParam>(s, true);
        s.alpha = -1.5;
        s.beta = 0.75;
        s.has_other_b = n == 513 && !is_hermitian;
        expect_bits_of_all<TypeParam>(s, true);
        if (this->HasFailure()) return;
      }
    }
  }
}

TYPED_TEST(TriangleCall, ExceptionalLinesAndFactors) {
  for (const PartKind kind : {PartKind::kLower, PartKind::kUpper}) {
    Spec s{.n = 270, .k = 150, .kind = kind, .beta = 0.5};
    s.elements = {.phi = 1, .has_nonfinite = true, .has_zero_line = true};
    const Outcome outcome = expect_bits_of_all<TypeParam>(s, true);
    EXPECT_EQ(outcome.nonfinite_rows, 2);
    EXPECT_EQ(outcome.nonfinite_cols, 2);
    s.elements.has_nonfinite = false;
    s.has_device_factors = true;
    expect_bits_of_all<TypeParam>(s, true);
    for (const double alpha : {0.0, std::numeric_limits<double>::infinity()}) {
      for (const bool is_on_device : {false, true}) {
        s.alpha = alpha;
        s.has_device_factors = is_on_device;
        expect_bits_of_all<TypeParam>(s, false);
        if (this->HasFailure()) return;
      }
    }
  }
}

TYPED_TEST(TriangleCall, EveryRungAndEveryLook) {
  for (const double phi : {2.0, 4.0, 8.0}) {
    for (const auto look : {std::optional<device::Look>{}, std::optional(device::Look::kSample),
                            std::optional(device::Look::kBlocks), std::optional(device::Look::kBlocksFirst)}) {
      Spec s{.n = 300, .k = 520, .kind = phi == 4 ? PartKind::kUpper : PartKind::kLower};
      s.elements.phi = phi;
      s.look = look;
      for (const bool is_hermitian : {false, true}) {
        s.is_hermitian = is_hermitian && kIsComplex<TypeParam>;
        expect_bits_of_all<TypeParam>(s, !look);
      }
      if (this->HasFailure()) return;
    }
  }
}

TYPED_TEST(TriangleCall, EveryCountOfModuli) {
  const int most = num::max_moduli(plan::ring_of(kScalarOf<TypeParam>));
  for (int moduli = num::kMinModuli; moduli <= most; moduli += moduli < 26 ? 1 : 5) {
    Spec s{.n = 150, .k = 64, .kind = moduli % 2 == 0 ? PartKind::kUpper : PartKind::kLower};
    s.forced_moduli = moduli;
    s.is_hermitian = kIsComplex<TypeParam> && moduli % 3 != 0;
    expect_bits_of_all<TypeParam>(s, false);
    if (this->HasFailure()) return;
  }
}

// So many elements that tensor cores make the sums of rungs of many pieces, and repairs have a kernel of their own.
TYPED_TEST(TriangleCall, LargeC) {
  for (const PartKind kind : {PartKind::kLower, PartKind::kUpper}) {
    for (const double phi : {0.5, 4.0}) {
      for (const int bits : {0, num::significand_bits_guaranteed(kScalarOf<TypeParam>)}) {
        Spec s{.n = 2190, .k = 256, .kind = kind};
        s.elements.phi = phi;
        if (bits != 0) s.accuracy = Accuracy::at_bits(bits);
        s.is_hermitian = kIsComplex<TypeParam> && kind == PartKind::kUpper;
        expect_bits_of_all<TypeParam>(s, false);
        if (this->HasFailure()) return;
      }
    }
  }
}

// One split for both sides, of conjugates too, and residues of the triangle's tiles alone.
TYPED_TEST(TriangleCall, SplitsOnceAndMultipliesHalf) {
  constexpr std::int64_t kTile = engines::hopper::kTriangleTile;
  for (const PartKind kind : {PartKind::kLower, PartKind::kUpper}) {
    for (const bool is_hermitian : {false, true}) {
      if (is_hermitian && !kIsComplex<TypeParam>) continue;
      const Spec s{.n = 1024, .k = 640, .kind = kind, .is_hermitian = is_hermitian};
      TriangleCase<TypeParam> call(s);
      const ozaki2::DeviceBuffers buffers = call.buffers();
      const ozaki2::Ozaki2Stage& stage = ozaki2::ozaki2_of(call.plan());
      ASSERT_TRUE(ozaki2::splits_in_one_pass(call.plan()));
      const product::ProductDesc desc =
          ozaki2::device_main_product(call.plan(), stage.chunk, stage.ladder.rungs[0].num_moduli);
      const std::int64_t plane = desc.b_row_stride * s.n;
      ASSERT_TRUE(call.run({}).ok());
      const auto of_b = [&] { return call.untouched(buffers.main.b_planes, plane); };
      EXPECT_LT(of_b(), plane / 8);  // residues may have any value
      ASSERT_TRUE(call.run(call.part()).ok());
      EXPECT_EQ(call.outcome().rung, 0);
      EXPECT_EQ(of_b(), plane);
      // Of the last plane: what the certificate has lies where the first ones do.
      const std::int8_t* const residues = buffers.main.residues + (desc.num_products - 1) * desc.c_plane_stride;
      std::int64_t num_tiles = 0;
      for (std::int64_t tile_j = 0; tile_j < s.n / kTile; ++tile_j) {
        for (std::int64_t tile_i = 0; tile_i < s.n / kTile; ++tile_i) {
          std::int64_t left = 0;
          for (std::int64_t j = tile_j * kTile; j < (tile_j + 1) * kTile; j += 16)
            left += call.untouched(residues + j * desc.c_col_stride + tile_i * kTile, kTile);
          const bool is_left = left == kTile * kTile / 16;
          num_tiles += is_left ? 0 : 1;
          EXPECT_EQ(is_left, kind == PartKind::kLower ? tile_i < tile_j : tile_i > tile_j) << tile_i << ", " << tile_j;
        }
      }
      EXPECT_EQ(num_tiles, 10);
    }
  }
}

TYPED_TEST(TriangleCall, IsRefusedWhereTheEngineOrTheWorkspaceIsNotOne) {
  const Spec s{.n = 1200, .k = 300};
  TriangleCase<TypeParam> other(s, plan_of(s, kScalarOf<TypeParam>, EngineName::kCublasLt));
  const Status of_engine = other.run(other.part());
  EXPECT_EQ(of_engine.code(), StatusCode::kUnsupported);
  EXPECT_NE(of_engine.reason().find("engine cublaslt makes all of C"), std::string::npos) << of_engine.reason();
  const std::size_t whole = plan_of(s, kScalarOf<TypeParam>).schedule.workspace_bytes;
  TriangleCase<TypeParam> small(s, plan_of(s, kScalarOf<TypeParam>, EngineName::kHopper, whole / 3));
  const Status of_workspace = small.run(small.part());
  EXPECT_EQ(of_workspace.code(), StatusCode::kUnsupported);
  EXPECT_NE(of_workspace.reason().find("the workspace holds a part of C"), std::string::npos) << of_workspace.reason();
  for (const auto* const call : {&other, &small}) {
    const std::vector<TypeParam> c = call->c();
    EXPECT_EQ(0, std::memcmp(c.data(), call->before().data(), c.size() * sizeof(TypeParam)));
  }
}

// The public function, in BLAS terms.
TYPED_TEST(TriangleCall, OfThePublicFunctionIsThatOfGemm) {
  using T = TypeParam;
  const std::int64_t n = 333;
  const std::int64_t k = 100;
  const DeviceArray<T> a(drawn<T>(static_cast<std::size_t>(n * k), {}, 4));
  const std::vector<T> before = drawn<T>(static_cast<std::size_t>(n * n), {}, 5);
  Policy policy;
  policy.engine = EngineName::kHopper;
  Policy of_all = policy;
  of_all.scheme = Scheme::kOzaki2;
  for (const Layout layout : {Layout::kColMajor, Layout::kRowMajor}) {
    for (const bool is_lower : {true, false}) {
      DeviceArray<T> c(before);
      DeviceArray<T> all(before);
      const std::int64_t lda = layout == Layout::kColMajor ? n : k;
      Outcome outcome;
      const Status status = cuda::gemmt<T>(nullptr, layout, {.is_lower = is_lower}, Op::kNone, Op::kTranspose, n, k,
                                           T{2}, a.data(), lda, a.data(), lda, T{1}, c.data(), n, policy, &outcome);
      ASSERT_TRUE(status.ok()) << status.reason();
      EXPECT_EQ(outcome.scheme, Scheme::kOzaki2);
      ASSERT_TRUE(cuda::gemm<T>(nullptr, layout, Op::kNone, Op::kTranspose, n, n, k, T{2}, a.data(), lda, a.data(), lda,
                                T{1}, all.data(), n, of_all)
                      .ok());
      const std::vector<T> got = c.download();
      const std::vector<T> want = all.download();
      std::int64_t wrong = 0;
      for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t j = 0; j < n; ++j) {
          const auto at = static_cast<std::size_t>(layout == Layout::kColMajor ? i + j * n : i * n + j);
          const bool is_there = is_lower ? i >= j : i <= j;
          wrong += is_same(got[at], is_there ? want[at] : before[at]) ? 0 : 1;
        }
      }
      EXPECT_EQ(wrong, 0) << "lower " << is_lower;
    }
  }
}

}  // namespace
}  // namespace kizami::gpu_test::triangle_case
