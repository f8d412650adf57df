// SPDX-License-Identifier: MIT
// What threads have made for the shapes of calls, kept for the process: a factorization asks for a thousand shapes, each a little smaller than the
// one before, and the next one for the same again. A plan takes tens of microseconds, to find it here one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <type_traits>

namespace kizami::dropin {

/// Sets of four places each, by a hash; the oldest of a set goes first. No caller ever waits: where another thread is at a set, nothing is found and
/// nothing kept. Half a megabyte: for base::PerProcess.
template <class Choice>
class SharedChoices {
  static_assert(std::is_trivially_copyable_v<Choice>);

 public:
  static constexpr std::size_t kPlaces = 4;
  static constexpr std::size_t kSets = 1024;
  static constexpr std::size_t kLocks = 16;

  /// Copies what a place holds that `is_for` says to be it.
  template <class IsFor>
  [[nodiscard]] bool find(std::uint64_t hash, const IsFor& is_for, Choice& found) {
    const std::unique_lock lock(lock_of(hash), std::try_to_lock);
    if (!lock.owns_lock()) return false;
    for (const Choice& choice : set_of(hash).places) {
      if (!is_for(choice)) continue;
      found = choice;
      return true;
    }
    return false;
  }
  void keep(std::uint64_t hash, const Choice& choice) {
    const std::unique_lock lock(lock_of(hash), std::try_to_lock);
    if (!lock.owns_lock()) return;
    Set& set = set_of(hash);
    set.places[set.next++ % kPlaces] = choice;
  }

 private:
  struct Set {
    std::array<Choice, kPlaces> places{};
    std::uint32_t next = 0;
  };
  [[nodiscard]] Set& set_of(std::uint64_t hash) { return sets_[(hash >> 40) % kSets]; }
  [[nodiscard]] std::mutex& lock_of(std::uint64_t hash) { return locks_[(hash >> 40) % kLocks]; }

  std::array<Set, kSets> sets_{};
  std::array<std::mutex, kLocks> locks_{};
};

}  // namespace kizami::dropin
