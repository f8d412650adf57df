// SPDX-License-Identifier: MIT
#include "dropin/blas/take.hpp"

#include <atomic>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>

#include "dropin/blas/emulate.hpp"
#include "dropin/blas/sample.hpp"
#include "kizami/plan.hpp"

namespace kizami::dropin::blas {

thread_local int depth = 0;

namespace {

constexpr const char* kNotUnderstood = "an argument is not valid";
constexpr const char* kNothing = "nothing is multiplied";
constexpr const char* kScheme = "the scheme is native";
constexpr const char* kSmall = "m n k is below the minimum size";
constexpr const char* kByPlan = "the planner prefers it";
constexpr const char* kDiagonal = "diagonal blocks are native, whose accuracy is native";
constexpr const char* kOneBlock = "there is no block beside the diagonal";
constexpr const char* kRefused = "Kizami refused every block";
constexpr const char* kNoNative = "no native gemm, trmm and trsm with integers wide enough for its blocks";

/// Reasons of the planner live as long as the process. Beyond so many, one stands for all.
const char* kept(const std::string& reason) {
  constexpr std::size_t kMaxReasons = 256;
  static std::mutex* const mutex = new std::mutex;
  static std::set<std::string>* const reasons = new std::set<std::string>;
  const std::lock_guard lock(*mutex);
  if (reasons->size() >= kMaxReasons && reasons->find(reason) == reasons->end()) return "the planner refuses";
  return reasons->insert(reason).first->c_str();
}

/// What the planner says of one shape under one rule. Trivial, so that a thread's cache needs no destructor.
struct Choice {
  const Settings* settings;
  std::int64_t m, n, k;
  Scalar scalar;
  Scheme scheme;
  const char* why_native;  ///< null: emulated by `scheme`
};

Choice choose(const Settings& settings, Scalar scalar, std::int64_t m, std::int64_t n, std::int64_t k) {
  const Result<Plan> plan = make_plan(scalar, m, n, k, policy_of(settings));
  Choice choice{&settings, m, n, k, scalar, Scheme::kNative, nullptr};
  if (!plan.ok()) {
    choice.why_native = kept(plan.status().reason());
  } else {
    choice.scheme = plan.value().scheme();
    choice.why_native = choice.scheme == Scheme::kNative ? kByPlan : nullptr;
  }
  return choice;
}

/// choose(), remembered by the thread: a program that multiplies many small matrices repeats few shapes.
const Choice& chosen(const Settings& settings, Scalar scalar, std::int64_t m, std::int64_t n, std::int64_t k) {
  constexpr std::size_t kEntries = 64;
  thread_local Choice entries[kEntries];
  const std::uint64_t hash = (static_cast<std::uint64_t>(m) * 0x9E3779B97F4A7C15U) ^
                             (static_cast<std::uint64_t>(n) * 0xC2B2AE3D27D4EB4FU) ^
                             (static_cast<std::uint64_t>(k) * 0x165667B19E3779F9U);
  Choice& entry = entries[(hash >> 32) % kEntries];
  const bool is_known =
      entry.settings == &settings && entry.scalar == scalar && entry.m == m && entry.n == n && entry.k == k;
  if (!is_known) entry = choose(settings, scalar, m, n, k);
  return entry;
}

/// What the routine multiplies, of the 2 m n k operations that the planner counts.
double fraction_of(Routine routine) {
  return is_rank_2k(routine) || is_symmetric(routine) || routine == Routine::kGemm || routine == Routine::kGemm3m ? 1.0
                                                                                                                  : 0.5;
}

template <class T>
double predicted_native(const Call<T>& call) {
  if (call.m < 1 || call.n < 1 || call.k < 1) return 0;
  Policy policy;
  policy.scheme = Scheme::kNative;
  policy.reproducibility = Reproducibility::kNotGuaranteed;
  const Result<Plan> plan = make_plan(kScalarOf<T>, call.m, call.n, call.k, policy);
  return plan.ok() ? plan.value().predicted_seconds() * fraction_of(call.routine) : 0;
}

template <class T>
std::int64_t largest(const Call<T>& x) {
  return std::max({x.m, x.n, x.k, x.lda, x.ldb, x.ldc});
}

/// Why the call is native, or null: then it is emulated by `scheme`.
template <class T>
const char* why_native(const Call<T>& call, const Configuration& configuration, const Settings& settings,
                       Scheme& scheme) {
  if (configuration.why_off != nullptr) return configuration.why_off;
  if (!is_valid(call)) return kNotUnderstood;
  const bool is_product = call.routine == Routine::kGemm || call.routine == Routine::kGemm3m;
  const bool is_scaling = call.k == 0 || call.alpha == T{};  // C <- beta C
  if (call.m == 0 || call.n == 0 || (is_scaling && !is_product)) return kNothing;
  if (settings.policy.scheme == Scheme::kNative) return kScheme;
  if (is_below(call.m, call.n, call.k, settings.min_size)) return kSmall;
  if (is_triangular(call.routine) && settings.policy.accuracy != Accuracy::native()) return kDiagonal;
  const Choice& choice = chosen(settings, kScalarOf<T>, call.m, call.n, call.k);
  if (choice.why_native != nullptr) return choice.why_native;
  scheme = choice.scheme;
  if (!NativeLevel3<T>::is_there(largest(call))) return kNoNative;
  return nullptr;
}

template <class T>
std::string options_of(const Call<T>& x) {
  std::string letters;
  if (is_symmetric(x.routine) || is_triangular(x.routine)) letters += x.side;
  if (has_triangle(x.routine) || is_symmetric(x.routine) || is_triangular(x.routine)) letters += x.uplo;
  if (!is_symmetric(x.routine)) letters += x.op_a;
  if (x.routine == Routine::kGemm || x.routine == Routine::kGemm3m || x.routine == Routine::kGemmt) letters += x.op_b;
  if (is_triangular(x.routine)) letters += x.diag;
  for (char& c : letters) c = c == 0 ? '?' : static_cast<char>(std::tolower(c));
  return letters;
}

template <class T>
CallReport report_of(const Call<T>& call) {
  CallReport report;
  report.name = call.name;
  report.options = options_of(call);
  report.m = call.m;
  report.n = call.n;
  report.k = call.k;
  report.caller = call.caller;
  return report;
}

void keep(const CallReport& report, const Configuration& configuration, const Settings& settings) {
  if (settings.is_logged) write_text(configuration.log_path, log_line(report) + "\n");
  if (configuration.is_summary_wanted) process_record().add(report);
}

template <class T>
const Settings& settings_of(const Call<T>& call, const Configuration& configuration) {
  if (configuration.rules.empty()) return configuration.settings;
  return settings_for({to_string(call.routine), kScalarOf<T>, call.m, call.n, call.k, call.caller}, configuration.rules,
                      configuration.settings);
}

/// Whether this emulated call is one whose sample is computed again.
bool is_monitored(const Configuration& configuration) {
  static std::atomic<std::int64_t> calls{0};
  return configuration.monitor_period > 0 &&
         calls.fetch_add(1, std::memory_order_relaxed) % configuration.monitor_period == 0;
}

/// What an emulated call is recorded as, as far as it is known before.
template <class T>
struct Emulation {
  Products<T> products;
  Sample<T> sample;
  std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();

