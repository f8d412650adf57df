// SPDX-License-Identifier: MIT
// What both libraries do alike to answer calls: whom a call is left to, what the planner said of a shape, and the
// record.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string_view>
#include <type_traits>

#include "base/fork_safe.hpp"
#include "dropin/policy/call.hpp"
#include "dropin/policy/configuration.hpp"
#include "dropin/policy/record.hpp"
#include "dropin/policy/shared_choices.hpp"
#include "kizami/policy.hpp"
#include "kizami/status.hpp"

namespace kizami::dropin {

/// Why a call is native.
inline constexpr const char* kNotUnderstood = "an argument is not valid";
inline constexpr const char* kNothing = "nothing is multiplied";
inline constexpr const char* kScheme = "the scheme is native";
inline constexpr const char* kSmall = "m n k is below the minimum size";
inline constexpr char kByPlan[] = "the planner prefers it";  ///< compared by its address: an array, which has one
inline constexpr const char* kRefuses = "the planner refuses";
inline constexpr const char* kByLearning = "elements of earlier calls made it the quicker one";
inline constexpr const char* kOneBlock = "there is no block beside the diagonal";

/// How many calls of this library the thread is in. What is called from within is native: Kizami may use the native
/// library, and that one calls its own functions by their names, as cuBLAS and the reference CBLAS do.
extern constinit thread_local int depth;

class Inside {
 public:
  Inside() { ++depth; }
  ~Inside() { --depth; }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
};

/// A text that lives as long as the process. Beyond a number of them, `instead` stands for all others.
[[nodiscard]] const char* kept(std::string_view text, const char* instead);

/// Why the planner refuses a call, for the summary, with the variable that would let it.
[[nodiscard]] const char* kept_refusal(const Status& status);

/// Whether threads share what was said of shapes. False in tests whose planner changes its mind.
extern constinit std::atomic<bool> shares_choices;

/// Those of the process; null where there is no memory for them, or threads share none.
template <class Choice>
[[nodiscard]] SharedChoices<Choice>* shared_choices() noexcept {
  static constinit base::PerProcess<SharedChoices<Choice>> shared;
  if (!shares_choices.load(std::memory_order_relaxed)) return nullptr;
  try {
    return &shared.get();
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

/// What the thread or another one made for a shape before, or what `make` makes now: a program repeats its shapes. Choices are trivial, so that a
/// thread's memory of them needs no destructor.
/// @param rest  of what tells calls apart, a number, so that those of one shape do not drive each other out
template <class Choice, class IsFor, class Make>
[[nodiscard]] const Choice& remembered(std::int64_t m, std::int64_t n, std::int64_t k, std::uint64_t rest,
                                       const IsFor& is_for, const Make& make) {
  constexpr std::size_t kEntries = 64;
  static_assert(std::is_trivially_destructible_v<Choice>);
  thread_local Choice entries[kEntries];
  const std::uint64_t hash = (static_cast<std::uint64_t>(m) * 0x9E3779B97F4A7C15U) ^
                             (static_cast<std::uint64_t>(n) * 0xC2B2AE3D27D4EB4FU) ^
                             (static_cast<std::uint64_t>(k) * 0x165667B19E3779F9U) ^ (rest * 0x27D4EB2F165667C5U);
  Choice& entry = entries[(hash >> 32) % kEntries];
  if (is_for(entry)) return entry;
  SharedChoices<Choice>* const shared = shared_choices<Choice>();
  if (shared != nullptr && shared->find(hash, is_for, entry)) return entry;
  entry = make();
  if (shared != nullptr && is_for(entry)) shared->keep(hash, entry);
  return entry;
}

/// What the native library will take for a call, by the model: plan_by(policy) plans its shape for the planner's own
/// processor or device. @units seconds; 0: not known
template <class PlanBy>
[[nodiscard]] double predicted_native(const Shape& x, const PlanBy& plan_by) {
  if (x.m < 1 || x.n < 1 || x.k < 1) return 0;
  Policy policy;
  policy.scheme = Scheme::kNative;
  policy.reproducibility = Reproducibility::kNotGuaranteed;
  const auto plan = plan_by(policy);
  return plan.ok() ? plan.value().predicted_seconds() * fraction_of(x.routine) : 0;
}

/// By what was set at run time, the rules, and the environment, in this order. They live as long as the configuration.
[[nodiscard]] const Settings& settings_of(const Shape& shape, Scalar scalar, const void* caller,
                                          const Configuration& configuration);

/// Whether the call is to be logged, or counted for the summary.
[[nodiscard]] bool is_recorded(const Configuration& configuration, const Settings& settings);

/// Whether this emulated call is one whose sample is computed again (sample.hpp). @queue safe from any thread
[[nodiscard]] bool is_monitored(const Configuration& configuration);

[[nodiscard]] CallReport report_of(const Shape& shape, const char* name, const void* caller);

/// Logs and counts the call as it is asked for. A sample beyond its bound is said on stderr, whatever is asked for.
void keep(const CallReport& report, const Configuration& configuration, const Settings& settings);

}  // namespace kizami::dropin
