// SPDX-License-Identifier: MIT
// One loop at a time; workers persist, spin briefly and then sleep on a futex. A loop is described by one 64-bit word
//   gate = epoch << 32 | closed << 31 | seats << 16 | inside
// A worker enters by one compare-and-swap (seats - 1, inside + 1) and leaves by inside - 1. The caller works too, then
// closes the gate and waits only for those inside: a worker that wakes late finds the gate closed and touches nothing,
// so a short loop never waits for a sleeping thread. What a body throws ends the handing out of tasks, and is thrown
// again by the caller once all workers have left. The state is initialised at compile time and never destroyed; the
// child of a fork constructs it anew over the old one, whose waiters and threads do not exist there. No fork happens
// while this file creates a thread, for the C library's locks would stay locked in the child.
#include "base/thread_pool.hpp"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <ctime>
#include <exception>
#include <new>
#include <thread>
#include <type_traits>
#include <utility>

#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#endif

namespace kizami::base {
namespace {

using Body = std::function<void(std::int64_t, int)>;

constexpr std::uint64_t kClosed = std::uint64_t{1} << 31;
constexpr std::uint64_t kOneSeat = std::uint64_t{1} << 16;
constexpr std::uint64_t kSeatMask = std::uint64_t{0x7FFF} << 16;
constexpr std::uint64_t kInsideMask = 0xFFFF;
constexpr int kMaxThreads = 0x7FFF;  // seats is a 15-bit field

/// Polls before sleeping, 300 * 40 ns = 12 us on Cascade Lake: bridges the gap between the phases of one product.
/// Measured there with two threads: a loop that finds its worker polling costs 0.5 us, one that has to wake it 3 to 5
/// us.
constexpr int kSpins = 300;

void relax() {
#if defined(__x86_64__) || defined(__i386__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

struct alignas(64) Gate {
  std::atomic<std::uint64_t> word{kClosed};
};
struct alignas(64) Counter {
  std::atomic<std::int64_t> next{0};
};
/// A number that threads wait for. Not by std::atomic::wait(): a call once slept for ever in that of GCC 12, with the
/// number changed. Why was not found; it asks whether anyone waits by a load that may come before the store waited for,
/// and its futexes are not private to the process. Neither is so here, and await() may look again.
class alignas(64) Signal {
 public:
  [[nodiscard]] std::uint32_t value() const { return value_.load(std::memory_order_acquire); }

  /// Changes the number, and wakes up to `count` of those who sleep for it.
  void change(std::uint32_t value, int count) {
    value_.store(value, std::memory_order_seq_cst);
    // Of this store and load, and those of await(), in one order of all, one finds what the other has written.
    if (sleepers_.load(std::memory_order_seq_cst) != 0) futex(FUTEX_WAKE, static_cast<std::uint32_t>(count), nullptr);
  }

  /// Returns once the number differs from `old`.
  /// @param looks_again every second, so that a lost wake-up costs no more
  std::uint32_t await(std::uint32_t old, bool looks_again = false) {
    for (int i = 0; i < kSpins; ++i) {
      const std::uint32_t now = value();
      if (now != old) return now;
      relax();
    }
    const timespec second{1, 0};
    sleepers_.fetch_add(1, std::memory_order_seq_cst);
    std::uint32_t now = 0;
    while ((now = value_.load(std::memory_order_seq_cst)) == old)
      futex(FUTEX_WAIT, old, looks_again ? &second : nullptr);  // at once, if the number has changed
    sleepers_.fetch_sub(1, std::memory_order_relaxed);
    return now;
  }

 private:
  void futex(int operation, std::uint32_t number, const timespec* timeout) {
    const int before = errno;
    syscall(SYS_futex, &value_, operation | FUTEX_PRIVATE_FLAG, number, timeout, nullptr, 0);
    errno = before;
  }

  std::atomic<std::uint32_t> value_{0};
  std::atomic<std::uint32_t> sleepers_{0};
};
static_assert(sizeof(std::atomic<std::uint32_t>) == 4 && std::atomic<std::uint32_t>::is_always_lock_free);

/// One call of parallel_for(), on its stack.
struct Loop {
  const Body& body;
  std::int64_t num_tasks;
  std::atomic<bool> has_thrown{false};
  std::exception_ptr thrown = nullptr;  // written by whoever sets has_thrown, read once all have left
};

struct State {
  Gate gate;
  Counter tasks;
  Signal epoch;     // changes with every loop: sleeping workers wait for it
  Signal finished;  // epoch of the last loop whose caller had to wait
  std::atomic<bool> busy{false};
  int num_workers = 0;   // written by the holder of busy only, as the one below
  Loop* loop = nullptr;  // read by workers inside only
};

static_assert(std::is_trivially_destructible_v<State>);
constinit State g_state;
constinit thread_local bool t_is_inside_loop = false;

State& state() { return *std::launder(&g_state); }

pthread_mutex_t g_thread_creation = PTHREAD_MUTEX_INITIALIZER;

/// When the library is loaded, so that no fork can come before or between.
[[gnu::constructor]] void prepare_for_forks() {
  pthread_atfork([] { pthread_mutex_lock(&g_thread_creation); }, [] { pthread_mutex_unlock(&g_thread_creation); },
                 [] {
                   pthread_mutex_unlock(&g_thread_creation);
                   new (&g_state) State;
                 });
}

void take_tasks(State& s, Loop& loop, int worker) noexcept {
  t_is_inside_loop = true;
  try {
    while (!loop.has_thrown.load(std::memory_order_relaxed)) {
      const std::int64_t i = s.tasks.next.fetch_add(1, std::memory_order_relaxed);
      if (i >= loop.num_tasks) break;
      loop.body(i, worker);
    }
  } catch (...) {
    if (!loop.has_thrown.exchange(true, std::memory_order_relaxed)) loop.thrown = std::current_exception();
  }
  t_is_inside_loop = false;
}

/// Joins the open loop, if there is one with a free seat, and works until its tasks are handed out.
void join_loop(State& s) {
  std::uint64_t word = s.gate.word.load(std::memory_order_acquire);
  do {
    if ((word & kClosed) != 0 || (word & kSeatMask) == 0) return;
  } while (!s.gate.word.compare_exchange_weak(word, word - kOneSeat + 1, std::memory_order_acq_rel,
                                              std::memory_order_acquire));
  const int worker = static_cast<int>((word & kSeatMask) / kOneSeat);  // seats max_threads - 1 .. 1, the caller has 0
  take_tasks(s, *s.loop, worker);

  // Once the last one has left, the caller may start another loop: what follows uses only the word as it was.
  const std::uint64_t before = s.gate.word.fetch_sub(1, std::memory_order_acq_rel);
  if ((before & kClosed) != 0 && (before & kInsideMask) == 1) {  // the caller saw someone inside, so it waits for this
    s.finished.change(static_cast<std::uint32_t>(before >> 32), 1);
  }
}

void* worker_main(void* first_epoch) {
  State& s = state();
  auto seen = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(first_epoch));
  for (;;) {
    seen = s.epoch.await(seen);
    join_loop(s);
  }
  return nullptr;
}

/// Starts workers until there are `wanted`; fewer when the system refuses. Signals stay with the caller's threads.
void start_workers(State& s, int wanted) {
  if (s.num_workers >= wanted) return;
  sigset_t all;
  sigset_t old;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  const auto first_epoch = static_cast<std::uintptr_t>(s.epoch.value());
  while (s.num_workers < wanted) {
    pthread_t thread;
    pthread_mutex_lock(&g_thread_creation);
    const int error = pthread_create(&thread, &attributes, worker_main, reinterpret_cast<void*>(first_epoch));
    pthread_mutex_unlock(&g_thread_creation);
    if (error != 0) break;
    ++s.num_workers;
  }
  pthread_attr_destroy(&attributes);
  pthread_sigmask(SIG_SETMASK, &old, nullptr);
}

void run_serially(const Body& body, std::int64_t num_tasks) {
  for (std::int64_t i = 0; i < num_tasks; ++i) body(i, 0);
}

}  // namespace

ThreadPool& ThreadPool::global() {
  static constinit ThreadPool pool;
  return pool;
}

int ThreadPool::hardware_threads() {
  // The kernel refuses a mask smaller than its own: double the size until it fits.
  for (int num_cpus = 1024; num_cpus <= (1 << 20); num_cpus *= 2) {
    cpu_set_t* const set = CPU_ALLOC(static_cast<std::size_t>(num_cpus));
    if (set == nullptr) break;
    const std::size_t bytes = CPU_ALLOC_SIZE(static_cast<std::size_t>(num_cpus));
    const bool is_known = sched_getaffinity(0, bytes, set) == 0;
    const int count = is_known ? CPU_COUNT_S(bytes, set) : 0;
    CPU_FREE(set);
    if (is_known) return std::max(1, count);
  }
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

void ThreadPool::parallel_for(std::int64_t num_tasks, int max_threads, const Body& body) {
  const auto threads = static_cast<int>(std::min<std::int64_t>({num_tasks, max_threads, kMaxThreads}));
  State& s = state();
  if (threads <= 1 || t_is_inside_loop || s.busy.exchange(true, std::memory_order_acquire)) {
    run_serially(body, num_tasks);
    return;
  }
  start_workers(s, threads - 1);
  const int helpers = std::min(s.num_workers, threads - 1);

  Loop loop{.body = body, .num_tasks = num_tasks};
  s.loop = &loop;
  s.tasks.next.store(0, std::memory_order_relaxed);
  const std::uint32_t epoch = s.epoch.value() + 1;
  s.gate.word.store((std::uint64_t{epoch} << 32) | (static_cast<std::uint64_t>(helpers) * kOneSeat),
                    std::memory_order_release);
  s.epoch.change(epoch, helpers);

  take_tasks(s, loop, 0);

  const std::uint64_t before = s.gate.word.fetch_or(kClosed, std::memory_order_acq_rel);
  if ((before & kInsideMask) != 0) {
    std::uint32_t finished = s.finished.value();
    while (finished != epoch) finished = s.finished.await(finished, /*looks_again=*/true);
  }
  s.busy.store(false, std::memory_order_release);
  if (loop.thrown) std::rethrow_exception(std::move(loop.thrown));
}

}  // namespace kizami::base
