// SPDX-License-Identifier: MIT
#include "dropin/policy/audit.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/fork_safe.hpp"
#include "dropin/policy/configuration.hpp"
#include "dropin/policy/json_line.hpp"
#include "dropin/policy/rules.hpp"
#include "dropin/policy/worst_ratio.hpp"

namespace kizami::dropin {
namespace {

using Clock = std::chrono::steady_clock;

/// Of the time since the library was loaded: what samples may take, and what the first samples of kinds may take beyond
/// it. A sample is taken if what it will take is still within that, by what a term took before.
constexpr double kSampleShare = 0.02;
constexpr double kFirstShare = 0.10;
constexpr std::size_t kMaxKinds = 4096;  ///< more are counted together

struct Hash {
  std::size_t operator()(const AuditKey& key) const {
    std::uint64_t hash = reinterpret_cast<std::uintptr_t>(key.caller) * 0x9E3779B97F4A7C15U;
    hash = (hash ^ static_cast<std::uint64_t>(key.shape.m)) * 0xC2B2AE3D27D4EB4FU;
    hash = (hash ^ static_cast<std::uint64_t>(key.shape.n)) * 0x165667B19E3779F9U;
    hash = (hash ^ static_cast<std::uint64_t>(key.shape.k)) * 0x9E3779B97F4A7C15U;
    hash += static_cast<std::uint64_t>(key.num_products);
    return static_cast<std::size_t>(hash ^ (hash >> 29));
  }
};

struct Same {
  bool operator()(const AuditKey& x, const AuditKey& y) const {
    const Shape& a = x.shape;
    const Shape& b = y.shape;
    return x.caller == y.caller && x.name == y.name && a.m == b.m && a.n == b.n && a.k == b.k && a.side == b.side &&
           a.uplo == b.uplo && a.op_a == b.op_a && a.op_b == b.op_b && a.diag == b.diag && x.type == y.type &&
           x.num_products == y.num_products && x.note == y.note;
  }
};

/// Counts are added to by threads that hold no lock; what is of samples is guarded by the mutex.
struct Sum {
  std::atomic<std::int64_t> calls{0};
  std::atomic<std::int64_t> timed{0};
  std::atomic<double> seconds{0};  ///< of the timed ones
  std::atomic<std::int64_t> captured{0};
  std::atomic<std::int64_t> samples{0};
  std::atomic<const char*> why_no_sample{nullptr};
  double worst_ratio = -1;
  Needs worst_needs;
  Emulation emulation;  ///< of one call
};

/// Of all calls of the kind. @units seconds
double seconds_of(const Sum& sum) {
  const auto timed = static_cast<double>(sum.timed.load());
  return timed > 0 ? sum.seconds.load() * static_cast<double>(sum.calls.load()) / timed : 0;
}

struct Audit {
  std::mutex mutex;
  std::unordered_map<AuditKey, Sum, Hash, Same> sums;
  std::map<int, std::string> devices;
  Clock::time_point begin = Clock::now();
  std::atomic<double> sampled_seconds{0};
  std::atomic<double> term_seconds{1e-6};  ///< that a term of a sampled element takes
  std::atomic<std::int64_t> noted{0};      ///< calls, as far as note_call() was told of them
};
constinit base::PerProcess<Audit> audit;
constinit std::atomic<void (*)() noexcept> settle_function{nullptr};

/// When the library is loaded, so that the time of a program's start counts.
[[gnu::constructor]] void begin_audit() { static_cast<void>(audit.get()); }

/// Kinds that a thread has counted before. Trivial, so that a thread's memory needs no destructor.
struct Seen {
  const Audit* audit;
  AuditKey key;
  Sum* sum;
};
constinit thread_local Seen seen[64]{};

/// The row of a kind, which stays where it is. @return never null
Sum& sum_of(Audit& all, const AuditKey& key) {
  Seen& entry = seen[(Hash()(key) >> 8) % std::size(seen)];
  if (entry.audit == &all && Same()(entry.key, key)) return *entry.sum;
  const std::lock_guard lock(all.mutex);
  const bool is_one_more = all.sums.size() >= kMaxKinds && all.sums.find(key) == all.sums.end();
  Sum& sum = all.sums[is_one_more ? AuditKey{.caller = nullptr, .name = "(other shapes)", .shape = {}} : key];
  entry = {&all, key, &sum};
  return sum;
}

std::string offset_of(const void* address) {
  Dl_info info{};
  if (address == nullptr || dladdr(address, &info) == 0) return "";
  char text[32];
  std::snprintf(text, sizeof text, "0x%llx",
                static_cast<unsigned long long>(reinterpret_cast<std::uintptr_t>(address) -
                                                reinterpret_cast<std::uintptr_t>(info.dli_fbase)));
  return text;
}

}  // namespace

bool ask_audited() noexcept {
  try {
    const bool is_wanted = process_configuration().is_audit;
    audit_state.store(is_wanted ? AuditState::kOn : AuditState::kOff, std::memory_order_relaxed);
    return is_wanted;
  } catch (...) {  // no memory for a configuration
    return false;
  }
}

int elements_to_sample(const AuditKey& key, std::int64_t terms, Clock::time_point now) noexcept {
  try {
    Audit& all = audit.get();
    const double elapsed = std::chrono::duration<double>(now - all.begin).count();
    const double taken = all.sampled_seconds.load(std::memory_order_relaxed);
    const double cost = static_cast<double>(terms) * all.term_seconds.load(std::memory_order_relaxed);
    if (taken + cost > kFirstShare * elapsed) return 0;
    const bool is_known = sum_of(all, key).samples.load(std::memory_order_relaxed) > 0;
    const double most = (is_known ? kSampleShare : kFirstShare) * elapsed;
    return taken + kMostElements * cost <= most ? kMostElements : taken + cost <= most ? 1 : 0;
  } catch (...) {
    return 0;
  }
}

void note_call(const AuditKey& key, std::int64_t calls) noexcept {
  try {
    Audit& all = audit.get();
    sum_of(all, key).calls.fetch_add(1, std::memory_order_relaxed);
    if (calls > 0) all.noted.fetch_add(calls, std::memory_order_relaxed);
  } catch (...) {  // no memory for a count
  }
}

void note_captured(const AuditKey& key) noexcept {
  try {
    Audit& all = audit.get();
    Sum& sum = sum_of(all, key);
    sum.calls.fetch_add(1, std::memory_order_relaxed);
    sum.captured.fetch_add(1, std::memory_order_relaxed);
    all.noted.fetch_add(1, std::memory_order_relaxed);
  } catch (...) {
  }
}

void note_time(const AuditKey& key, double seconds, const AuditSample* sample) noexcept {
  try {
    Audit& all = audit.get();
    Sum& sum = sum_of(all, key);
    sum.timed.fetch_add(1, std::memory_order_relaxed);
    sum.seconds.fetch_add(seconds, std::memory_order_relaxed);
    if (sample == nullptr) return;
    const std::lock_guard lock(all.mutex);
    all.sampled_seconds.fetch_add(sample->seconds, std::memory_order_relaxed);
    if (sample->terms > 0) all.term_seconds.store(sample->seconds / sample->terms, std::memory_order_relaxed);
    sum.samples.fetch_add(1, std::memory_order_relaxed);
    sum.worst_ratio = worse(sum.worst_ratio, sample->ratio);
    sum.worst_needs.spread_a = std::max(sum.worst_needs.spread_a, sample->needs.spread_a);
    sum.worst_needs.spread_b = std::max(sum.worst_needs.spread_b, sample->needs.spread_b);
    sum.worst_needs.bits = std::max(sum.worst_needs.bits, sample->needs.bits);
    sum.worst_needs.has_nonfinite |= sample->needs.has_nonfinite;
    if (sample->emulation.seconds > 0) sum.emulation = sample->emulation;
  } catch (...) {
  }
}

void note_no_sample(const AuditKey& key, const char* why) noexcept {
  try {
    sum_of(audit.get(), key).why_no_sample.store(why, std::memory_order_relaxed);
  } catch (...) {
  }
}

void note_device(int number, const char* name) noexcept {
  try {
    Audit& all = audit.get();
    const std::lock_guard lock(all.mutex);
    all.devices[number] = name;
  } catch (...) {
  }
}

void settle_by(void (*function)() noexcept) noexcept { settle_function.store(function, std::memory_order_release); }

void settle() noexcept {
  if (auto* const function = settle_function.load(std::memory_order_acquire)) function();
}

std::int64_t audited_calls() noexcept {
  Audit* const all = audit.known();
  return all == nullptr ? 0 : all->noted.load(std::memory_order_relaxed);
}

Totals audit_totals() {
  Totals totals;
  Audit* const all = audit.known();
  if (all == nullptr) return totals;
  const std::lock_guard lock(all->mutex);
  for (const auto& [key, sum] : all->sums) {
    totals.native += sum.calls;
    totals.seconds += seconds_of(sum);
  }
  return totals;
}

std::string audit_json() {
  Audit* const all = audit.known();
  if (all == nullptr) return {};
  const std::lock_guard lock(all->mutex);
  std::string text;
  std::int64_t calls = 0;
  for (const auto& [key, sum] : all->sums) {
    if (sum.calls == 0) continue;  // known, and not yet answered
    calls += sum.calls;
    JsonLine line;
    line.field("event", "audited")
        .field("routine", key.name)
        .field("stem", to_string(key.shape.routine))
        .field("type", std::string_view(&key.type, key.type == 0 ? 0 : 1))
        .field("options", options_of(key.shape))
        .field("m", key.shape.m)
        .field("n", key.shape.n)
        .field("k", key.shape.k)
        .field("products", key.num_products)
        .field("part", fraction_of(key.shape.routine))
        .field("site", site_of(key.caller))
        .field("offset", offset_of(key.caller))
        .field("calls", sum.calls.load())
        .field("seconds", seconds_of(sum))
        .field("samples", sum.samples.load());
    if (sum.captured > 0) line.field("captured", sum.captured.load());
    if (key.note != nullptr) line.field("note", key.note);
    const char* const why_no_sample = sum.why_no_sample.load();
    if (why_no_sample != nullptr) line.field("why_no_sample", why_no_sample);
    if (sum.samples > 0) {
      line.field("nonfinite", sum.worst_needs.has_nonfinite)
          .field("spread_a", sum.worst_needs.spread_a)
          .field("spread_b", sum.worst_needs.spread_b)
          .field("bits", sum.worst_needs.bits);
      if (!(sum.worst_ratio < 0)) line.field("error_over_bound", sum.worst_ratio);
      if (sum.emulation.seconds > 0)
        line.field("predicted_seconds", sum.emulation.seconds)
            .field("predicted_scheme", kizami::to_string(sum.emulation.scheme));
    }
    text += line.line();
  }
  if (calls == 0) return {};
  for (const auto& [number, name] : all->devices) {
    JsonLine line;
    text += line.field("event", "device").field("number", number).field("name", name).line();
  }
  JsonLine cost;
  text +=
      cost.field("event", "audit").field("sampled_seconds", all->sampled_seconds.load()).field("calls", calls).line();
  return text;
}

void restart_audit(Clock::time_point begin) {
  Audit& all = audit.get();
  std::destroy_at(&all);
  std::construct_at(&all);
  all.begin = begin;
}

}  // namespace kizami::dropin
