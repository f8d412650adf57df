// SPDX-License-Identifier: MIT
#include "dropin/policy/answer.hpp"

#include <atomic>
#include <mutex>
#include <set>
#include <string>

#include "base/fork_safe.hpp"
#include "dropin/policy/report.hpp"
#include "dropin/policy/runtime.hpp"

namespace kizami::dropin {

constinit thread_local int depth = 0;
constinit std::atomic<bool> shares_choices{true};

const char* kept(std::string_view text, const char* instead) {
  constexpr std::size_t kMaxTexts = 256;
  struct Texts {
    std::mutex mutex;
    std::set<std::string, std::less<>> known;
  };
  static constinit base::PerProcess<Texts> process_texts;
  Texts& texts = process_texts.get();
  const std::lock_guard lock(texts.mutex);
  const auto found = texts.known.find(text);
  if (found != texts.known.end()) return found->c_str();
  return texts.known.size() < kMaxTexts ? texts.known.emplace(text).first->c_str() : instead;
}

const char* kept_refusal(const Status& status) {
  const char* const advice = status.code() == StatusCode::kWorkspaceTooSmall ? "; KIZAMI_WORKSPACE sets the limit" : "";
  return kept(status.reason() + advice, kRefuses);
}

const Settings& settings_of(const Shape& shape, Scalar scalar, const void* caller, const Configuration& configuration) {
  if (configuration.rules.empty()) return with_run_time(configuration.settings);
  return with_run_time(settings_for({to_string(shape.routine), scalar, shape.m, shape.n, shape.k, caller},
                                    configuration.rules, configuration.settings));
}

bool is_recorded(const Configuration& configuration, const Settings& settings) {
  return settings.is_logged || keeps_record(configuration);
}

bool is_monitored(const Configuration& configuration) {
  static std::atomic<std::int64_t> calls{0};
  return configuration.monitor_period > 0 &&
         calls.fetch_add(1, std::memory_order_relaxed) % configuration.monitor_period == 0;
}

CallReport report_of(const Shape& shape, const char* name, const void* caller) {
  CallReport report;
  report.name = name;
  report.options = options_of(shape);
  report.m = shape.m;
  report.n = shape.n;
  report.k = shape.k;
  report.caller = caller;
  return report;
}

void keep(const CallReport& report, const Configuration& configuration, const Settings& settings) {
  if (settings.is_logged) write_log(configuration.log_path, log_line(report) + "\n");
  if (keeps_record(configuration)) process_record().add(report);
  renew_report(configuration);
  if (is_beyond_bound(report)) write_log("", "kizami: beyond its bound: " + log_line(report) + "\n");
}

}  // namespace kizami::dropin
