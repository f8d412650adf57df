// SPDX-License-Identifier: MIT
// Products of cublasXt: on the devices that the program has selected, or left to it.
#include <cublasXt.h>

#include "dropin_cublas/process.hpp"

namespace kizami::dropin_test {
namespace {

class Xt : public Interposer {
 protected:
  void select(std::vector<int> devices) {
    call([&] { return cublasXtDeviceSelect(xt_, static_cast<int>(devices.size()), devices.data()); });
    EXPECT_EQ(native.size(), 1U);
  }
  ~Xt() override {
    call([&] { return cublasXtDestroy(xt_); });
  }
  template <class Gemm, class E>
  [[nodiscard]] std::function<cublasStatus_t()> product(const Gemm& gemm, E beta, std::size_t m = 10) {
    return [this, gemm, beta, m] {
      const E alpha{};
      return gemm(xt_, CUBLAS_OP_T, CUBLAS_OP_N, m, std::size_t{20}, std::size_t{30}, &alpha, address<const E>(0xA000),
                  std::size_t{31}, address<const E>(0xB000), std::size_t{32}, &beta, address<E>(0xC000),
                  std::size_t{13});
    };
  }
  [[nodiscard]] std::function<cublasStatus_t()> dgemm(double beta = 1, std::size_t m = 10) {
    return product(cublasXtDgemm, beta, m);
  }
  /// Nobody reads it: cublasXt is a double.
  cublasXtHandle_t xt_ = address<std::remove_pointer_t<cublasXtHandle_t>>(0x8000);
};

TEST_F(Xt, IsSharedByTheSelectedDevices) {
  select({2, 0, 1});
  expect_emulated(dgemm(0.5));
  EXPECT_EQ(kizami[0].kind, Kind::kShared);
  EXPECT_EQ(kizami[0].devices, (std::vector<int>{2, 0, 1}));
  EXPECT_EQ(kizami[0].scalar, Scalar::kF64);
  EXPECT_EQ(kizami[0].op_a, Op::kTranspose);
  EXPECT_EQ(kizami[0].op_b, Op::kNone);
  EXPECT_EQ(kizami[0].m, 10);
  EXPECT_EQ(kizami[0].n, 20);
  EXPECT_EQ(kizami[0].k, 30);
  EXPECT_EQ(kizami[0].lda, 31);
  EXPECT_EQ(kizami[0].ldb, 32);
  EXPECT_EQ(kizami[0].ldc, 13);
  EXPECT_EQ(kizami[0].beta, 0.5);
  EXPECT_EQ(kizami[0].a, address<const double>(0xA000));
  EXPECT_EQ(kizami[0].c, address<double>(0xC000));
  expect_emulated(product(cublasXtSgemm, 1.0F));
  EXPECT_EQ(kizami[0].scalar, Scalar::kF32);
  expect_emulated(product(cublasXtCgemm, cuComplex{}));
  EXPECT_EQ(kizami[0].scalar, Scalar::kC64);
  expect_emulated(product(cublasXtZgemm, cuDoubleComplex{}));
  EXPECT_EQ(kizami[0].scalar, Scalar::kC128);
}

TEST_F(Xt, IsNativeWithoutDevices) {
  expect_forwarded(dgemm());
  native_status = CUBLAS_STATUS_INVALID_VALUE;  // a selection that is refused is none
  select({0, 1});
  native_status = CUBLAS_STATUS_SUCCESS;
  expect_forwarded(dgemm());
  select({0, 1});
  expect_emulated(dgemm());
  call([&] { return cublasXtDestroy(xt_); });
  expect_forwarded(dgemm());
  select({0, 1, 2, 3, 4, 5, 6, 7, 8});
  expect_forwarded(dgemm());
}

TEST_F(Xt, IsNativeWhereItIsNotUnderstoodOrWanted) {
  select({0});
  expect_forwarded(dgemm(1, 0));
  expect_forwarded(dgemm(1, ~std::size_t{0}));
  expect_forwarded(dgemm(1, 14));  // ldc = 13
  configuration().settings.policy.scheme = Scheme::kNative;
  expect_forwarded(dgemm());
  configuration().settings.policy.scheme = Scheme::kAuto;
  planner().scheme = Scheme::kNative;
  expect_forwarded(dgemm());
}

TEST_F(Xt, IsMultipliedByThePolicyThatChose) {
  select({0, 1});
  configuration().settings.is_own_lines = true;
  expect_emulated(dgemm());
  EXPECT_EQ(kizami[0].policy.gauge, Gauge::kNorm);
  EXPECT_EQ(kizami[0].policy.scheme, Scheme::kOzaki2);
  configuration().settings.is_own_lines = false;
  configuration().settings.min_size = 0;
  expect_emulated(dgemm());
  EXPECT_EQ(kizami[0].policy.scheme, Scheme::kOzaki2);
}

TEST_F(Xt, WhatKizamiRefusesIsNative) {
  select({0, 1});
  for (const StatusCode code : {StatusCode::kUnsupported, StatusCode::kOutOfMemory, StatusCode::kWorkspaceTooSmall}) {
    kizami_status = {code, "the test wants it"};
    expect_forwarded(dgemm(), 1);
  }
}

TEST_F(Xt, CWrittenInPartIsAnError) {
  select({0, 1});
  kizami_status = {StatusCode::kInternal, "device 1: the test wants it"};
  writes_c() = true;
  testing::internal::CaptureStderr();
  EXPECT_EQ(call(dgemm()), CUBLAS_STATUS_EXECUTION_FAILED);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("device 1: the test wants it"), std::string::npos);
  EXPECT_TRUE(native.empty());
  expect_forwarded(dgemm());  // off from now on
}

}  // namespace
}  // namespace kizami::dropin_test
