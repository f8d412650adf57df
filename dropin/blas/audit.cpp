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
constexpr int kElements = 4;

double since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

/// What Kizami is predicted to take at accuracy native, by the quickest of its schemes that keep to it; 0: not known.
template <class T>
double predicted_emulated(const Call<T>& call) {
  Policy policy;
  policy.scheme = Scheme::kOzaki2;
  const Result<Plan> plan = make_plan(kScalarOf<T>, call.m, call.n, call.k, policy);
  return plan.ok() ? plan.value().predicted_seconds() * fraction_of(call.routine) : 0;
}

}  // namespace

bool is_audited() noexcept {
  try {
    return process_configuration().is_audit;
  } catch (...) {  // no memory for a configuration
    return false;
  }
}

template <class T>
AuditedCall<T>::AuditedCall(const Call<T>& call) noexcept : call_(call), key_{call.caller, call.name, call} {
  const bool is_product = is_valid(call) && call.m > 0 && call.n > 0 && call.k > 0 && call.alpha != T{};
  if (is_product && may_sample(key_)) {
    const Clock::time_point begin = Clock::now();
    try {
      sample_.emplace();
      for (int e = 0; e < kElements; ++e) sample_->add(call, e * Sample<T>::kElements / kElements, read_host_line<T>);
    } catch (...) {
      sample_.reset();
    }
    sample_seconds_ = since(begin);
  }
  begin_ = Clock::now();
}

template <class T>
void AuditedCall<T>::finish() noexcept {
  const double seconds = since(begin_);
  try {
    if (!sample_) {
      note_audited(key_, seconds, nullptr, 0);
    } else {
      const Clock::time_point begin = Clock::now();
      AuditSample sample;
      constexpr double kUnit = std::is_same_v<RealOf<T>, float> ? FLT_EPSILON / 2 : DBL_EPSILON / 2;
      const Allowance allowance{static_cast<double>(call_.k) * (kIsComplex<T> ? 2 : 1) * kUnit, Gauge::kEntry,
                                kEpilogueRoundings};
      sample.ratio = sample_->worst_ratio(read_host_line<T>, [&](std::int64_t, std::int64_t) { return allowance; });
      sample.needs = sample_->needs();
      const double predicted = predicted_emulated(call_);
      sample.seconds = sample_seconds_ + since(begin);
      note_audited(key_, seconds, &sample, predicted);
    }
    renew_report(process_configuration());
  } catch (...) {  // no memory for a sample
  }
}

template class AuditedCall<float>;
template class AuditedCall<double>;
template class AuditedCall<std::complex<float>>;
template class AuditedCall<std::complex<double>>;

}  // namespace kizami::dropin::blas
