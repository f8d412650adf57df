// SPDX-License-Identifier: MIT
// What the interposer does with one call, seen from both sides: a table of fake cuBLAS functions and a double of kizami.
#include "gemm.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "dropin/fake_kizami.hpp"

namespace kizami::dropin_test {
namespace {

using dropin::CublasFunctions;
using dropin::GemmCall;
using dropin::Settings;

/// What a fake cuBLAS function was called with.
struct NativeCall {
  Scalar scalar;
  bool is_64;
  cublasHandle_t handle;
  int op_a, op_b;
  std::int64_t m, n, k, lda, ldb, ldc;
  const void *alpha, *beta, *a, *b;
  void* c;
};

/// Both sides: what they were asked, and what they answer.
struct Sides {
  std::vector<NativeCall> native;
  std::vector<KizamiCall> kizami;
  cublasStatus_t native_status = CUBLAS_STATUS_SUCCESS;
  Status kizami_status;
  std::function<void()> inside_native, inside_kizami;
  // The handle, and what its getters answer.
  cudaStream_t stream = nullptr;
  cublasPointerMode_t pointer_mode = CUBLAS_POINTER_MODE_HOST;
  int math_mode = CUBLAS_DEFAULT_MATH;
  cublasStatus_t getter_status = CUBLAS_STATUS_SUCCESS;
};
thread_local Sides sides;

template <class E>
constexpr Scalar kScalarOfElement = sizeof(E) == 4                 ? Scalar::kF32
                                    : std::is_same_v<E, double>    ? Scalar::kF64
                                    : std::is_same_v<E, cuComplex> ? Scalar::kC64
                                                                   : Scalar::kC128;

template <class E, class Int>
cublasStatus_t native_gemm(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, Int m, Int n, Int k,
                           const E* alpha, const E* a, Int lda, const E* b, Int ldb, const E* beta, E* c, Int ldc) {
  sides.native.push_back(
      {kScalarOfElement<E>, sizeof(Int) == 8, handle, op_a, op_b, m, n, k, lda, ldb, ldc, alpha, beta, a, b, c});
  if (sides.inside_native) sides.inside_native();
  return sides.native_status;
}

CublasFunctions fake_cublas() {
  CublasFunctions cublas;
  cublas.gemms = {native_gemm<float, int>,
                  native_gemm<double, int>,
                  native_gemm<cuComplex, int>,
                  native_gemm<cuDoubleComplex, int>,
                  native_gemm<float, std::int64_t>,
                  native_gemm<double, std::int64_t>,
                  native_gemm<cuComplex, std::int64_t>,
                  native_gemm<cuDoubleComplex, std::int64_t>};
  cublas.get_stream = [](cublasHandle_t, cudaStream_t* stream) {
    *stream = sides.stream;
    return sides.getter_status;
  };
  cublas.get_pointer_mode = [](cublasHandle_t, cublasPointerMode_t* mode) {
    *mode = sides.pointer_mode;
    return sides.getter_status;
  };
  cublas.get_math_mode = [](cublasHandle_t, cublasMath_t* mode) {
    *mode = static_cast<cublasMath_t>(sides.math_mode);
    return sides.getter_status;
  };
  return cublas;
}

template <class T>
T* address(std::uintptr_t value) {
  return reinterpret_cast<T*>(value);
}

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

template <class E>
const E& alpha_value() {
  static const E value = element<E>(1.5, -2);
  return value;
}
template <class E>
const E& beta_value() {
  static const E value = element<E>(-0.25, 4);
  return value;
}

/// A call that kizami takes: A^T is 10 x 30, B is 30 x 20.
template <class E, class Int = int>
GemmCall<E, Int> good_call() {
  return {"cublas?gemm_v2",
          address<cublasContext>(0x1000),
          CUBLAS_OP_T,
          CUBLAS_OP_N,
          10,
          20,
          30,
          &alpha_value<E>(),
          address<const E>(0xA000),
          31,
          address<const E>(0xB000),
          32,
          &beta_value<E>(),
          address<E>(0xC000),
          13};
}

/// Calls as the program would. The sides forget what was before.
template <class E, class Int>
cublasStatus_t call(const GemmCall<E, Int>& arguments, const Settings& settings = dropin::default_settings()) {
  sides.native.clear();
  sides.kizami.clear();
  return dropin::gemm(fake_cublas(), settings, arguments);
}

class Gemm : public testing::Test {
 protected:
  void SetUp() override { sides = Sides{}; }
};

template <class E, class Int>
void expect_same_arguments(const GemmCall<E, Int>& given) {
  ASSERT_EQ(sides.native.size(), 1u);
  const NativeCall& got = sides.native[0];
  EXPECT_EQ(got.scalar, kScalarOfElement<E>);
  EXPECT_EQ(got.is_64, sizeof(Int) == 8);
  EXPECT_EQ(got.handle, given.handle);
  EXPECT_EQ(got.op_a, given.op_a);
  EXPECT_EQ(got.op_b, given.op_b);
  EXPECT_EQ(got.m, given.m);
  EXPECT_EQ(got.n, given.n);
  EXPECT_EQ(got.k, given.k);
  EXPECT_EQ(got.lda, given.lda);
  EXPECT_EQ(got.ldb, given.ldb);
  EXPECT_EQ(got.ldc, given.ldc);
  EXPECT_EQ(got.alpha, given.alpha);
  EXPECT_EQ(got.beta, given.beta);
  EXPECT_EQ(got.a, given.a);
  EXPECT_EQ(got.b, given.b);
  EXPECT_EQ(got.c, given.c);
}

/// The call reaches cuBLAS as it is, cuBLAS' status comes back, and kizami is asked `kizami_calls` times before.
template <class E, class Int>
void expect_forwarded(const GemmCall<E, Int>& arguments, const Settings& settings = dropin::default_settings(),
                      std::size_t kizami_calls = 0) {
  for (const cublasStatus_t status :
       {CUBLAS_STATUS_SUCCESS, CUBLAS_STATUS_INVALID_VALUE, CUBLAS_STATUS_EXECUTION_FAILED}) {
    sides.native_status = status;
    EXPECT_EQ(call(arguments, settings), status);
    expect_same_arguments(arguments);
    EXPECT_EQ(sides.kizami.size(), kizami_calls);
  }
  sides.native_status = CUBLAS_STATUS_SUCCESS;
}

template <class E, class Int>
void expect_multiplied(const GemmCall<E, Int>& arguments, const Settings& settings = dropin::default_settings()) {
  EXPECT_EQ(call(arguments, settings), CUBLAS_STATUS_SUCCESS);
  EXPECT_TRUE(sides.native.empty());
  EXPECT_EQ(sides.kizami.size(), 1u);
}

template <class Type>
class GemmOfType : public Gemm {};
template <class E, class Int>
struct Signature {
  using Element = E;
  using Integer = Int;
};
using Signatures =
    testing::Types<Signature<float, int>, Signature<double, int>, Signature<cuComplex, int>,
                   Signature<cuDoubleComplex, int>, Signature<float, std::int64_t>, Signature<double, std::int64_t>,
                   Signature<cuComplex, std::int64_t>, Signature<cuDoubleComplex, std::int64_t>>;
TYPED_TEST_SUITE(GemmOfType, Signatures);

TYPED_TEST(GemmOfType, NativePlansAreLeftToTheCublasOfTheProgram) {
  dropin_test::planned_scheme = Scheme::kNative;
  expect_forwarded(good_call<typename TypeParam::Element, typename TypeParam::Integer>());
  dropin_test::planned_scheme = Scheme::kOzaki2;
}

TYPED_TEST(GemmOfType, ArgumentsReachKizami) {
  using E = typename TypeParam::Element;
  sides.stream = address<CUstream_st>(0x5000);
  Settings settings = dropin::default_settings();
  settings.policy.accuracy = Accuracy::at_bits(20);
  settings.policy.gauge = Gauge::kNorm;
  expect_multiplied(good_call<E, typename TypeParam::Integer>(), settings);
  const KizamiCall& got = sides.kizami.at(0);
  EXPECT_EQ(got.scalar, kScalarOfElement<E>);
  EXPECT_EQ(got.stream, sides.stream);
  EXPECT_EQ(got.layout, Layout::kColMajor);
  EXPECT_EQ(got.op_a, Op::kTranspose);
  EXPECT_EQ(got.op_b, Op::kNone);
  EXPECT_EQ((std::vector{got.m, got.n, got.k}), (std::vector<std::int64_t>{10, 20, 30}));
  EXPECT_EQ((std::vector{got.lda, got.ldb, got.ldc}), (std::vector<std::int64_t>{31, 32, 13}));
  const bool has_imag = is_complex(kScalarOfElement<E>);
  EXPECT_EQ(got.alpha, std::complex<double>(1.5, has_imag ? -2 : 0));
  EXPECT_EQ(got.beta, std::complex<double>(-0.25, has_imag ? 4 : 0));
  EXPECT_EQ(got.device_alpha, nullptr);
  EXPECT_EQ(got.device_beta, nullptr);
  EXPECT_EQ(got.a, address<void>(0xA000));
  EXPECT_EQ(got.b, address<void>(0xB000));
  EXPECT_EQ(got.c, address<void>(0xC000));
  EXPECT_EQ(got.policy, settings.policy);
}

TYPED_TEST(GemmOfType, PointerModeDevicePassesAddresses) {
  auto arguments = good_call<typename TypeParam::Element, typename TypeParam::Integer>();
  sides.pointer_mode = CUBLAS_POINTER_MODE_DEVICE;
  arguments.alpha = address<typename TypeParam::Element>(0xD000);  // following it here would be fatal
  arguments.beta = address<typename TypeParam::Element>(0xE000);
  expect_multiplied(arguments);
  EXPECT_EQ(sides.kizami.at(0).device_alpha, arguments.alpha);
  EXPECT_EQ(sides.kizami.at(0).device_beta, arguments.beta);
}

TYPED_TEST(GemmOfType, WhatCublasRefusesIsLeftToIt) {
  using Call = GemmCall<typename TypeParam::Element, typename TypeParam::Integer>;
  const std::vector<std::function<void(Call&)>> spoil = {
      [](Call& c) { c.handle = nullptr; },
      [](Call& c) { c.m = -1; },
      [](Call& c) { c.n = -1; },
      [](Call& c) { c.k = -1; },
      [](Call& c) { c.m = std::numeric_limits<decltype(c.m)>::min(); },
      [](Call& c) { c.lda = 29; },
      [](Call& c) { c.ldb = 29; },
      [](Call& c) { c.ldc = 9; },
      [](Call& c) { c.ldc = -13; },
      [](Call& c) { c.op_a = static_cast<cublasOperation_t>(-1); },
      [](Call& c) { c.op_a = static_cast<cublasOperation_t>(17); },
      [](Call& c) { c.op_b = CUBLAS_OP_CONJG; },
      [](Call& c) { c.alpha = nullptr; },
      [](Call& c) { c.beta = nullptr; },
      [](Call& c) { c.m = 0; },
      [](Call& c) { c.n = 0; },
      [](Call& c) { c.k = 0; },
  };
  for (std::size_t i = 0; i < spoil.size(); ++i) {
    SCOPED_TRACE(i);
    auto arguments = good_call<typename TypeParam::Element, typename TypeParam::Integer>();
    spoil[i](arguments);
    expect_forwarded(arguments);
  }
}

TYPED_TEST(GemmOfType, ErrorsOfKizamiAreForwarded) {
  const auto arguments = good_call<typename TypeParam::Element, typename TypeParam::Integer>();
  for (const StatusCode code : {StatusCode::kInvalidArgument, StatusCode::kUnsupported, StatusCode::kOutOfMemory,
                                StatusCode::kWorkspaceTooSmall, StatusCode::kInternal}) {
    sides.kizami_status = {code, "said so"};
    expect_forwarded(arguments, dropin::default_settings(), 1);
  }
}

TYPED_TEST(GemmOfType, WithoutTheRealFunctionNothingIsDone) {
  CublasFunctions cublas = fake_cublas();
  std::get<dropin::GemmFunction<typename TypeParam::Element, typename TypeParam::Integer>>(cublas.gemms) = nullptr;
  const auto arguments = good_call<typename TypeParam::Element, typename TypeParam::Integer>();
  EXPECT_EQ(dropin::gemm(cublas, dropin::default_settings(), arguments), CUBLAS_STATUS_NOT_INITIALIZED);
  EXPECT_TRUE(sides.kizami.empty());
}

TYPED_TEST(GemmOfType, LeastLeadingDimensionsAreAccepted) {
  auto arguments = good_call<typename TypeParam::Element, typename TypeParam::Integer>();
  for (const cublasOperation_t op_a : {CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C}) {
    for (const cublasOperation_t op_b : {CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C}) {
      arguments.op_a = op_a;
      arguments.op_b = op_b;
      arguments.lda = op_a == CUBLAS_OP_N ? 10 : 30;
      arguments.ldb = op_b == CUBLAS_OP_N ? 30 : 20;
      arguments.ldc = 10;
      expect_multiplied(arguments);
      EXPECT_EQ(static_cast<int>(sides.kizami.at(0).op_a), op_a);
      EXPECT_EQ(static_cast<int>(sides.kizami.at(0).op_b), op_b);
      auto short_a = arguments;
      --short_a.lda;
      expect_forwarded(short_a);
      auto short_b = arguments;
      --short_b.ldb;
      expect_forwarded(short_b);
    }
  }
}

TEST_F(Gemm, SixtyFourBitsPassThrough) {
  auto arguments = good_call<double, std::int64_t>();
  arguments.m = (std::int64_t{1} << 33) + 1;
  arguments.n = (std::int64_t{1} << 34) + 2;
  arguments.k = (std::int64_t{1} << 35) + 3;
  arguments.lda = (std::int64_t{1} << 36) + 4;
  arguments.ldb = (std::int64_t{1} << 37) + 5;
  arguments.ldc = (std::int64_t{1} << 38) + 6;
  expect_multiplied(arguments);
  const KizamiCall& got = sides.kizami.at(0);
  EXPECT_EQ((std::vector{got.m, got.n, got.k}), (std::vector{arguments.m, arguments.n, arguments.k}));
  EXPECT_EQ((std::vector{got.lda, got.ldb, got.ldc}), (std::vector{arguments.lda, arguments.ldb, arguments.ldc}));
  sides.kizami_status = {StatusCode::kInvalidArgument, "beyond 2^34"};
  expect_forwarded(arguments, dropin::default_settings(), 1);
}

TEST_F(Gemm, ProductsBelowTheLeastSizeAreForwarded) {
  auto arguments = good_call<double, std::int64_t>();
  Settings settings = dropin::default_settings();
  settings.min_size = 100;
  const auto set = [&](std::int64_t m, std::int64_t n, std::int64_t k) {
    arguments.m = m;
    arguments.n = n;
    arguments.k = k;
    arguments.lda = arguments.ldb = k;
    arguments.ldc = m;
  };
  set(100, 100, 100);
  expect_multiplied(arguments, settings);
  set(99, 101, 100);  // 999900
  expect_forwarded(arguments, settings);
  set(1, 1, 1000000);
  expect_multiplied(arguments, settings);
  set(1, 1, 999999);
  expect_forwarded(arguments, settings);
  set(1000001, 1, 1);
  expect_multiplied(arguments, settings);
  const std::int64_t huge = std::numeric_limits<std::int64_t>::max();
  settings.min_size = dropin::kMaxMinSize;
  set(huge, huge, huge);
  expect_multiplied(arguments, settings);
  set(huge, 1, 1);
  expect_multiplied(arguments, settings);
  set(dropin::kMaxMinSize, dropin::kMaxMinSize, dropin::kMaxMinSize - 1);
  expect_forwarded(arguments, settings);
  set(dropin::kMaxMinSize, dropin::kMaxMinSize, dropin::kMaxMinSize);
  expect_multiplied(arguments, settings);
  set(1, 1, 1);
  settings.min_size = 1;
  expect_multiplied(arguments, settings);
}

TEST_F(Gemm, MathModesThatAskForAnArithmeticAreForwarded) {
  const int kReduction = CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION;
  struct Case {
    int mode;
    bool is_f32_multiplied, is_f64_multiplied;
  };
  for (const Case& c :
       {Case{CUBLAS_DEFAULT_MATH, true, true}, Case{kReduction, true, true}, Case{1, false, true},
        Case{CUBLAS_TF32_TENSOR_OP_MATH, false, true}, Case{CUBLAS_TF32_TENSOR_OP_MATH | kReduction, false, true},
        Case{CUBLAS_PEDANTIC_MATH, false, false}, Case{4, false, true}, Case{8, false, false}, Case{5, false, false},
        Case{1024, false, false}}) {
    SCOPED_TRACE(c.mode);
    sides.math_mode = c.mode;
    const auto expect = [](const auto& arguments, bool is_multiplied) {
      is_multiplied ? expect_multiplied(arguments) : expect_forwarded(arguments);
    };
    expect(good_call<float>(), c.is_f32_multiplied);
    expect(good_call<cuComplex>(), c.is_f32_multiplied);
    expect(good_call<double>(), c.is_f64_multiplied);
    expect(good_call<cuDoubleComplex>(), c.is_f64_multiplied);
  }
}

TEST_F(Gemm, AHandleThatCannotBeReadIsForwarded) {
  sides.getter_status = CUBLAS_STATUS_NOT_INITIALIZED;
  expect_forwarded(good_call<double>());
  for (const int missing : {0, 1, 2}) {
    CublasFunctions cublas = fake_cublas();
    sides = Sides{};
    if (missing == 0) cublas.get_stream = nullptr;
    if (missing == 1) cublas.get_pointer_mode = nullptr;
    if (missing == 2) cublas.get_math_mode = nullptr;
    EXPECT_EQ(dropin::gemm(cublas, dropin::default_settings(), good_call<double>()), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(sides.native.size(), 1u);
    EXPECT_TRUE(sides.kizami.empty());
  }
}

TEST_F(Gemm, SwitchedOffForwardsWithoutLookingAtTheHandle) {
  Settings settings = dropin::default_settings();
  settings.why_off = "a test";
  sides.getter_status = CUBLAS_STATUS_INTERNAL_ERROR;
  expect_forwarded(good_call<double>(), settings);
}

TEST_F(Gemm, CallsFromWithinGoToCublas) {
  const auto nested = [] {
    EXPECT_EQ(dropin::gemm(fake_cublas(), dropin::default_settings(), good_call<double>()), CUBLAS_STATUS_SUCCESS);
  };
  sides.inside_kizami = nested;
  EXPECT_EQ(call(good_call<float>()), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(sides.kizami.size(), 1u);
  ASSERT_EQ(sides.native.size(), 1u);
  EXPECT_EQ(sides.native[0].scalar, Scalar::kF64);

  sides.inside_kizami = nullptr;  // and from within cuBLAS, which calls its own function once
  sides.inside_native = [&] {
    sides.inside_native = nullptr;
    nested();
  };
  Settings off = dropin::default_settings();
  off.why_off = "a test";
  EXPECT_EQ(call(good_call<float>(), off), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(sides.native.size(), 2u);
  EXPECT_TRUE(sides.kizami.empty());

  expect_multiplied(good_call<double>());  // the guard is down again
}

TEST_F(Gemm, TheGuardIsOfTheThread) {
  std::size_t calls_of_other_thread = 0;
  sides.inside_kizami = [&] {
    std::thread([&] {
      EXPECT_EQ(call(good_call<double>()), CUBLAS_STATUS_SUCCESS);
      calls_of_other_thread = sides.kizami.size();
    }).join();
  };
  EXPECT_EQ(call(good_call<double>()), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(calls_of_other_thread, 1u);
}

TEST_F(Gemm, AnExceptionIsAnInternalErrorAndNotForwarded) {
  sides.inside_kizami = [] { throw std::runtime_error("a test"); };
  testing::internal::CaptureStderr();
  EXPECT_EQ(call(good_call<double>()), CUBLAS_STATUS_INTERNAL_ERROR);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "kizami: cublas?gemm_v2: an exception where none was expected\n");
  EXPECT_TRUE(sides.native.empty());
  sides.inside_kizami = nullptr;
  expect_multiplied(good_call<double>());  // the guard is down again
}

std::string logged(const GemmCall<double, int>& arguments, Settings settings = dropin::default_settings()) {
  settings.is_verbose = true;
  testing::internal::CaptureStderr();
  static_cast<void>(call(arguments, settings));
  return testing::internal::GetCapturedStderr();
}

TEST_F(Gemm, VerboseSaysWhoMultipliesAndWhy) {
  auto arguments = good_call<double>();
  EXPECT_EQ(logged(arguments), "kizami: cublas?gemm_v2 tn 10x20x30: kizami\n");
  arguments.k = -30;
  EXPECT_EQ(logged(arguments),
            "kizami: cublas?gemm_v2 tn 10x20x-30: cuBLAS: an argument is refused, or nothing is multiplied\n");
  sides.kizami_status = {StatusCode::kUnsupported, "no CUDA device"};
  EXPECT_EQ(logged(good_call<double>()), "kizami: cublas?gemm_v2 tn 10x20x30: cuBLAS: no CUDA device\n");
  testing::internal::CaptureStderr();
  static_cast<void>(call(good_call<double>()));
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace

Status on_call(const KizamiCall& call) {
  sides.kizami.push_back(call);
  const Status status = sides.kizami_status;
  if (sides.inside_kizami) sides.inside_kizami();
  return status;
}

}  // namespace kizami::dropin_test
