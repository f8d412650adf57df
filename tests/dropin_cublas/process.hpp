// SPDX-License-Identifier: MIT
// Tests of the interposer within one process: this program is the one that calls, and has the interposer linked in
// before a fake libcublas.so.13.
#pragma once

#include <cublas_v2.h>
#include <gtest/gtest.h>

#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "dropin/cublas/attempt.hpp"
#include "dropin/cublas/device_failure.hpp"
#include "dropin/cublas/kept.hpp"
#include "dropin/cublas/learned.hpp"
#include "dropin/policy/answer.hpp"
#include "dropin/policy/configuration.hpp"
#include "dropin_cublas/fake_cublas.hpp"
#include "dropin_cublas/fake_kizami.hpp"

namespace kizami::dropin_test {

/// The configuration that the interposer reads, to be changed between calls.
inline dropin::Configuration& configuration() {
  return const_cast<dropin::Configuration&>(dropin::process_configuration());  // made by new, without const
}

/// What both sides were asked, and what they answer. Every call is made by a new thread, for a thread remembers what
/// the planner said.
class Interposer : public testing::Test {
 protected:
  void SetUp() override {
    dropin::shares_choices = false;
    dropin::cublas::forget_all_kept();
    steps().forget();
    configuration() = dropin::Configuration{};
    planner() = Planner{};
    runtime() = Runtime{};
    solved_blocks() = SolvedBlocks{};
    pool() = Pool{};
    dropin::cublas::forget_device_failure();
    dropin::cublas::forget_shortages();
    dropin::cublas::forget_lessons();
    efforts().forget();
    on_native_call() = [this](const NativeCall& call) {
      const std::lock_guard lock(mutex_);
      native.push_back(call);
      return native_status;
    };
    on_kizami_call() = [this](const KizamiCall& call) {
      const std::lock_guard lock(mutex_);
      kizami.push_back(call);
      return kizami_status;
    };
  }

  /// What the call returns. Both sides forget what was before.
  cublasStatus_t call(const std::function<cublasStatus_t()>& function) {
    native.clear();
    kizami.clear();
    cublasStatus_t status{};
    const bool is_logged = configuration().monitor_period > 0;
    configuration().settings.is_logged = is_logged;
    if (is_logged) testing::internal::CaptureStderr();
    std::thread([&] { status = function(); }).join();
    if (is_logged) logged = testing::internal::GetCapturedStderr();
    return status;
  }

  /// cuBLAS is called once, and its status comes back, whatever it is; Kizami is asked so many times before.
  void expect_forwarded(const std::function<cublasStatus_t()>& function, std::size_t kizami_calls = 0) {
    for (const cublasStatus_t status :
         {CUBLAS_STATUS_SUCCESS, CUBLAS_STATUS_INVALID_VALUE, CUBLAS_STATUS_EXECUTION_FAILED}) {
      native_status = status;
      EXPECT_EQ(call(function), status);
      EXPECT_EQ(native.size(), 1U);
      EXPECT_EQ(kizami.size(), kizami_calls);
    }
    native_status = CUBLAS_STATUS_SUCCESS;
  }
  void expect_emulated(const std::function<cublasStatus_t()>& function) {
    native_status = CUBLAS_STATUS_INTERNAL_ERROR;
    EXPECT_EQ(call(function), CUBLAS_STATUS_SUCCESS);
    EXPECT_TRUE(native.empty());
    EXPECT_EQ(kizami.size(), 1U);
    native_status = CUBLAS_STATUS_SUCCESS;
  }

  FakeHandle handle;
  std::string logged;  ///< by the last call, where calls are monitored
  std::vector<NativeCall> native;
  std::vector<KizamiCall> kizami;
  cublasStatus_t native_status = CUBLAS_STATUS_SUCCESS;
  Status kizami_status;

 private:
  std::mutex mutex_;
};

template <class T>
T* address(std::uintptr_t value) {
  return reinterpret_cast<T*>(value);
}

}  // namespace kizami::dropin_test
