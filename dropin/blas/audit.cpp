// SPDX-License-Identifier: MIT
#include "dropin/blas/audit.hpp"

#include <algorithm>
#include <complex>

#include "dropin/blas/choice.hpp"
#include "dropin/policy/answer.hpp"
#include "dropin/policy/configuration.hpp"
#include "dropin/policy/report.hpp"

namespace kizami::dropin::blas {
namespace {

using Clock = std::chrono::steady_clock;

double since(Clock::time_point begin) { return std::chrono::duration<double>(audit_now() - begin).count(); }

/// How many tiny calls of a thread are timed one by one, and then one of how many of those that it has no entry for.
constexpr unsigned kAllTimed = 64;
constexpr unsigned kPeriod = 32;
constinit thread_local unsigned num_without_entry = 0;

/// Calls that the next timed one of those stands for: 0 if this one is only counted.
unsigned calls_to_note() {
  if (++num_without_entry <= kAllTimed) return 1;
  return num_without_entry % kPeriod == 0 ? kPeriod : 0;
}

}  // namespace

template <class T>
AuditedCall<T>::AuditedCall(const Call<T>& call, const TinyCall& tiny) noexcept
    : call_(call), key_{call.caller, call.name, call, type_letter(kScalarOf<T>)} {
  if (is_tiny(call)) {
    tiny_ = tiny;
    kind_ = due_kind(tiny);
    num_noted_ = kind_ != nullptr ? static_cast<unsigned>(kind_->period()) : calls_to_note();
    if (num_noted_ == 0) return;
  }
  begin_ = audit_now();
  const bool is_product = is_valid(call) && call.m > 0 && call.n > 0 && call.k > 0 && call.alpha != T{};
  if (!is_product) {
    note_no_sample(key_, is_valid(call) ? kNothing : kNotUnderstood);
    return;
  }
  const int elements = elements_to_sample(key_, terms_of<T>(call.k), begin_);
  if (elements == 0) return;
  try {
    sample_.emplace();
    for (int e = 0; e < elements; ++e)
      sample_->add(call, element_of(e, elements, Sample<T>::kElements), read_host_line<T>);
    terms_ = static_cast<double>(elements) * static_cast<double>(terms_of<T>(call.k));
  } catch (...) {
    sample_.reset();
  }
  const Clock::time_point sampled = audit_now();
  sample_seconds_ = std::chrono::duration<double>(sampled - begin_).count();
  begin_ = sampled;
}

/// A timed call that stands for others: all of them together took no longer than what has gone by since the one before.
template <class T>
double AuditedCall<T>::seconds_until(Clock::time_point end) const {
  const auto seconds_from = [&](Clock::time_point begin) { return std::chrono::duration<double>(end - begin).count(); };
  if (!is_tiny(call_)) return seconds_from(begin_);
  const double seconds = std::max(seconds_from(begin_) - audit_clock_seconds(), 0.0);
  if (kind_ == nullptr) return seconds;
  return std::min(seconds * static_cast<double>(kind_->period()), seconds_from(kind_->timed_at) - sample_seconds_);
}

template <class T>
void AuditedCall<T>::finish() noexcept {
  if (num_noted_ == 0) {
    note_call(key_, 0);
  } else {
    note_timed(audit_now());
  }
  const bool is_to_be_kept = kind_ == nullptr && tiny_.numbers != 0 && num_without_entry > kAllTimed;
  if (is_to_be_kept) keep_tiny(tiny_, key_, audit_now());
}

template <class T>
void AuditedCall<T>::note_timed(Clock::time_point end) noexcept {
  const std::int64_t calls = kind_ != nullptr ? kind_->period() : 1;
  const double seconds = seconds_until(end);
  Clock::time_point done = end;
  note_call(key_, num_noted_);
  try {
    if (!sample_) {
      note_time(key_, seconds, nullptr, calls);
    } else {
      AuditSample sample;
      sample.ratio = sample_->worst_ratio(read_host_line<T>,
                                          [&](std::int64_t, std::int64_t) { return native_allowance<T>(call_.k); });
      sample.needs = sample_->needs();
      sample.terms = terms_;
      if (wants_emulation(key_, seconds)) {
        const Clock::time_point planned = audit_now();
        sample.emulation = predicted_emulation(kScalarOf<T>, call_);
        sample.planned_seconds = since(planned);
      }
      done = audit_now();
      sample.seconds = sample_seconds_ + std::chrono::duration<double>(done - end).count();
      note_time(key_, seconds, &sample, calls);
    }
    renew_report(process_configuration(), num_noted_);
  } catch (...) {  // no memory for a sample
  }
  if (kind_ != nullptr) kind_->wait_for_next(done);
}

template class AuditedCall<float>;
template class AuditedCall<double>;
template class AuditedCall<std::complex<float>>;
template class AuditedCall<std::complex<double>>;

}  // namespace kizami::dropin::blas
