// SPDX-License-Identifier: MIT
// The pool hands out every task once, to distinct workers, nested, from several callers, and in the child of a fork.
#include "base/thread_pool.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <new>
#include <thread>
#include <vector>

// The child of a fork starts threads: this is what the test is about, and what ThreadSanitizer refuses by default.
extern "C" const char* __tsan_default_options() { return "die_after_fork=0"; }

namespace kizami::base {
namespace {

/// Runs one loop that counts the visits of each task; true when each was visited exactly once by a legal worker.
bool every_task_runs_once(std::int64_t num_tasks, int max_threads) {
  std::vector<std::atomic<int>> visits(static_cast<std::size_t>(num_tasks));
  std::atomic<bool> is_legal{true};
  ThreadPool::global().parallel_for(num_tasks, max_threads, [&](std::int64_t i, int worker) {
    if (worker < 0 || worker >= std::max(1, max_threads)) is_legal = false;
    visits[static_cast<std::size_t>(i)].fetch_add(1);
  });
  return is_legal && std::all_of(visits.begin(), visits.end(), [](const auto& v) { return v.load() == 1; });
}

/// Forks and returns the exit status of a child that runs `body`; -1 when the child was killed (a hang is, by an
/// alarm).
template <class Body>
int exit_status_of_child(const Body& body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    _exit(body());
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}

TEST(ThreadPool, RunsEveryTaskOnceForEveryThreadCount) {
  for (const int threads : {-1, 0, 1, 2, 3, 5, 16}) {
    for (const std::int64_t tasks : {0, 1, 2, 3, 7, 64, 1000}) {
      EXPECT_TRUE(every_task_runs_once(tasks, threads)) << tasks << " tasks, " << threads << " threads";
    }
  }
}

TEST(ThreadPool, ManyShortLoopsLoseNoTask) {
  for (int i = 0; i < 3000; ++i) {
    ASSERT_TRUE(every_task_runs_once(1 + i % 9, 2 + i % 4)) << "loop " << i;
  }
}

TEST(ThreadPool, LoopsAfterAPauseWakeSleepingWorkers) {
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(every_task_runs_once(8, 4));
    usleep(3000);
  }
}

// The worker ends when the caller polls, falls asleep, or sleeps: whichever it is, the caller must not sleep on. It looks again each second, so
// a wake-up that is lost is a loop of a second.
TEST(ThreadPool, CallersThatFallAsleepAreWoken) {
  using Clock = std::chrono::steady_clock;
  for (int i = 0; i < 3000; ++i) {
    std::atomic<bool> has_begun{false};
    const auto start = Clock::now();
    ThreadPool::global().parallel_for(2, 2, [&](std::int64_t, int worker) {
      const auto begin = Clock::now();
      if (worker == 0) {  // the caller waits until the other has begun, if there is one
        while (!has_begun.load() && Clock::now() - begin < std::chrono::microseconds(50)) {
        }
        return;
      }
      has_begun.store(true);
      while (Clock::now() - begin < std::chrono::nanoseconds(i % 300 * 100)) {
      }
    });
    ASSERT_LT(Clock::now() - start, std::chrono::milliseconds(990)) << "loop " << i << ": its caller was not woken";
  }
}

TEST(ThreadPool, ResultsOfWorkersAreVisibleToTheCaller) {
  std::vector<std::int64_t> squares(500);  // plain memory: the end of the loop must publish it
  for (int repeat = 0; repeat < 50; ++repeat) {
    ThreadPool::global().parallel_for(
        500, 3, [&](std::int64_t i, int) { squares[static_cast<std::size_t>(i)] = i * i + repeat; });
    for (std::int64_t i = 0; i < 500; ++i) ASSERT_EQ(squares[static_cast<std::size_t>(i)], i * i + repeat);
  }
}

TEST(ThreadPool, WorkersAreDistinctAmongConcurrentCalls) {
  constexpr int kThreads = 4;
  std::atomic<int> users[kThreads] = {};
  std::atomic<bool> is_exclusive{true};
  for (int repeat = 0; repeat < 50; ++repeat) {
    ThreadPool::global().parallel_for(40, kThreads, [&](std::int64_t, int worker) {
      if (users[worker].fetch_add(1) != 0) is_exclusive = false;
      for (int spin = 0; spin < 200; ++spin) std::atomic_signal_fence(std::memory_order_seq_cst);
      users[worker].fetch_sub(1);
    });
  }
  EXPECT_TRUE(is_exclusive);
}

TEST(ThreadPool, UsesSeveralThreads) {
  // Two tasks that wait for each other end only on two threads.
  std::atomic<int> arrived{0};
  ThreadPool::global().parallel_for(2, 2, [&](std::int64_t, int) {
    arrived.fetch_add(1);
    while (arrived.load() < 2) std::this_thread::yield();
  });
  EXPECT_EQ(arrived.load(), 2);
}

TEST(ThreadPool, NestedLoopsRunSerially) {
  std::atomic<int> total{0};
  std::atomic<bool> is_serial{true};
  ThreadPool::global().parallel_for(6, 3, [&](std::int64_t, int) {
    const auto self = std::this_thread::get_id();
    std::int64_t expected = 0;
    ThreadPool::global().parallel_for(10, 3, [&](std::int64_t i, int worker) {
      if (std::this_thread::get_id() != self || worker != 0 || i != expected++) is_serial = false;
      total.fetch_add(1);
    });
  });
  EXPECT_EQ(total.load(), 60);
  EXPECT_TRUE(is_serial);
}

/// What a loop throws whose task `thrower` of `num_tasks` throws its number on the calling thread or on another; -1:
/// nothing.
int thrown_by_loop(int num_tasks, int max_threads, int thrower, std::atomic<int>& running) {
  try {
    ThreadPool::global().parallel_for(num_tasks, max_threads, [&](std::int64_t i, int) {
      running.fetch_add(1);
      for (int spin = 0; spin < 100; ++spin) std::atomic_signal_fence(std::memory_order_seq_cst);
      running.fetch_sub(1);
      if (i == thrower) throw thrower;
    });
  } catch (int number) {
    return number;
  }
  return -1;
}

TEST(ThreadPool, ExceptionsReachTheCaller) {
  std::atomic<int> running{0};
  for (int i = 0; i < 500; ++i) {
    for (const int threads : {1, 2, 4}) {
      ASSERT_EQ(thrown_by_loop(12, threads, i % 12, running), i % 12) << threads << " threads";
      ASSERT_EQ(running, 0) << "thrown before all had left";
    }
  }
  ASSERT_EQ(thrown_by_loop(12, 3, -1, running), -1) << "an exception outlived its loop";
}

TEST(ThreadPool, ExceptionsOfEveryTaskAreOne) {
  for (int i = 0; i < 200; ++i) {
    EXPECT_THROW(ThreadPool::global().parallel_for(8, 3, [](std::int64_t, int) { throw std::bad_alloc(); }),
                 std::bad_alloc);
  }
}

TEST(ThreadPool, LoopsAfterAnExceptionUseSeveralThreads) {
  // Both must be on their own threads, one of which throws.
  for (const int thrower : {0, 1}) {
    std::atomic<int> arrived{0};
    EXPECT_THROW(ThreadPool::global().parallel_for(2, 2,
                                                   [&](std::int64_t i, int) {
                                                     arrived.fetch_add(1);
                                                     while (arrived.load() < 2) std::this_thread::yield();
                                                     if (i == thrower) throw 1;
                                                   }),
                 int);
  }
}

TEST(ThreadPool, ConcurrentCallersAllFinish) {
  std::atomic<bool> is_right{true};
  std::vector<std::thread> callers;
  for (int c = 0; c < 4; ++c) {
    callers.emplace_back([&is_right, c] {
      for (int i = 0; i < 300; ++i) {
        if (!every_task_runs_once(1 + (i + c) % 17, 1 + (i + c) % 5)) is_right = false;
      }
    });
  }
  for (auto& caller : callers) caller.join();
  EXPECT_TRUE(is_right);
}

TEST(ThreadPool, ChildOfAForkStartsAnew) {
  ASSERT_TRUE(every_task_runs_once(50, 4));  // workers exist in the parent, and not in the child
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(exit_status_of_child([] {
                for (int loop = 0; loop < 100; ++loop) {
                  if (!every_task_runs_once(20, 4)) return 1;
                }
                std::atomic<int> arrived{0};  // and it has threads again
                ThreadPool::global().parallel_for(2, 2, [&](std::int64_t, int) {
                  arrived.fetch_add(1);
                  while (arrived.load() < 2) std::this_thread::yield();
                });
                return 42;
              }),
              42);
    EXPECT_TRUE(every_task_runs_once(50, 4)) << "the parent goes on";
  }
}

TEST(ThreadPool, ForkWhileAnotherThreadLoops) {
  std::atomic<bool> stop{false};
  std::thread looper([&stop] {
    while (!stop) ThreadPool::global().parallel_for(8, 3, [](std::int64_t, int) {});
  });
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(exit_status_of_child([] { return every_task_runs_once(20, 3) ? 42 : 1; }), 42);
  }
  stop = true;
  looper.join();
}

TEST(ThreadPool, HardwareThreadsRespectsAffinity) {
  const int all = ThreadPool::hardware_threads();
  EXPECT_GE(all, 1);
  EXPECT_EQ(exit_status_of_child([] {
              cpu_set_t set;
              CPU_ZERO(&set);
              if (sched_getaffinity(0, sizeof(set), &set) != 0)
                return 1;  // unknown to this test on machines beyond 1024 CPUs
              int first = 0;
              while (!CPU_ISSET(first, &set)) ++first;
              CPU_ZERO(&set);
              CPU_SET(first, &set);
              if (sched_setaffinity(0, sizeof(set), &set) != 0) return 2;
              return ThreadPool::hardware_threads() == 1 ? 42 : 3;
            }),
            42);
}

}  // namespace
}  // namespace kizami::base
