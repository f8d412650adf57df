// SPDX-License-Identifier: MIT
// Calls that an audit mostly only counts: counts are exact, and times are as good as those of the calls that are timed.
#include "dropin/policy/tiny_calls.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "dropin/blas/audit.hpp"
#include "dropin/blas/choice.hpp"
#include "dropin/blas/take.hpp"

namespace kizami::dropin::blas {

/// Instead of the planner.
Emulation predicted_emulation(Scalar, const Shape&) { return {.seconds = 1, .native_seconds = 1}; }

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::nanoseconds;

constexpr nanoseconds kLook{20};  // that a look at the clock takes

/// A clock that goes by what is said to take time.
struct FakeClock {
  Clock::time_point now;
  std::int64_t looks = 0;
};
thread_local FakeClock fake;

struct FakeTime {
  FakeTime() {
    fake = {.now = Clock::time_point(std::chrono::hours(1))};
    restart_audit(fake.now);
    audit_clock.store([]() noexcept {
      ++fake.looks;
      return fake.now += kLook;
    });
  }
  ~FakeTime() { audit_clock.store(&Clock::now); }
  FakeTime(const FakeTime&) = delete;
  FakeTime& operator=(const FakeTime&) = delete;
};

TinyCall product_of(int n, const void* caller = nullptr) {
  static const char function = 0;
  return {&function, caller, packed(102, 111, 111, n, n, n)};
}

/// As an exported function does, with a native one that takes so long.
void multiply(int n, nanoseconds time, const void* caller = nullptr) {
  static const double matrix[32 * 32]{};
  static double result[32 * 32];
  const TinyCall tiny = product_of(n, caller);
  if (only_counted(tiny) != nullptr) {
    fake.now += time;
    return;
  }
  Call<double> call;
  call.m = call.n = call.k = call.lda = call.ldb = call.ldc = n;
  call.alpha = 1;
  call.a = call.b = matrix;
  call.c = result;
  call.name = "cblas_dgemm";
  call.caller = caller;
  AuditedCall<double> audited(call, tiny);
  fake.now += time;
  audited.finish();
}

std::vector<nlohmann::json> rows() {
  std::istringstream in(audit_json());
  std::vector<nlohmann::json> out;
  for (std::string line; std::getline(in, line);) {
    nlohmann::json parsed = nlohmann::json::parse(line);
    if (parsed["event"] == "audited") out.push_back(std::move(parsed));
  }
  return out;
}

std::int64_t calls_of_all() {
  std::int64_t calls = 0;
  for (const nlohmann::json& row : rows()) calls += row["calls"].get<std::int64_t>();
  return calls;
}

TEST(TinyCalls, OneOfManyLooksAtTheClock) {
  const FakeTime time;
  constexpr std::int64_t kCalls = 200000;
  constexpr int kSpread = 41;  // nanoseconds, evenly: a deviation of kSpread / sqrt(12)
  double seconds = 0;
  for (std::int64_t i = 0; i < kCalls; ++i) {
    const nanoseconds took(20 + static_cast<int>(i * 7919 % kSpread));
    fake.now += nanoseconds(100);  // what the program does besides
    multiply(4, took);
    seconds += 1e-9 * static_cast<double>(took.count());
  }
  // All of the first 64, and then one of a period; two looks each, and two of a sample.
  double timed = 64;
  double squares = 64;  // of the calls that each stands for
  unsigned entries = 0;
  for (std::int64_t calls = 64; calls < kCalls; ++timed, ++entries) {
    const std::int64_t period = TinyKind::period_after(entries);
    calls += period;
    squares += static_cast<double>(period * period);
  }
  EXPECT_LE(static_cast<double>(fake.looks), 40 + 4 * timed);
  EXPECT_GE(static_cast<double>(fake.looks), timed);
  ASSERT_EQ(rows().size(), 1U);
  EXPECT_EQ(rows()[0]["calls"], kCalls);
  EXPECT_EQ(rows()[0]["m"].get<std::int64_t>() * rows()[0]["calls"].get<std::int64_t>(), 4 * kCalls);
  EXPECT_GT(rows()[0]["samples"], 0);
  const double deviation = 1e-9 * kSpread / std::sqrt(12.0) * std::sqrt(squares);
  EXPECT_NEAR(rows()[0]["seconds"].get<double>(), seconds, 4 * deviation + 1e-5 * seconds);  // six digits are written
  EXPECT_EQ(audit_totals().native, kCalls);
}

TEST(TinyCalls, CallsThatAreSeldomAreTimedAsTheFirstOnes) {
  const FakeTime time;
  const auto multiply_in = [](int calls, nanoseconds pause) {
    for (int i = 0; i < calls; ++i) {
      fake.now += pause;
      multiply(4, nanoseconds(20));
    }
  };
  multiply_in(200000, nanoseconds(100));
  ASSERT_EQ(due_kind(product_of(4))->period(), TinyKind::period_after(1000));
  multiply_in(1021, std::chrono::milliseconds(1));
  const std::int64_t looks = fake.looks;
  multiply_in(3100, std::chrono::milliseconds(1));
  EXPECT_GE(fake.looks, looks + 2 * 3100 / TinyKind::period_after(0));
}

TEST(TinyCalls, KindsThatAlternateHaveTimesOfTheirOwn) {
  const FakeTime time;
  constexpr int kCalls = 20000;
  for (int i = 0; i < kCalls; ++i) {
    multiply(4, nanoseconds(20));
    multiply(8, nanoseconds(300));
  }
  ASSERT_EQ(rows().size(), 2U);
  for (const nlohmann::json& row : rows()) {
    EXPECT_EQ(row["calls"], kCalls);
    EXPECT_NEAR(row["seconds"].get<double>(), kCalls * (row["m"] == 4 ? 20e-9 : 300e-9), 0.001 * kCalls * 20e-9);
  }
}

TEST(TinyCalls, AnInterruptionIsCountedOnce) {
  const FakeTime time;
  constexpr std::int64_t kCalls = 50000;
  constexpr nanoseconds kPause = std::chrono::milliseconds(4);
  constexpr std::int64_t kPeriod = TinyKind::period_after(100);  // of the kind when it has been called so often
  bool is_interrupted = false;
  for (int i = 0; i < kCalls; ++i) {
    const std::int64_t looks = fake.looks;
    multiply(4, nanoseconds(20));
    if (i < kCalls / 2 || is_interrupted || fake.looks == looks) continue;
    for (int next = 1; next < kPeriod; ++next, ++i) multiply(4, nanoseconds(20));
    multiply(4, kPause);  // the one whose time is due
    is_interrupted = true;
  }
  const double seconds = rows()[0]["seconds"].get<double>();
  const auto calls = static_cast<double>(calls_of_all());
  EXPECT_TRUE(is_interrupted);
  EXPECT_GE(seconds, 1e-9 * static_cast<double>(kPause.count()));
  EXPECT_LE(seconds, 1e-9 * static_cast<double>(kPause.count()) + 1.1 * calls * 20e-9);
}

TEST(TinyCalls, AnInterruptionOfTheFirstTimedOneIsCountedOnce) {
  const FakeTime time;
  constexpr double kPause = 0.004;
  while (due_kind(product_of(4)) == nullptr) multiply(4, nanoseconds(20));  // until the thread has an entry for it
  for (std::int64_t i = 1; i < TinyKind::period_after(0); ++i) multiply(4, nanoseconds(20));
  const std::int64_t looks = fake.looks;
  multiply(4, std::chrono::milliseconds(4));
  EXPECT_GT(fake.looks, looks);
  EXPECT_NEAR(rows()[0]["seconds"].get<double>(), kPause, 0.1 * kPause);
}

TEST(TinyCalls, KindsThatDriveEachOtherOutAreCounted) {
  const FakeTime time;
  std::vector<char> code(700);
  for (int round = 0; round < 40; ++round)
    for (const char& place : code) multiply(3, nanoseconds(20), &place);
  ASSERT_EQ(rows().size(), code.size());
  for (const nlohmann::json& row : rows()) EXPECT_EQ(row["calls"], 40);
}

TEST(TinyCalls, ThreadsThatEndedAreCountedAndTheirTablesUsedAgain) {
  const FakeTime time;
  constexpr int kWaves = 3, kThreads = 4, kCalls = 10007;
  for (int wave = 0; wave < kWaves; ++wave) {
    std::vector<std::thread> threads;
    threads.reserve(kThreads);
    for (int t = 0; t < kThreads; ++t)
      threads.emplace_back([] {
        for (int i = 0; i < kCalls; ++i) multiply(5, nanoseconds(20));
      });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(calls_of_all(), (wave + 1) * kThreads * kCalls);
  }
}

TEST(TinyCalls, ReportsSeeCountsGrowWhileThreadsComeAndDriveKindsOut) {
  const FakeTime time;
  constexpr int kCrew = 3, kLives = 20, kCalls = 1009;
  static const char code[97]{};  // places in turn, more than a table has
  std::atomic<int> busy{kCrew};
  std::vector<std::thread> crew;
  for (int t = 0; t < kCrew; ++t)
    crew.emplace_back([&busy] {
      for (int life = 0; life < kLives; ++life)
        std::thread([life] {
          for (int i = 0; i < kCalls; ++i) multiply(4, nanoseconds(20), &code[life % 2 == 0 ? i % 97 : i % 5]);
        }).join();
      --busy;
    });
  std::int64_t calls = 0;
  bool is_growing = true;
  while (busy > 0) {
    const std::int64_t now = calls_of_all();
    is_growing = is_growing && now >= calls;
    calls = now;
  }
  for (std::thread& thread : crew) thread.join();
  EXPECT_TRUE(is_growing);
  EXPECT_EQ(calls_of_all(), kCrew * kLives * kCalls);
}

TEST(TinyCalls, AChildCountsItsOwn) {
  const FakeTime time;
  for (int i = 0; i < 1000; ++i) multiply(4, nanoseconds(20));
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const bool is_nothing_inherited = calls_of_all() == 0;
    for (int i = 0; i < 777; ++i) multiply(4, nanoseconds(20));
    _exit(is_nothing_inherited && calls_of_all() == 777 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  multiply(4, nanoseconds(20));
  EXPECT_EQ(calls_of_all(), 1001);
}

TEST(TinyCalls, WhatIsWithinAnotherCallIsNotOne) {
  const FakeTime time;
  for (int i = 0; i < 200; ++i) multiply(4, nanoseconds(20));
  {
    const WithinNative within(tiny_table());
    EXPECT_EQ(only_counted(product_of(4)), nullptr);
    { const WithinNative function_that_is_missing(tiny_table()); }
    EXPECT_EQ(only_counted(product_of(4)), nullptr);
    EXPECT_EQ(calls_of_all(), 200);
  }
  EXPECT_EQ(only_counted(product_of(4)), tiny_table());
  EXPECT_EQ(calls_of_all(), 201);
}

TEST(TinyCalls, NumbersBeyondAByteAreNotTiny) {
  EXPECT_NE(packed(102, 111, 255), 0U);
  EXPECT_EQ(packed(102, 111, 256), 0U);
  EXPECT_EQ(packed(102, 111, -1), 0U);
  EXPECT_EQ(packed('N', std::int64_t{1} << 40), 0U);
  EXPECT_NE(packed(1, 2), packed(2, 1));
}

}  // namespace
}  // namespace kizami::dropin::blas
