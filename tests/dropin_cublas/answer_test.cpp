// SPDX-License-Identifier: MIT
// Who answers a call, and who is told what.
#include <atomic>
#include <limits>
#include <stdexcept>

#include "dropin_cublas/process.hpp"

namespace kizami::dropin_test {
namespace {

/// The arguments of a product that Kizami takes: A^T is 10 x 30, B is 30 x 20.
struct Gemm {
  int op_a = CUBLAS_OP_T;
  int op_b = CUBLAS_OP_N;
  std::int64_t m = 10, n = 20, k = 30, lda = 31, ldb = 32, ldc = 13;
  bool has_alpha = true, has_beta = true;
};

class Answer : public Interposer {
 protected:
  [[nodiscard]] std::function<cublasStatus_t()> dgemm(const Gemm& x = {}) {
    return [this, x] {
      const double one = 1;
      return cublasDgemm_v2_64(handle_of_call(), static_cast<cublasOperation_t>(x.op_a),
                               static_cast<cublasOperation_t>(x.op_b), x.m, x.n, x.k, x.has_alpha ? &one : nullptr,
                               address<const double>(0xA000), x.lda, address<const double>(0xB000), x.ldb,
                               x.has_beta ? &one : nullptr, address<double>(0xC000), x.ldc);
    };
  }
  [[nodiscard]] std::function<cublasStatus_t()> sgemm() {
    return [this] {
      const float one = 1;
      return cublasSgemm_v2(handle.get(), CUBLAS_OP_N, CUBLAS_OP_N, 10, 20, 30, &one, nullptr, 10, nullptr, 30, &one,
                            nullptr, 10);
    };
  }
  [[nodiscard]] cublasHandle_t handle_of_call() { return has_handle ? handle.get() : nullptr; }
  bool has_handle = true;
};

TEST_F(Answer, WhatCublasRefusesIsLeftToIt) {
  const std::vector<std::function<void(Gemm&)>> spoil = {
      [](Gemm& x) { x.m = -1; },
      [](Gemm& x) { x.n = -1; },
      [](Gemm& x) { x.k = -1; },
      [](Gemm& x) { x.m = std::numeric_limits<std::int64_t>::min(); },
      [](Gemm& x) { x.lda = 29; },
      [](Gemm& x) { x.ldb = 29; },
      [](Gemm& x) { x.ldc = 9; },
      [](Gemm& x) { x.ldc = -13; },
      [](Gemm& x) { x.op_a = -1; },
      [](Gemm& x) { x.op_a = 17; },
      [](Gemm& x) { x.op_b = CUBLAS_OP_CONJG; },
      [](Gemm& x) { x.has_alpha = false; },
      [](Gemm& x) { x.has_beta = false; },
      [](Gemm& x) { x.m = 0; },
      [](Gemm& x) { x.n = 0; },
      [](Gemm& x) { x.k = 0; },
  };
  for (std::size_t i = 0; i < spoil.size(); ++i) {
    SCOPED_TRACE(i);
    Gemm x;
    spoil[i](x);
    expect_forwarded(dgemm(x));
  }
  has_handle = false;
  expect_forwarded(dgemm());
}

TEST_F(Answer, LeastLeadingDimensionsAreAccepted) {
  for (const int op_a : {CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C}) {
    for (const int op_b : {CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C}) {
      Gemm x;
      x.op_a = op_a;
      x.op_b = op_b;
      x.lda = op_a == CUBLAS_OP_N ? 10 : 30;
      x.ldb = op_b == CUBLAS_OP_N ? 30 : 20;
      x.ldc = 10;
      expect_emulated(dgemm(x));
      ASSERT_EQ(kizami.size(), 1U);
      EXPECT_EQ(static_cast<int>(kizami[0].op_a), op_a);
      EXPECT_EQ(static_cast<int>(kizami[0].op_b), op_b);
      Gemm short_a = x;
      --short_a.lda;
      expect_forwarded(dgemm(short_a));
      Gemm short_b = x;
      --short_b.ldb;
      expect_forwarded(dgemm(short_b));
    }
  }
}

TEST_F(Answer, SizesOf64BitsPass) {
  Gemm x;
  x.m = (std::int64_t{1} << 33) + 1;
  x.n = (std::int64_t{1} << 34) + 2;
  x.k = (std::int64_t{1} << 35) + 3;
  x.lda = (std::int64_t{1} << 36) + 4;
  x.ldb = (std::int64_t{1} << 37) + 5;
  x.ldc = (std::int64_t{1} << 38) + 6;
  expect_emulated(dgemm(x));
  ASSERT_EQ(kizami.size(), 1U);
  const KizamiCall& got = kizami[0];
  EXPECT_EQ((std::vector{got.m, got.n, got.k}), (std::vector{x.m, x.n, x.k}));
  EXPECT_EQ((std::vector{got.lda, got.ldb, got.ldc}), (std::vector{x.lda, x.ldb, x.ldc}));
}

TEST_F(Answer, ErrorsOfKizamiAreForwarded) {
  // Lack of memory and errors of CUDA: memory_test.cpp, device_failure_test.cpp.
  for (const StatusCode code :
       {StatusCode::kInvalidArgument, StatusCode::kUnsupported, StatusCode::kWorkspaceTooSmall}) {
    kizami_status = {code, "said so"};
    expect_forwarded(dgemm(), 1);
  }
}

TEST_F(Answer, AnExceptionWithinKizamiIsAnError) {
  on_kizami_call() = [](const KizamiCall&) -> Status { throw std::runtime_error("where none is expected"); };
  testing::internal::CaptureStderr();
  EXPECT_EQ(call(dgemm()), CUBLAS_STATUS_INTERNAL_ERROR);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "kizami: cublasDgemm_v2_64: an exception where none was expected\n");
  EXPECT_TRUE(native.empty());
}

TEST_F(Answer, ProductsBelowTheLeastSizeAreForwarded) {
  configuration().settings.min_size = 100;
  const auto sized = [](std::int64_t m, std::int64_t n, std::int64_t k) {
    Gemm x;
    x.m = m;
    x.n = n;
    x.k = x.lda = x.ldb = k;
    x.ldc = m;
    return x;
  };
  expect_emulated(dgemm(sized(100, 100, 100)));
  expect_forwarded(dgemm(sized(99, 101, 100)));  // 999900
  expect_emulated(dgemm(sized(1, 1, 1000000)));
  expect_forwarded(dgemm(sized(1, 1, 999999)));
  const std::int64_t huge = std::numeric_limits<std::int64_t>::max();
  configuration().settings.min_size = dropin::kMaxMinSize;
  expect_emulated(dgemm(sized(huge, huge, huge)));
  expect_forwarded(dgemm(sized(dropin::kMaxMinSize, dropin::kMaxMinSize, dropin::kMaxMinSize - 1)));
}

TEST_F(Answer, MinSizeZeroForcesTheSchemeOntoEveryProduct) {
  configuration().settings.min_size = 0;
  Gemm x;
  x.m = x.n = x.k = x.ldc = 1;
  expect_emulated(dgemm(x));
  ASSERT_EQ(kizami.size(), 1U);
  EXPECT_EQ(kizami[0].policy.scheme, Scheme::kOzaki2);
}

TEST_F(Answer, TheFirstRuleThatHoldsDecides) {
  const Result<std::vector<dropin::Rule>> rules = dropin::parse_rules(
      "type=s : scheme=native\nm=11 routine=gemm : accuracy=bits=30\nsite=libfoo* : scheme=native\n", "a test",
      configuration().settings);
  ASSERT_TRUE(rules.ok()) << rules.status().reason();
  configuration().rules = rules.value();
  expect_forwarded(sgemm());
  expect_emulated(dgemm());
  ASSERT_EQ(kizami.size(), 1U);
  EXPECT_EQ(kizami[0].policy.accuracy, Accuracy::native());
  Gemm x;
  x.m = 11;
  expect_emulated(dgemm(x));
  ASSERT_EQ(kizami.size(), 1U);
  EXPECT_EQ(kizami[0].policy.accuracy, Accuracy::at_bits(30));
}

TEST_F(Answer, ADryRunForwards) {
  configuration().is_dry_run = true;
  expect_forwarded(dgemm());
}

TEST_F(Answer, MathModesThatAskForAnArithmeticAreForwarded) {
  const int no_reduction = CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION;
  struct Case {
    int mode;
    bool is_f32_emulated, is_f64_emulated;
  };
  for (const Case& c :
       {Case{CUBLAS_DEFAULT_MATH, true, true}, Case{no_reduction, true, true}, Case{1, false, true},
        Case{CUBLAS_TF32_TENSOR_OP_MATH, false, true}, Case{CUBLAS_TF32_TENSOR_OP_MATH | no_reduction, false, true},
        Case{CUBLAS_PEDANTIC_MATH, false, false}, Case{4, false, true}, Case{8, false, false}, Case{5, false, false},
        Case{1024, false, false}}) {
    SCOPED_TRACE(c.mode);
    handle.math_mode = static_cast<cublasMath_t>(c.mode);
    c.is_f32_emulated ? expect_emulated(sgemm()) : expect_forwarded(sgemm());
    c.is_f64_emulated ? expect_emulated(dgemm()) : expect_forwarded(dgemm());
  }
}

TEST_F(Answer, ADestroyedHandleIsForwarded) {
  handle.is_destroyed = true;
  expect_forwarded(dgemm());
}

TEST_F(Answer, CallsFromWithinGoToCublas) {
  bool is_nested = false;
  const auto nested = [&] {
    if (!is_nested) {
      is_nested = true;
      EXPECT_EQ(dgemm()(), CUBLAS_STATUS_SUCCESS);
    }
  };
  on_kizami_call() = [&](const KizamiCall& call) {
    kizami.push_back(call);
    nested();
    return Status();
  };
  EXPECT_EQ(call(sgemm()), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(kizami.size(), 1U);
  ASSERT_EQ(native.size(), 1U);
  EXPECT_EQ(native[0].name, "cublasDgemm_v2_64");

  is_nested = false;
  configuration().settings.policy.scheme = Scheme::kNative;
  on_native_call() = [&](const NativeCall& call) {
    native.push_back(call);
    configuration().settings.policy.scheme = Scheme::kAuto;
    nested();
    return CUBLAS_STATUS_SUCCESS;
  };
  EXPECT_EQ(call(sgemm()), CUBLAS_STATUS_SUCCESS);
  EXPECT_TRUE(kizami.empty());
  EXPECT_EQ(native.size(), 2U);
}

TEST_F(Answer, PlansAreRememberedByThreadAndDevice) {
  std::atomic<int> plans{0};
  planner().on_plan = [&](const Batch&) { ++plans; };
  const auto twice = [&] {
    EXPECT_EQ(dgemm()(), CUBLAS_STATUS_SUCCESS);
    return dgemm()();
  };
  EXPECT_EQ(call(twice), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(plans, 2) << "of Kizami, and of cuBLAS beside it";
  EXPECT_EQ(call([&] {
              EXPECT_EQ(dgemm()(), CUBLAS_STATUS_SUCCESS);
              runtime().device = 1;
              return dgemm()();
            }),
            CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(plans, 6) << "another device has another plan";
}

TEST_F(Answer, ThreadsShareWhatThePlannerSaidOfAShapeAndADevice) {
  dropin::shares_choices = true;
  std::atomic<int> plans{0};
  planner().on_plan = [&](const Batch&) { ++plans; };
  for (int thread = 0; thread < 3; ++thread) {
    EXPECT_EQ(call(dgemm()), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(plans, 2) << "of Kizami, and of cuBLAS beside it";
  }
  runtime().device = 1;
  EXPECT_EQ(call(dgemm()), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(plans, 4);
  EXPECT_EQ(call(sgemm()), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(plans, 6);
  runtime().device = 0;
  EXPECT_EQ(call(dgemm()), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(plans, 6);
}

TEST_F(Answer, WithoutADeviceAllIsForwardedAndSaidOnce) {
  planner().status = {StatusCode::kUnsupported, "no CUDA device: a test"};
  runtime().device = -1;
  testing::internal::CaptureStderr();
  expect_forwarded(dgemm());
  expect_forwarded(sgemm());
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "kizami: no CUDA device: a test; every call is left to the native library\n");
}

TEST_F(Answer, ThreadsWithHandlesOfTheirOwn) {
  constexpr int kThreads = 8;
  constexpr int kCalls = 2000;
  std::atomic<int> emulated{0};
  std::atomic<int> forwarded{0};
  on_kizami_call() = [&](const KizamiCall& call) {
    // The stream names the thread, and so does m.
    if (reinterpret_cast<std::intptr_t>(call.stream) != call.m) return Status(StatusCode::kInternal, "mixed up");
    ++emulated;
    return Status();
  };
  on_native_call() = [&](const NativeCall& call) {
    const bool is_right = call.arguments.at(3).value == call.arguments.at(4).value;
    ++forwarded;
    return is_right ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INTERNAL_ERROR;
  };
  configuration().settings.min_size = 30;
  std::vector<std::thread> crew;
  std::atomic<int> failed{0};
  for (int t = 0; t < kThreads; ++t) {
    crew.emplace_back([&, t] {
      FakeHandle own;
      const int size = 40 + t;
      own.stream = address<CUstream_st>(static_cast<std::uintptr_t>(size));
      const double one = 1;
      for (int i = 0; i < kCalls; ++i) {
        const int n = i % 2 == 0 ? size : 20;  // emulated, and below the least size
        if (cublasDgemm_v2(own.get(), CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, nullptr, n, nullptr, n, &one, nullptr,
                           n) != CUBLAS_STATUS_SUCCESS)
          ++failed;
      }
    });
  }
  for (std::thread& thread : crew) thread.join();
  EXPECT_EQ(failed, 0);
  EXPECT_EQ(emulated, kThreads * kCalls / 2);
  EXPECT_EQ(forwarded, kThreads * kCalls / 2);
}

}  // namespace
}  // namespace kizami::dropin_test
