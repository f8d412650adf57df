// SPDX-License-Identifier: MIT
// An audit: cuBLAS answers every call, nothing waits, and errors of cuBLAS are seen. Products are of small integers, and
// so without error, unless cuBLAS is spoilt.
#include "dropin/cublas/audit.hpp"

#include <cublasXt.h>

#include <chrono>
#include <complex>
#include <nlohmann/json.hpp>
#include <sstream>

#include "dropin/cublas/handle.hpp"
#include "dropin/cublas/types.hpp"
#include "dropin_cublas/computing.hpp"
#include "dropin_cublas/process.hpp"

namespace kizami::dropin_test {
namespace {

using nlohmann::json;

class Audit : public Interposer {
 protected:
  static constexpr int kM = 9, kN = 10, kK = 11, kLd = 16;

  void SetUp() override {
    Interposer::SetUp();
    dropin::audit_state = dropin::AuditState::kOn;
    dropin::cublas::forget_timings();
    // Hours ago, so that there is time for samples.
    dropin::restart_audit(std::chrono::steady_clock::now() - std::chrono::hours(10));
    for (std::size_t i = 0; i < a.size(); ++i) {
      a[i] = static_cast<double>(i % 7) - 3;
      b[i] = static_cast<double>(i % 5) + 1;
      c[i] = static_cast<double>(i % 3);
    }
    on_native_call() = [this](const NativeCall& call) {
      native.push_back(call);
      if (native_status != CUBLAS_STATUS_SUCCESS) return native_status;
      if (call.name.starts_with("cublasDgemm_v2")) multiply(decoded<double>(call));
      return CUBLAS_STATUS_SUCCESS;
    };
  }
  void TearDown() override { dropin::audit_state = dropin::AuditState::kUnknown; }

  void multiply(const Arguments<double>& x) {
    compute(x);
    if (factor != 1)
      for (std::int64_t j = 0; j < x.n; ++j)
        for (std::int64_t i = 0; i < x.m; ++i) x.c.at(i, j) *= factor;
  }

  std::function<cublasStatus_t()> dgemm(int m = kM) {
    return [this, m] {
      return cublasDgemm_v2(handle.get(), CUBLAS_OP_N, CUBLAS_OP_T, m, kN, kK, &alpha, a.data(), kLd, b.data(), kLd,
                            &beta, c.data(), kLd);
    };
  }

  /// Lines of the report, of one kind.
  std::vector<json> lines(const char* event = "audited") {
    dropin::settle();
    std::istringstream text(dropin::audit_json());
    std::vector<json> out;
    for (std::string line; std::getline(text, line);) {
      json parsed = json::parse(line);
      if (parsed["event"] == event) out.push_back(std::move(parsed));
    }
    return out;
  }

  double alpha = 2, beta = 3, factor = 1;
  std::vector<double> a = std::vector<double>(kLd * 200), b = a, c = a;
};

TEST_F(Audit, CublasAnswersAndNobodyWaits) {
  const std::vector<double> before = c;
  expect_forwarded(dgemm());
  EXPECT_NE(c, before);
  EXPECT_EQ(runtime().waits, 0);
  EXPECT_EQ(runtime().relaxed, 0) << "the thread's capture mode is not as it was";
  EXPECT_EQ(native.size(), 1U);
  EXPECT_TRUE(kizami.empty());
  const std::vector<json> found = lines();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0]["calls"], 3);  // of which one succeeded
  EXPECT_EQ(found[0]["samples"], 1);
  EXPECT_EQ(found[0]["routine"], "cublasDgemm_v2");
  EXPECT_EQ(found[0]["stem"], "gemm");
  EXPECT_EQ(found[0]["type"], "d");
  EXPECT_EQ(found[0]["error_over_bound"], 0);
  EXPECT_EQ(found[0]["spread_a"], 1);  // of -3 .. 3
  EXPECT_EQ(found[0]["spread_b"], 2);
  EXPECT_EQ(found[0]["predicted_seconds"], 0.25);
  EXPECT_NEAR(found[0]["seconds"], 3 * 0.5e-3, 1e-9);  // all three as long as the one that was timed
  ASSERT_EQ(lines("device").size(), 1U);
  EXPECT_EQ(lines("device")[0]["name"], "device of a test");
}

