// SPDX-License-Identifier: MIT
// Calls on a device that has less memory left than the planner wishes.
#include <algorithm>
#include <atomic>

#include "dropin/cublas/workspace_search.hpp"
#include "dropin/policy/record.hpp"
#include "dropin_cublas/process.hpp"

extern "C" int kizami_workspaces(std::size_t* held, std::size_t* most_held,
                                 std::size_t* used) noexcept;  // workspaces.cpp

namespace kizami::dropin_test {
namespace {

constexpr std::size_t kGiB = std::size_t{1} << 30;
constexpr std::size_t kMiB = std::size_t{1} << 20;

class Memory : public Interposer {
 protected:
  void SetUp() override {
    Interposer::SetUp();
    planner().wished_bytes = 4842988864;  // of an FP64 product of 8192
    on_kizami_call() = [this](const KizamiCall& call) {
      kizami.push_back(call);
      const std::size_t limit = call.policy.workspace_limit_bytes;
      const std::size_t bytes = limit == 0 ? planner().wished_bytes : std::min(limit, planner().wished_bytes);
      return bytes <= left ? Status() : Status(StatusCode::kOutOfMemory, "workspace: out of memory");
    };
  }
  void TearDown() override { configuration() = dropin::Configuration{}; }

  [[nodiscard]] std::function<cublasStatus_t()> dgemm() {
    return [this] {
      const double one = 1;
      return cublasDgemm_v2(handle.get(), CUBLAS_OP_N, CUBLAS_OP_N, 10, 20, 30, &one, address<const double>(0xA000), 10,
                            address<const double>(0xB000), 30, &one, address<double>(0xC000), 10);
    };
  }
  /// The limits that Kizami was called with.
  [[nodiscard]] std::vector<std::size_t> limits() const {
    std::vector<std::size_t> all;
    for (const KizamiCall& call : kizami) all.push_back(call.policy.workspace_limit_bytes);
    return all;
  }
  [[nodiscard]] bool is_in_summary(const std::string& text) const {
    return dropin::process_record().text().find(text) != std::string::npos;
  }
  std::size_t left = 0;
};

using Limits = std::vector<std::size_t>;

TEST_F(Memory, SmallerPlansAreTried) {
  left = 2 * kGiB - 1;
  EXPECT_EQ(call(dgemm()), CUBLAS_STATUS_SUCCESS);
  EXPECT_TRUE(native.empty());
  EXPECT_EQ(limits(), (Limits{0, 4 * kGiB, 2 * kGiB, kGiB}));
  left = 64 * kMiB;
  EXPECT_EQ(call(dgemm()), CUBLAS_STATUS_SUCCESS);
  EXPECT_TRUE(native.empty());
  EXPECT_EQ(limits(), (Limits{kGiB, 512 * kMiB, 256 * kMiB, 128 * kMiB, 64 * kMiB}));
}

TEST_F(Memory, WithoutMemoryForTheLeastTheCallIsCublas) {
  left = 64 * kMiB - 1;
  native_status = CUBLAS_STATUS_ARCH_MISMATCH;
  EXPECT_EQ(call(dgemm()), CUBLAS_STATUS_ARCH_MISMATCH);
  EXPECT_EQ(native.size(), 1U);
  EXPECT_EQ(limits(), (Limits{0, 4 * kGiB, 2 * kGiB, kGiB, 512 * kMiB, 256 * kMiB, 128 * kMiB, 64 * kMiB}));
  EXPECT_EQ(call(dgemm()), CUBLAS_STATUS_ARCH_MISMATCH);
  EXPECT_EQ(native.size(), 1U);
  EXPECT_TRUE(kizami.empty()) << "what was refused is not asked for again at once";
}

TEST_F(Memory, MemoryThatIsFreeAgainIsTakenAfterSomeCalls) {
  left = kGiB;
  EXPECT_EQ(call(dgemm()), CUBLAS_STATUS_SUCCESS);
  left = 5 * kGiB;
  std::uint32_t calls = 0;
  do {
    ASSERT_LE(++calls, dropin::cublas::kRetryPeriod);
    EXPECT_EQ(call(dgemm()), CUBLAS_STATUS_SUCCESS);
  } while (limits() != Limits{0});
  EXPECT_EQ(calls, dropin::cublas::kRetryPeriod);
  EXPECT_EQ(call(dgemm()), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(limits(), (Limits{0}));
}

TEST_F(Memory, WhereThereIsNoSmallerPlanTheCallIsCublas) {
  planner().least_bytes = 3 * kGiB;
  EXPECT_EQ(call(dgemm()), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(limits(), (Limits{0, 4 * kGiB}));
  EXPECT_EQ(native.size(), 1U);
}

TEST_F(Memory, WhereThePlannerPrefersItInLessMemoryTheCallIsCublas) {
  planner().native_below = kGiB;
  EXPECT_EQ(call(dgemm()), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(limits(), (Limits{0, 4 * kGiB, 2 * kGiB, kGiB}));
  EXPECT_EQ(native.size(), 1U);
}

TEST_F(Memory, TheLimitOfAllWorkspacesComesFirst) {
  left = 5 * kGiB;
  configuration().workspace_total = 250 * kMiB;
  EXPECT_EQ(call(dgemm()), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(limits(), (Limits{250 * kMiB}));
  EXPECT_TRUE(native.empty());
  left = 100 * kMiB;  // others hold the rest
  EXPECT_EQ(call(dgemm()), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(limits(), (Limits{250 * kMiB, 128 * kMiB, 64 * kMiB}));
}

TEST_F(Memory, ALimitOfAProductIsWhereTheSearchBegins) {
  left = 300 * kMiB;
  configuration().settings.policy.workspace_limit_bytes = kGiB;
  EXPECT_EQ(call(dgemm()), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(limits(), (Limits{kGiB, 512 * kMiB, 256 * kMiB}));
}

TEST_F(Memory, AProgramCanAskWhatIsHeld) {
  pool().use = {.held_bytes = 1234, .most_held_bytes = 5678, .used_bytes = 99};
  std::size_t held = 0;
  std::size_t most_held = 0;
  std::size_t used = 0;
  EXPECT_EQ(kizami_workspaces(&held, &most_held, &used), 0);
  EXPECT_EQ(held, 1234U);
  EXPECT_EQ(most_held, 5678U);
  EXPECT_EQ(used, 99U);
}

TEST_F(Memory, LackOfItIsInLogAndSummary) {
  left = kGiB;
  pool().use.most_held_bytes = 123456;
  configuration().is_summary_wanted = true;
  configuration().monitor_period = 1;  // with a log
  planner().scheme = Scheme::kOzaki2;
  runtime().is_capturing = true;
  EXPECT_EQ(call(dgemm()), CUBLAS_STATUS_SUCCESS);
  EXPECT_NE(logged.find("entry, within 1073741824 bytes for lack of memory"), std::string::npos) << logged;
  left = 0;
  EXPECT_EQ(call(dgemm()), CUBLAS_STATUS_SUCCESS);
  EXPECT_NE(logged.find("native: there is no memory for a workspace, nor for a smaller one"), std::string::npos)
      << logged;
  EXPECT_TRUE(is_in_summary("workspaces held at most 123456 bytes of a device\n"));
  EXPECT_TRUE(is_in_summary("for lack of memory 1 call ran in a smaller workspace, 1 was left to the native library\n"))
      << dropin::process_record().text();
}

TEST_F(Memory, ADeviceWithoutRoomForTheConstantsIsAskedAgain) {
  left = 5 * kGiB;
  std::atomic<int> plans{0};
  planner().on_plan = [&](const Batch&) { ++plans; };
  planner().status = {StatusCode::kOutOfMemory, "CRT constants: out of memory"};
  testing::internal::CaptureStderr();
  EXPECT_EQ(call([&] {
              EXPECT_EQ(dgemm()(), CUBLAS_STATUS_SUCCESS);
              EXPECT_EQ(plans, 1);
              planner().status = {};
              return dgemm()();
            }),
            CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "") << "nothing says that every call is native";
  EXPECT_EQ(native.size(), 1U);
  EXPECT_EQ(kizami.size(), 1U);
}

TEST_F(Memory, BlocksOfLevel3TrySmallerPlans) {
  left = 2 * kGiB;
  configuration().settings.min_size = 0;
  const double one = 1;
  EXPECT_EQ(call([&] {
              return cublasDsyrk_v2(handle.get(), CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, 8, 20, &one,
                                    address<const double>(0xA000), 8, &one, address<double>(0xC000), 8);
            }),
            CUBLAS_STATUS_SUCCESS);
  ASSERT_GE(kizami.size(), 3U);
  EXPECT_EQ(kizami[2].policy.workspace_limit_bytes, 2 * kGiB);
  EXPECT_EQ(kizami.back().policy.workspace_limit_bytes, 2 * kGiB);
  for (const NativeCall& block : native) EXPECT_EQ(block.name, "cublasDsyrk_v2_64");
}

TEST_F(Memory, ThreadsShareWhatTheDeviceRefused) {
  left = kGiB;
  std::atomic<int> refused{0};
  std::atomic<int> done{0};
  on_kizami_call() = [&](const KizamiCall& call) {
    const std::size_t limit = call.policy.workspace_limit_bytes;
    const bool is_had = limit != 0 && limit <= left;
    ++(is_had ? done : refused);
    return is_had ? Status() : Status(StatusCode::kOutOfMemory, "workspace: out of memory");
  };
  constexpr int kThreads = 4;
  constexpr int kCalls = 300;
  std::vector<std::thread> crew;
  for (int t = 0; t < kThreads; ++t) {
    crew.emplace_back([&] {
      for (int i = 0; i < kCalls; ++i) EXPECT_EQ(dgemm()(), CUBLAS_STATUS_SUCCESS);
    });
  }
  for (std::thread& thread : crew) thread.join();
  EXPECT_TRUE(native.empty());
  EXPECT_EQ(done, kThreads * kCalls);
  const int retries = kThreads * kCalls / static_cast<int>(dropin::cublas::kRetryPeriod);
  EXPECT_LE(refused, 3 * (kThreads + retries))
      << "three for each thread that came before the first was refused, and each retry";
}

}  // namespace
}  // namespace kizami::dropin_test
