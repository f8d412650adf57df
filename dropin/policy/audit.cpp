// SPDX-License-Identifier: MIT
#include "dropin/policy/audit.hpp"

#include <dlfcn.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>
#include <list>
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
#include "dropin/policy/tiny_calls.hpp"
#include "dropin/policy/worst_ratio.hpp"

namespace kizami::dropin {

/// A row. Counts are added to by threads that hold no lock; what is of samples is guarded by the mutex.
struct AuditSum {
  std::atomic<std::int64_t> calls{0};  ///< but for those that threads have only counted
  std::int64_t counted = 0;            ///< those, as they were when somebody last asked; guarded by the mutex
  std::atomic<std::int64_t> timed{0};  ///< calls that the timed ones stand for
  std::atomic<double> seconds{0};      ///< of these
  std::atomic<std::int64_t> captured{0};
  std::atomic<std::int64_t> samples{0};
  std::atomic<const char*> why_no_sample{nullptr};
  double worst_ratio = -1;
  Needs worst_needs;
  Emulation emulation;                       ///< of one call
  std::atomic<bool> has_more_shapes{false};  ///< the key has none
  std::atomic<double> multiplications{0};    ///< of such
};

constinit TinySlot tiny_slots[1 << kTinySlotBits];

namespace {

using Sum = AuditSum;

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

/// Once collect() has been there.
std::int64_t calls_of(const Sum& sum) { return sum.calls.load() + sum.counted; }

/// Of all calls of the kind. @units seconds
double seconds_of(const Sum& sum) {
  const auto timed = static_cast<double>(sum.timed.load());
  return timed > 0 ? sum.seconds.load() * static_cast<double>(calls_of(sum)) / timed : 0;
}

struct Audit {
  std::mutex mutex;
  std::unordered_map<AuditKey, Sum, Hash, Same> sums;
  std::list<TinyTable> tables;  ///< of threads; those of threads that have ended are given to new ones
  std::map<int, std::string> devices;
  Clock::time_point begin = base::process_begin();
  std::atomic<double> sampled_seconds{0};
  std::atomic<double> term_seconds{1e-6};  ///< that a term of a sampled element takes
  std::atomic<std::int64_t> noted{0};      ///< calls, as far as note_call() was told of them
  std::atomic<double> clock_seconds{-1};   ///< between two looks at the clock; < 0: not known yet
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

/// What threads have counted by themselves, into the rows. @range the mutex is held
void collect(Audit& all) {
  for (auto& [key, sum] : all.sums) sum.counted = 0;
  for (const TinyTable& table : all.tables) {
    for (const TinyKind& kind : table.kinds) {
      if (kind.sum != nullptr) kind.sum->counted += kind.counted.load(std::memory_order_relaxed);
    }
  }
}

/// Counts what was, and makes the entry one of nothing. @range the mutex is held
void empty(TinyKind& kind) {
  if (kind.sum != nullptr)
    kind.sum->calls.fetch_add(kind.counted.load(std::memory_order_relaxed), std::memory_order_relaxed);
  std::destroy_at(&kind);
  std::construct_at(&kind);
}

/// Its value is the table of a thread, for which a thread that ends is seen.
struct TableKey {
  pthread_key_t key{};
  bool is_there = false;
};
constinit TableKey table_key;

void free_slot() {
  const void* const thread = this_thread();
  TinySlot& slot = slot_of(thread);
  if (slot.thread.load(std::memory_order_relaxed) == thread) slot.thread.store(nullptr, std::memory_order_release);
}

void give_back_table(void* table) {
  free_slot();
  Audit* const all = audit.known();
  if (all == nullptr) return;
  const std::lock_guard lock(all->mutex);
  TinyTable& mine = *static_cast<TinyTable*>(table);
  for (TinyKind& kind : mine.kinds) empty(kind);
  mine.is_taken = false;
}

/// @range no other thread has a table, or is there
void forget_tables() {
  for (TinySlot& slot : tiny_slots) slot.thread.store(nullptr, std::memory_order_relaxed);
  if (table_key.is_there) pthread_setspecific(table_key.key, nullptr);
}

/// When the library is loaded. In the child of a fork tables are those of the parent.
[[gnu::constructor]] void prepare_tables() {
  table_key.is_there = pthread_key_create(&table_key.key, give_back_table) == 0;
  pthread_atfork(nullptr, nullptr, forget_tables);
}

/// The thread's, now. @range it has none; the mutex is held @return null: its slot is another's, or its end would not be
/// seen
TinyTable* take_table(Audit& all) {
  const void* const thread = this_thread();
  TinySlot& slot = slot_of(thread);
  if (!table_key.is_there || slot.thread.load(std::memory_order_acquire) != nullptr) return nullptr;
  const auto free = std::ranges::find(all.tables, false, &TinyTable::is_taken);
  TinyTable& table = free != all.tables.end() ? *free : all.tables.emplace_back();
  table.is_within = false;
  table.is_taken = pthread_setspecific(table_key.key, &table) == 0;
  if (!table.is_taken) return nullptr;
  slot.table = &table;
  slot.thread.store(thread, std::memory_order_relaxed);
  return &table;
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

void note_time(const AuditKey& key, double seconds, const AuditSample* sample, std::int64_t calls) noexcept {
  try {
    Audit& all = audit.get();
    Sum& sum = sum_of(all, key);
    sum.timed.fetch_add(calls, std::memory_order_relaxed);
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

void keep_tiny(const TinyCall& call, const AuditKey& key, Clock::time_point now) noexcept {
  try {
    TinyTable* table = tiny_table();
    if (table == nullptr && slot_of(this_thread()).thread.load(std::memory_order_relaxed) != nullptr) return;
    Audit& all = audit.get();
    Sum& sum = sum_of(all, key);
    if (sum.has_more_shapes.load(std::memory_order_relaxed)) return;  // whose multiplications are counted, too
    const std::lock_guard lock(all.mutex);
    if (table == nullptr) table = take_table(all);
    if (table == nullptr) return;
    const std::size_t place = TinyTable::place_of(call);
    const bool is_first_free = table->kinds[place].sum == nullptr;
    const bool is_other_free = table->kinds[place ^ 1].sum == nullptr;
    const bool is_others_turn = is_first_free || is_other_free ? !is_first_free : ++table->num_given % 2 == 0;
    TinyKind& kind = table->kinds[is_others_turn ? place ^ 1 : place];
    empty(kind);
    kind.call = call;
    kind.sum = &sum;
    kind.due = kind.period() - 1;
    kind.timed_at = now;
  } catch (...) {  // no memory for a table
  }
}

double audit_clock_seconds() noexcept {
  try {
    Audit& all = audit.get();
    double least = all.clock_seconds.load(std::memory_order_relaxed);
    if (least >= 0) return least;
    constexpr int kLooks = 16;
    least = 1;
    for (int i = 0; i < kLooks; ++i) {
      const Clock::time_point begin = audit_now();
      least = std::min(least, std::chrono::duration<double>(audit_now() - begin).count());
    }
    all.clock_seconds.store(least, std::memory_order_relaxed);
    return least;
  } catch (...) {
    return 0;
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
  collect(*all);
  for (const auto& [key, sum] : all->sums) {
    totals.native += calls_of(sum);
    totals.seconds += seconds_of(sum);
  }
  return totals;
}

std::string audit_json() {
  Audit* const all = audit.known();
  if (all == nullptr) return {};
  const std::lock_guard lock(all->mutex);
  collect(*all);
  std::string text;
  std::int64_t calls = 0;
  struct Place {
    std::string site;
    std::string offset;
  };
  std::unordered_map<const void*, Place> places;  // kinds are many more, and the loader is slow to tell
  for (const auto& [key, sum] : all->sums) {
    const std::int64_t calls_of_row = calls_of(sum);
    if (calls_of_row == 0) continue;  // known, and not yet answered
    calls += calls_of_row;
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
        .field("calls", calls_of_row)
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
  forget_tables();
  std::fill(std::begin(seen), std::end(seen), Seen{});
  std::destroy_at(&all);
  std::construct_at(&all);
  all.begin = begin;
}

}  // namespace kizami::dropin
