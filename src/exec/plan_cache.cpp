// SPDX-License-Identifier: MIT
#include "exec/plan_cache.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <list>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "base/fork_safe.hpp"
#include "base/fp_environment.hpp"

namespace kizami::exec {
namespace {

struct Entry {
  problem::Shape shape;
  Policy policy;
  Batch batch;
  int num_threads;
  int device;
  std::shared_ptr<const plan::Plan> plan;

  [[nodiscard]] bool is_alike(const Entry& other) const {
    return shape == other.shape && policy == other.policy && batch == other.batch && num_threads == other.num_threads &&
           device == other.device;
  }
};

/// Policies are few: shapes tell entries apart.
[[nodiscard]] std::uint64_t hash_of(const Entry& entry) {
  std::uint64_t hash = static_cast<std::uint64_t>(entry.shape.scalar) + 1;
  for (const std::int64_t extent :
       {entry.shape.m, entry.shape.n, entry.shape.k, entry.batch.num_products, std::int64_t{entry.device}})
    hash = (hash ^ static_cast<std::uint64_t>(extent)) * 0x9E3779B97F4A7C15U + (hash >> 29);
  return hash;
}

class Cache {
 public:
  /// Null where there is none.
  [[nodiscard]] std::shared_ptr<const plan::Plan> find(const Entry& wanted) {
    const std::lock_guard lock(mutex_);
    const auto [begin, end] = places_.equal_range(hash_of(wanted));
    for (auto place = begin; place != end; ++place) {
      if (!place->second->is_alike(wanted)) continue;
      entries_.splice(entries_.begin(), entries_, place->second);
      return place->second->plan;
    }
    return nullptr;
  }
  void keep(Entry entry) {
    const std::lock_guard lock(mutex_);
    entries_.push_front(std::move(entry));
    try {
      places_.emplace(hash_of(entries_.front()), entries_.begin());
    } catch (...) {  // without memory
      entries_.pop_front();
      throw;
    }
    if (entries_.size() <= static_cast<std::size_t>(kPlanCacheSize)) return;
    const auto oldest = std::prev(entries_.end());
    const auto [begin, end] = places_.equal_range(hash_of(*oldest));
    places_.erase(std::find_if(begin, end, [&](const auto& place) { return place.second == oldest; }));
    entries_.erase(oldest);
  }

 private:
  std::mutex mutex_;
  std::list<Entry> entries_;  // most recently used first
  std::unordered_multimap<std::uint64_t, std::list<Entry>::iterator> places_;
};

constinit base::PerProcess<Cache> cache;

}  // namespace

Result<std::shared_ptr<const plan::Plan>> cached_plan(const problem::Shape& shape, const Policy& policy,
                                                      const plan::Environment& machine, const Batch& batch) {
  const base::FpEnvironmentGuard guard;  // bounds and allowances are computed in FP64
  Entry entry{shape, policy, batch, machine.facts.num_threads, machine.facts.device, nullptr};
  if (auto plan = cache.get().find(entry)) return plan;
  Result<plan::Plan> made = plan::make(shape, policy, machine, batch);
  if (!made.ok()) return made.status();
  entry.plan = std::make_shared<const plan::Plan>(std::move(made).value());
  auto plan = entry.plan;
  cache.get().keep(std::move(entry));
  return plan;
}

}  // namespace kizami::exec
