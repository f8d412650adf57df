// SPDX-License-Identifier: MIT
#include "dropin/cublas/audit.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <exception>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "base/fork_safe.hpp"
#include "dropin/cublas/gemm_entries.hpp"
#include "dropin/cublas/handle.hpp"
#include "dropin/cublas/late_sample.hpp"
#include "dropin/cublas/types.hpp"
#include "dropin/policy/answer.hpp"
#include "dropin/policy/configuration.hpp"
#include "dropin/policy/report.hpp"
#include "kizami/cuda.hpp"

namespace kizami::dropin::cublas {

/// Between events of a stream.
struct Timing {
  struct Part {
    AuditKey key;
    double share;  ///< of the time
  };
  int device = 0;
  cudaEvent_t begin = nullptr, end = nullptr;
  cudaEvent_t sample_begin = nullptr, sample_end = nullptr;
  std::vector<Part> parts;
  std::unique_ptr<LateSample> sample;
  Emulation emulation;
  double host_seconds = 0;  ///< that the sample has taken of this thread so far
};

namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kLongLines = "its lines are longer than what is copied for samples";
constexpr const char* kNotRead = "elements of such a call are not read";
constexpr const char* kGroup = "it is one of several products of a call";
constexpr const char* kNoStaging = "there is no memory for samples";

double since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

double volume_of(const Call& x) {
  const auto size = [](std::int64_t n) { return static_cast<double>(std::max<std::int64_t>(n, 0)); };
  return size(x.m) * size(x.n) * size(x.k) * size(x.num_products);
}

/// How many small calls of a thread are timed one by one, and then one of how many: a device takes tens of microseconds
/// for a small one, and two events a few.
constexpr unsigned kAllTimed = 64;
constexpr unsigned kPeriod = 16;

/// Calls that the next timed one stands for: 0 if this one is only counted.
unsigned calls_to_note(std::span<const Call> calls) {
  constexpr double kSmall = 0x1p30;
  double volume = 0;
  for (const Call& call : calls) volume += volume_of(call);
  if (volume > kSmall) return 1;
  thread_local unsigned seen = 0;
  if (++seen <= kAllTimed) return 1;
  return seen % kPeriod == 0 ? kPeriod : 0;
}

/// What there is of a process, for as long as it lives.
class Timings {
 public:
  /// With events of the current device; null: too many are under way.
  [[nodiscard]] Timing* take() {
    int device = 0;
    check(cudaGetDevice(&device), "the device");
    const std::lock_guard lock(mutex_);
    const auto found = std::ranges::find(free_, device, &Timing::device);
    if (found != free_.end()) {
      Timing* const timing = *found;
      free_.erase(found);
      return timing;
    }
    if (all_.size() >= kMost) return nullptr;
    auto fresh = std::make_unique<Timing>();
    fresh->device = device;
    check(cudaEventCreate(&fresh->begin), "an event");
    check(cudaEventCreate(&fresh->end), "an event");
    if (std::ranges::find(all_, device, [](const auto& one) { return one->device; }) == all_.end()) name_device(device);
    all_.push_back(std::move(fresh));
    free_.reserve(all_.size());
    pending_.reserve(all_.size());
    return all_.back().get();
  }
  void give_back(Timing* timing) {
    timing->parts.clear();
    timing->sample.reset();
    const std::lock_guard lock(mutex_);
    free_.push_back(timing);
  }
  void add_pending(Timing* timing) {
    const std::lock_guard lock(mutex_);
    pending_.push_back(timing);
  }
  /// One whose events have come, among the first so many that it looks at; null: none.
  [[nodiscard]] Timing* next_done(std::size_t looks) {
    const std::lock_guard lock(mutex_);
    for (; looks > 0 && !pending_.empty(); --looks) {
      cursor_ = cursor_ + 1 < pending_.size() ? cursor_ + 1 : 0;
      Timing* const timing = pending_[cursor_];
      const cudaError_t error = cudaEventQuery(timing->sample == nullptr ? timing->end : timing->sample_end);
      if (error != cudaSuccess) static_cast<void>(cudaGetLastError());
      if (error == cudaErrorNotReady) continue;
      pending_.erase(pending_.begin() + static_cast<std::ptrdiff_t>(cursor_));
      if (cursor_ > 0) --cursor_;
      return timing;
    }
    return nullptr;
  }
  [[nodiscard]] std::size_t num_pending() {
    const std::lock_guard lock(mutex_);
    return pending_.size();
  }

  /// The memory of the one sample that may be under way; without data: another one is, or there is none.
  [[nodiscard]] Staging take_staging() {
    if (is_sampling_.exchange(true)) return {};
    if (staging_.data == nullptr) {
      void* memory = nullptr;
      if (cudaHostAlloc(&memory, kStagingBytes, cudaHostAllocPortable) != cudaSuccess) {
        static_cast<void>(cudaGetLastError());
        return {nullptr, kStagingBytes};  // and is not asked for again
      }
      staging_ = {static_cast<std::byte*>(memory), kStagingBytes};
    }
    return staging_;
  }
  void give_staging_back() { is_sampling_.store(false); }

