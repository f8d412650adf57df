// SPDX-License-Identifier: MIT
#include "dropin/policy/runtime.hpp"

#include <atomic>
#include <list>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "base/fork_safe.hpp"
#include "kizami/wishes.hpp"

namespace kizami::dropin {
namespace {

/// Sets that a process may make; each change makes one.
constexpr std::size_t kMaxSets = 4096;
/// Settings that come of them.
constexpr std::size_t kMaxSettings = 4096;

/// What was set for one scope, in order; a key stands there once.
struct Wished {
  std::vector<std::pair<std::string, std::string>> values;
};

Status apply(const Wished* wished, Settings& settings) {
  if (wished == nullptr) return {};
  for (const auto& [key, value] : wished->values) KIZAMI_RETURN_IF_ERROR(assign(settings, key, value));
  return {};
}

struct Made {
  std::mutex mutex;
  std::list<Wished> sets;
  std::list<Settings> settings;
};
constinit base::PerProcess<Made> made;

constinit std::atomic<const Wished*> of_process{nullptr};
constinit thread_local const Wished* of_thread = nullptr;

/// What came of a set for settings: trivial, so that a thread's memory of it needs no destructor.
struct Known {
  const Settings* base;
  const Wished* process;
  const Wished* thread;
  const Settings* out;
};
constinit thread_local Known known[8]{};
constinit thread_local unsigned next_known = 0;

Status too_many(const char* what) {
  return {StatusCode::kInvalidArgument, std::string("more than 4096 ") + what + " were made in this process"};
}

/// Whether the wishes go with all that they may stand before.
Status require_consistent_with(const Wished& wished, const Configuration& configuration) {
  Settings settings = configuration.settings;
  KIZAMI_RETURN_IF_ERROR(apply(&wished, settings));
  KIZAMI_RETURN_IF_ERROR(require_consistent(settings));
  for (const Rule& rule : configuration.rules) {
    settings = rule.settings;
    KIZAMI_RETURN_IF_ERROR(apply(&wished, settings));
    KIZAMI_RETURN_IF_ERROR(require_consistent(settings));
  }
  return {};
}

const Settings& interned(const Settings& settings, const Settings& otherwise) {
  Made& all = made.get();
  const std::lock_guard lock(all.mutex);
  for (const Settings& one : all.settings) {
    if (one == settings) return one;
  }
  return all.settings.size() < kMaxSettings ? all.settings.emplace_back(settings) : otherwise;
}

/// What is set for a scope, but for one key.
Wished without(Scope scope, std::string_view key) {
  const Wished* const before = scope == Scope::kThread ? of_thread : of_process.load(std::memory_order_acquire);
  Wished wished = before != nullptr ? *before : Wished{};
  std::erase_if(wished.values, [&](const auto& entry) { return entry.first == key; });
  return wished;
}

/// @param wished  that live as long as the process; null: none
void store(Scope scope, const Wished* wished) {
  if (scope == Scope::kThread) {
    of_thread = wished;
  } else {
    of_process.store(wished, std::memory_order_release);
  }
}

/// By who holds all.mutex since `wished` was read.
Status put(Scope scope, Wished wished, const Configuration& configuration, Made& all) {
  KIZAMI_RETURN_IF_ERROR(require_consistent_with(wished, configuration));
  if (wished.values.empty()) return store(scope, nullptr), Status();
  const Wished* kept = nullptr;
  for (const Wished& one : all.sets) {
    if (one.values == wished.values) kept = &one;
  }
  if (kept == nullptr && all.sets.size() >= kMaxSets) return too_many("policies");
  if (kept == nullptr) kept = &all.sets.emplace_back(std::move(wished));
  store(scope, kept);
  return {};
}

}  // namespace

Status set_at_run_time(Scope scope, std::string_view key, std::string_view value, const Configuration& configuration) {
  if (configuration.why_off != nullptr)
    return {StatusCode::kInvalidArgument,
            configuration.complaint.empty() ? configuration.why_off : configuration.complaint};
  Made& all = made.get();
  const std::lock_guard lock(all.mutex);
  Wished wished = without(scope, key);
  wished.values.emplace_back(key, value);
  return put(scope, std::move(wished), configuration, all);
}

Status forget_at_run_time(Scope scope, std::string_view key, const Configuration& configuration) {
  Settings probe;
  const Result<std::string> known_key = value_of(probe, key);
  if (!known_key.ok()) return known_key.status();
  Made& all = made.get();
  const std::lock_guard lock(all.mutex);
  return put(scope, without(scope, key), configuration, all);
}

void reset_at_run_time(Scope scope) {
  const std::lock_guard lock(made.get().mutex);
  store(scope, nullptr);
}

const Settings& with_run_time(const Settings& base) {
  const Wished* const process = of_process.load(std::memory_order_acquire);
  const Wished* const thread = of_thread;
  if (process == nullptr && thread == nullptr) [[likely]]
    return base;
  for (const Known& entry : known) {
    if (entry.base == &base && entry.process == process && entry.thread == thread) return *entry.out;
  }
  Settings settings = base;
  const bool is_ok = apply(process, settings).ok() && apply(thread, settings).ok() && require_consistent(settings).ok();
  const Settings& out = is_ok ? interned(settings, base) : base;
  known[next_known++ % std::size(known)] = {&base, process, thread, &out};
  return out;
}

Result<std::string> value_of(const Settings& settings, std::string_view key) {
  if (key == "min_size") return settings.min_size == kAutoMinSize ? "auto" : std::to_string(settings.min_size);
  if (key == "own_lines") return std::string(settings.is_own_lines ? "1" : "0");
  if (key == "learned") return std::string(settings.is_learned ? "1" : "0");
  if (key == "log") return std::string(settings.is_logged ? "1" : "0");
  Settings probe;
  if (key == "sync" || find_wish(key) == nullptr) return assign(probe, key, "");  // which names those that there are
  return get_wish(settings.policy, key);
}

}  // namespace kizami::dropin
