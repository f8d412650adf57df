// SPDX-License-Identifier: MIT
// Calls under an audit that take less than two looks at the clock do. Of kinds that a thread makes often it has a table
// of its own, in which most calls are one increment of memory that no other thread writes: one in 31 of a kind, and once
// many were timed in quick succession one in 251 and one in 1021, is timed and stands for those since the timed one
// before. Reports add the tables to the rows (audit.cpp), so that counts are exact.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "dropin/policy/call.hpp"

namespace kizami::dropin {

struct AuditKey;
struct AuditSum;

/// A call as it came, before anything is made of it.
struct TinyCall {
  const void* function = nullptr;  ///< of this library, by an address that is its own
  const void* caller = nullptr;
  std::uint64_t numbers = 0;  ///< packed(); 0: it is not a tiny one
  friend bool operator==(const TinyCall&, const TinyCall&) = default;
};

/// Options and sizes, a byte each; 0: one of them needs more.
template <class... Number>
[[nodiscard]] constexpr std::uint64_t packed(Number... numbers) {
  static_assert(sizeof...(Number) <= 8);
  if ((static_cast<std::uint64_t>(numbers) | ...) > 0xFF) return 0;  // of a negative one, too
  std::uint64_t out = 0;
  ((out = out << 8 | static_cast<std::uint64_t>(numbers)), ...);
  return out;
}

[[nodiscard]] constexpr bool is_tiny(const Shape& x) {
  constexpr std::int64_t kSize = 32;
  return x.m <= kSize && x.n <= kSize && x.k <= kSize;
}

/// One entry of a thread's table, a line of the cache.
struct alignas(64) TinyKind {
  TinyCall call;
  std::atomic<std::int64_t> counted{0};  ///< calls that were only counted: only the thread writes it
  std::int64_t due = 0;                  ///< counted ones at which the next call is timed
  AuditSum* sum = nullptr;               ///< the row; guarded by the audit's mutex where another thread reads it
  std::chrono::steady_clock::time_point timed_at{};  ///< when the last timed call had ended, or the entry was made
  unsigned timed = 0;                                ///< calls, since they were seldom

  /// Calls that a timed one stands for: primes, so that no habit of a program keeps step with them.
  [[nodiscard]] static constexpr std::int64_t period_after(unsigned timed) {
    return timed < 64 ? 31 : timed < 512 ? 251 : 1021;
  }
  [[nodiscard]] std::int64_t period() const { return period_after(timed); }
  /// After a call of it was timed, until `now`. Where 1021 calls take longer than kSeldom, one in 31 is timed, so that
  /// samples and reports need not wait: less than a microsecond for 31 calls that come every 10.
  void wait_for_next(std::chrono::steady_clock::time_point now) {
    constexpr std::chrono::milliseconds kSeldom{10};
    timed = now - timed_at < kSeldom ? timed + 1 : 0;
    timed_at = now;
    due = counted.load(std::memory_order_relaxed) + period() - 1;
  }
};

struct TinyTable {
  static constexpr std::size_t kKinds = 64;
  TinyKind kinds[kKinds];
  bool is_within = false;  ///< the thread is in a native function
  bool is_taken = true;    ///< by a thread; guarded by the audit's mutex
  unsigned num_given = 0;  ///< entries that were given to kinds

  /// Two entries stand by.
  [[nodiscard]] static std::size_t place_of(const TinyCall& call) {
    const std::uint64_t hash =
        call.numbers * 0x9E3779B97F4A7C15U + reinterpret_cast<std::uintptr_t>(call.caller) * 0xC2B2AE3D27D4EB4FU;
    return static_cast<std::size_t>(hash >> 58);
  }
  [[nodiscard]] TinyKind* find(const TinyCall& call) {
    const std::size_t place = place_of(call);
    if (kinds[place].call == call) [[likely]]
      return &kinds[place];
    return kinds[place ^ 1].call == call ? &kinds[place ^ 1] : nullptr;
  }
};

/// What no other thread that lives has.
[[nodiscard, gnu::always_inline]] inline const void* this_thread() noexcept {
#ifdef __x86_64__
  const void* thread = nullptr;
  asm("mov %%fs:0, %0" : "=r"(thread));
  return thread;
#else
  return __builtin_thread_pointer();
#endif
}

/// Where threads find their tables. A thread_local pointer is either a function call away, which all arguments of the
/// call would have to be kept across, or makes all such memory of the library static, for which there is no room in a
/// program that loads it late.
struct TinySlot {
  std::atomic<const void*> thread{nullptr};  ///< null: free, to be taken with the audit's mutex held
  TinyTable* table = nullptr;                ///< only the thread looks
};
inline constexpr int kTinySlotBits = 10;
[[gnu::visibility("hidden")]] extern constinit TinySlot tiny_slots[1 << kTinySlotBits];

[[nodiscard, gnu::always_inline]] inline TinySlot& slot_of(const void* thread) noexcept {
  return tiny_slots[reinterpret_cast<std::uintptr_t>(thread) * std::uint64_t{0x9E3779B97F4A7C15} >>
                    (64 - kTinySlotBits)];
}

/// Of the thread; null: it has none.
[[nodiscard, gnu::always_inline]] inline TinyTable* tiny_table() noexcept {
  const void* const thread = this_thread();
  const TinySlot& slot = slot_of(thread);
  return slot.thread.load(std::memory_order_relaxed) == thread ? slot.table : nullptr;
}

/// While the thread is in a native function: what that one calls is no call of the program.
class WithinNative {
 public:
  /// @param table  of the thread, or null. Within another one nothing changes, at the end neither
  explicit WithinNative(TinyTable* table) : table_(table != nullptr && table->is_within ? nullptr : table) {
    if (table_ != nullptr) table_->is_within = true;
  }
  ~WithinNative() {
    if (table_ != nullptr) table_->is_within = false;
  }
  WithinNative(const WithinNative&) = delete;
  WithinNative& operator=(const WithinNative&) = delete;

 private:
  TinyTable* table_;
};

/// Counts the call, if that is all to be done about it: it is not timed, and the native function is there. @return the
/// thread's table, else null
[[nodiscard, gnu::always_inline]] inline TinyTable* only_counted(const TinyCall& call) noexcept {
  TinyTable* const table = tiny_table();
  if (table == nullptr || table->is_within) return nullptr;
  TinyKind* const kind = table->find(call);
  if (kind == nullptr) return nullptr;
  const std::int64_t counted = kind->counted.load(std::memory_order_relaxed);
  if (counted == kind->due) return nullptr;
  kind->counted.store(counted + 1, std::memory_order_relaxed);
  return table;
}

/// The entry of a call that is not only counted, whose time is due; null: it has none.
[[nodiscard]] inline TinyKind* due_kind(const TinyCall& call) noexcept {
  TinyTable* const table = tiny_table();
  return table == nullptr || call.numbers == 0 ? nullptr : table->find(call);
}

/// From `now` on the thread counts calls like that. @range call.numbers != 0, and there is no entry for it
void keep_tiny(const TinyCall& call, const AuditKey& key, std::chrono::steady_clock::time_point now) noexcept;

}  // namespace kizami::dropin
