// SPDX-License-Identifier: MIT
#include "exec/plan_cache.hpp"

#include <algorithm>
#include <list>
#include <mutex>

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
};

struct Cache {
  std::mutex mutex;
  std::list<Entry> entries;  // most recently used first
};

constinit base::PerProcess<Cache> cache;

}  // namespace

Result<std::shared_ptr<const plan::Plan>> cached_plan(const problem::Shape& shape, const Policy& policy,
                                                      const plan::Environment& machine, const Batch& batch) {
  const base::FpEnvironmentGuard guard;  // bounds and allowances are computed in FP64
  const int num_threads = machine.facts.num_threads;
  const int device = machine.facts.device;
  Cache& c = cache.get();
  {
    const std::lock_guard lock(c.mutex);
    const auto found = std::find_if(c.entries.begin(), c.entries.end(), [&](const Entry& e) {
      return e.shape == shape && e.policy == policy && e.batch == batch && e.num_threads == num_threads &&
             e.device == device;
    });
    if (found != c.entries.end()) {
      c.entries.splice(c.entries.begin(), c.entries, found);
      return found->plan;
    }
  }
  Result<plan::Plan> made = plan::make(shape, policy, machine, batch);
  if (!made.ok()) return made.status();
  auto plan = std::make_shared<const plan::Plan>(std::move(made).value());
  const std::lock_guard lock(c.mutex);
  c.entries.push_front({shape, policy, batch, num_threads, device, plan});
  if (c.entries.size() > static_cast<std::size_t>(kPlanCacheSize)) c.entries.pop_back();
  return plan;
}

}  // namespace kizami::exec
