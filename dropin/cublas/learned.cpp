// SPDX-License-Identifier: MIT
#include "dropin/cublas/learned.hpp"

#include <atomic>
#include <cstddef>
#include <memory>
#include <span>

#include "base/fork_safe.hpp"
#include "dropin/policy/learned_sites.hpp"
#include "kizami/cuda.hpp"

namespace kizami::dropin::cublas {
namespace {

/// Words that calls under way may write are never given back.
class EffortWords {
 public:
  /// LearnedSites::kWords of them, or null where there is no memory for them: of so many calls one asks again.
  [[nodiscard]] std::uint64_t* get() {
    std::uint64_t* known = words_.load(std::memory_order_acquire);
    if (known != nullptr || asked_.fetch_add(1, std::memory_order_relaxed) % kRetryPeriod != 0) return known;
    const Result<std::span<std::uint64_t>> made = cuda::make_effort_words(LearnedSites::kWords);
    if (!made.ok()) return nullptr;
    words_.store(made.value().data(), std::memory_order_release);
    return made.value().data();
  }

 private:
  static constexpr std::uint32_t kRetryPeriod = 1024;
  std::atomic<std::uint64_t*> words_{nullptr};
  std::atomic<std::uint32_t> asked_{0};
};

struct Lessons {
  EffortWords words;
  LearnedSites sites;
};
constinit base::PerProcess<Lessons> process_lessons;

Site site_of(const Call& call, const Settings& settings, const Choice& choice) {
  Site site;
  site.settings = &settings;
  site.caller = call.caller;
  site.device = choice.device;
  site.routine = call.routine;
  site.scalar = call.scalar;
  site.op_a = call.op_a;
  site.op_b = call.op_b;
  site.has_device_arrays = call.form == Form::kPointers;
  site.m = call.m;
  site.n = call.n;
  site.k = call.k;
  site.num_products = call.num_products;
  return site;
}

}  // namespace

Lesson lesson_of(const Call& product, const Settings& settings, const Choice& choice) {
  if (choice.native_seconds == 0) return {};
  Lessons& lessons = process_lessons.get();
  std::uint64_t* const words = lessons.words.get();
  if (words == nullptr) return {};
  const auto told = [&](std::size_t word) { return cuda::read_effort(words + word); };
  const auto is_loss_of_kizami = [&](const Effort& effort) {
    const Result<Plan> plan = plan_of(product, policy_within(settings));
    return plan.ok() && is_loss(cuda::predicted_seconds(plan.value(), effort), choice.seconds, choice.native_seconds);
  };
  const LearnedSites::Answer answer =
      lessons.sites.next_call(site_of(product, settings, choice), told, is_loss_of_kizami);
  if (answer.is_native) return {.is_native = true, .note = {}};
  return {.is_native = false, .note = {words + answer.word, answer.number}};
}

void forget_lessons() { std::construct_at(&process_lessons.get()); }

}  // namespace kizami::dropin::cublas
