// SPDX-License-Identifier: MIT
#include "gpu_soak/soak.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <latch>
#include <map>
#include <memory>
#include <mutex>
#include <semaphore>
#include <thread>
#include <vector>

#include "gpu_soak/gate.hpp"
#include "gpu_soak/handles.hpp"
#include "gpu_soak/memory.hpp"
#include "gpu_soak/seeds.hpp"

namespace gpu_soak {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

class Soak {
 public:
  explicit Soak(const Options& options)
      : options_(options),
        journals_(static_cast<std::size_t>(options.threads)),
        pressure_(surroundings_, least_left()),
        crowd_(options.threads, seeds_of_crowds(), actions_of_crowds()) {
    for (std::uint64_t i = 0; i < Seeds::kNumShared; ++i) results_[seeds_.shared(i)];
    if (options.wishes.wants_same_bits) {
      for (const std::uint64_t seed : seeds_of_crowds()) results_[seed];
    }
    if (options.only_case) results_[*options.only_case];
  }

  Report run() {
    std::vector<std::vector<std::unique_ptr<Slot>>> slots(journals_.size());
    report_.device_measure = memory_.measure();
    const std::int64_t before = pressure_.parts_of_others(memory_).whole;
    for (auto& of_thread : slots) {
      for (int i = 0; i < options_.streams; ++i)
        of_thread.push_back(std::make_unique<Slot>(options_.wishes, surroundings_));
    }
    report_.own_bytes = pressure_.parts_of_others(memory_).whole - before;
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
    report_.crowds = crowd_.counts();
    static_cast<void>(sample());
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

  /// Products whose bits are promised are emulated as long as there is memory for them: of large ones 2 GiB each, twice
  /// in 16 slots.
  [[nodiscard]] std::int64_t least_left() const {
    const std::int64_t promised = options_.wishes.limits.large_every > 0 ? 64 : 24;
    return (options_.wishes.wants_same_bits ? promised : 1) << 30;
  }

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

  void work(std::size_t thread, std::vector<std::unique_ptr<Slot>>& slots) {
    Handles handles(surroundings_);
    const bool renews = options_.wishes.limits.features.has(Feature::kHandles);
    int num_crowds = 0;
    for (std::uint64_t count = 0; !is_done(); ++count) {
      for (; !crowd_.is_empty() && seconds_since(start_) >= Crowd::kEvery * num_crowds; ++num_crowds)
        come_to_crowd(thread, slots, handles);
      Slot& slot = *slots[count % slots.size()];
      if (slot.is_busy()) account(slot);
      if (count == seeds_.cases_of_thread() && ++num_threads_that_met_all_ == options_.threads)
        report_.all_met = seconds_since(start_);
      if (renews && mixed(count ^ thread << 32) % 64 == 0) {
        handles.renew();
        ++num_handles_;
      }
      issue(thread, slot, seeds_.of_thread(thread, count), handles);
    }
    drain(slots);
    crowd_.leave();
    all_have_left_.arrive_and_wait();  // a handle that is destroyed waits for the device, which a crowd may hold back
  }

  void drain(std::vector<std::unique_ptr<Slot>>& slots) {
    for (auto& slot : slots) {
      if (slot->is_busy()) account(*slot);
    }
  }

  void issue(std::size_t thread, Slot& slot, std::uint64_t seed, const Handles& handles, cudaEvent_t gate = nullptr) {
    {
      Journal& journal = journals_[thread];
      const std::lock_guard lock(journal.mutex);
      journal.seeds[static_cast<std::size_t>(journal.count++ % 4)] = seed;
    }
    ++num_issued_;
    slot.issue(draw_case(seed, options_.wishes.limits), handles.get(), handles.lt(), gate);
  }

  void come_to_crowd(std::size_t thread, std::vector<std::unique_ptr<Slot>>& slots, const Handles& handles) {
    const auto issue_case = [&](std::uint64_t seed, bool is_on_all) {
      if (!is_on_all && thread == 0) issue(thread, *slots.front(), seed, handles);
      for (auto& slot : slots) {
        if (is_on_all) issue(thread, *slot, seed, handles, gate_.event());
      }
    };
    crowd_.run([&] { drain(slots); }, issue_case);
    if (thread == 0 && report_.first_crowd == 0) report_.first_crowd = seconds_since(start_);
  }

  /// Of the cases that come, or, where always others do, of some that may.
  [[nodiscard]] std::vector<std::uint64_t> seeds_of_crowds() const {
    constexpr std::uint64_t kNumDrawn = 4096;
    if (options_.only_case || !options_.wishes.limits.features.has(Feature::kCrowds)) return {};
    return crowd_seeds(seeds_.population(kNumDrawn), options_.wishes.limits);
  }

  [[nodiscard]] Crowd::Actions actions_of_crowds() {
    Crowd::Actions actions;
    actions.hold_back = [this] {
      guarded([&] {
        device_is_free_.acquire();
        gate_.close();
      });
    };
    actions.let_go = [this] {
      bool was_closed = false;
      guarded([&] {
        was_closed = gate_.open();
        device_is_free_.release();
      });
      return was_closed;
    };
    actions.look = [this] {
      Parts parts;
      guarded([&] { parts = sample(); });
      return parts;
    };
    return actions;
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
    report_.large_calls += x.is_large ? 1 : 0;
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

  Parts sample() {
    const std::lock_guard lock(sample_mutex_);
    const double seconds = seconds_since(start_);
    Parts parts = pressure_.parts_of_others(memory_);
    parts.whole -= report_.own_bytes;
    report_.device.add(seconds, parts);
    const HostMemory host = host_memory();
    report_.resident.add(seconds, host.resident);
    report_.anonymous.add(seconds, host.anonymous);
    report_.heap.add(seconds, host.heap);
    return parts;
  }
  void watch() {
    while (!is_over_) {
      static_cast<void>(sample());
      pause(0.25);
    }
  }

  void take_memory() {
    constexpr std::array<std::int64_t, 4> kLeft{1, 2, 4, 16};  // GiB
    while (!is_over_ && !crowd_.is_empty() && crowd_.num_crowds() == 0) pause(0.1);
    for (std::uint64_t i = 0; !is_over_; ++i) {
      pause(1 + 0.5 * static_cast<double>(i % 5));
      if (is_over_) return;
      while_device_is_free([&] { pressure_.take(kLeft[i % kLeft.size()] << 30); });
      pause(0.5);
      while_device_is_free([&] { pressure_.give_back(); });
    }
  }

  template <class Action>
  void while_device_is_free(const Action& action) {
    device_is_free_.acquire();
    action();
    device_is_free_.release();
  }

  void pause(double seconds) const {
    const auto start = Clock::now();
    while (!is_over_ && seconds_since(start) < seconds) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }

  const Options& options_;
  const Seeds seeds_{options_.seed, options_.threads, options_.cases, options_.wishes.wants_same_bits,
                     options_.only_case};
  Surroundings surroundings_;
  std::vector<Journal> journals_;
  std::atomic<int> num_threads_that_met_all_ = 0;
  DeviceMemory memory_;
  Pressure pressure_;
  Gate gate_;
  std::binary_semaphore device_is_free_{1};  ///< or held back: memory is not taken meanwhile, which may wait for it
  Crowd crowd_;
  std::latch all_have_left_{options_.threads};
  Clock::time_point start_ = Clock::now();
  std::atomic<bool> is_over_ = false;
  std::atomic<std::int64_t> num_calls_ = 0, num_issued_ = 0, num_handles_ = 0;
  std::mutex print_mutex_, report_mutex_, sample_mutex_;
  std::map<std::uint64_t, std::optional<unsigned long long>>
      results_;  ///< of cases that are made again and again, by seed
  Report report_;
};

}  // namespace

Report run_soak(const Options& options) { return Soak(options).run(); }

}  // namespace gpu_soak
