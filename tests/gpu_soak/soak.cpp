// SPDX-License-Identifier: MIT
#include "gpu_soak/soak.hpp"

#include <unistd.h>

#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <thread>
#include <vector>

#include "gpu_soak/handles.hpp"
#include "gpu_soak/memory.hpp"

namespace gpu_soak {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

std::uint64_t mixed(std::uint64_t x) {
  x ^= x >> 33;
  x *= 0xff51afd7ed558ccdULL;
  x ^= x >> 33;
  x *= 0xc4ceb9fe1a85ec53ULL;
  return x ^ (x >> 33);
}

class Soak {
 public:
  explicit Soak(const Options& options)
      : options_(options),
        journals_(static_cast<std::size_t>(options.threads)),
        pressure_(surroundings_, least_left()) {
    for (std::uint64_t i = 0; i < kNumShared; ++i) results_[shared_seed(i)];
    if (options.only_case) results_[*options.only_case];
  }

  Report run() {
    std::vector<std::vector<std::unique_ptr<Slot>>> slots(journals_.size());
    report_.device_measure = memory_.measure();
    const std::int64_t before = pressure_.used_by_others(memory_);
    for (auto& of_thread : slots) {
      for (int i = 0; i < options_.streams; ++i)
        of_thread.push_back(std::make_unique<Slot>(options_.wishes, surroundings_));
    }
    report_.own_bytes = pressure_.used_by_others(memory_) - before;
    start_ = Clock::now();
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < journals_.size(); ++i)
      threads.emplace_back([this, i, &slots] { guarded([&] { work(i, slots[i]); }); });
    std::thread watcher([this] { guarded([&] { watch(); }); });
    std::thread taker;
    if (options_.wishes.limits.features.has(Feature::kPressure) && !options_.only_case)
      taker = std::thread([this] { guarded([&] { take_memory(); }); });
    for (std::thread& thread : threads) thread.join();
    is_over_ = true;
    watcher.join();
    if (taker.joinable()) taker.join();
    report_.seconds = seconds_since(start_);
    report_.handles = num_handles_;
    report_.times_of_pressure = pressure_.num_times();
    sample();
    check(cudaDeviceSynchronize(), "the end");
    report_.workspaces_left = memory_.workspaces();
    report_.used_by_graphs_left = DeviceMemory::used_by_graphs();
    return report_;
  }

 private:
  /// Seeds of the last cases that a thread has issued.
  struct Journal {
    std::mutex mutex;
    std::array<std::uint64_t, 4> seeds{};
    std::int64_t count = 0;
  };

  /// Products whose bits are promised are emulated as long as there is memory for them.
  [[nodiscard]] std::int64_t least_left() const { return std::int64_t{options_.wishes.wants_same_bits ? 24 : 1} << 30; }

  template <class Action>
  void guarded(const Action& action) {
    try {
      action();
    } catch (const std::exception& e) {
      const std::lock_guard lock(print_mutex_);
      std::printf("FAIL %s: %s\n", options_.mode.c_str(), e.what());
      for (std::size_t i = 0; i < journals_.size(); ++i) {
        const std::lock_guard journal_lock(journals_[i].mutex);
        const std::int64_t count = journals_[i].count;
        for (std::int64_t back = 1; back <= std::min<std::int64_t>(count, 1 + options_.streams) && back <= 4; ++back) {
          const std::uint64_t seed = journals_[i].seeds[static_cast<std::size_t>((count - back) % 4)];
          std::printf("  thread %zu, %lld before the last: --case %llu: %s\n", i, static_cast<long long>(back - 1),
                      static_cast<unsigned long long>(seed), text_of(draw_case(seed, options_.wishes.limits)).c_str());
        }
      }
      std::printf("  after %lld calls in %.1f s; cases of%s\n", static_cast<long long>(num_calls_.load()),
                  seconds_since(start_), options_of_cases(options_).c_str());
      static_cast<void>(std::fflush(stdout));
      _exit(3);  // what is under way does not end any more
    }
  }

  [[nodiscard]] bool is_done() const {
    if (options_.only_case) return num_issued_ >= options_.repeats;
    const double seconds = seconds_since(start_);
    if (options_.at_most > 0 && seconds >= options_.at_most) return true;
    return seconds >= options_.seconds && num_calls_ >= options_.calls;
  }

