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
#include "base/process_begin.hpp"
#include "dropin/policy/configuration.hpp"
#include "dropin/policy/json_line.hpp"
#include "dropin/policy/rules.hpp"
#include "dropin/policy/worst_ratio.hpp"

namespace kizami::dropin {
namespace {

using Clock = std::chrono::steady_clock;

/// Of the time since the process began: what samples may take, and what the first samples of kinds may take beyond
/// it. A sample is taken if what it will take is still within that, by what a term took before.
constexpr double kSampleShare = 0.02;
constexpr double kFirstShare = 0.05;
/// @units seconds that first samples may take of a process that has just begun
constexpr double kFirstSeconds = 0.002;
/// Beyond, the shapes of a place and routine are counted together; beyond twice as many, whatever there is.
constexpr std::size_t kMaxKinds = 4096;
/// @units seconds that calls of a kind must have taken before the planner is asked, which takes a tenth of it
constexpr double kLeastPlanned = 0.0005;
constexpr const char* kNoTime = "samples keep to a share of the time, and none was left";

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
  Emulation emulation;                       ///< of one call
  std::atomic<bool> has_more_shapes{false};  ///< the key has none
  std::atomic<double> multiplications{0};    ///< of such
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
  Clock::time_point begin = base::process_begin();
  std::atomic<double> sampled_seconds{0};
  std::atomic<double> term_seconds{1e-6};  ///< that a term of a sampled element takes
  std::atomic<std::int64_t> noted{0};      ///< calls, as far as note_call() was told of them
};
constinit base::PerProcess<Audit> audit;
constinit std::atomic<void (*)() noexcept> settle_function{nullptr};

/// Kinds that a thread has counted before. Trivial, so that a thread's memory needs no destructor.
struct Seen {
  const Audit* audit;
  AuditKey key;
  Sum* sum;
};
constinit thread_local Seen seen[64]{};

AuditKey without_shape(const AuditKey& key) {
  AuditKey out{.caller = key.caller, .name = key.name, .shape = {}, .type = key.type, .note = key.note};
  out.shape.routine = key.shape.routine;
  return out;
}

/// The row of a kind, which stays where it is. @return never null
Sum& sum_of(Audit& all, const AuditKey& key) {
  Seen& entry = seen[(Hash()(key) >> 8) % std::size(seen)];
  if (entry.audit == &all && Same()(entry.key, key)) return *entry.sum;
  const std::lock_guard lock(all.mutex);
  AuditKey row = key;
  const auto is_one_more = [&](std::size_t most) { return all.sums.size() >= most && !all.sums.contains(row); };
  const bool has_more_shapes = is_one_more(kMaxKinds);
  if (has_more_shapes) row = without_shape(key);
  if (is_one_more(2 * kMaxKinds)) row = {.caller = nullptr, .name = "(other places)", .shape = {}};
  Sum& sum = all.sums[row];
  if (has_more_shapes) sum.has_more_shapes = true;
  entry = {&all, key, &sum};
  return sum;
}

void count(Sum& sum, const AuditKey& key) {
  sum.calls.fetch_add(1, std::memory_order_relaxed);
  if (!sum.has_more_shapes.load(std::memory_order_relaxed)) return;
  const Shape& x = key.shape;
  sum.multiplications.fetch_add(static_cast<double>(x.m) * static_cast<double>(x.n) * static_cast<double>(x.k) *
                                    static_cast<double>(key.num_products),
                                std::memory_order_relaxed);
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
    const double most_of_first = kFirstShare * elapsed + kFirstSeconds;
    if (taken + cost > most_of_first) return 0;
    const bool is_known = sum_of(all, key).samples.load(std::memory_order_relaxed) > 0;
    const double most = is_known ? kSampleShare * elapsed : most_of_first;
    return taken + kMostElements * cost <= most ? kMostElements : taken + cost <= most ? 1 : 0;
  } catch (...) {
    return 0;
  }
}

void note_call(const AuditKey& key, std::int64_t calls) noexcept {
  try {
    Audit& all = audit.get();
    count(sum_of(all, key), key);
    if (calls > 0) all.noted.fetch_add(calls, std::memory_order_relaxed);
  } catch (...) {  // no memory for a count
  }
}

void note_captured(const AuditKey& key) noexcept {
  try {
    Audit& all = audit.get();
    Sum& sum = sum_of(all, key);
    count(sum, key);
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
    if (sample->terms > 0)
      all.term_seconds.store((sample->seconds - sample->planned_seconds) / sample->terms, std::memory_order_relaxed);
    sum.samples.fetch_add(1, std::memory_order_relaxed);
    sum.worst_ratio = worse(sum.worst_ratio, sample->ratio);
    sum.worst_needs.spread_a = std::max(sum.worst_needs.spread_a, sample->needs.spread_a);
    sum.worst_needs.spread_b = std::max(sum.worst_needs.spread_b, sample->needs.spread_b);
    sum.worst_needs.bits = std::max(sum.worst_needs.bits, sample->needs.bits);
    sum.worst_needs.has_nonfinite |= sample->needs.has_nonfinite;
    if (sample->emulation.seconds > 0 && !sum.has_more_shapes) sum.emulation = sample->emulation;
  } catch (...) {
  }
}

bool wants_emulation(const AuditKey& key, double seconds) noexcept {
  try {
    Audit& all = audit.get();
    const Sum& sum = sum_of(all, key);
    if (sum.seconds + seconds < kLeastPlanned) return false;
    const std::lock_guard lock(all.mutex);
    return sum.emulation.seconds == 0 && !sum.has_more_shapes;
  } catch (...) {
    return false;
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
  struct Place {
    std::string site;
    std::string offset;
  };
  std::unordered_map<const void*, Place> places;  // kinds are many more, and the loader is slow to tell
  for (const auto& [key, sum] : all->sums) {
    if (sum.calls == 0) continue;  // known, and not yet answered
    calls += sum.calls;
    const auto [place, is_new] = places.try_emplace(key.caller);
    if (is_new) place->second = {site_of(key.caller), offset_of(key.caller)};
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
        .field("site", place->second.site)
        .field("offset", place->second.offset)
        .field("calls", sum.calls.load())
        .field("seconds", seconds_of(sum))
        .field("samples", sum.samples.load());
    if (sum.has_more_shapes) line.field("multiplications", sum.multiplications.load());
    if (sum.captured > 0) line.field("captured", sum.captured.load());
    if (key.note != nullptr) line.field("note", key.note);
    const char* const why_noted = sum.why_no_sample.load();
    const bool had_no_time = why_noted == nullptr && sum.samples == 0 && sum.timed > 0;
    const char* const why_no_sample = had_no_time ? kNoTime : why_noted;
    if (why_no_sample != nullptr) line.field("why_no_sample", why_no_sample);
    if (sum.samples > 0) {
      line.field("nonfinite", sum.worst_needs.has_nonfinite)
          .field("spread_a", sum.worst_needs.spread_a)
          .field("spread_b", sum.worst_needs.spread_b)
          .field("bits", sum.worst_needs.bits);
      if (!(sum.worst_ratio < 0)) line.field("error_over_bound", sum.worst_ratio);
      const std::int64_t terms = (key.type == 'c' || key.type == 'z' ? 2 : 1) * key.shape.k;
      const double seconds = seconds_at_bits(sum.emulation, sum.worst_needs.bits, terms);
      if (seconds > 0)
        line.field("predicted_seconds", seconds)
            .field("predicted_native_seconds", sum.emulation.native_seconds)
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
