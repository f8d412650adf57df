// SPDX-License-Identifier: MIT
#include "exec/plan_cache.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

#include "base/fork_safe.hpp"
#include "base/fp_environment.hpp"
#include "base/recently_used.hpp"

namespace kizami::exec {
namespace {

struct Key {
  problem::Shape shape;
  Policy policy;
  Batch batch;
  int num_threads;
  int device;

  friend bool operator==(const Key&, const Key&) = default;
};

/// Policies are few: shapes tell keys apart.
struct HashOfShape {
  [[nodiscard]] std::size_t operator()(const Key& key) const noexcept {
    std::uint64_t hash = static_cast<std::uint64_t>(key.shape.scalar) + 1;
    for (const std::int64_t part :
         {key.shape.m, key.shape.n, key.shape.k, key.batch.num_products, std::int64_t{key.device}})
      hash = (hash ^ static_cast<std::uint64_t>(part)) * 0x9E3779B97F4A7C15U + (hash >> 29);
    return hash;
  }
};

using PlanPointer = std::shared_ptr<const plan::Plan>;

struct Cache {
  std::mutex mutex;
  base::RecentlyUsed<Key, PlanPointer, kPlanCacheSize, HashOfShape> plans;
};

constinit base::PerProcess<Cache> cache;

}  // namespace

Result<PlanPointer> cached_plan(const problem::Shape& shape, const Policy& policy, const plan::Environment& machine,
                                const Batch& batch) {
  const base::FpEnvironmentGuard guard;  // bounds and allowances are computed in FP64
  const Key key{shape, policy, batch, machine.facts.num_threads, machine.facts.device};
  Cache& c = cache.get();
  {
    const std::lock_guard lock(c.mutex);
    if (const PlanPointer* const known = c.plans.find(key)) return *known;
  }
  Result<plan::Plan> made = plan::make(shape, policy, machine, batch);
  if (!made.ok()) return made.status();
  auto plan = std::make_shared<const plan::Plan>(std::move(made).value());
  const std::lock_guard lock(c.mutex);
  if (c.plans.find(key) == nullptr) c.plans.insert(key, plan);  // another thread may have made one
  return plan;
}

}  // namespace kizami::exec
