// SPDX-License-Identifier: MIT
// The child of a fork neither waits for a lock that a thread of the parent holds, nor for what one is making.
#include "base/fork_safe.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <semaphore>
#include <stdexcept>
#include <thread>
#include <vector>

namespace kizami::base {
namespace {

/// Exit status of a child that runs `body`, by its own end within seconds; -1 if it had to be killed.
template <class Body>
int exit_status_of_child(const Body& body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(10);
    _exit(body());
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}

struct Counted {
  std::mutex mutex;
  int count = 0;
};

TEST(PerProcess, AChildDoesNotWaitForALockOfItsParent) {
  static constinit PerProcess<Counted> counted;
  counted.get().count = 7;
  std::binary_semaphore is_held{0};
  std::binary_semaphore may_go{0};
  std::thread holder([&] {
    const std::lock_guard lock(counted.get().mutex);
    is_held.release();
    may_go.acquire();
  });
  is_held.acquire();
  EXPECT_EQ(exit_status_of_child([] {
              if (counted.known() != nullptr) return 1;
              const std::lock_guard lock(counted.get().mutex);
              return counted.get().count == 0 && counted.known() != nullptr ? 42 : 2;
            }),
            42);
  may_go.release();
  holder.join();
  EXPECT_EQ(counted.get().count, 7) << "the parent keeps what it had";
}

TEST(PerProcess, GrandchildrenBeginAnew) {
  static constinit PerProcess<Counted> counted;
  counted.get().count = 1;
  EXPECT_EQ(exit_status_of_child([] {
              counted.get().count += 2;
              if (counted.get().count != 2) return 1;
              return exit_status_of_child([] { return counted.get().count == 0 ? 42 : 1; });
            }),
            42);
}

TEST(MadeOnce, AChildDoesNotWaitForWhatAThreadOfItsParentMakes) {
  static constinit MadeOnce<int> made;
  std::binary_semaphore is_making{0};
  std::binary_semaphore may_go{0};
  std::thread maker([&] {
    static_cast<void>(made.get([&] {
      is_making.release();
      may_go.acquire();
      return 1;
    }));
  });
  is_making.acquire();
  EXPECT_EQ(exit_status_of_child([] { return made.get([] { return 2; }) == 2 ? 42 : 1; }), 42);
  may_go.release();
  maker.join();
  EXPECT_EQ(made.get([] { return 3; }), 1);
  EXPECT_EQ(exit_status_of_child([] { return made.get([] { return 4; }) == 1 ? 42 : 1; }), 42) << "a child inherits it";
}

TEST(MadeOnce, ThreadsGetTheSame) {
  static constinit MadeOnce<std::vector<int>> made;
  std::vector<std::thread> crew;
  std::atomic<const std::vector<int>*> first{nullptr};
  std::atomic<bool> is_same{true};
  for (int t = 0; t < 4; ++t) {
    crew.emplace_back([&] {
      const std::vector<int>* const mine = &made.get([] { return std::vector<int>(100, 5); });
      const std::vector<int>* known = nullptr;
      if (!first.compare_exchange_strong(known, mine) && known != mine) is_same = false;
    });
  }
  for (std::thread& thread : crew) thread.join();
  EXPECT_TRUE(is_same);
}

TEST(MadeOnce, WhatIsThrownLeavesNothing) {
  static constinit MadeOnce<int> made;
  EXPECT_THROW(static_cast<void>(made.get([]() -> int { throw std::runtime_error("not now"); })), std::runtime_error);
  EXPECT_EQ(made.get([] { return 5; }), 5);
}

}  // namespace
}  // namespace kizami::base
