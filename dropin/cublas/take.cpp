// SPDX-License-Identifier: MIT
#include "dropin/cublas/take.hpp"

#include <cctype>
#include <cstdio>
#include <string>

#include "dropin/cublas/choice.hpp"
#include "dropin/cublas/emulate.hpp"
#include "dropin/cublas/handle.hpp"
#include "dropin/policy/record.hpp"

namespace kizami::dropin::cublas {

thread_local int depth = 0;

namespace {

constexpr const char* kNotUnderstood = "an argument is not valid";
constexpr const char* kNothing = "nothing is multiplied";
constexpr const char* kScheme = "the scheme is native";
constexpr const char* kSmall = "m n k is below the minimum size";
constexpr const char* kRefused = "Kizami refuses";

const Settings& settings_of(const Call& call, const Configuration& configuration) {
  if (configuration.rules.empty()) return configuration.settings;
  return settings_for({to_string(call.routine), call.scalar, call.m, call.n, call.k, call.caller}, configuration.rules,
                      configuration.settings);
}

/// Why the call is native, or null: then `context` is known.
const char* why_native(const Call& call, const Configuration& configuration, const Settings& settings,
                       Context& context) {
  if (configuration.why_off != nullptr) return configuration.why_off;
  if (call.why_native != nullptr) return call.why_native;
  if (!is_valid(call)) return kNotUnderstood;
  if (call.m == 0 || call.n == 0 || call.k == 0 || call.num_products == 0) return kNothing;
  if (settings.policy.scheme == Scheme::kNative) return kScheme;
  if (is_below(call.m, call.n, call.k, settings.min_size)) return kSmall;
  if (call.context) {
    context = *call.context;
  } else if (const char* reason = read_handle(call.handle, call.scalar, context)) {
    return reason;
  }
  if (call.has_host_factors && context.has_device_factors) return kNotUnderstood;
  return chosen(settings, call).why_native;
}

CallReport report_of(const Call& call) {
  CallReport report;
  report.name = call.name;
  for (const char c : {call.op_a, call.op_b})
    report.options += c == 0 ? '?' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  report.m = call.m;
  report.n = call.n;
  report.k = call.k;
  report.num_products = call.num_products;
  report.caller = call.caller;
  report.is_predicted = true;
  return report;
}

void keep(const CallReport& report, const Configuration& configuration, const Settings& settings) {
  if (settings.is_logged) write_text(configuration.log_path, log_line(report) + "\n");
  if (configuration.is_summary_wanted) process_record().add(report);
}

bool is_recorded(const Configuration& configuration, const Settings& settings) {
  return settings.is_logged || configuration.is_summary_wanted;
}

void record_emulated(const Call& call, const Choice& choice, const Configuration& configuration,
                     const Settings& settings) {
  CallReport report = report_of(call);
  report.outcome.scheme = choice.scheme;
  report.outcome.engine = choice.engine;
  report.outcome.moduli = choice.moduli;
  report.outcome.bound = choice.bound;
  report.outcome.gauge = choice.gauge;
  report.seconds = choice.seconds;
  report.native_seconds = predicted_native(call);
  keep(report, configuration, settings);
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
    const Settings& settings = settings_of(call, configuration);
    is_any_recorded |= is_recorded(configuration, settings);
    if (reason == nullptr) reason = why_native(call, configuration, settings, context);
  }
  return reason;
}

}  // namespace

Rest answer(std::span<const Call> calls) noexcept {
  Rest rest;
  try {
    const Configuration& configuration = process_configuration();
    if (!configuration.complaint.empty()) report_complaint(configuration);
    Context context;
    rest.why_native = why_all_native(calls, configuration, context, rest.is_recorded);
    if (rest.why_native != nullptr) return rest;
    for (const Call& call : calls) {
      const Settings& settings = settings_of(call, configuration);
      const Choice& choice = chosen(settings, call);
      if (configuration.is_dry_run) {
        rest.why_native = dry_run_text(choice.scheme);
        return rest;
      }
      const Status status = emulate(call, context, policy_of(settings));
      if (!status.ok()) {
        rest.why_native = kept(status.reason(), kRefused);
        return rest;
      }
      ++rest.first;
      if (is_recorded(configuration, settings)) record_emulated(call, choice, configuration, settings);
    }
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
      report.seconds = is_valid(call) ? predicted_native(call) : 0;
      keep(report, configuration, settings_of(call, configuration));
    }
  } catch (...) {  // no memory for a line of the log
  }
}

}  // namespace kizami::dropin::cublas
