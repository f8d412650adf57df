// SPDX-License-Identifier: MIT
// A small pool of worker threads for loops over independent tiles. It survives fork: a BLAS is called from children of
// programs that forked after its first use, and there the pool starts anew instead of hanging on threads that are gone.
#pragma once

#include <cstdint>
#include <functional>

namespace kizami::base {

class ThreadPool {
 public:
  /// The process-wide pool. Threads are started on first use and never more than are asked for.
  static ThreadPool& global();

  /// Number of processors this process may run on (affinity respected), at least 1.
  static int hardware_threads();

  /// Calls body(i, worker) once for each i in [0, num_tasks), on at most max_threads threads, the caller's included;
  /// worker in [0, max_threads) is distinct among concurrent calls, for per-worker scratch. Tasks are handed out
  /// dynamically in ascending order; returns when all are done. If bodies throw, no further task is begun, and one of
  /// the exceptions is thrown here once every thread has left the loop.
  /// @range max_threads >= 1. A call from inside a body, or while another thread's loop runs, runs serially. A body may
  ///        fork, if the child leaves by exec or _exit: the rest of the loop belongs to the parent.
  void parallel_for(std::int64_t num_tasks, int max_threads,
                    const std::function<void(std::int64_t i, int worker)>& body);

  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

 private:
  constexpr ThreadPool() = default;
};

}  // namespace kizami::base
