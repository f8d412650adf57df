// SPDX-License-Identifier: MIT
#include "dropin/blas/take.hpp"

#include <algorithm>
#include <cmath>

#include "dropin/blas/choice.hpp"
#include "dropin/blas/emulate.hpp"
#include "dropin/policy/sample.hpp"

namespace kizami::dropin::blas {
namespace {

constexpr const char* kDiagonal = "diagonal blocks are native, whose accuracy is native";
constexpr const char* kRefused = "Kizami refused every block";
constexpr const char* kNoNative = "no native gemm, trmm and trsm with integers wide enough for its blocks";

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
  const bool is_scaling = call.k == 0 || call.alpha == T{};  // C <- beta C
  if (call.m == 0 || call.n == 0 || (is_scaling && !is_product(call.routine))) return kNothing;
  if (settings.policy.scheme == Scheme::kNative) return kScheme;
  if (is_below(call.m, call.n, call.k, settings.min_size)) return kSmall;
  if (is_triangular(call.routine) && settings.policy.accuracy != Accuracy::native()) return kDiagonal;
  const Choice& choice = chosen(settings, kScalarOf<T>, call);
  if (choice.why_native != nullptr) return choice.why_native;
  scheme = choice.scheme;
  if (!NativeLevel3<T>::is_there(largest(call))) return kNoNative;
  return nullptr;
}

/// Roundings of the triangular routines (emulate.hpp): those of native diagonal blocks, and an epilogue for each
/// halving. A complex product has four roundings for two.
template <class T>
Allowance allowance_of(const Call<T>& call, const Outcome& outcome) {
  const double halvings = 2 + std::log2(static_cast<double>(call.k));
  const double triangular = 2 * (2 * static_cast<double>(kMaxBlock) + kEpilogueRoundings + 2 * halvings);
  return {outcome.bound, outcome.gauge, is_triangular(call.routine) ? triangular : kEpilogueRoundings};
}

/// What an emulated call is recorded as, as far as it is known before.
template <class T>
struct EmulatedCall {
  Products<T> products;
  Sample<T> sample;
  bool has_sample = false;
  std::chrono::steady_clock::time_point begin;

  EmulatedCall(const Call<T>& call, const Policy& policy, const Configuration& configuration)
      : products(policy), has_sample(is_monitored(configuration)) {
    for (int e = 0; has_sample && e < Sample<T>::kElements; ++e) sample.add(call, e, read_host_line<T>);
    begin = std::chrono::steady_clock::now();
  }
};

template <class T>
void record_emulated(const Call<T>& call, const EmulatedCall<T>& done, const Configuration& configuration,
                     const Settings& settings) {
  CallReport report = report_of(call, call.name, call.caller);
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - done.begin).count();
  report.native_seconds = predicted_native(kScalarOf<T>, call);
  report.outcome = done.products.worst();
  report.native_products = done.products.num_native();
  if (done.products.num_emulated() == 0) report.why_native = report.native_products == 0 ? kOneBlock : kRefused;
  if (report.native_products == 0 && report.why_native.empty()) {
    const Allowance allowance = allowance_of(call, report.outcome);
    report.worst_ratio =
        done.sample.worst_ratio(read_host_line<T>, [&](std::int64_t, std::int64_t) { return allowance; });
  }
  keep(report, configuration, settings);
}

}  // namespace

template <class T>
Rest answer(const Call<T>& call) noexcept {
  Rest rest;
  const CallNames names = take_names();
  try {
    const Configuration& configuration = process_configuration();
    if (has_complaint(configuration)) report_complaint(configuration);
    const Settings& settings = settings_of(call, kScalarOf<T>, call.caller, configuration);
    rest.is_recorded = is_recorded(configuration, settings);
    Scheme scheme = Scheme::kNative;
    const char* reason = why_native(call, configuration, settings, scheme);
    if (reason == nullptr && !configuration.is_dry_run) {
      Policy policy = policy_of(settings);
      policy.scheme = scheme;  // of the whole call; the planner may think otherwise of its blocks
      EmulatedCall<T> emulation(call, policy, configuration);
      if (is_product(call.routine))
        emulation.products.name_operands(call.is_exchanged ? CallNames{names.b, names.a} : names);
      emulate(call, emulation.products);
      rest.is_answered = true;
      if (rest.is_recorded || emulation.has_sample) record_emulated(call, emulation, configuration, settings);
      return rest;
    }
    if (rest.is_recorded) {
      rest.why_native = reason != nullptr ? reason : "dry run of " + std::string(kizami::to_string(scheme));
      rest.native_seconds = predicted_native(kScalarOf<T>, call);
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
    CallReport report = report_of(call, call.name, call.caller);
    report.why_native = rest.why_native;
    report.seconds = seconds;
    report.native_seconds = rest.native_seconds;
    keep(report, configuration, settings_of(call, kScalarOf<T>, call.caller, configuration));
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
