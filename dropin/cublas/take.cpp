// SPDX-License-Identifier: MIT
#include "dropin/cublas/take.hpp"

#include <cstdio>
#include <string>

#include "dropin/cublas/attempt.hpp"
#include "dropin/cublas/choice.hpp"
#include "dropin/cublas/device_failure.hpp"
#include "dropin/cublas/handle.hpp"
#include "dropin/cublas/level3.hpp"
#include "dropin/cublas/monitor.hpp"
#include "kizami/cuda.hpp"

namespace kizami::dropin::cublas {

namespace {

constexpr const char* kAllRefused = "no block is Kizami's";
constexpr const char* kOnlySolved = "products are native, by plan; the diagonal blocks are solved by Kizami";

/// Why the call is native, or null: then `context` is known.
const char* why_native(const Call& call, const Configuration& configuration, const Settings& settings,
                       Context& context) {
  if (configuration.why_off != nullptr) return configuration.why_off;
  if (call.why_native != nullptr) return call.why_native;
  if (!is_valid(call)) return kNotUnderstood;
  if (call.m == 0 || call.n == 0 || call.k == 0 || call.num_products == 0) return kNothing;
  if (settings.policy.scheme == Scheme::kNative) return kScheme;
  if (has_device_failed()) return kDeviceFailed;
  if (is_below(call.m, call.n, call.k, settings.min_size)) return kSmall;
  if (call.context) {
    context = *call.context;
  } else if (const char* reason = read_handle(call.handle, call.scalar, context)) {
    return reason;
  }
  if (call.has_host_factors && context.has_device_factors) return kNotUnderstood;
  if (is_product(call.routine)) return chosen(settings, call).why_native;
  return why_whole_is_native(call, context, settings);
}

CallReport report_of(const Call& call) {
  CallReport report = dropin::report_of(call, call.name, call.caller);
  report.num_products = call.num_products;
  report.is_predicted = true;
  return report;
}

/// What the planner said of the call, or of its largest product.
CallReport report_of_emulated(const Call& call, const Choice& choice) {
  CallReport report = report_of(call);
  report.outcome.scheme = choice.scheme;
  report.outcome.engine = choice.engine;
  report.outcome.moduli = choice.moduli;
  report.outcome.bound = choice.bound;
  report.outcome.gauge = choice.gauge;
  report.seconds = choice.seconds;
  report.native_seconds = predicted_native(call);
  return report;
}

/// For the summary: what the workspaces of this process hold.
void note_workspaces(const Configuration& configuration) {
  if (!keeps_record(configuration)) return;
  const Result<cuda::WorkspacePool> pool = cuda::workspace_pool();
  if (pool.ok()) process_record().note_workspaces(pool.value().most_held_bytes);
}

/// One product, of symm and hemm of A written out, or several and diagonal blocks. @return whether the call is answered; if not, it is untouched
bool answer_one(const Call& call, const CallNames& names, const Context& context, const Configuration& configuration,
                const Settings& settings, Rest& rest) {
  Monitor monitor = is_monitored(configuration) ? Monitor(call, context) : Monitor();
  const bool is_told = is_recorded(configuration, settings) || monitor.is_watching();
  if (is_product(call.routine) || is_symmetric(call.routine)) {
    const Attempt done = attempt(call, context, settings, call.is_exchanged ? CallNames{names.b, names.a} : names);
    rest.why_native = done.why_native;
    rest.is_short_of_memory = done.is_short_of_memory;
    if (done.why_native != nullptr) return false;
    rest.status = done.status;
    if (!is_told || done.status != CUBLAS_STATUS_SUCCESS) return true;
    CallReport report = report_of_emulated(call, done.choice);
    report.workspace_limit = done.workspace_limit;
    note_workspaces(configuration);
    const Allowance allowance{report.outcome.bound, report.outcome.gauge, kEpilogueRoundings};
    monitor.judge([&](std::int64_t, std::int64_t) { return allowance; }, report);
    keep(report, configuration, settings);
    return true;
  }
  const Blocks blocks = emulate_blocks(call, context, settings);
  rest.status = blocks.status;
  if (!is_told || has_device_failed()) return true;
  CallReport report =
      report_of_emulated(call, blocks.is_whole ? blocks.whole : chosen(settings, largest_product(call)));
  report.workspace_limit = blocks.workspace_limit;
  report.is_short_of_memory = blocks.num_short_of_memory > 0 && blocks.num_emulated == 0;
  note_workspaces(configuration);
  report.outcome.bound = blocks.bound;
  report.seconds = blocks.seconds;
  report.native_products = blocks.num_native;
  if (blocks.num_emulated == 0) report.why_native = blocks.num_solved > 0 ? kOnlySolved : kAllRefused;
  if (blocks.status == CUBLAS_STATUS_SUCCESS && blocks.num_emulated > 0) {
    const Gauge gauge = report.outcome.gauge;
    monitor.judge([&](std::int64_t i, std::int64_t j) { return allowance_of(call, blocks, gauge, i, j); }, report);
  }
  keep(report, configuration, settings);
  return true;
}

const char* dry_run_text(Scheme scheme) {
  std::string text("dry run of ");
  text += kizami::to_string(scheme);
  return kept(text, "dry run");
}

/// Why one of the calls is native, and so all of them are, or null. The last context is that of all.
const char* why_all_native(std::span<const Call> calls, const Configuration& configuration, Context& context,
                           bool& is_any_recorded) {
  const char* reason = nullptr;
  for (const Call& call : calls) {
    const Settings& settings = settings_of(call, call.scalar, call.caller, configuration);
    is_any_recorded |= is_recorded(configuration, settings);
    if (reason == nullptr) reason = why_native(call, configuration, settings, context);
  }
  return reason;
}

}  // namespace

Rest answer(std::span<const Call> calls, const CallNames& names) noexcept {
  Rest rest;
  try {
    const CallNames of_one = calls.size() == 1 ? names : CallNames{};
    const Configuration& configuration = process_configuration();
    if (has_complaint(configuration)) report_complaint(configuration);
    Context context;
    rest.why_native = why_all_native(calls, configuration, context, rest.is_recorded);
    rest.is_short_of_memory = rest.why_native == kNoMemoryOnDevice;
    if (rest.why_native != nullptr) return rest;
    for (const Call& call : calls) {
      const Settings& settings = settings_of(call, call.scalar, call.caller, configuration);
      if (configuration.is_dry_run) {
        const Call product = is_product(call.routine) ? call : largest_product(call);
        rest.why_native = dry_run_text(chosen(settings, product).scheme);
        return rest;
      }
      if (!answer_one(call, of_one, context, configuration, settings, rest)) return rest;
      ++rest.first;
      if (rest.status != CUBLAS_STATUS_SUCCESS) break;
    }
    if (rest.status != CUBLAS_STATUS_SUCCESS) rest.first = calls.size();
  } catch (...) {  // no memory; C may be written
    std::fprintf(stderr, "kizami: %s: an exception where none was expected\n", calls.front().name);
    rest.first = calls.size();
    rest.status = CUBLAS_STATUS_INTERNAL_ERROR;
  }
  return rest;
}

void record_native(std::span<const Call> calls, const Rest& rest) noexcept {
  try {
    const Configuration& configuration = process_configuration();
    for (const Call& call : calls) {
      CallReport report = report_of(call);
      report.why_native = rest.why_native;
      report.is_short_of_memory = rest.is_short_of_memory;
      report.seconds = is_valid(call) ? predicted_native(call) : 0;
      keep(report, configuration, settings_of(call, call.scalar, call.caller, configuration));
    }
  } catch (...) {  // no memory for a line of the log
  }
}

}  // namespace kizami::dropin::cublas
