// SPDX-License-Identifier: MIT
// cublasLtMatmul: which descriptions are products that Kizami takes, and as what.
#include <cublasLt.h>

#include "dropin_cublas/process.hpp"
#include "kizami/dropin.h"

namespace kizami::dropin_test {
namespace {

constexpr int kEpilogue = CUBLASLT_MATMUL_DESC_EPILOGUE;
constexpr int kBatchMode = 8;  // CUBLASLT_MATRIX_LAYOUT_BATCH_MODE, of newer headers

FakeDescriptor layout(cudaDataType type, int order, std::int64_t rows, std::int64_t cols, std::int64_t ld) {
  return {{{CUBLASLT_MATRIX_LAYOUT_TYPE, type},
           {CUBLASLT_MATRIX_LAYOUT_ORDER, order},
           {CUBLASLT_MATRIX_LAYOUT_ROWS, rows},
           {CUBLASLT_MATRIX_LAYOUT_COLS, cols},
           {CUBLASLT_MATRIX_LAYOUT_LD, ld},
           {CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, 1},
           {CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, 0},
           {CUBLASLT_MATRIX_LAYOUT_PLANE_OFFSET, 0}}};
}

/// D = op(A) op(B) with sizes 10 x 20 x 30; all else may be changed before the call.
struct Matmul {
  FakeDescriptor description;
  FakeDescriptor a, b, c, d;
  double alpha[2]{1.5, -2};
  double beta[2]{-0.25, 4};
  const void* at_alpha = alpha;
  const void* at_beta = beta;
  const void* at_c = address<const void>(0xC000);
  void* at_d = address<void>(0xC000);

  explicit Matmul(cudaDataType type = CUDA_R_64F, cublasOperation_t op_a = CUBLAS_OP_T,
                  cublasOperation_t op_b = CUBLAS_OP_N, int order_a = CUBLASLT_ORDER_COL,
                  int order_b = CUBLASLT_ORDER_COL, int order_d = CUBLASLT_ORDER_COL)
      : description{{{CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, CUBLAS_COMPUTE_64F},
                     {CUBLASLT_MATMUL_DESC_SCALE_TYPE, type},
                     {CUBLASLT_MATMUL_DESC_POINTER_MODE, CUBLASLT_POINTER_MODE_HOST},
                     {CUBLASLT_MATMUL_DESC_TRANSA, op_a},
                     {CUBLASLT_MATMUL_DESC_TRANSB, op_b},
                     {CUBLASLT_MATMUL_DESC_TRANSC, CUBLAS_OP_N},
                     {CUBLASLT_MATMUL_DESC_FILL_MODE, CUBLAS_FILL_MODE_FULL},
                     {CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_DEFAULT}}},
        a(op_a == CUBLAS_OP_N ? layout(type, order_a, 10, 30, 41) : layout(type, order_a, 30, 10, 41)),
        b(op_b == CUBLAS_OP_N ? layout(type, order_b, 30, 20, 42) : layout(type, order_b, 20, 30, 42)),
        c(layout(type, order_d, 10, 20, 43)),
        d(c) {}

