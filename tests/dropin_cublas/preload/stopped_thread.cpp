// SPDX-License-Identifier: MIT
// stopped_thread WHO: a program whose thread is stopped in its first product, before it gives back each lock of the
// preloaded library in turn, and which forks there. The child must have two products all the same, by WHO: kizami or
// cublas. Prints how many locks there were. pthread_mutex_unlock is this program's own, and the library's calls come to
// it first.
#include <cublas_v2.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio_ext.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <semaphore>
#include <string_view>
#include <thread>

#include "dropin_cublas/fake_cublas.hpp"

namespace {

constexpr int kAnswered = 42, kWrong = 1, kNotStopped = 2, kNotEnded = 3;
constexpr int kMostLocks = 1000;

using Unlock = int (*)(pthread_mutex_t*);
const Unlock real_unlock = reinterpret_cast<Unlock>(dlsym(RTLD_NEXT, "pthread_mutex_unlock"));

const auto name_operand =
    reinterpret_cast<int (*)(int, std::uint64_t, std::uint64_t)>(dlsym(RTLD_DEFAULT, "kizami_dropin_name_operand"));

/// Of the thread that is stopped: locks given back until then.
constinit thread_local int t_until_stop = -1;
constinit std::atomic<bool> has_stopped{false};
std::binary_semaphore has_stopped_or_ended{0};
std::binary_semaphore may_go{0};

bool is_of_the_library(const void* code) {
  Dl_info info{};
  return dladdr(code, &info) != 0 && info.dli_fname != nullptr &&
         std::strstr(info.dli_fname, "kizami_cublas") != nullptr;
}

char printed[1 << 16];  ///< of stdout, which is never written

bool multiplies(int columns) {
  static kizami::dropin_test::FakeHandle handle;
  static const double a = 0;  // nobody reads it
  const double alpha = 2, beta = -1;
  if (name_operand != nullptr && name_operand(0, 1, 1) != 0) return false;  // A is kept, which has locks, too
  return cublasDgemm_v2(handle.get(), CUBLAS_OP_C, CUBLAS_OP_N, 10, columns, 30, &alpha, &a, 30, nullptr, 31, &beta,
                        nullptr, 12) == CUBLAS_STATUS_SUCCESS;
}

/// Lines in stdout's buffer that begin so.
int num_lines(std::string_view begin) {
  int count = 0;
  std::string_view rest(printed, __fpending(stdout));
  while (!rest.empty()) {
    count += rest.substr(0, begin.size()) == begin ? 1 : 0;
    rest.remove_prefix(std::min(rest.size(), rest.find('\n') == rest.npos ? rest.size() : rest.find('\n') + 1));
  }
  return count;
}

/// Exit status of a child that runs `body`; kNotEnded if it did not end by itself within seconds.
int exit_status_of_child(unsigned seconds, const std::function<int()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(seconds);
    _exit(body());
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status)) return kNotEnded;
  return WEXITSTATUS(status);
}

/// In a process where the library has done nothing yet.
int stop_at(int lock, std::string_view who) {
  bool is_right = false;
  std::thread stopped([&] {
    t_until_stop = lock;
    is_right = multiplies(20);
    t_until_stop = -1;
    if (!has_stopped) has_stopped_or_ended.release();
  });
  has_stopped_or_ended.acquire();
  int answer = kNotStopped;
  if (has_stopped) {
    answer = exit_status_of_child(10, [&] {
      __fpurge(stdout);
      // What the stopped thread may be noting down, and another shape.
      return multiplies(20) && multiplies(21) && num_lines(who) == 2 ? kAnswered : kWrong;
    });
    may_go.release();
  }
  stopped.join();
  return is_right ? answer : kWrong;
}

}  // namespace

extern "C" int pthread_mutex_unlock(pthread_mutex_t* mutex) noexcept {
  if (t_until_stop >= 0 && is_of_the_library(__builtin_return_address(0)) && --t_until_stop < 0) {
    has_stopped = true;
    has_stopped_or_ended.release();
    may_go.acquire();
  }
  return real_unlock(mutex);
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  if (std::setvbuf(stdout, printed, _IOFBF, sizeof printed) != 0) return 2;
  for (int lock = 0; lock < kMostLocks; ++lock) {
    const int answer = exit_status_of_child(60, [&] { return stop_at(lock, argv[1]); });
    if (answer == kNotStopped) {
      std::printf("%d locks\n", lock);
      return 0;
    }
    if (answer != kAnswered) {
      std::printf("a thread of the parent was stopped before it gave back lock %d: %s\n", lock,
                  answer == kNotEnded ? "the child hung" : "the child had other products");
      return 1;
    }
  }
  return 1;
}
