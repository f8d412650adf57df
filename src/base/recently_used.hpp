// SPDX-License-Identifier: MIT
// Values by key, of which the least recently used goes when there are too many: what a process learns of the shapes
// that it meets must not grow with their number.
#pragma once

#include <cstddef>
#include <list>
#include <map>
#include <type_traits>
#include <unordered_map>
#include <utility>

namespace kizami::base {

/// Not safe from several threads at once. @range Key is ordered by <, or has == and the Hash that is given
template <class Key, class Value, std::size_t kMost, class Hash = void>
class RecentlyUsed {
  static_assert(kMost > 0);

 public:
  /// Null: not known, or not any more. Valid until the next insert().
  [[nodiscard]] const Value* find(const Key& key) {
    const auto place = places_.find(key);
    if (place == places_.end()) return nullptr;
    entries_.splice(entries_.begin(), entries_, place->second);
    return &place->second->second;
  }
  /// @range the key is not known
  void insert(const Key& key, const Value& value) {
    if (entries_.size() == kMost) {
      places_.erase(entries_.back().first);
      entries_.pop_back();
    }
    entries_.emplace_front(key, value);
    try {
      places_.emplace(key, entries_.begin());
    } catch (...) {  // without memory
      entries_.pop_front();
      throw;
    }
  }
  [[nodiscard]] std::size_t size() const { return entries_.size(); }

 private:
  using Entries = std::list<std::pair<Key, Value>>;
  Entries entries_;  ///< most recently used first
  using Place = typename Entries::iterator;
  std::conditional_t<std::is_void_v<Hash>, std::map<Key, Place>, std::unordered_map<Key, Place, Hash>> places_;
};

}  // namespace kizami::base
