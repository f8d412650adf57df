// SPDX-License-Identifier: MIT
// A thread is stopped at each allocation of its first product in turn, whatever it holds or initialises there, and the
// process forks: the child must answer a product all the same. operator new is this program's own.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <new>
#include <semaphore>
#include <string>
#include <thread>

#include "kizami/kizami.h"

// The child of a fork starts threads: this is what the test is about, and what ThreadSanitizer refuses by default.
extern "C" const char* __tsan_default_options() { return "die_after_fork=0"; }

namespace {

constexpr int kAnswered = 42, kWrong = 1, kNotStopped = 2;
constexpr int kMostAllocations = 2000;

/// Of the thread that is stopped: allocations until then.
constinit thread_local int t_until_stop = -1;
constinit std::atomic<bool> has_stopped{false};
std::binary_semaphore has_stopped_or_ended{0};
std::binary_semaphore may_go{0};

void count_allocation() {
  if (t_until_stop < 0 || --t_until_stop >= 0) return;
  has_stopped = true;
  has_stopped_or_ended.release();
  may_go.acquire();
}

}  // namespace

void* operator new(std::size_t bytes) {
  count_allocation();
  void* const memory = std::malloc(bytes == 0 ? 1 : bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
// Inlined where operator new is not, g++ takes free() for a mismatch.
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t /*bytes*/) noexcept { std::free(memory); }

namespace kizami {
namespace {

/// Whether a small product has the right result. @param columns tells shapes apart, for plans that are not known yet
bool multiplies(kizami_scheme scheme, kizami_engine engine, int columns) {
  constexpr int kRows = 3, kTerms = 5, kMostColumns = 8;
  double a[kRows * kTerms];
  double b[kTerms * kMostColumns];
  double c[kRows * kMostColumns];
  for (int i = 0; i < kRows * kTerms; ++i) a[i] = i % 7 - 3;
  for (int i = 0; i < kTerms * columns; ++i) b[i] = i % 5 - 2;
  kizami_policy* policy = nullptr;
  bool is_right = kizami_policy_create(&policy) == KIZAMI_OK &&
                  kizami_policy_set_reproducibility(policy, KIZAMI_REPRODUCIBILITY_NONE) == KIZAMI_OK &&
                  kizami_policy_set_scheme(policy, scheme) == KIZAMI_OK &&
                  kizami_policy_set_engine(policy, engine) == KIZAMI_OK &&
                  kizami_policy_set_threads(policy, 2) == KIZAMI_OK &&
                  kizami_dgemm(KIZAMI_COL_MAJOR, KIZAMI_NONE, KIZAMI_NONE, kRows, columns, kTerms, 1, a, kRows, b,
                               kTerms, 0, c, kRows, policy, nullptr) == KIZAMI_OK;
  kizami_policy_destroy(policy);
  for (int j = 0; j < columns; ++j) {
    for (int i = 0; i < kRows; ++i) {
      double sum = 0;
      for (int h = 0; h < kTerms; ++h) sum += a[h * kRows + i] * b[j * kTerms + h];
      is_right = is_right && c[j * kRows + i] == sum;
    }
  }
  return is_right;
}

/// Exit status of a child that runs `body`; -1 if it did not end within seconds.
int exit_status_of_child(unsigned seconds, const std::function<int()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(seconds);
    _exit(body());
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}

/// In a process where the library has done nothing yet.
int stop_at(int allocation, kizami_scheme scheme, kizami_engine engine) {
  bool is_right = false;
  std::thread stopped([&] {
    t_until_stop = allocation;
    is_right = multiplies(scheme, engine, 2);
    t_until_stop = -1;
    if (!has_stopped) has_stopped_or_ended.release();
  });
  has_stopped_or_ended.acquire();
  int answer = kNotStopped;
  if (has_stopped) {
    answer = exit_status_of_child(10, [&] {
      for (const int columns : {2, 3}) {  // the plan that the stopped thread may be looking for, and another
        if (!multiplies(scheme, engine, columns)) return kWrong;
      }
      return kAnswered;
    });
    may_go.release();
  }
  stopped.join();
  return is_right ? answer : kWrong;
}

void expect_that_children_answer(kizami_scheme scheme, kizami_engine engine) {
  int allocation = 0;
  for (;; ++allocation) {
    ASSERT_LT(allocation, kMostAllocations);
    const int answer = exit_status_of_child(60, [&] { return stop_at(allocation, scheme, engine); });
    if (answer == kNotStopped) break;
    ASSERT_EQ(answer, kAnswered) << "a thread of the parent was stopped at its allocation " << allocation;
  }
  EXPECT_GT(allocation, 4) << "nothing was tested";
}

TEST(AfterFork, Ozaki2) { expect_that_children_answer(KIZAMI_SCHEME_OZAKI2, KIZAMI_ENGINE_AUTO); }
TEST(AfterFork, Ozaki1) { expect_that_children_answer(KIZAMI_SCHEME_OZAKI1, KIZAMI_ENGINE_AUTO); }
TEST(AfterFork, Tile) { expect_that_children_answer(KIZAMI_SCHEME_OZAKI2, KIZAMI_ENGINE_TILE); }
TEST(AfterFork, Native) { expect_that_children_answer(KIZAMI_SCHEME_NATIVE, KIZAMI_ENGINE_AUTO); }

}  // namespace
}  // namespace kizami
