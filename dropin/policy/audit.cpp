// SPDX-License-Identifier: MIT
#include "dropin/policy/audit.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>
#include <mutex>
#include <unordered_map>

#include "base/fork_safe.hpp"
#include "dropin/policy/json_line.hpp"
#include "dropin/policy/rules.hpp"

namespace kizami::dropin {
namespace {

using Clock = std::chrono::steady_clock;

/// Of the time since the first call: what samples may take, and what the first samples of kinds may take beyond it.
constexpr double kSampleShare = 0.05;
constexpr double kFirstShare = 0.10;
constexpr std::size_t kMaxKinds = 4096;  ///< more are counted together

struct Hash {
  std::size_t operator()(const AuditKey& key) const {
    std::uint64_t hash = reinterpret_cast<std::uintptr_t>(key.caller) * 0x9E3779B97F4A7C15U;
    hash = (hash ^ static_cast<std::uint64_t>(key.shape.m)) * 0xC2B2AE3D27D4EB4FU;
    hash = (hash ^ static_cast<std::uint64_t>(key.shape.n)) * 0x165667B19E3779F9U;
    hash = (hash ^ static_cast<std::uint64_t>(key.shape.k)) * 0x9E3779B97F4A7C15U;
    return static_cast<std::size_t>(hash ^ (hash >> 29));
  }
};

struct Same {
  bool operator()(const AuditKey& x, const AuditKey& y) const {
    const Shape& a = x.shape;
    const Shape& b = y.shape;
    return x.caller == y.caller && x.name == y.name && a.m == b.m && a.n == b.n && a.k == b.k && a.side == b.side &&
           a.uplo == b.uplo && a.op_a == b.op_a && a.op_b == b.op_b && a.diag == b.diag;
  }
};

struct Sum {
  std::int64_t calls = 0;
  double seconds = 0;
  std::int64_t samples = 0;
  double worst_ratio = -1;
  Needs worst_needs;
  double predicted = 0;  ///< of one call
};

struct Audit {
  std::mutex mutex;
  std::unordered_map<AuditKey, Sum, Hash, Same> sums;
  Clock::time_point begin = Clock::now();
  double sampled_seconds = 0;
  std::int64_t calls = 0;
};
constinit base::PerProcess<Audit> audit;

double worse(double x, double y) { return std::isnan(x) || y <= x ? x : y; }

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

bool may_sample(const AuditKey& key) noexcept {
  try {
    Audit& all = audit.get();
    const std::lock_guard lock(all.mutex);
    const double elapsed = std::chrono::duration<double>(Clock::now() - all.begin).count();
    if (all.sampled_seconds <= kSampleShare * elapsed) return true;
    if (all.sampled_seconds > kFirstShare * elapsed) return false;
    const auto found = all.sums.find(key);
    return found == all.sums.end() || found->second.samples == 0;
  } catch (...) {
    return false;
  }
}

void note_audited(const AuditKey& key, double seconds, const AuditSample* sample, double predicted) noexcept {
  try {
    Audit& all = audit.get();
    const std::lock_guard lock(all.mutex);
    const bool is_one_more = all.sums.size() >= kMaxKinds && all.sums.find(key) == all.sums.end();
    Sum& sum = all.sums[is_one_more ? AuditKey{nullptr, "(other shapes)", {}} : key];
    ++all.calls;
    ++sum.calls;
    sum.seconds += seconds;
    if (sample == nullptr) return;
    all.sampled_seconds += sample->seconds;
    ++sum.samples;
    sum.worst_ratio = worse(sum.worst_ratio, sample->ratio);
    sum.worst_needs.spread_a = std::max(sum.worst_needs.spread_a, sample->needs.spread_a);
    sum.worst_needs.spread_b = std::max(sum.worst_needs.spread_b, sample->needs.spread_b);
    sum.worst_needs.bits = std::max(sum.worst_needs.bits, sample->needs.bits);
    sum.worst_needs.has_nonfinite |= sample->needs.has_nonfinite;
    if (predicted > 0) sum.predicted = predicted;
  } catch (...) {  // no memory for a count
  }
}

std::int64_t audited_calls() noexcept {
  Audit* const all = audit.known();
  if (all == nullptr) return 0;
  const std::lock_guard lock(all->mutex);
  return all->calls;
}

Totals audit_totals() {
  Totals totals;
  Audit* const all = audit.known();
  if (all == nullptr) return totals;
  const std::lock_guard lock(all->mutex);
  for (const auto& [key, sum] : all->sums) {
    totals.native += sum.calls;
    totals.seconds += sum.seconds;
  }
  return totals;
}

std::string audit_json() {
  Audit* const all = audit.known();
  if (all == nullptr) return {};
  const std::lock_guard lock(all->mutex);
  std::string text;
  for (const auto& [key, sum] : all->sums) {
    JsonLine line;
    line.field("event", "audited")
        .field("routine", key.name)
        .field("options", options_of(key.shape))
        .field("m", key.shape.m)
        .field("n", key.shape.n)
        .field("k", key.shape.k)
        .field("site", site_of(key.caller))
        .field("offset", offset_of(key.caller))
        .field("calls", sum.calls)
        .field("seconds", sum.seconds)
        .field("samples", sum.samples);
    if (sum.samples > 0) {
      line.field("nonfinite", sum.worst_needs.has_nonfinite)
          .field("spread_a", sum.worst_needs.spread_a)
          .field("spread_b", sum.worst_needs.spread_b)
          .field("bits", sum.worst_needs.bits);
      if (!(sum.worst_ratio < 0)) line.field("error_over_bound", sum.worst_ratio);
      if (sum.predicted > 0) line.field("predicted_seconds", sum.predicted);
    }
    text += line.line();
  }
  JsonLine cost;
  text += cost.field("event", "audit").field("sampled_seconds", all->sampled_seconds).field("calls", all->calls).line();
  return text;
}

}  // namespace kizami::dropin