  static constexpr std::uint64_t kNumShared = 64;
  [[nodiscard]] std::uint64_t shared_seed(std::uint64_t i) const { return mixed(mixed(options_.seed) + 1 + i); }

  [[nodiscard]] std::uint64_t cases_of_thread() const {
    return static_cast<std::uint64_t>((options_.cases + options_.threads - 1) / options_.threads);
  }

  /// Seeds of the thread, and where bits are compared now and then one that all threads come back to.
  std::uint64_t next_seed(std::size_t thread, std::uint64_t count) {
    if (options_.only_case) return *options_.only_case;
    if (options_.cases > 0) count %= cases_of_thread();
    const std::uint64_t base = mixed(options_.seed * 0x9e3779b97f4a7c15ULL + 1);
    const std::uint64_t own = mixed(base ^ mixed((thread + 1) << 40 | count));
    if (options_.wishes.wants_same_bits && own % 8 == 0) return shared_seed(own / 8 % kNumShared);
    return own;
  }

  void work(std::size_t thread, std::vector<std::unique_ptr<Slot>>& slots) {
    Handles handles(surroundings_);
    const bool renews = options_.wishes.limits.features.has(Feature::kHandles);
    if (!options_.only_case) begin_with_largest(thread, slots, handles);
    for (std::uint64_t count = 0; !is_done(); ++count) {
      Slot& slot = *slots[count % slots.size()];
      if (slot.is_busy()) account(slot);
      if (count == cases_of_thread() && ++num_threads_that_met_all_ == options_.threads)
        report_.all_met = seconds_since(start_);
      if (renews && mixed(count ^ thread << 32) % 64 == 0) {
        handles.renew();
        ++num_handles_;
      }
      issue(thread, slot, next_seed(thread, count), handles);
    }
    for (auto& slot : slots) {
      if (slot->is_busy()) account(*slot);
    }
  }

  void issue(std::size_t thread, Slot& slot, std::uint64_t seed, const Handles& handles) {
    {
      Journal& journal = journals_[thread];
      const std::lock_guard lock(journal.mutex);
      journal.seeds[static_cast<std::size_t>(journal.count++ % 4)] = seed;
    }
    ++num_issued_;
    slot.issue(draw_case(seed, options_.wishes.limits), handles.get(), handles.lt());
  }

  /// For a second, all slots at once have the largest product, called or captured: pools then have what they need where large cases
  /// meet, for which one might have to wait for hours.
  void begin_with_largest(std::size_t thread, std::vector<std::unique_ptr<Slot>>& slots, const Handles& handles) {
    begin_.arrive_and_wait();
    const auto begin = Clock::now();
    while (seconds_since(begin) < 1) {
      for (const std::uint64_t seed : largest_) {
        for (auto& slot : slots) {
          if (slot->is_busy()) account(*slot);
          issue(thread, *slot, seed, handles);
        }
      }
    }
  }

  void account(Slot& slot) {
    Outcome outcome = slot.finish();
    const Case& x = slot.current();
    const bool is_answered = outcome.is_supported && !outcome.is_refused;
    const bool has_promised_bits =
        options_.wishes.wants_same_bits && is_answered && !is_level3(x.routine) && x.exceptions.empty();
    ++num_calls_;
    const std::lock_guard lock(report_mutex_);
    const auto type = static_cast<std::size_t>(x.scalar);
    ++report_.calls[static_cast<std::size_t>(x.routine)];
    ++report_.calls_of_type[type];
    report_.worst[type] = std::max(report_.worst[type], outcome.findings.worst);
    report_.unsupported += outcome.is_supported ? 0 : 1;
    report_.refused += outcome.is_refused ? 1 : 0;
    report_.replays += x.num_replays;
    report_.asked_again += has_promised_bits && x.is_single() ? 1 : 0;
    if (has_promised_bits) {
      const auto at = results_.find(x.seed);
      if (at != results_.end()) {
        report_.compared_results += at->second ? 1 : 0;
        if (at->second && *at->second != outcome.findings.result)
          outcome.error +=
              (outcome.error.empty() ? "" : "; ") + std::string("other bits than the same call had before");
        at->second = outcome.findings.result;
      }
    }
    if (options_.only_case) {
      const std::lock_guard print_lock(print_mutex_);
      std::printf("%s\n  worst error / allowed %g of %llu elements, result %016llx%s%s%s%s\n", text_of(x).c_str(),
                  outcome.findings.worst, outcome.findings.num_judged, outcome.findings.result,
                  outcome.is_supported ? "" : ", not supported", outcome.is_refused ? ", refused" : "",
                  outcome.error.empty() ? "" : ": ", outcome.error.c_str());
    }
    if (outcome.error.empty()) return;
    constexpr std::int64_t kMostPrinted = 20;
    if (++report_.failures > kMostPrinted) return;
    const std::lock_guard print_lock(print_mutex_);
    std::printf("FAIL %s: %s: %s; worst error / allowed %g\n  gpu_soak --case %llu%s\n", options_.mode.c_str(),
                text_of(x).c_str(), outcome.error.c_str(), outcome.findings.worst,
                static_cast<unsigned long long>(x.seed), options_of_cases(options_).c_str());
    static_cast<void>(std::fflush(stdout));
  }