TEST_F(Audit, ALibraryThatIsWrongIsSeen) {
  factor = 1.001;
  call(dgemm());
  ASSERT_EQ(lines().size(), 1U);
  EXPECT_GT(lines()[0]["error_over_bound"], 1e6);
}

TEST_F(Audit, PredictionsAreOfThePlannersChoice) {
  planner().seconds_of = [](double, bool is_native) { return is_native ? 0.125 : 0.5; };
  planner().native_operations = 0;
  call(dgemm());
  ASSERT_EQ(lines().size(), 1U);
  EXPECT_EQ(lines()[0]["predicted_scheme"], "ozaki2");
  EXPECT_EQ(lines()[0]["predicted_seconds"], 0.5);
  EXPECT_EQ(lines()[0]["predicted_native_seconds"], 0.125);
  planner().native_operations = 1e9;
  call(dgemm(kM - 1));
  ASSERT_EQ(lines().size(), 2U);
  for (const json& line : lines()) EXPECT_EQ(line["predicted_scheme"], line["m"] == kM ? "ozaki2" : "native");
}

TEST_F(Audit, OnlySampledCallsAreCopied) {
  call(dgemm());
  const int copies = runtime().copies;
  EXPECT_EQ(copies, 4 * 4);  // of four elements the row, the column, C before and after
  // Samples keep to a share of the time since the audit began: of none before it.
  dropin::restart_audit(std::chrono::steady_clock::now() + std::chrono::hours(1));
  for (int i = 0; i < 5; ++i) call(dgemm());
  EXPECT_EQ(runtime().copies, copies);
  EXPECT_EQ(lines()[0]["calls"], 5);
  EXPECT_EQ(lines()[0]["samples"], 0);
}

TEST_F(Audit, WhatEventsSayIsLookedAtLater) {
  runtime().events_come = false;
  call(dgemm());
  call(dgemm(kM - 1));
  EXPECT_EQ(lines().size(), 2U);
  for (const json& line : lines()) {
    EXPECT_EQ(line["calls"], 1);
    EXPECT_EQ(line["seconds"], 0);
    EXPECT_EQ(line["samples"], 0);
  }
  runtime().events_come = true;
  std::int64_t samples = 0;
  for (const json& line : lines()) {
    EXPECT_NEAR(line["seconds"], 0.5e-3, 1e-9);
    samples += line["samples"].get<std::int64_t>();
  }
  EXPECT_EQ(samples, 1);  // one at a time
}

TEST_F(Audit, CapturedCallsAreLeftAlone) {
  runtime().is_capturing = true;
  call(dgemm());
  EXPECT_EQ(runtime().events, 0);
  EXPECT_EQ(runtime().copies, 0);
  ASSERT_EQ(lines().size(), 1U);
  EXPECT_EQ(lines()[0]["calls"], 1);
  EXPECT_EQ(lines()[0]["captured"], 1);
  EXPECT_EQ(lines()[0]["seconds"], 0);
}

TEST_F(Audit, OfManySmallCallsOneInSixteenIsTimed) {
  constexpr int kCalls = 64 + 10 * 16;
  std::thread([&] {
    for (int i = 0; i < kCalls; ++i) dgemm()();
  }).join();
  ASSERT_EQ(lines().size(), 1U);
  EXPECT_EQ(lines()[0]["calls"], kCalls);
  EXPECT_NEAR(lines()[0]["seconds"], kCalls * 0.5e-3, 1e-9);
  const int sample_events = 2 * lines()[0]["samples"].get<int>();
  EXPECT_EQ(runtime().events - sample_events, 2 * (64 + 10));
}

TEST_F(Audit, AnArithmeticThatIsAskedForIsNamedAndHasNoGain) {
  handle.math_mode = CUBLAS_PEDANTIC_MATH;
  std::thread([&] {
    for (int i = 0; i < 100; ++i) dgemm()();  // timed ones and others
  }).join();
  ASSERT_EQ(lines().size(), 1U);
  EXPECT_EQ(lines()[0]["calls"], 100);
  EXPECT_EQ(lines()[0]["note"], dropin::cublas::kMathMode);
  EXPECT_GE(lines()[0]["samples"], 1);
  EXPECT_FALSE(lines()[0].contains("predicted_seconds"));
}

