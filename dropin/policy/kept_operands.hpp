// SPDX-License-Identifier: MIT
// Operands that stay split from call to call under the names that a program gives them. Never under addresses.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "dropin/policy/operand_names.hpp"
#include "kizami/types.hpp"

namespace kizami::dropin {

/// What an operand is kept as, beside its version.
struct KeptKey {
  std::uint64_t id;
  int device;  ///< in whose memory; -1: the host's
  Side side;
  Scalar scalar;
  char op;
  std::int64_t rows, cols;
  std::uint64_t numerics;

  friend bool operator==(const KeptKey&, const KeptKey&) = default;
};

struct KeptCounts {
  std::uint64_t split = 0;  ///< operands that were split to be kept
  std::uint64_t taken = 0;  ///< how often one was taken again
  std::size_t bytes = 0;    ///< that are held
};

/// What of them a process holds, by name. Operands that are let go are destroyed without the lock, when the last call has
/// done with them.
template <class Kept>
class KeptOperands {
 public:
  using Shared = std::shared_ptr<Kept>;

  /// The one that is there, which then is in use, or null. A version that is new replaces the others of its id.
  [[nodiscard]] Shared find(const KeptKey& key, std::uint64_t version) {
    std::vector<Entry> gone;
    const std::lock_guard lock(mutex_);
    let_go([&](const Entry& one) { return one.key.id == key.id && one.version != version; }, gone);
    const auto found = std::ranges::find(kept_, key, &Entry::key);
    if (found == kept_.end()) return nullptr;
    found->last_use = ++uses_;
    ++counts_.taken;
    return found->operand;
  }

  /// @param limit  of bytes on that device: what was not used for longest goes first, and what is larger is not kept
  void keep(const KeptKey& key, std::uint64_t version, const Shared& operand, std::size_t limit) {
    std::vector<Entry> gone;
    const std::size_t bytes = operand->size_bytes();
    const std::lock_guard lock(mutex_);
    ++counts_.split;
    if (bytes > limit) return;                                       // for this call alone
    let_go([&](const Entry& one) { return one.key == key; }, gone);  // of a thread that was as quick
    let_oldest_go(key.device, bytes, limit, gone);
    kept_.push_back({key, version, ++uses_, operand});
    counts_.bytes += bytes;
  }

  /// So that so many bytes more are within the limit. @range bytes <= limit
  void make_room(int device, std::size_t bytes, std::size_t limit) {
    std::vector<Entry> gone;
    const std::lock_guard lock(mutex_);
    let_oldest_go(device, bytes, limit, gone);
  }

  void forget(std::uint64_t id) {
    std::vector<Entry> gone;
    const std::lock_guard lock(mutex_);
    let_go([&](const Entry& one) { return one.key.id == id; }, gone);
  }
  /// @return whether there were any
  bool forget_all_on(int device) {
    std::vector<Entry> gone;
    const std::lock_guard lock(mutex_);
    return let_go([&](const Entry& one) { return one.key.device == device; }, gone) > 0;
  }

  [[nodiscard]] KeptCounts counts() {
    const std::lock_guard lock(mutex_);
    return counts_;
  }

 private:
  struct Entry {
    KeptKey key;
    std::uint64_t version;
    std::uint64_t last_use;
    Shared operand;
  };

  /// @return their bytes
  template <class Condition>
  std::size_t let_go(const Condition& is_let_go, std::vector<Entry>& gone) {
    std::size_t bytes = 0;
    const auto rest =
        std::stable_partition(kept_.begin(), kept_.end(), [&](const Entry& one) { return !is_let_go(one); });
    for (auto one = rest; one != kept_.end(); ++one) {
      bytes += one->operand->size_bytes();
      gone.push_back(*one);
    }
    kept_.erase(rest, kept_.end());
    counts_.bytes -= bytes;
    return bytes;
  }
  void let_oldest_go(int device, std::size_t bytes, std::size_t limit, std::vector<Entry>& gone) {
    for (std::size_t held = held_on(device); held + bytes > limit;) {
      const std::uint64_t oldest = oldest_on(device);
      held -= let_go([&](const Entry& one) { return one.last_use == oldest; }, gone);
    }
  }
  [[nodiscard]] std::size_t held_on(int device) const {
    std::size_t bytes = 0;
    for (const Entry& one : kept_) bytes += one.key.device == device ? one.operand->size_bytes() : 0;
    return bytes;
  }
  /// @range there is one
  [[nodiscard]] std::uint64_t oldest_on(int device) const {
    std::uint64_t oldest = ~std::uint64_t{0};
    for (const Entry& one : kept_) oldest = one.key.device == device ? std::min(oldest, one.last_use) : oldest;
    return oldest;
  }

  std::mutex mutex_;
  std::vector<Entry> kept_;
  KeptCounts counts_;
  std::uint64_t uses_ = 0;
};

// Of each drop-in library.

/// What this library keeps.
[[nodiscard]] KeptCounts kept_counts();
/// All versions of an operand.
void forget_kept(std::uint64_t id);

}  // namespace kizami::dropin