  Emulation(const Call<T>& call, const Policy& policy, const Configuration& configuration)
      : products(policy), sample(is_monitored(configuration) ? Sample<T>(call) : Sample<T>()) {}
};

template <class T>
void record_emulated(const Call<T>& call, const Emulation<T>& done, const Configuration& configuration,
                     const Settings& settings) {
  CallReport report = report_of(call);
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - done.begin).count();
  report.native_seconds = predicted_native(call);
  report.outcome = done.products.worst();
  report.native_products = done.products.num_native();
  if (done.products.num_emulated() == 0) report.why_native = report.native_products == 0 ? kOneBlock : kRefused;
  if (report.native_products == 0 && report.why_native.empty())
    report.worst_ratio = done.sample.worst_ratio(call, report.outcome);
  keep(report, configuration, settings);
}

}  // namespace

template <class T>
Rest answer(const Call<T>& call) noexcept {
  Rest rest;
  try {
    const Configuration& configuration = process_configuration();
    if (!configuration.complaint.empty()) report_complaint(configuration);
    const Settings& settings = settings_of(call, configuration);
    rest.is_recorded = settings.is_logged || configuration.is_summary_wanted;
    Scheme scheme = Scheme::kNative;
    const char* reason = why_native(call, configuration, settings, scheme);
    if (reason == nullptr && !configuration.is_dry_run) {
      Policy policy = policy_of(settings);
      policy.scheme = scheme;  // of the whole call; the planner may think otherwise of its blocks
      Emulation<T> emulation(call, policy, configuration);
      emulate(call, emulation.products);
      rest.is_answered = true;
      if (rest.is_recorded) record_emulated(call, emulation, configuration, settings);
      return rest;
    }
    if (rest.is_recorded) {
      rest.why_native = reason != nullptr ? reason : "dry run of " + std::string(kizami::to_string(scheme));
      rest.native_seconds = predicted_native(call);
    }
  } catch (...) {  // no memory. Unless the call is answered, C is as it was
    rest.why_native = "no memory";
  }
  return rest;
}

template <class T>
void record_native(const Call<T>& call, const Rest& rest, double seconds) noexcept {
  try {
    const Configuration& configuration = process_configuration();
    CallReport report = report_of(call);
    report.why_native = rest.why_native;
    report.seconds = seconds;
    report.native_seconds = rest.native_seconds;
    keep(report, configuration, settings_of(call, configuration));
  } catch (...) {  // no memory for a line of the log
  }
}

#define KIZAMI_INSTANTIATE(T)                       \
  template Rest answer<T>(const Call<T>&) noexcept; \
  template void record_native<T>(const Call<T>&, const Rest&, double) noexcept
KIZAMI_INSTANTIATE(float);
KIZAMI_INSTANTIATE(double);
KIZAMI_INSTANTIATE(std::complex<float>);
KIZAMI_INSTANTIATE(std::complex<double>);
#undef KIZAMI_INSTANTIATE

}  // namespace kizami::dropin::blas