  cublasStatus_t operator()() {
    cublasLtMatmulAlgo_t algorithm{};
    return cublasLtMatmul(address<cublasLtContext>(0x1000), description.as<cublasLtMatmulDesc_t>(), at_alpha,
                          address<const void>(0xA000), a.as<cublasLtMatrixLayout_t>(), address<const void>(0xB000),
                          b.as<cublasLtMatrixLayout_t>(), at_beta, at_c, c.as<cublasLtMatrixLayout_t>(), at_d,
                          d.as<cublasLtMatrixLayout_t>(), &algorithm, nullptr, 0, address<CUstream_st>(0x5000));
  }
};

class LtMatmul : public Interposer {
 protected:
  void expect_product(Matmul& x, Op op_a, Op op_b, std::int64_t m, std::int64_t n, bool is_swapped) {
    expect_emulated([&] { return x(); });
    ASSERT_EQ(kizami.size(), 1U);
    const KizamiCall& got = kizami[0];
    EXPECT_EQ(got.op_a, op_a);
    EXPECT_EQ(got.op_b, op_b);
    EXPECT_EQ((std::vector{got.m, got.n, got.k}), (std::vector<std::int64_t>{m, n, 30}));
    EXPECT_EQ(got.a, address<void>(is_swapped ? 0xB000 : 0xA000));
    EXPECT_EQ(got.b, address<void>(is_swapped ? 0xA000 : 0xB000));
    EXPECT_EQ(got.c, address<void>(0xC000));
    EXPECT_EQ((std::vector{got.lda, got.ldb, got.ldc}),
              (is_swapped ? std::vector<std::int64_t>{42, 41, 43} : std::vector<std::int64_t>{41, 42, 43}));
    EXPECT_EQ(got.stream, address<CUstream_st>(0x5000));
  }
  void expect_left(const std::function<void(Matmul&)>& spoil) {
    Matmul x;
    spoil(x);
    expect_forwarded([&] { return x(); });
  }
};

TEST_F(LtMatmul, ByColumnsIsAGemm) {
  Matmul x;
  expect_product(x, Op::kTranspose, Op::kNone, 10, 20, false);
  EXPECT_EQ(kizami.at(0).alpha, 1.5);
  EXPECT_EQ(kizami.at(0).beta, -0.25);
}

TEST_F(LtMatmul, NamesFollowTheirMatrices) {
  for (const bool is_by_rows : {false, true}) {
    dropin::cublas::forget_all_kept();
    const int order = is_by_rows ? CUBLASLT_ORDER_ROW : CUBLASLT_ORDER_COL;
    Matmul x(CUDA_R_64F, CUBLAS_OP_N, CUBLAS_OP_N, order, order, order);
    const void* first = nullptr;
    for (int again = 0; again < 2; ++again) {
      expect_emulated([&] {
        EXPECT_EQ(kizami_dropin_name_operand(0, 7, 1), 0);
        return x();
      });
      ASSERT_EQ(kizami.size(), 1U);
      const KizamiCall& got = kizami[0];
      EXPECT_EQ(got.kind, Kind::kPrepared);
      EXPECT_EQ(is_by_rows ? got.b : got.a, address<void>(0xA000));
      const void* const kept = is_by_rows ? got.kept_b : got.kept_a;  // D^T = B^T A^T
      EXPECT_NE(kept, nullptr);
      EXPECT_EQ(is_by_rows ? got.kept_a : got.kept_b, nullptr);
      if (again == 0) first = kept;
      EXPECT_EQ(kept, first);
    }
  }
}

TEST_F(LtMatmul, FourTypes) {
  struct Case {
    cudaDataType type;
    cublasComputeType_t compute;
    Scalar scalar;
  };
  for (const Case& c :
       {Case{CUDA_R_32F, CUBLAS_COMPUTE_32F, Scalar::kF32}, Case{CUDA_R_64F, CUBLAS_COMPUTE_64F, Scalar::kF64},
        Case{CUDA_C_32F, CUBLAS_COMPUTE_32F, Scalar::kC64}, Case{CUDA_C_64F, CUBLAS_COMPUTE_64F, Scalar::kC128}}) {
    Matmul x(c.type);
    x.description.values[CUBLASLT_MATMUL_DESC_COMPUTE_TYPE] = c.compute;
    expect_emulated([&] { return x(); });
    ASSERT_EQ(kizami.size(), 1U);
    EXPECT_EQ(kizami[0].scalar, c.scalar);
    for (const int other : {CUBLAS_COMPUTE_32F_FAST_TF32, CUBLAS_COMPUTE_32F_PEDANTIC, CUBLAS_COMPUTE_64F_PEDANTIC}) {
      x.description.values[CUBLASLT_MATMUL_DESC_COMPUTE_TYPE] = other;
      expect_forwarded([&] { return x(); });
    }
  }
}

TEST_F(LtMatmul, MatricesByRowsAreTransposed) {
  constexpr auto kN = CUBLAS_OP_N;
  constexpr auto kC = CUBLAS_OP_C;
  Matmul a_by_rows(CUDA_C_64F, kN, kN, CUBLASLT_ORDER_ROW);
  expect_product(a_by_rows, Op::kTranspose, Op::kNone, 10, 20, false);
  Matmul conjugated(CUDA_C_64F, kC, kC, CUBLASLT_ORDER_ROW, CUBLASLT_ORDER_COL);
  expect_product(conjugated, Op::kConjugate, Op::kConjTranspose, 10, 20, false);
  Matmul all_by_rows(CUDA_R_64F, kN, CUBLAS_OP_T, CUBLASLT_ORDER_ROW, CUBLASLT_ORDER_ROW, CUBLASLT_ORDER_ROW);
  expect_product(all_by_rows, Op::kTranspose, Op::kNone, 20, 10, true);
  Matmul d_by_rows(CUDA_C_64F, kN, kC, CUBLASLT_ORDER_COL, CUBLASLT_ORDER_COL, CUBLASLT_ORDER_ROW);
  expect_product(d_by_rows, Op::kConjugate, Op::kTranspose, 20, 10, true);
}

TEST_F(LtMatmul, BatchesHaveStrides) {
  Matmul x;
  std::int64_t stride = 1000;
  for (FakeDescriptor* one : {&x.a, &x.b, &x.d}) {
    one->values[CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT] = 7;
    one->values[CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET] = stride;
    stride += 1000;
  }
  x.c = x.d;
  expect_emulated([&] { return x(); });
  ASSERT_EQ(kizami.size(), 1U);
  EXPECT_EQ(kizami[0].kind, Kind::kStrided);
  EXPECT_EQ(kizami[0].num_products, 7);
  EXPECT_EQ((std::vector{kizami[0].stride_a, kizami[0].stride_b, kizami[0].stride_c}),
            (std::vector<std::int64_t>{1000, 2000, 3000}));
  x.a.values[CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT] = 1;
  expect_forwarded([&] { return x(); });
}

TEST_F(LtMatmul, CIsDOrIsNotRead) {
  Matmul x;
  x.at_c = address<const void>(0xCC00);
  expect_forwarded([&] { return x(); });
  x.beta[0] = 0;  // of a real type: the other part is not looked at
  expect_emulated([&] { return x(); });
  ASSERT_EQ(kizami.size(), 1U);
  EXPECT_EQ(kizami[0].c, address<void>(0xC000));
  Matmul complex(CUDA_C_64F);
  complex.at_c = address<const void>(0xCC00);
  complex.beta[0] = 0;
  expect_forwarded([&] { return complex(); });
  complex.beta[1] = 0;
  expect_emulated([&] { return complex(); });
}

TEST_F(LtMatmul, FactorsInDeviceMemoryAreNotFollowed) {
  Matmul x;
  x.description.values[CUBLASLT_MATMUL_DESC_POINTER_MODE] = CUBLASLT_POINTER_MODE_DEVICE;
  x.at_alpha = address<const void>(0xD000);
  x.at_beta = address<const void>(0xE000);
  expect_emulated([&] { return x(); });
  ASSERT_EQ(kizami.size(), 1U);
  EXPECT_EQ(kizami[0].device_alpha, x.at_alpha);
  EXPECT_EQ(kizami[0].device_beta, x.at_beta);
  x.at_c = address<const void>(0xCC00);
  expect_forwarded([&] { return x(); });
  for (const int vectors : {2, 3, 4}) {
    expect_left([&](Matmul& y) { y.description.values[CUBLASLT_MATMUL_DESC_POINTER_MODE] = vectors; });
  }
}

TEST_F(LtMatmul, WhatIsMoreThanAProductIsLeft) {
  expect_left([](Matmul& x) { x.description.values[kEpilogue] = CUBLASLT_EPILOGUE_RELU; });
  expect_left([](Matmul& x) { x.description.values[kEpilogue] = CUBLASLT_EPILOGUE_BIAS; });
  expect_left([](Matmul& x) { x.description.values[CUBLASLT_MATMUL_DESC_FILL_MODE] = CUBLAS_FILL_MODE_LOWER; });
  expect_left([](Matmul& x) { x.description.values[CUBLASLT_MATMUL_DESC_TRANSC] = CUBLAS_OP_T; });
  for (const int scale : {17, 18, 19, 20, 21, 36, 38}) {
    expect_left([&](Matmul& x) { x.description.values[scale] = 0xF000; });
    Matmul without;
    without.description.values[scale] = 0;
    expect_emulated([&] { return without(); });
  }
  expect_left([](Matmul& x) { x.description.values.erase(kEpilogue); });
  expect_left([](Matmul& x) { x.description.values[CUBLASLT_MATMUL_DESC_SCALE_TYPE] = CUDA_R_32F; });
  expect_left([](Matmul& x) { x.description.values[CUBLASLT_MATMUL_DESC_TRANSA] = 3; });
  expect_left([](Matmul& x) { x.a.values[CUBLASLT_MATRIX_LAYOUT_TYPE] = CUDA_R_16F; });
  expect_left([](Matmul& x) { x.b.values[CUBLASLT_MATRIX_LAYOUT_TYPE] = CUDA_R_32F; });
  expect_left([](Matmul& x) { x.c.values[CUBLASLT_MATRIX_LAYOUT_TYPE] = CUDA_R_32F; });
  expect_left([](Matmul& x) { x.c.values[CUBLASLT_MATRIX_LAYOUT_LD] = 44; });
  expect_left([](Matmul& x) { x.b.values[CUBLASLT_MATRIX_LAYOUT_ROWS] = 31; });
  expect_left([](Matmul& x) { x.a.values[CUBLASLT_MATRIX_LAYOUT_LD] = 29; });
  expect_left([](Matmul& x) { x.a.values[CUBLASLT_MATRIX_LAYOUT_ORDER] = CUBLASLT_ORDER_COL32; });
  expect_left([](Matmul& x) { x.a.values[CUBLASLT_MATRIX_LAYOUT_PLANE_OFFSET] = 64; });
  expect_left([](Matmul& x) { x.a.values[kBatchMode] = 1; });
  expect_left([](Matmul& x) { x.at_alpha = nullptr; });
}

}  // namespace
}  // namespace kizami::dropin_test
