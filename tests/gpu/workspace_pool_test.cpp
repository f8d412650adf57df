// SPDX-License-Identifier: MIT
// The memory that calls of the library take and give back. KIZAMI_POOL_CALLS: how many calls of changing shapes there
// are; KIZAMI_POOL_JSON: a file to which these add their record, KIZAMI_POOL_COMMIT: the commit in it.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/pool_demand.hpp"
#include "gpu/device_case.hpp"
#include "lab/bench/harness/device.hpp"
#include "lab/bench/harness/facts.hpp"
#include "lab/bench/harness/records.hpp"

namespace kizami::gpu_test {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

class Stream {
 public:
  Stream() { check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate"); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() { static_cast<void>(cudaStreamDestroy(stream_)); }
  [[nodiscard]] cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

/// Square matrices of small whole numbers, one C for each stream.
class Operands {
 public:
  Operands(std::int64_t size, int num_streams)
      : size_(size), a_(numbers(1)), b_(numbers(2)), streams_(static_cast<std::size_t>(num_streams)) {
    for (int i = 0; i < num_streams; ++i) c_.push_back(std::make_unique<DeviceArray<double>>(elements()));
  }
  [[nodiscard]] Status multiply(int stream, std::int64_t m, std::int64_t n, std::int64_t k,
                                const Policy& policy) const {
    const auto i = static_cast<std::size_t>(stream);
    return cuda::gemm<double>(streams_[i].get(), Layout::kColMajor, Op::kNone, Op::kNone, m, n, k, 1.0, a_.data(),
                              size_, b_.data(), size_, 0.0, c_[i]->data(), size_, policy);
  }
  [[nodiscard]] std::vector<double> result(int stream) const {
    return c_[static_cast<std::size_t>(stream)]->download();
  }
  [[nodiscard]] cudaStream_t stream(int i) const { return streams_[static_cast<std::size_t>(i)].get(); }
  [[nodiscard]] int num_streams() const { return static_cast<int>(streams_.size()); }

 private:
  [[nodiscard]] std::size_t elements() const { return static_cast<std::size_t>(size_ * size_); }
  [[nodiscard]] std::vector<double> numbers(unsigned seed) const {
    std::minstd_rand random(seed);
    std::vector<double> values(elements());
    for (double& x : values) x = static_cast<double>(random() % 17) - 8;
    return values;
  }

  std::int64_t size_;
  DeviceArray<double> a_;
  DeviceArray<double> b_;
  std::vector<std::unique_ptr<DeviceArray<double>>> c_;
  std::vector<Stream> streams_;
};

[[nodiscard]] Policy ozaki2() {
  Policy policy;
  policy.scheme = Scheme::kOzaki2;
  return policy;
}

[[nodiscard]] std::size_t workspace_of(std::int64_t m, std::int64_t n, std::int64_t k) {
  const Result<Plan> plan = cuda::make_plan(Scalar::kF64, m, n, k, ozaki2());
  return plan.ok() ? plan.value().workspace_bytes() : 0;
}

[[nodiscard]] cuda::WorkspacePool pool() {
  const Result<cuda::WorkspacePool> use = cuda::workspace_pool();
  EXPECT_TRUE(use.ok()) << use.status().reason();
  return use.ok() ? use.value() : cuda::WorkspacePool{};
}

[[nodiscard]] std::size_t free_bytes() {
  std::size_t free = 0;
  std::size_t all = 0;
  check(cudaMemGetInfo(&free, &all), "cudaMemGetInfo");
  return free;
}

/// Takes device memory until only so much is left.
class Occupied {
 public:
  explicit Occupied(std::size_t left) {
    for (std::size_t piece : {1024 * kMiB, 64 * kMiB, 2 * kMiB}) {
      while (free_bytes() >= left + piece) {
        void* memory = nullptr;
        if (cudaMalloc(&memory, piece) != cudaSuccess) break;
        memory_.push_back(memory);
      }
    }
    static_cast<void>(cudaGetLastError());
  }
  Occupied(const Occupied&) = delete;
  Occupied& operator=(const Occupied&) = delete;
  ~Occupied() {
    for (void* memory : memory_) static_cast<void>(cudaFree(memory));
  }

 private:
  std::vector<void*> memory_;
};

[[nodiscard]] std::string told(const char* variable) {
  const char* const value = std::getenv(variable);
  return value == nullptr ? "" : value;
}

/// What calls of changing shapes held.
struct PoolRecord {
  int num_calls;
  int num_streams;
  double seconds;
  std::size_t largest_workspace;
  cuda::WorkspacePool before, after_first, after;
  std::size_t free_after_first, free_after;  ///< of the device, whoever has it

  /// Adds a line to KIZAMI_POOL_JSON, if it is set.
  void append(bool is_passed) const {
    const std::string path = told("KIZAMI_POOL_JSON");
    if (path.empty()) return;
    bench::Records(path).append(bench::Json{{"bench", "workspace_pool"},
                                            {"date", bench::today()},
                                            {"commit", told("KIZAMI_POOL_COMMIT")},
                                            {"device", bench::device_name()},
                                            {"driver", bench::Gauges().driver},
                                            {"calls", num_calls},
                                            {"streams", num_streams},
                                            {"seconds", seconds},
                                            {"largest_workspace_bytes", largest_workspace},
                                            {"held_before_bytes", before.held_bytes},
                                            {"held_after_a_tenth_bytes", after_first.held_bytes},
                                            {"held_after_bytes", after.held_bytes},
                                            {"peak_after_a_tenth_bytes", after_first.most_held_bytes},
                                            {"peak_bytes", after.most_held_bytes},
                                            {"used_after_bytes", after.used_bytes},
                                            {"device_free_after_a_tenth_bytes", free_after_first},
                                            {"device_free_after_bytes", free_after},
                                            {"passed", is_passed}});
  }
};

using WorkspacePool = DeviceTest;

TEST_F(WorkspacePool, CallsOfChangingShapesDoNotGrowIt) {
  const char* const asked = std::getenv("KIZAMI_POOL_CALLS");
  const int num_calls = asked == nullptr ? 4000 : std::atoi(asked);
  constexpr int kPasses = 10;
  constexpr std::int64_t kSize = 1024;
  const Operands x(kSize, 4);
  PoolRecord record{num_calls, x.num_streams(), 0, 0, pool(), {}, {}, 0, 0};
  std::size_t& largest = record.largest_workspace;
  const auto begin = std::chrono::steady_clock::now();
  for (int pass = 0; pass < kPasses; ++pass) {  // the same shapes again
    std::minstd_rand random(7);
    const auto extent = [&] {
      return static_cast<std::int64_t>(std::exp2(static_cast<double>(random() % 1000) / 100)) + 1;
    };
    for (int i = 0; i < num_calls / kPasses; ++i) {
      const std::int64_t m = std::min(extent(), kSize);
      const std::int64_t n = std::min(extent(), kSize);
      const std::int64_t k = std::min(extent(), kSize);
      if (pass == 0) largest = std::max(largest, workspace_of(m, n, k));
      const Status status = x.multiply(static_cast<int>(random() % 4), m, n, k, ozaki2());
      ASSERT_TRUE(status.ok()) << status.reason();
    }
    check(cudaDeviceSynchronize(), "a pass");
    if (pass == 0) {
      record.after_first = pool();
      record.free_after_first = free_bytes();
    }
  }
  record.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  record.free_after = free_bytes();
  record.after = pool();
  const std::size_t after_first = record.after_first.most_held_bytes;
  const cuda::WorkspacePool& use = record.after;
  std::printf("%d calls: largest workspace %zu bytes, most held after a tenth %zu, after all %zu, held %zu\n",
              num_calls, largest, after_first, use.most_held_bytes, use.held_bytes);
  EXPECT_GE(after_first, largest) << "the workspaces did not come from the pool";
  EXPECT_EQ(use.used_bytes, 0U) << "a workspace was not given back";
  // Which workspaces are there at the same time differs from pass to pass.
  EXPECT_LE(use.most_held_bytes, after_first + 4 * largest);
  EXPECT_LE(use.held_bytes, 2 * 4 * largest + base::PoolDemand::kSlack);
  record.append(!HasFailure());
}

TEST_F(WorkspacePool, WhatABurstTookIsGivenBack) {
  const Operands x(4096, 2);
  for (int stream = 0; stream < 2; ++stream) ASSERT_TRUE(x.multiply(stream, 4096, 4096, 4096, ozaki2()).ok());
  check(cudaDeviceSynchronize(), "the burst");
  const std::size_t large = workspace_of(4096, 4096, 4096);
  const std::size_t small = workspace_of(64, 64, 64);
  const std::size_t kept = 2 * 2 * small + base::PoolDemand::kSlack;
  ASSERT_GT(large, kept) << "there is nothing to give back";
  EXPECT_GE(pool().held_bytes, large) << "what was just needed is kept";
  for (int i = 0; i < 2 * base::PoolDemand::kWindow; ++i) {
    ASSERT_TRUE(x.multiply(i % 2, 64, 64, 64, ozaki2()).ok());
    check(cudaDeviceSynchronize(), "a small product");
  }
  EXPECT_LE(pool().held_bytes, kept);
}

TEST_F(WorkspacePool, AFullDeviceRefusesAndLeavesNoError) {
  const Operands x(4096, 1);
  const std::size_t wished = workspace_of(4096, 4096, 4096);
  constexpr std::size_t kLimit = 128 * kMiB;
  ASSERT_GT(wished, 4 * kLimit);
  Policy smaller = ozaki2();
  smaller.workspace_limit_bytes = kLimit;
  ASSERT_TRUE(x.multiply(0, 4096, 4096, 4096, smaller).ok());  // kernels are loaded, and the pool keeps so much
  check(cudaDeviceSynchronize(), "the first product");
  const std::vector<double> expected = x.result(0);
  {
    const Occupied occupied(wished / 2);
    for (int i = 0; i < 3; ++i) {
      const Status status = x.multiply(0, 4096, 4096, 4096, ozaki2());
      EXPECT_EQ(status.code(), StatusCode::kOutOfMemory) << status.reason();
      EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
    }
    // A graph would find out when it runs.
    check(cudaStreamBeginCapture(x.stream(0), cudaStreamCaptureModeGlobal), "cudaStreamBeginCapture");
    const Status captured = x.multiply(0, 4096, 4096, 4096, ozaki2());
    EXPECT_EQ(captured.code(), StatusCode::kOutOfMemory) << captured.reason();
    const Status captured_smaller = x.multiply(0, 4096, 4096, 4096, smaller);
    EXPECT_TRUE(captured_smaller.ok()) << captured_smaller.reason();
    cudaGraph_t graph = nullptr;
    check(cudaStreamEndCapture(x.stream(0), &graph), "cudaStreamEndCapture");
    cudaGraphExec_t instance = nullptr;
    check(cudaGraphInstantiate(&instance, graph, 0), "cudaGraphInstantiate");
    check(cudaGraphLaunch(instance, x.stream(0)), "cudaGraphLaunch");
    expect_same(x.result(0), expected, "a graph on a full device");
    check(cudaGraphExecDestroy(instance), "cudaGraphExecDestroy");
    check(cudaGraphDestroy(graph), "cudaGraphDestroy");
    ASSERT_TRUE(x.multiply(0, 4096, 4096, 4096, smaller).ok());
    expect_same(x.result(0), expected, "a smaller workspace on a full device");
  }
  ASSERT_TRUE(x.multiply(0, 4096, 4096, 4096, ozaki2()).ok()) << "memory is free again";
  expect_same(x.result(0), expected, "the workspace that the plan wishes");
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
}

TEST_F(WorkspacePool, KeepsTheLimitOfTheProcess) {
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  if (all.successful_test_count() + all.failed_test_count() > 0)
    GTEST_SKIP() << "the limit counts for pools that are not made yet: run this case alone, as ctest does";
  constexpr std::size_t kTotal = 256 * kMiB;
  constexpr int kStreams = 8;
  cuda::limit_workspaces(kTotal);
  const Operands x(2048, kStreams);
  Policy whole = ozaki2();
  whole.workspace_limit_bytes = kTotal;
  ASSERT_TRUE(x.multiply(0, 2048, 2048, 2048, whole).ok());
  const std::vector<double> expected = x.result(0);
  int refused = 0;
  int answered = 0;
  Policy policy = ozaki2();
  policy.workspace_limit_bytes = 100 * kMiB;  // at most two at a time
  for (int i = 0; i < 20 * kStreams; ++i) {
    const Status status = x.multiply(i % kStreams, 2048, 2048, 2048, policy);
    EXPECT_TRUE(status.ok() || status.code() == StatusCode::kOutOfMemory) << status.reason();
    ++(status.ok() ? answered : refused);
  }
  check(cudaDeviceSynchronize(), "all streams");
  std::printf("%d answered, %d refused, at most %zu bytes held\n", answered, refused, pool().most_held_bytes);
  EXPECT_GT(answered, 0);
  EXPECT_LE(pool().most_held_bytes, kTotal);
  EXPECT_GT(pool().most_held_bytes, 0U);
  ASSERT_TRUE(x.multiply(0, 2048, 2048, 2048, whole).ok()) << "all have given theirs back";
  expect_same(x.result(0), expected, "after all streams");
}

}  // namespace
}  // namespace kizami::gpu_test
