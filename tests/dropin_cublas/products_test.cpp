// SPDX-License-Identifier: MIT
// What Kizami is called with, for each kind of entry point.
#include <complex>
#include <cstdint>
#include <limits>

#include "dropin_cublas/process.hpp"

namespace kizami::dropin_test {
namespace {

/// What one type is called in cuBLAS.
template <class E>
struct Blas;
#define KIZAMI_BLAS(E, T, Letter, Type, Compute)                                                              \
  template <>                                                                                                 \
  struct Blas<E> {                                                                                            \
    using Element = T;                                                                                        \
    static constexpr cudaDataType kType = Type;                                                               \
    static constexpr cublasComputeType_t kCompute = Compute;                                                  \
    static constexpr auto kGemm = [](auto... x) { return cublas##Letter##gemm_v2(x...); };                    \
    static constexpr auto kGemm64 = [](auto... x) { return cublas##Letter##gemm_v2_64(x...); };               \
    static constexpr auto kBatched = [](auto... x) { return cublas##Letter##gemmBatched(x...); };             \
    static constexpr auto kBatched64 = [](auto... x) { return cublas##Letter##gemmBatched_64(x...); };        \
    static constexpr auto kStrided = [](auto... x) { return cublas##Letter##gemmStridedBatched(x...); };      \
    static constexpr auto kStrided64 = [](auto... x) { return cublas##Letter##gemmStridedBatched_64(x...); }; \
  }
KIZAMI_BLAS(float, float, S, CUDA_R_32F, CUBLAS_COMPUTE_32F);
KIZAMI_BLAS(double, double, D, CUDA_R_64F, CUBLAS_COMPUTE_64F);
KIZAMI_BLAS(cuComplex, std::complex<float>, C, CUDA_C_32F, CUBLAS_COMPUTE_32F);
KIZAMI_BLAS(cuDoubleComplex, std::complex<double>, Z, CUDA_C_64F, CUBLAS_COMPUTE_64F);
#undef KIZAMI_BLAS

template <class E>
E element(double re, double im) {
  if constexpr (std::is_same_v<E, cuComplex>) {
    return {static_cast<float>(re), static_cast<float>(im)};
  } else if constexpr (std::is_same_v<E, cuDoubleComplex>) {
    return {re, im};
  } else {
    return static_cast<E>(re);
  }
}

constexpr auto kT = CUBLAS_OP_T;
constexpr auto kN = CUBLAS_OP_N;

template <class E>
class ProductsOf : public Interposer {
 protected:
  using Element = typename Blas<E>::Element;

  const E alpha = element<E>(1.5, -2);
  const E beta = element<E>(-0.25, 4);
  const E* const a = address<const E>(0xA000);
  const E* const b = address<const E>(0xB000);
  E* const c = address<E>(0xC000);
  const E* const* const as = address<const E* const>(0xAA000);
  const E* const* const bs = address<const E* const>(0xBB000);
  E* const* const cs = address<E* const>(0xCC000);
  const void* const* const untyped_as = reinterpret_cast<const void* const*>(as);
  const void* const* const untyped_bs = reinterpret_cast<const void* const*>(bs);
  void* const* const untyped_cs = reinterpret_cast<void* const*>(cs);
  const cudaDataType type = Blas<E>::kType;
  const cublasComputeType_t compute = Blas<E>::kCompute;

  void SetUp() override {
    Interposer::SetUp();
    handle.stream = address<CUstream_st>(0x5000);
    configuration().settings.policy.accuracy = Accuracy::at_bits(20);
    configuration().settings.policy.gauge = Gauge::kNorm;
  }

  /// A^T is 10 x 30, B is 30 x 20.
  void expect(Kind kind, std::int64_t num_products = 1) {
    ASSERT_EQ(kizami.size(), 1U);
    const KizamiCall& got = kizami[0];
    EXPECT_EQ(got.kind, kind);
    EXPECT_EQ(got.scalar, kScalarOf<Element>);
    EXPECT_EQ(got.stream, handle.stream);
    EXPECT_EQ(got.layout, Layout::kColMajor);
    EXPECT_EQ(got.op_a, Op::kTranspose);
    EXPECT_EQ(got.op_b, Op::kNone);
    EXPECT_EQ((std::vector{got.m, got.n, got.k}), (std::vector<std::int64_t>{10, 20, 30}));
    EXPECT_EQ((std::vector{got.lda, got.ldb, got.ldc}), (std::vector<std::int64_t>{31, 32, 13}));
    EXPECT_EQ(got.alpha, std::complex<double>(1.5, is_complex(got.scalar) ? -2 : 0));
    EXPECT_EQ(got.beta, std::complex<double>(-0.25, is_complex(got.scalar) ? 4 : 0));
    EXPECT_EQ(got.device_alpha, nullptr);
    EXPECT_EQ(got.device_beta, nullptr);
    const bool has_arrays = kind == Kind::kPointers;
    EXPECT_EQ(got.a, has_arrays ? static_cast<const void*>(as) : a);
    EXPECT_EQ(got.b, has_arrays ? static_cast<const void*>(bs) : b);
    EXPECT_EQ(got.c, has_arrays ? static_cast<const void*>(cs) : c);
    EXPECT_EQ(got.num_products, num_products);
    EXPECT_EQ(got.policy, configuration().settings.policy);
  }
  void expect_strides() {
    ASSERT_EQ(kizami.size(), 1U);
    EXPECT_EQ((std::vector{kizami[0].stride_a, kizami[0].stride_b, kizami[0].stride_c}),
              (std::vector<std::int64_t>{1000, 0, 3000}));
  }
};

using Elements = testing::Types<float, double, cuComplex, cuDoubleComplex>;
TYPED_TEST_SUITE(ProductsOf, Elements);

TYPED_TEST(ProductsOf, Gemm) {
  using B = Blas<TypeParam>;
  auto& t = *this;
  t.expect_emulated(
      [&] { return B::kGemm(t.handle.get(), kT, kN, 10, 20, 30, &t.alpha, t.a, 31, t.b, 32, &t.beta, t.c, 13); });
  t.expect(Kind::kOne);
  t.expect_emulated(
      [&] { return B::kGemm64(t.handle.get(), kT, kN, 10, 20, 30, &t.alpha, t.a, 31, t.b, 32, &t.beta, t.c, 13); });
  t.expect(Kind::kOne);
}

TYPED_TEST(ProductsOf, GemmEx) {
  auto& t = *this;
  for (const auto algorithm : {CUBLAS_GEMM_DEFAULT, CUBLAS_GEMM_DEFAULT_TENSOR_OP}) {
    t.expect_emulated([&] {
      return cublasGemmEx(t.handle.get(), kT, kN, 10, 20, 30, &t.alpha, t.a, t.type, 31, t.b, t.type, 32, &t.beta, t.c,
                          t.type, 13, t.compute, algorithm);
    });
    t.expect(Kind::kOne);
  }
  t.expect_emulated([&] {
    return cublasGemmEx_64(t.handle.get(), kT, kN, 10, 20, 30, &t.alpha, t.a, t.type, 31, t.b, t.type, 32, &t.beta, t.c,
                           t.type, 13, t.compute, CUBLAS_GEMM_DEFAULT);
  });
  t.expect(Kind::kOne);
}

TYPED_TEST(ProductsOf, Strided) {
  using B = Blas<TypeParam>;
  auto& t = *this;
  t.expect_emulated([&] {
    return B::kStrided(t.handle.get(), kT, kN, 10, 20, 30, &t.alpha, t.a, 31, 1000, t.b, 32, 0, &t.beta, t.c, 13, 3000,
                       7);
  });
  t.expect(Kind::kStrided, 7);
  t.expect_strides();
  t.expect_emulated([&] {
    return B::kStrided64(t.handle.get(), kT, kN, 10, 20, 30, &t.alpha, t.a, 31, 1000, t.b, 32, 0, &t.beta, t.c, 13,
                         3000, 7);
  });
  t.expect(Kind::kStrided, 7);
  t.expect_strides();
  t.expect_emulated([&] {
    return cublasGemmStridedBatchedEx(t.handle.get(), kT, kN, 10, 20, 30, &t.alpha, t.a, t.type, 31, 1000, t.b, t.type,
                                      32, 0, &t.beta, t.c, t.type, 13, 3000, 7, t.compute, CUBLAS_GEMM_DEFAULT);
  });
  t.expect(Kind::kStrided, 7);
  t.expect_strides();
  t.expect_emulated([&] {
    return cublasGemmStridedBatchedEx_64(t.handle.get(), kT, kN, 10, 20, 30, &t.alpha, t.a, t.type, 31, 1000, t.b,
                                         t.type, 32, 0, &t.beta, t.c, t.type, 13, 3000, 7, t.compute,
                                         CUBLAS_GEMM_DEFAULT);
  });
  t.expect(Kind::kStrided, 7);
  t.expect_strides();
}

TYPED_TEST(ProductsOf, ArraysOfPointersStayInDeviceMemory) {
  using B = Blas<TypeParam>;
  auto& t = *this;
  Batch planned;
  planner().on_plan = [&](const Batch& batch) { planned = batch; };
  t.expect_emulated([&] {
    return B::kBatched(t.handle.get(), kT, kN, 10, 20, 30, &t.alpha, t.as, 31, t.bs, 32, &t.beta, t.cs, 13, 7);
  });
  t.expect(Kind::kPointers, 7);
  EXPECT_EQ(planned, (Batch{7, true}));
  t.expect_emulated([&] {
    return B::kBatched64(t.handle.get(), kT, kN, 10, 20, 30, &t.alpha, t.as, 31, t.bs, 32, &t.beta, t.cs, 13, 7);
  });
  t.expect(Kind::kPointers, 7);
  t.expect_emulated([&] {
    return cublasGemmBatchedEx(t.handle.get(), kT, kN, 10, 20, 30, &t.alpha, t.untyped_as, t.type, 31, t.untyped_bs,
                               t.type, 32, &t.beta, t.untyped_cs, t.type, 13, 7, t.compute, CUBLAS_GEMM_DEFAULT);
  });
  t.expect(Kind::kPointers, 7);
  t.expect_emulated([&] {
    return cublasGemmBatchedEx_64(t.handle.get(), kT, kN, 10, 20, 30, &t.alpha, t.untyped_as, t.type, 31, t.untyped_bs,
                                  t.type, 32, &t.beta, t.untyped_cs, t.type, 13, 7, t.compute, CUBLAS_GEMM_DEFAULT);
  });
  t.expect(Kind::kPointers, 7);
}

TYPED_TEST(ProductsOf, FactorsInDeviceMemoryAreNotFollowed) {
  using B = Blas<TypeParam>;
  auto& t = *this;
  t.handle.pointer_mode = CUBLAS_POINTER_MODE_DEVICE;
  const auto* device_alpha = address<const TypeParam>(0xD000);
  const auto* device_beta = address<const TypeParam>(0xE000);
  t.expect_emulated([&] {
    return B::kGemm(t.handle.get(), kT, kN, 10, 20, 30, device_alpha, t.a, 31, t.b, 32, device_beta, t.c, 13);
  });
  EXPECT_EQ(t.kizami[0].device_alpha, device_alpha);
  EXPECT_EQ(t.kizami[0].device_beta, device_beta);
  t.expect_emulated([&] {
    return B::kStrided(t.handle.get(), kT, kN, 10, 20, 30, device_alpha, t.a, 31, 1000, t.b, 32, 0, device_beta, t.c,
                       13, 3000, 7);
  });
  EXPECT_EQ(t.kizami[0].device_alpha, device_alpha);
  EXPECT_EQ(t.kizami[0].device_beta, device_beta);
}

using ProductsOfC = ProductsOf<cuComplex>;
TEST_F(ProductsOfC, ThreeProductsForFourAreOneOfKizamis) {
  expect_emulated([&] { return cublasCgemm3m(handle.get(), kT, kN, 10, 20, 30, &alpha, a, 31, b, 32, &beta, c, 13); });
  expect(Kind::kOne);
  expect_emulated([&] {
    return cublasCgemm3mEx(handle.get(), kT, kN, 10, 20, 30, &alpha, a, CUDA_C_32F, 31, b, CUDA_C_32F, 32, &beta, c,
                           CUDA_C_32F, 13);
  });
  expect(Kind::kOne);
  expect_emulated([&] {
    return cublasCgemmEx(handle.get(), kT, kN, 10, 20, 30, &alpha, a, CUDA_C_32F, 31, b, CUDA_C_32F, 32, &beta, c,
                         CUDA_C_32F, 13);
  });
  expect(Kind::kOne);
  expect_emulated(
      [&] { return cublasCgemm3mBatched(handle.get(), kT, kN, 10, 20, 30, &alpha, as, 31, bs, 32, &beta, cs, 13, 7); });
  expect(Kind::kPointers, 7);
  expect_emulated([&] {
    return cublasCgemm3mStridedBatched(handle.get(), kT, kN, 10, 20, 30, &alpha, a, 31, 1000, b, 32, 0, &beta, c, 13,
                                       3000, 7);
  });
  expect(Kind::kStrided, 7);
  expect_strides();
}

using ProductsOfS = ProductsOf<float>;
TEST_F(ProductsOfS, SgemmEx) {
  const auto call_with = [&](cudaDataType of_a, cudaDataType of_b, cudaDataType of_c) {
    return [=, this] {
      return cublasSgemmEx(handle.get(), kT, kN, 10, 20, 30, &alpha, a, of_a, 31, b, of_b, 32, &beta, c, of_c, 13);
    };
  };
  expect_emulated(call_with(CUDA_R_32F, CUDA_R_32F, CUDA_R_32F));
  expect(Kind::kOne);
  expect_forwarded(call_with(CUDA_R_16F, CUDA_R_16F, CUDA_R_32F));
  expect_forwarded(call_with(CUDA_R_32F, CUDA_R_16F, CUDA_R_32F));
  expect_forwarded(call_with(CUDA_C_32F, CUDA_C_32F, CUDA_C_32F));
  expect_forwarded(call_with(CUDA_R_64F, CUDA_R_64F, CUDA_R_64F));
}

TYPED_TEST(ProductsOf, OtherTypesAndArithmeticsAreForwarded) {
  auto& t = *this;
  const auto call_with = [&](cudaDataType of_a, cudaDataType of_b, cudaDataType of_c, int of_compute,
                             cublasGemmAlgo_t algorithm = CUBLAS_GEMM_DEFAULT) {
    return [=, &t] {
      return cublasGemmEx(t.handle.get(), kT, kN, 10, 20, 30, &t.alpha, t.a, of_a, 31, t.b, of_b, 32, &t.beta, t.c,
                          of_c, 13, static_cast<cublasComputeType_t>(of_compute), algorithm);
    };
  };
  for (const int of_compute :
       {CUBLAS_COMPUTE_16F, CUBLAS_COMPUTE_32F_PEDANTIC, CUBLAS_COMPUTE_32F_FAST_16F, CUBLAS_COMPUTE_32F_FAST_16BF,
        CUBLAS_COMPUTE_32F_FAST_TF32, CUBLAS_COMPUTE_64F_PEDANTIC, CUBLAS_COMPUTE_32I}) {
    t.expect_forwarded(call_with(t.type, t.type, t.type, of_compute));
  }
  for (const int of_compute : {0, 1, 78, 79, 1000}) t.expect_forwarded(call_with(t.type, t.type, t.type, of_compute));
  t.expect_forwarded(
      call_with(t.type, t.type, t.type, t.compute == CUBLAS_COMPUTE_32F ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F));
  t.expect_forwarded(call_with(CUDA_R_16F, CUDA_R_16F, CUDA_R_16F, t.compute));
  t.expect_forwarded(call_with(CUDA_R_8I, t.type, t.type, t.compute));
  t.expect_forwarded(call_with(t.type, CUDA_R_16BF, t.type, t.compute));
  t.expect_forwarded(call_with(t.type, t.type, CUDA_R_32I, t.compute));
  t.expect_forwarded(call_with(t.type, t.type, t.type, t.compute, CUBLAS_GEMM_ALGO3));
  t.expect_forwarded(call_with(t.type, t.type, t.type, t.compute, CUBLAS_GEMM_ALGO15_TENSOR_OP));
}

/// Two groups: 2 products of 10 x 20 x 30 and 3 of 11 x 21 x 31.
template <class E, class Int>
struct TwoGroups {
  cublasOperation_t op_a[2]{kT, kN}, op_b[2]{kN, kT};
  Int m[2]{10, 11}, n[2]{20, 21}, k[2]{30, 31}, lda[2]{31, 12}, ldb[2]{32, 22}, ldc[2]{13, 14}, sizes[2]{2, 3};
  E alpha[2]{1.5, 2.5}, beta[2]{-0.25, 0.5};
};

template <class E>
class Grouped : public ProductsOf<E> {};
using RealElements = testing::Types<float, double>;
TYPED_TEST_SUITE(Grouped, RealElements);

TYPED_TEST(Grouped, EachGroupIsOneBatch) {
  using E = TypeParam;
  auto& t = *this;
  const TwoGroups<E, int> g;
  const TwoGroups<E, std::int64_t> wide;
  const std::vector<std::function<cublasStatus_t()>> calls = {
      [&] {
        if constexpr (std::is_same_v<E, float>)
          return cublasSgemmGroupedBatched(t.handle.get(), g.op_a, g.op_b, g.m, g.n, g.k, g.alpha, t.as, g.lda, t.bs,
                                           g.ldb, g.beta, t.cs, g.ldc, 2, g.sizes);
        else
          return cublasDgemmGroupedBatched(t.handle.get(), g.op_a, g.op_b, g.m, g.n, g.k, g.alpha, t.as, g.lda, t.bs,
                                           g.ldb, g.beta, t.cs, g.ldc, 2, g.sizes);
      },
      [&] {
        return cublasGemmGroupedBatchedEx(t.handle.get(), g.op_a, g.op_b, g.m, g.n, g.k, g.alpha, t.untyped_as, t.type,
                                          g.lda, t.untyped_bs, t.type, g.ldb, g.beta, t.untyped_cs, t.type, g.ldc, 2,
                                          g.sizes, t.compute);
      },
      [&] {
        return cublasGemmGroupedBatchedEx_64(t.handle.get(), wide.op_a, wide.op_b, wide.m, wide.n, wide.k, wide.alpha,
                                             t.untyped_as, t.type, wide.lda, t.untyped_bs, t.type, wide.ldb, wide.beta,
                                             t.untyped_cs, t.type, wide.ldc, 2, wide.sizes, t.compute);
      }};
  for (const auto& function : calls) {
    ASSERT_EQ(t.call(function), CUBLAS_STATUS_SUCCESS);
    EXPECT_TRUE(t.native.empty());
    ASSERT_EQ(t.kizami.size(), 2U);
    const KizamiCall second = t.kizami[1];
    t.kizami.pop_back();
    t.expect(Kind::kPointers, 2);
    EXPECT_EQ(second.op_a, Op::kNone);
    EXPECT_EQ(second.op_b, Op::kTranspose);
    EXPECT_EQ((std::vector{second.m, second.n, second.k, second.lda, second.ldb, second.ldc}),
              (std::vector<std::int64_t>{11, 21, 31, 12, 22, 14}));
    EXPECT_EQ(second.alpha, 2.5);
    EXPECT_EQ(second.beta, 0.5);
    EXPECT_EQ(second.a, t.as + 2);
    EXPECT_EQ(second.b, t.bs + 2);
    EXPECT_EQ(second.c, t.cs + 2);
    EXPECT_EQ(second.num_products, 3);
  }
}

TYPED_TEST(Grouped, GroupsThatKizamiRefusesAreLeftWithThoseBehindThem) {
  using E = TypeParam;
  auto& t = *this;
  const TwoGroups<E, int> g;
  int accepted = 1;
  on_kizami_call() = [&](const KizamiCall& call) {
    t.kizami.push_back(call);
    return accepted-- > 0 ? Status() : Status(StatusCode::kOutOfMemory, "no memory");
  };
  t.native_status = CUBLAS_STATUS_ALLOC_FAILED;
  EXPECT_EQ(t.call([&] {
    return cublasGemmGroupedBatchedEx(t.handle.get(), g.op_a, g.op_b, g.m, g.n, g.k, g.alpha, t.untyped_as, t.type,
                                      g.lda, t.untyped_bs, t.type, g.ldb, g.beta, t.untyped_cs, t.type, g.ldc, 2,
                                      g.sizes, t.compute);
  }),
            CUBLAS_STATUS_ALLOC_FAILED);
  ASSERT_EQ(t.native.size(), 1U);
  const std::vector<Argument> expected{
      argument_of(t.handle.get()), argument_of(g.op_a + 1),       argument_of(g.op_b + 1),
      argument_of(g.m + 1),        argument_of(g.n + 1),          argument_of(g.k + 1),
      argument_of(g.alpha + 1),    argument_of(t.untyped_as + 2), argument_of(t.type),
      argument_of(g.lda + 1),      argument_of(t.untyped_bs + 2), argument_of(t.type),
      argument_of(g.ldb + 1),      argument_of(g.beta + 1),       argument_of(t.untyped_cs + 2),
      argument_of(t.type),         argument_of(g.ldc + 1),        argument_of(1),
      argument_of(g.sizes + 1),    argument_of(t.compute)};
  EXPECT_EQ(t.native[0].arguments, expected);
}

TYPED_TEST(Grouped, OneBadGroupLeavesAllToCublas) {
  using E = TypeParam;
  auto& t = *this;
  const auto call_with = [&t](const TwoGroups<E, std::int64_t>& g, std::int64_t count = 2) {
    return [&t, &g, count] {
      return cublasGemmGroupedBatchedEx_64(t.handle.get(), g.op_a, g.op_b, g.m, g.n, g.k, g.alpha, t.untyped_as, t.type,
                                           g.lda, t.untyped_bs, t.type, g.ldb, g.beta, t.untyped_cs, t.type, g.ldc,
                                           count, g.sizes, t.compute);
    };
  };
  TwoGroups<E, std::int64_t> g;
  t.expect_forwarded(call_with(g, 0));
  t.expect_forwarded(call_with(g, -1));
  t.expect_forwarded(call_with(g, std::numeric_limits<std::int64_t>::max()));  // more than any vector holds
  g.sizes[0] = -1;
  t.expect_forwarded(call_with(g));
  g = TwoGroups<E, std::int64_t>{};
  g.ldc[1] = 10;
  t.expect_forwarded(call_with(g));
  g = TwoGroups<E, std::int64_t>{};
  t.handle.pointer_mode = CUBLAS_POINTER_MODE_DEVICE;
  t.expect_forwarded(call_with(g));
}

}  // namespace
}  // namespace kizami::dropin_test