  void sample() {
    const double seconds = seconds_since(start_);
    report_.device.add(seconds, pressure_.used_by_others(memory_) - report_.own_bytes);
    report_.workspaces.add(seconds, memory_.workspaces().held);
    report_.graphs.add(seconds, DeviceMemory::graphs());
    const HostMemory host = host_memory();
    report_.resident.add(seconds, host.resident);
    report_.anonymous.add(seconds, host.anonymous);
    report_.heap.add(seconds, host.heap);
  }
  void watch() {
    while (!is_over_) {
      sample();
      pause(0.25);
    }
  }

  void take_memory() {
    constexpr std::array<std::int64_t, 4> kLeft{1, 2, 4, 16};  // GiB
    for (std::uint64_t i = 0; !is_over_; ++i) {
      pause(1 + 0.5 * static_cast<double>(i % 5));
      if (is_over_) return;
      pressure_.take(kLeft[i % kLeft.size()] << 30);
      pause(0.5);
      pressure_.give_back();
    }
  }

  void pause(double seconds) const {
    const auto start = Clock::now();
    while (!is_over_ && seconds_since(start) < seconds) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }

  const Options& options_;
  Surroundings surroundings_;
  std::vector<Journal> journals_;
  const std::vector<std::uint64_t> largest_ = largest_seeds(mixed(options_.seed), options_.wishes.limits);
  std::barrier<> begin_{options_.threads};
  std::atomic<int> num_threads_that_met_all_ = 0;
  DeviceMemory memory_;
  Pressure pressure_;
  Clock::time_point start_ = Clock::now();
  std::atomic<bool> is_over_ = false;
  std::atomic<std::int64_t> num_calls_ = 0, num_issued_ = 0, num_handles_ = 0;
  std::mutex print_mutex_, report_mutex_;
  std::map<std::uint64_t, std::optional<unsigned long long>>
      results_;  ///< of cases that are made again and again, by seed
  Report report_;
};

}  // namespace

std::int64_t Report::num_calls() const { return std::accumulate(calls.begin(), calls.end(), std::int64_t{0}); }

std::string options_of_cases(const Options& options) {
  const Wishes& w = options.wishes;
  const Limits standard;
  std::string text;
  char number[32];
  std::snprintf(number, sizeof number, "%g", w.limits.phi_max);
  if (w.limits.types != standard.types) text += " --types " + w.limits.types;
  if (w.limits.max_size != standard.max_size) text += " --max-size " + std::to_string(w.limits.max_size);
  if (w.limits.phi_max != standard.phi_max) text += std::string(" --phi-max ") + number;
  if (!(w.limits.features == standard.features)) text += " --features " + w.limits.features.text();
  if (w.standard.bits != 0) text += " --accuracy-bits " + std::to_string(w.standard.bits);
  if (w.standard.is_emulated) text += " --emulated";
  if (w.wants_same_bits) text += " --same-bits";
  return text;
}

double settled_after(const Options& options, const Report& report) {
  return std::min(std::max(options.settled_after, report.all_met), report.seconds / 2);
}

Report run_soak(const Options& options) { return Soak(options).run(); }

}  // namespace gpu_soak
