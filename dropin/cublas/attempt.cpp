// SPDX-License-Identifier: MIT
#include "dropin/cublas/attempt.hpp"

#include <algorithm>
#include <array>

#include "dropin/cublas/device_failure.hpp"
#include "dropin/cublas/emulate.hpp"
#include "dropin/cublas/kept.hpp"
#include "dropin/cublas/learned.hpp"
#include "dropin/cublas/workspace_search.hpp"
#include "dropin/policy/answer.hpp"
#include "kizami/cuda.hpp"

namespace kizami::dropin::cublas {
namespace {

constexpr const char* kRefused = "Kizami refuses";
constexpr const char* kNoMemory = "there is no memory for a workspace, nor for a smaller one";

constexpr const char* kBrokenCapture = "the capture of its stream is broken";

/// What each device could not give; devices beyond the last share its.
constinit std::array<Shortage, 64> shortages;

Shortage& shortage_of(int device) {
  return shortages[static_cast<std::size_t>(std::clamp(device, 0, static_cast<int>(shortages.size()) - 1))];
}

/// What a call takes beside the workspace of its plan: A of symm and hemm, written out.
std::size_t bytes_beside(const Call& call) {
  if (!is_symmetric(call.routine)) return 0;
  const auto order = static_cast<std::size_t>(call.k);
  return order * order * with_scalar(call.scalar, []<class T>() { return sizeof(T); });
}

/// Whether beta is a 0 in host memory.
bool overwrites_c(const Call& call, const Context& context) {
  if (context.has_device_factors) return false;
  return with_scalar(call.scalar, [&]<class T>() { return factor_at<T>(call.beta, false) == T{}; });
}

Attempt left(const char* why) {
  Attempt left;
  left.why_native = why;
  return left;
}

Attempt short_of_memory() {
  Attempt attempt = left(kNoMemory);
  attempt.is_short_of_memory = true;
  return attempt;
}

Attempt failed(const Call& product, const Context& context, const Status& error) {
  if (is_in_broken_capture(context.stream)) return left(kBrokenCapture);
  const bool is_c_whole = !cuda::last_call_writes_c() || overwrites_c(product, context);
  const cublasStatus_t status = device_failed(product, error, is_c_whole);
  if (status == CUBLAS_STATUS_SUCCESS) return left(kept(error.reason(), kDeviceFailed));
  Attempt attempt;
  attempt.status = status;
  return attempt;
}

}  // namespace

void forget_shortages() {
  for (Shortage& shortage : shortages) shortage.forget();
}

Attempt attempt(const Call& product, const Context& context, const Settings& settings, const CallNames& names) {
  Attempt attempt;
  attempt.choice = chosen(settings, product);
  const Lesson lesson = lesson_of(product, settings, attempt.choice);
  if (lesson.is_native) return left(kByLearning);
  WorkspaceSearch search(shortage_of(attempt.choice.device), process_configuration().workspace_total);
  const std::size_t beside = bytes_beside(product);
  for (;;) {
    const std::size_t bytes = attempt.choice.workspace_bytes + beside;
    if (search.may_ask(bytes)) {
      if (has_device_failed()) return left(kDeviceFailed);
      const Policy policy = policy_within(settings, attempt.workspace_limit);
      Status status = emulate(product, context, policy, lesson.note, names);
      if (status.code() == StatusCode::kOutOfMemory && give_kept_back(attempt.choice.device))
        status = emulate(product, context, policy, lesson.note);
      if (status.ok()) {
        search.granted(bytes);
        return attempt;
      }
      if (status.code() == StatusCode::kInternal) return failed(product, context, status);
      if (status.code() != StatusCode::kOutOfMemory) return left(kept(status.reason(), kRefused));
      search.refused(bytes);
    }
    const std::size_t limit = search.next_limit(bytes);
    if (limit <= beside) return short_of_memory();
    attempt.workspace_limit = limit - beside;
    attempt.choice = chosen(settings, product, attempt.workspace_limit);
    if (attempt.choice.why_native != nullptr) return short_of_memory();  // no plan is so small, or none that is quicker
  }
}

}  // namespace kizami::dropin::cublas