 private:
  static constexpr std::size_t kMost = 512;
  static constexpr std::size_t kStagingBytes = std::size_t{4} << 20;

  static void name_device(int device) {
    cudaDeviceProp properties{};
    if (cudaGetDeviceProperties(&properties, device) == cudaSuccess) note_device(device, properties.name);
  }

  std::mutex mutex_;
  std::vector<std::unique_ptr<Timing>> all_;
  std::vector<Timing*> free_, pending_;
  std::size_t cursor_ = 0;
  std::atomic<bool> is_sampling_{false};
  Staging staging_;
};
constinit base::PerProcess<Timings> process_timings;

/// @units seconds
double between(cudaEvent_t begin, cudaEvent_t end) {
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, begin, end), "the time between events");
  return static_cast<double>(milliseconds) * 1e-3;
}

void note(const Timing& timing) {
  const double seconds = between(timing.begin, timing.end);
  for (const Timing::Part& part : timing.parts) {
    if (timing.sample == nullptr) {
      note_time(part.key, part.share * seconds, nullptr);
      continue;
    }
    const Clock::time_point begin = Clock::now();
    AuditSample sample = timing.sample->judge();
    sample.emulation = timing.emulation;
    sample.seconds = timing.host_seconds + since(begin) + between(timing.sample_begin, timing.begin) +
                     between(timing.end, timing.sample_end);
    note_time(part.key, seconds, &sample);
  }
}

void settle_some(Timings& timings, std::size_t looks) {
  for (; looks > 0; --looks) {
    Timing* const timing = timings.next_done(1);
    if (timing == nullptr) continue;
    try {
      note(*timing);
    } catch (const std::exception&) {  // the device has failed, or there is no memory: a time less
    }
    if (timing->sample != nullptr) timings.give_staging_back();
    timings.give_back(timing);
  }
}

/// All whose events have come.
void settle_all() noexcept {
  Timings* const timings = process_timings.known();
  if (timings == nullptr) return;
  try {
    const RelaxedCapture relaxed;
    settle_some(*timings, timings->num_pending());
  } catch (const std::exception&) {
  }
}

/// At the end of the process before CUDA is: what is registered later is called earlier.
void settle_at_end() {
  static std::atomic<bool> is_registered{false};
  if (is_registered.exchange(true)) return;
  settle_by(settle_all);
  std::atexit([] { settle_all(); });
}

/// Texts are not the same object in all sources.
bool is_for(const Call& call, std::string_view why) { return call.why_native != nullptr && call.why_native == why; }

AuditKey key_of(const Call& call, const char* note) {
  const bool is_other = is_for(call, kOtherTypes);
  const char* const of_call = is_for(call, kCertainAlgorithm) ? nullptr : call.why_native;
  return {call.caller,
          call.name,
          call,
          is_other ? '\0' : type_letter(call.scalar),
          call.num_products,
          of_call != nullptr ? of_call : note};
}

/// Whether it is a product of numbers that Kizami knows, whatever arithmetic is asked for.
bool can_be_sampled(const Call& call) {
  const bool is_known =
      call.why_native == nullptr || is_for(call, kCertainArithmetic) || is_for(call, kCertainAlgorithm);
  return is_known && is_valid(call) && volume_of(call) > 0;
}

/// By the planner's choice of a product of all of C.
Emulation predicted_emulation(const Call& call) {
  const auto plan_by = [&](const Policy& policy) {
    return cuda::make_plan(call.scalar, call.m, call.n, call.k, policy,
                           {call.num_products, call.form == Form::kPointers});
  };
  Policy policy = policy_of(Settings());
  const Result<Plan> chosen = plan_by(policy);
  if (!chosen.ok()) return {};
  const Scheme scheme = chosen.value().scheme();
  policy.scheme = scheme_to_compare(scheme);
  const Result<Plan> plan = plan_by(policy);
  if (!plan.ok()) return {};
  return {.scheme = scheme,
          .seconds = plan.value().predicted_seconds() * fraction_of(call.routine),
          .native_seconds = predicted_native(call, plan_by),
          .base_moduli = plan.value().base_moduli(),
          .max_moduli = plan.value().max_moduli()};
}

