// SPDX-License-Identifier: MIT
#include "dropin/blas/audit.hpp"

#include <cfloat>
#include <complex>

#include "dropin/policy/configuration.hpp"
#include "dropin/policy/report.hpp"
#include "kizami/plan.hpp"

namespace kizami::dropin::blas {
namespace {

using Clock = std::chrono::steady_clock;

double since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

/// How many small calls of a thread are timed one by one, and then one of how many: two looks at the clock take longer
/// than such a call.
constexpr unsigned kAllTimed = 64;
constexpr unsigned kPeriod = 32;

/// Calls that the next timed one stands for: 0 if this one is only counted.
unsigned calls_to_note(const Shape& x) {
  constexpr std::int64_t kSmall = 32;
  if (x.m > kSmall || x.n > kSmall || x.k > kSmall) return 1;
  thread_local unsigned calls = 0;
  if (++calls <= kAllTimed) return 1;
  return calls % kPeriod == 0 ? kPeriod : 0;
}

/// What Kizami is predicted to take at accuracy native, by the quickest of its schemes that keep to it; 0: not known.
template <class T>
double predicted_emulated(const Call<T>& call) {
  Policy policy;
  policy.scheme = Scheme::kOzaki2;
  const Result<Plan> plan = make_plan(kScalarOf<T>, call.m, call.n, call.k, policy);
  return plan.ok() ? plan.value().predicted_seconds() * fraction_of(call.routine) : 0;
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

template <class T>
AuditedCall<T>::AuditedCall(const Call<T>& call) noexcept : call_(call), key_{call.caller, call.name, call} {
  num_noted_ = calls_to_note(call);
  if (num_noted_ == 0) return;
  begin_ = Clock::now();
  const bool is_product = is_valid(call) && call.m > 0 && call.n > 0 && call.k > 0 && call.alpha != T{};
  if (!is_product) return;
  const int elements = elements_to_sample(key_, call.k * (kIsComplex<T> ? 4 : 1), begin_);
  if (elements == 0) return;
  try {
    sample_.emplace();
    for (int e = 0; e < elements; ++e)
      sample_->add(call, (elements == 1 ? 3 : e * Sample<T>::kElements / elements), read_host_line<T>);
    terms_ = static_cast<double>(elements) * static_cast<double>(call.k) * (kIsComplex<T> ? 4 : 1);
  } catch (...) {
    sample_.reset();
  }
  sample_seconds_ = since(begin_);
  begin_ = Clock::now();
}

template <class T>
void AuditedCall<T>::finish() noexcept {
  if (num_noted_ == 0) return note_counted(key_);
  const double seconds = since(begin_);
  try {
    if (!sample_) {
      note_audited(key_, num_noted_, seconds, nullptr, 0);
    } else {
      const Clock::time_point begin = Clock::now();
      AuditSample sample;
      constexpr double kUnit = std::is_same_v<RealOf<T>, float> ? FLT_EPSILON / 2 : DBL_EPSILON / 2;
      const Allowance allowance{static_cast<double>(call_.k) * (kIsComplex<T> ? 2 : 1) * kUnit, Gauge::kEntry,
                                kEpilogueRoundings};
      sample.ratio = sample_->worst_ratio(read_host_line<T>, [&](std::int64_t, std::int64_t) { return allowance; });
      sample.needs = sample_->needs();
      sample.terms = terms_;
      const double predicted = predicted_emulated(call_);
      sample.seconds = sample_seconds_ + since(begin);
      note_audited(key_, num_noted_, seconds, &sample, predicted);
    }
    renew_report(process_configuration(), num_noted_);
  } catch (...) {  // no memory for a sample
  }
}

template class AuditedCall<float>;
template class AuditedCall<double>;
template class AuditedCall<std::complex<float>>;
template class AuditedCall<std::complex<double>>;

}  // namespace kizami::dropin::blas
