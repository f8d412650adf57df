// SPDX-License-Identifier: MIT
#include "dropin/blas/audit.hpp"

#include <complex>

#include "dropin/blas/choice.hpp"
#include "dropin/policy/answer.hpp"
#include "dropin/policy/configuration.hpp"
#include "dropin/policy/report.hpp"

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

}  // namespace

template <class T>
AuditedCall<T>::AuditedCall(const Call<T>& call) noexcept
    : call_(call), key_{call.caller, call.name, call, type_letter(kScalarOf<T>)} {
  num_noted_ = calls_to_note(call);
  if (num_noted_ == 0) return;
  begin_ = Clock::now();
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
  sample_seconds_ = since(begin_);
  begin_ = Clock::now();
}

template <class T>
void AuditedCall<T>::finish() noexcept {
  if (num_noted_ == 0) return note_call(key_, 0);
  const double seconds = since(begin_);
  note_call(key_, num_noted_);
  try {
    if (!sample_) {
      note_time(key_, seconds, nullptr);
    } else {
      const Clock::time_point begin = Clock::now();
      AuditSample sample;
      sample.ratio = sample_->worst_ratio(read_host_line<T>,
                                          [&](std::int64_t, std::int64_t) { return native_allowance<T>(call_.k); });
      sample.needs = sample_->needs();
      sample.terms = terms_;
      if (wants_emulation(key_, seconds)) {
        const Clock::time_point planned = Clock::now();
        sample.emulation = predicted_emulation(kScalarOf<T>, call_);
        sample.planned_seconds = since(planned);
      }
      sample.seconds = sample_seconds_ + since(begin);
      note_time(key_, seconds, &sample);
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