/// @return whether a sample was begun
bool begin_sample(Timings& timings, Timing& timing, const Call& call, const Context& context) {
  return with_scalar(call.scalar, [&]<class T>() {
    const AuditKey& key = timing.parts.front().key;
    const Clock::time_point begin = Clock::now();
    int elements = elements_to_sample(key, terms_of<T>(call.k), begin);
    if (elements == 0) return false;
    const Staging staging = timings.take_staging();
    if (staging.data == nullptr) {
      if (staging.bytes > 0) note_no_sample(key, kNoStaging);
      return false;
    }
    if (!LateSampleOf<T>::fits(call, elements, staging.bytes)) elements = 1;
    if (!LateSampleOf<T>::fits(call, elements, staging.bytes)) {
      timings.give_staging_back();
      note_no_sample(key, kLongLines);
      return false;
    }
    // What fails from here on leaves the staging memory taken, into which copies may be under way.
    for (cudaEvent_t* event : {&timing.sample_begin, &timing.sample_end}) {
      if (*event == nullptr) check(cudaEventCreate(event), "an event");
    }
    check(cudaEventRecord(timing.sample_begin, context.stream), "an event");
    timing.sample = std::make_unique<LateSampleOf<T>>(call, context, elements, staging);
    timing.host_seconds = since(begin);
    return true;
  });
}

}  // namespace

AuditedCalls::AuditedCalls(std::span<const Call> calls) noexcept : calls_(calls) {
  num_noted_ = calls.empty() ? 0 : calls_to_note(calls);
  try {
    if (!calls.empty() && read_context() && num_noted_ > 0) begin();
  } catch (const std::exception&) {  // there is no device, or no memory: counted, without a time
    if (timing_ != nullptr) process_timings.get().give_back(std::exchange(timing_, nullptr));
  }
}

bool AuditedCalls::read_context() {
  const Call& first = calls_.front();
  if (first.context) {
    context_ = *first.context;
    return true;
  }
  if (first.handle == nullptr) return false;
  note_ = read_handle(first.handle, first.scalar, context_);
  return note_ == nullptr || std::string_view(note_) != kUnreadableHandle;
}

void AuditedCalls::begin() {
  const Call& first = calls_.front();
  const RelaxedCapture relaxed;
  is_captured_ = is_captured(context_.stream);
  if (is_captured_) return;
  settle_at_end();
  Timings& timings = process_timings.get();
  timing_ = timings.take();
  if (timing_ == nullptr) return;
  double volume = 0;
  for (const Call& call : calls_) volume += volume_of(call);
  for (const Call& call : calls_)
    timing_->parts.push_back(
        {key_of(call, note_), volume > 0 ? volume_of(call) / volume : 1 / static_cast<double>(calls_.size())});
  if (calls_.size() > 1) {
    for (const Timing::Part& part : timing_->parts) note_no_sample(part.key, kGroup);
  } else if (!can_be_sampled(first)) {
    note_no_sample(timing_->parts.front().key, kNotRead);
  } else {
    try {
      begin_sample(timings, *timing_, first, context_);
    } catch (const std::exception& e) {
      note_no_sample(timing_->parts.front().key, kept(e.what(), kNoStaging));
    }
  }
  check(cudaEventRecord(timing_->begin, context_.stream), "an event");
}

void AuditedCalls::record_end() {
  const RelaxedCapture relaxed;
  check(cudaEventRecord(timing_->end, context_.stream), "an event");
  if (timing_->sample == nullptr) return;
  const Clock::time_point begin = Clock::now();
  timing_->sample->read_results();
  check(cudaEventRecord(timing_->sample_end, context_.stream), "an event");
  const Call& call = calls_.front();
  timing_->emulation = {};
  if (!timing_->parts.empty() && timing_->parts.front().key.note == nullptr &&
      wants_emulation(timing_->parts.front().key, HUGE_VAL))  // else it would be left to cuBLAS
    timing_->emulation = predicted_emulation(call);
  timing_->host_seconds += since(begin);
}

void AuditedCalls::finish(cublasStatus_t status) noexcept {
  unsigned num_noted = num_noted_;
  for (const Call& call : calls_) {
    const AuditKey key = key_of(call, note_);
    is_captured_ ? note_captured(key) : note_call(key, std::exchange(num_noted, 0U));
  }
  if (num_noted_ == 0) return;
  try {
    if (timing_ != nullptr) {
      Timings& timings = process_timings.get();
      bool is_under_way = false;
      if (status != CUBLAS_STATUS_SUCCESS) timing_->parts.clear();  // nothing was multiplied
      try {
        record_end();
        is_under_way = true;
      } catch (const std::exception&) {  // the device has failed
      }
      is_under_way ? timings.add_pending(timing_) : timings.give_back(timing_);
      timing_ = nullptr;
    }
    {
      const RelaxedCapture relaxed;
      settle_some(process_timings.get(), 4);
    }
    renew_report(process_configuration(), num_noted_);
  } catch (const std::exception&) {  // no memory for a report
  }
}

void forget_timings() { std::construct_at(&process_timings.get()); }

void note_waiting_call(const Call& call, double seconds) noexcept {
  const AuditKey key = key_of(call, nullptr);
  note_call(key, 1);
  note_time(key, seconds, nullptr);
  note_no_sample(key, kNotRead);
  try {
    renew_report(process_configuration());
  } catch (const std::exception&) {
  }
}

}  // namespace kizami::dropin::cublas
