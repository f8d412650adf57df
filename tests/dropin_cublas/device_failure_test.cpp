// SPDX-License-Identifier: MIT
// A device that fails in the midst of a call: errors of CUDA are injected where Kizami multiplies.
#include <algorithm>
#include <atomic>

#include "dropin_cublas/process.hpp"

namespace kizami::dropin_test {
namespace {

constexpr const char* kFault = "the split in one pass: unspecified launch failure";

class DeviceFailure : public Interposer {
 protected:
  void SetUp() override {
    Interposer::SetUp();
    kizami_status = {StatusCode::kInternal, kFault};
    planner().on_plan = [this](const Batch&) { ++plans; };
  }
  void TearDown() override {
    configuration() = dropin::Configuration{};
    writes_c() = true;
  }

  [[nodiscard]] std::function<cublasStatus_t()> dgemm(double beta, int calls = 1) {
    return [this, beta, calls] {
      cublasStatus_t status{};
      const double one = 1;
      for (int i = 0; i < calls; ++i)
        status = cublasDgemm_v2(handle.get(), CUBLAS_OP_N, CUBLAS_OP_N, 10, 20, 30, &one, nullptr, 10, nullptr, 30,
                                &beta, nullptr, 10);
      return status;
    };
  }
  /// What the call says on stderr.
  std::string said(const std::function<cublasStatus_t()>& function, cublasStatus_t expected) {
    testing::internal::CaptureStderr();
    EXPECT_EQ(call(function), expected);
    return testing::internal::GetCapturedStderr();
  }
  /// All that follow are cuBLAS', and nothing is asked of CUDA or the planner.
  void expect_off() {
    const int asked = runtime().asked;
    const int planned = plans;
    configuration().is_summary_wanted = true;
    for (const cublasStatus_t status : {CUBLAS_STATUS_SUCCESS, CUBLAS_STATUS_EXECUTION_FAILED}) {
      native_status = status;
      EXPECT_EQ(said(dgemm(1), status), "") << "once";
      EXPECT_EQ(native.size(), 1U);
      EXPECT_TRUE(kizami.empty());
    }
    EXPECT_EQ(runtime().asked, asked);
    EXPECT_EQ(plans, planned);
  }
  std::atomic<int> plans{0};
};

TEST_F(DeviceFailure, WhereCudaStillWorksACallThatDoesNotReadCIsLeftToCublas) {
  const std::string text = said(dgemm(0), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(native.size(), 1U);
  EXPECT_EQ(kizami.size(), 1U);
  EXPECT_EQ(text,
            std::string("kizami: cublasDgemm_v2 10x20x30: ") + kFault +
                "; this call and every later one are left to the native library; KIZAMI_SCHEME=native leaves all to "
                "it from the beginning, KIZAMI_WORKSPACE_TOTAL leaves a full device more room\n");
  expect_off();
}

TEST_F(DeviceFailure, ACallThatReadsCReturnsTheErrorOfCublas) {
  const std::string text = said(dgemm(1), CUBLAS_STATUS_EXECUTION_FAILED);
  EXPECT_TRUE(native.empty()) << "C may be written in part, and beta would count twice";
  EXPECT_NE(text.find("this call returns CUBLAS_STATUS_EXECUTION_FAILED"), std::string::npos) << text;
  expect_off();
}

TEST_F(DeviceFailure, ACallThatReadsCIsLeftToCublasWhereNothingThatWritesCWasEnqueued) {
  writes_c() = false;
  const std::string text = said(dgemm(1), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(native.size(), 1U) << "C is as it was";
  EXPECT_EQ(kizami.size(), 1U);
  EXPECT_NE(text.find("this call and every later one are left to the native library"), std::string::npos) << text;
  expect_off();
}

TEST_F(DeviceFailure, ACallIsNotLeftToCublasWhereCudaWorksNoMoreThoughCIsAsItWas) {
  writes_c() = false;
  runtime().works = false;
  static_cast<void>(said(dgemm(1), CUBLAS_STATUS_EXECUTION_FAILED));
  EXPECT_TRUE(native.empty());
  expect_off();
}

TEST_F(DeviceFailure, BlocksOfLevel3GoOnNativelyWhereCIsAsItWas) {
  configuration().settings.min_size = 0;
  writes_c() = false;
  const double one = 1;
  const auto dsyrk = [&] {
    return cublasDsyrk_v2(handle.get(), CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, 64, 20, &one, nullptr, 64, &one, nullptr,
                          64);
  };
  static_cast<void>(said(dsyrk, CUBLAS_STATUS_SUCCESS));
  EXPECT_EQ(kizami.size(), 1U) << "nothing is tried behind the first block";
  EXPECT_GT(native.size(), 1U) << "and the others are cuBLAS'";
}

TEST_F(DeviceFailure, FactorsInDeviceMemoryAreNotLookedAt) {
  handle.pointer_mode = CUBLAS_POINTER_MODE_DEVICE;
  static_cast<void>(said(dgemm(0), CUBLAS_STATUS_EXECUTION_FAILED));
  EXPECT_TRUE(native.empty());
}

TEST_F(DeviceFailure, WhereCudaWorksNoMoreTheCallReturnsTheErrorOfCublas) {
  runtime().works = false;
  const std::string text = said(dgemm(0), CUBLAS_STATUS_EXECUTION_FAILED);
  EXPECT_TRUE(native.empty());
  EXPECT_EQ(runtime().asked, 1);
  EXPECT_FALSE(runtime().has_error) << "none is left for the next check of the program";
  EXPECT_EQ(text,
            std::string("kizami: cublasDgemm_v2 10x20x30: ") + kFault +
                "; CUDA does not work any more in this process, and calls return CUBLAS_STATUS_EXECUTION_FAILED: start "
                "it again, with KIZAMI_SCHEME=native to see whether it fails without Kizami, or in compute-sanitizer, "
                "which names the kernel; nvidia-smi -q names errors of the device\n");
  expect_off();
}

TEST_F(DeviceFailure, ADeviceThatCannotBePreparedIsOff) {
  planner().status = {StatusCode::kInternal, "cudaMemGetInfo: unspecified launch failure"};
  const std::string text = said(dgemm(1), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(native.size(), 1U) << "C is as it was";
  EXPECT_TRUE(kizami.empty());
  EXPECT_NE(
      text.find(
          "kizami: cublasDgemm_v2 10x20x30: cudaMemGetInfo: unspecified launch failure; this call and every later "
          "one are left to the native library"),
      std::string::npos)
      << text;
  planner().status = {};
  expect_off();
}

TEST_F(DeviceFailure, IsSaidOnceByManyThreads) {
  std::atomic<int> failed{0};
  std::atomic<int> forwarded{0};
  on_native_call() = [&](const NativeCall&) {
    ++forwarded;
    return CUBLAS_STATUS_SUCCESS;
  };
  testing::internal::CaptureStderr();
  std::vector<std::thread> crew;
  constexpr int kThreads = 8;
  constexpr int kCalls = 50;
  for (int t = 0; t < kThreads; ++t) {
    crew.emplace_back([&] {
      for (int i = 0; i < kCalls; ++i)
        if (dgemm(1)() == CUBLAS_STATUS_EXECUTION_FAILED) ++failed;
    });
  }
  for (std::thread& thread : crew) thread.join();
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
  EXPECT_GE(failed, 1);
  EXPECT_LE(failed, kThreads) << "each thread asks at most once";
  EXPECT_EQ(failed + forwarded, kThreads * kCalls);
}

TEST_F(DeviceFailure, CaptureModesAreLeftAsTheyWere) {
  static_cast<void>(said(dgemm(0), CUBLAS_STATUS_SUCCESS));
  EXPECT_EQ(runtime().relaxed, 0);
}

TEST_F(DeviceFailure, BlocksOfLevel3Stop) {
  configuration().settings.min_size = 0;
  const double one = 1;
  const auto dsyrk = [&] {
    return cublasDsyrk_v2(handle.get(), CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, 64, 20, &one, nullptr, 64, &one, nullptr,
                          64);
  };
  EXPECT_NE(said(dsyrk, CUBLAS_STATUS_EXECUTION_FAILED).find("kizami: cublasDsyrk_v2 "), std::string::npos);
  EXPECT_EQ(kizami.size(), 1U);
  expect_off();
}

TEST_F(DeviceFailure, AGroupedBatchStops) {
  const cublasOperation_t none[2] = {CUBLAS_OP_N, CUBLAS_OP_N};
  const int size[2] = {10, 11};
  const double one[2] = {1, 1};
  const double* in[2] = {};
  double* out[2] = {};
  const int count[2] = {1, 1};
  const auto grouped = [&] {
    return cublasDgemmGroupedBatched(handle.get(), none, none, size, size, size, one, in, size, in, size, one, out,
                                     size, 2, count);
  };
  static_cast<void>(said(grouped, CUBLAS_STATUS_EXECUTION_FAILED));
  EXPECT_EQ(kizami.size(), 1U) << "the second group is not begun";
  EXPECT_TRUE(native.empty());
}

}  // namespace
}  // namespace kizami::dropin_test