TEST_F(Audit, OtherElementsAreTimedAndNotRead) {
  call([&] {
    return cublasGemmEx(handle.get(), CUBLAS_OP_N, CUBLAS_OP_N, kM, kN, kK, &alpha, a.data(), CUDA_R_16BF, kLd,
                        b.data(), CUDA_R_16BF, kLd, &beta, c.data(), CUDA_R_16BF, kLd, CUBLAS_COMPUTE_32F,
                        CUBLAS_GEMM_DEFAULT);
  });
  EXPECT_EQ(runtime().copies, 0);
  ASSERT_EQ(lines().size(), 1U);
  EXPECT_EQ(lines()[0]["type"], "");
  EXPECT_EQ(lines()[0]["note"], dropin::cublas::kOtherTypes);
  EXPECT_NEAR(lines()[0]["seconds"], 0.5e-3, 1e-9);
}

TEST_F(Audit, ADeviceThatFailsCostsTimesAlone) {
  runtime().works = false;
  expect_forwarded(dgemm());
  ASSERT_EQ(lines().size(), 1U);
  EXPECT_EQ(lines()[0]["calls"], 3);
  EXPECT_EQ(lines()[0]["seconds"], 0);
  EXPECT_FALSE(runtime().has_error);
}

TEST_F(Audit, WithoutMemoryForSamplesThatIsSaid) {
  runtime().has_pinned_memory = false;
  call(dgemm());
  call(dgemm());
  ASSERT_EQ(lines().size(), 1U);
  EXPECT_EQ(lines()[0]["why_no_sample"], "there is no memory for samples");
  EXPECT_NEAR(lines()[0]["seconds"], 2 * 0.5e-3, 1e-9);
}

TEST_F(Audit, BatchesByPointersAreSampledToTheirEnds) {
  constexpr int kCount = 20;
  std::vector<const double*> as;
  std::vector<const double*> bs;
  std::vector<double*> cs;
  for (int i = 0; i < kCount; ++i) {
    as.push_back(a.data() + i);
    bs.push_back(b.data() + i);
    cs.push_back(c.data() + i * kLd * kN);
  }
  const auto batched = [&] {
    return cublasDgemmBatched(handle.get(), CUBLAS_OP_N, CUBLAS_OP_T, kM, kN, kK, &alpha, as.data(), kLd, bs.data(),
                              kLd, &beta, cs.data(), kLd, kCount);
  };
  on_native_call() = [&](const NativeCall&) {
    for (std::size_t i = 0; i < kCount; ++i) {
      Arguments<double> x{.routine = "gemm",
                          .op_b = CUBLAS_OP_T,
                          .m = kM,
                          .n = kN,
                          .k = kK,
                          .alpha = alpha,
                          .beta = beta,
                          .a = {const_cast<double*>(as[i]), kLd},
                          .b = {const_cast<double*>(bs[i]), kLd},
                          .c = {cs[i], kLd}};
      compute(x);
    }
    return CUBLAS_STATUS_SUCCESS;
  };
  call(batched);
  ASSERT_EQ(lines().size(), 1U);
  EXPECT_EQ(lines()[0]["products"], kCount);
  EXPECT_EQ(lines()[0]["error_over_bound"], 0);
  EXPECT_GT(runtime().waits, 0);  // for addresses
}

TEST_F(Audit, ACallOfCublasXtIsTimedByTheClock) {
  on_native_call() = [](const NativeCall&) { return CUBLAS_STATUS_SUCCESS; };
  call([&] {
    return cublasXtDgemm(reinterpret_cast<cublasXtHandle_t>(handle.get()), CUBLAS_OP_N, CUBLAS_OP_N, kM, kN, kK, &alpha,
                         a.data(), kLd, b.data(), kLd, &beta, c.data(), kLd);
  });
  ASSERT_EQ(lines().size(), 1U);
  EXPECT_EQ(lines()[0]["routine"], "cublasXtDgemm");
  EXPECT_EQ(lines()[0]["samples"], 0);
  EXPECT_TRUE(kizami.empty());
}

}  // namespace
}  // namespace kizami::dropin_test
