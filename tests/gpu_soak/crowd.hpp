// SPDX-License-Identifier: MIT
// Crowds: all threads meet, and each of their slots gets the same large case while the device is held back, so that as
// many calls and graphs are in flight as ever can be. What pools hold then is what they ever need; chance alone would
// take hours to get there. Crowds come again and again: what is held beyond the crowds of the first minute is not a
// coincidence. Pure but for what the actions do.
#pragma once

#include <atomic>
#include <barrier>
#include <cstdint>
#include <functional>
#include <vector>

#include "gpu_soak/case.hpp"
#include "gpu_soak/parts.hpp"

namespace gpu_soak {

/// Of the cases of crowds. Products of a batch take memory in turn, so that many take no more than one; but a stream
/// holds about 1000 launches, beyond which who issues waits for the device.
inline constexpr int kMostProductsOfCrowds = 8;

/// Those of the population that take most memory: of each routine, type, and of both ways (called or captured), the
/// case of the largest m n k; of each type and way also the products of the largest operands, of the largest result and
/// of the longest k. Cases that bring a workspace of the program's, or multiply nothing, take less and are left out.
/// @return seeds, each once
[[nodiscard]] std::vector<std::uint64_t> crowd_seeds(const std::vector<std::uint64_t>& population,
                                                     const Limits& limits);

/// Which cases a crowd has, one after another: the first crowd all of them, those to come the ones of the first that
/// took a part of the device's memory to its most.
class Rounds {
 public:
  explicit Rounds(std::vector<std::uint64_t> seeds) : seeds_(std::move(seeds)) {}
  [[nodiscard]] const std::vector<std::uint64_t>& seeds() const { return seeds_; }
  [[nodiscard]] bool is_first() const { return is_first_; }
  [[nodiscard]] std::int64_t most_used_workspaces() const { return most_used_; }
  /// @range i < seeds().size(); rising in the first crowd
  void note(std::size_t i, const Parts& parts);
  void end_crowd();

 private:
  struct Most {
    std::int64_t bytes = -1;
    std::size_t round = 0;
  };
  std::vector<std::uint64_t> seeds_;
  std::array<Most, kNumParts + 1> most_;  ///< of each part, and of the workspaces in use
  std::int64_t most_used_ = 0;
  bool is_first_ = true;
};

class Crowd {
 public:
  static constexpr double kEvery = 15;       ///< seconds from begin to begin
  static constexpr int kMostTries = 3;       ///< at a round in which somebody waited for the device
  static constexpr int kMostVainRounds = 8;  ///< one after another, after which the device is not held back any more

  struct Actions {                    ///< one at a time, while all threads wait; they do not throw
    std::function<void()> hold_back;  ///< what is issued from now on does not begin
    std::function<bool()> let_go;     ///< false: it had begun before, because somebody waited for it
    std::function<Parts()> look;      ///< between the two
  };
  struct Counts {
    int crowds = 0;
    int rounds = 0, later_rounds = 0;  ///< of the first crowd, and of each of the others
    int not_at_once = 0;               ///< rounds of all crowds that the device did not wait for in kMostTries
    std::int64_t used_workspaces = 0;  ///< the most that was in use at once
  };

  Crowd(int threads, std::vector<std::uint64_t> seeds, Actions actions);
  Crowd(const Crowd&) = delete;
  Crowd& operator=(const Crowd&) = delete;

  [[nodiscard]] bool is_empty() const { return is_empty_; }
  [[nodiscard]] int num_crowds() const { return num_crowds_; }
  /// @range no thread is in run()
  [[nodiscard]] Counts counts() const;

  /// By every thread that has not left, the same number of times.
  /// @param drain  waits for all that the thread has issued
  /// @param issue  issues the case of a seed: on all slots of the thread, or, where one thread may do it for all of them, only to load
  ///               what the case needs, before a round of the first crowd
  void run(const std::function<void()>& drain, const std::function<void(std::uint64_t seed, bool is_on_all)>& issue);
  /// The thread comes to no more crowds. Others need not wait for it.
  void leave();

 private:
  struct Completion {
    Crowd* crowd;
    void (Crowd::*step)();
    void operator()() noexcept { (crowd->*step)(); }
  };
  void hold_back();
  void look_and_let_go();
  void end();

  const Actions actions_;
  const bool is_empty_;
  Rounds rounds_;
  Counts counts_;
  std::atomic<int> num_present_, num_crowds_ = 0;
  std::atomic<std::size_t> round_ = 0;  ///< the same for all threads
  bool was_at_once_ = true;             ///< of the last try; written while all threads wait
  int num_tries_ = 0, num_vain_rounds_ = 0;
  std::barrier<Completion> drained_, issued_, ended_;
};

}  // namespace gpu_soak
