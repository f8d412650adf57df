// SPDX-License-Identifier: MIT
#include "dropin/policy/record.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/fork_safe.hpp"
#include "dropin/policy/json_line.hpp"
#include "dropin/policy/report.hpp"
#include "dropin/policy/worst_ratio.hpp"

namespace kizami::dropin {
namespace {

template <class... Args>
std::string format(const char* pattern, Args... args) {
  char text[512];
  std::snprintf(text, sizeof text, pattern, args...);
  return text;
}

std::string calls_text(std::int64_t count) { return std::to_string(count) + (count == 1 ? " call" : " calls"); }

std::string shape_text(const CallReport& r) {
  std::string text = std::to_string(r.m) + "x" + std::to_string(r.n) + "x" + std::to_string(r.k);
  return r.num_products == 1 ? text : text + ", " + std::to_string(r.num_products) + " products";
}

std::string call_text(const CallReport& r) {
  return r.name + (r.options.empty() ? "" : " " + r.options) + " " + shape_text(r);
}

std::string time_text(const CallReport& r) {
  if (r.is_predicted && r.seconds == 0) return "";
  return format(", %.3g s", r.seconds) + (r.is_predicted ? " predicted" : "");
}

std::string monitor_text(const CallReport& r) {
  return r.worst_ratio < 0 ? "" : format(", sample error / bound %.2g", r.worst_ratio);
}

}  // namespace

std::string answer_of(const CallReport& r) {
  if (!r.why_native.empty()) return "native: " + r.why_native;
  const Outcome& o = r.outcome;
  if (o.engine == "none") return "C is scaled, nothing is multiplied";
  std::string text = std::string(to_string(o.scheme)) + " on " + std::string(o.engine);
  if (o.moduli > 0) text += ", " + std::to_string(o.moduli) + (r.is_predicted ? " or more moduli" : " moduli");
  text += format(", bound %.2g ", o.bound) + std::string(to_string(o.gauge));
  if (o.is_conditional) text += " unless terms overflow or underflow";
  if (r.workspace_limit > 0) text += ", within " + std::to_string(r.workspace_limit) + " bytes for lack of memory";
  if (r.native_products > 0) text += ", " + std::to_string(r.native_products) + " blocks refused and native";
  return text + monitor_text(r);
}

std::string log_line(const CallReport& r) {
  const std::string skipped = r.why_no_sample.empty() ? "" : ", no sample: " + r.why_no_sample;
  return "kizami: " + call_text(r) + ": " + answer_of(r) + skipped + time_text(r) + " [" + site_of(r.caller) + "]";
}

void Record::add(const CallReport& report) {
  const std::lock_guard lock(mutex_);
  const std::string answer = report.why_native.empty() ? "" : report.why_native;
  Key key{report.name, report.m, report.n, report.k, report.num_products, report.caller, answer};
  if (sums_.size() >= kMaxKinds && sums_.find(key) == sums_.end()) {
    key = Key{"(other shapes)", 0, 0, 0, 1, nullptr, answer.empty() ? "" : "several reasons"};
  }
  totals_ = totals_ + Totals{answer.empty() ? 1 : 0, answer.empty() ? 0 : 1, answer.empty() ? report.seconds : 0,
                             answer.empty() ? report.native_seconds : 0, report.is_predicted};
  Sum& sum = sums_[key];
  const bool is_first = sum.calls++ == 0;
  sum.repaired += report.outcome.repaired;
  sum.skipped += report.why_no_sample.empty() ? 0 : 1;
  sum.in_less_memory += report.workspace_limit > 0 ? 1 : 0;
  sum.short_of_memory += report.is_short_of_memory ? 1 : 0;
  if (is_first) {
    sum.worst = report;
    CallReport& r = sum.worst;
    std::tie(r.name, r.m, r.n, r.k, r.num_products, r.caller, r.why_native) = key;
    return;
  }
  CallReport& worst = sum.worst;
  if (worst.options != report.options) worst.options.clear();
  if (report.outcome.bound > worst.outcome.bound) worst.outcome = report.outcome;
  const auto least = [](std::size_t x, std::size_t y) { return x == 0 || (y != 0 && y < x) ? y : x; };
  worst.workspace_limit = least(worst.workspace_limit, report.workspace_limit);
  worst.native_products += report.native_products;
  worst.seconds += report.seconds;
  worst.native_seconds += report.native_seconds;
  worst.worst_ratio = worse(worst.worst_ratio, report.worst_ratio);
  if (worst.why_no_sample.empty()) worst.why_no_sample = report.why_no_sample;
}

void Record::note_workspaces(std::size_t most_held) {
  const std::lock_guard lock(mutex_);
  most_held_ = std::max(most_held_, most_held);
}

std::string Record::text() const {
  const std::lock_guard lock(mutex_);
  if (sums_.empty()) return {};
  const std::vector<const Sum*> order = in_order();
  std::int64_t in_less_memory = 0;
  std::int64_t short_of_memory = 0;
  for (const Sum* sum : order) {
    in_less_memory += sum->in_less_memory;
    short_of_memory += sum->short_of_memory;
  }
  const char* pattern = totals_.is_predicted ? "kizami summary of process %ld: %s emulated, predicted to take %.3g s "
                                               "(native: %.3g s), %s native\n"
                                             : "kizami summary of process %ld: %s emulated in %.3g s (native, as "
                                               "predicted: %.3g s), %s native\n";
  std::string text = format(pattern, static_cast<long>(getpid()), calls_text(totals_.emulated).c_str(), totals_.seconds,
                            totals_.native_seconds, calls_text(totals_.native).c_str());
  if (most_held_ > 0) text += "        workspaces held at most " + std::to_string(most_held_) + " bytes of a device\n";
  if (in_less_memory > 0 || short_of_memory > 0) {
    text += format("        for lack of memory %s ran in a smaller workspace, %lld %s left to the native library\n",
                   calls_text(in_less_memory).c_str(), static_cast<long long>(short_of_memory),
                   short_of_memory == 1 ? "was" : "were");
  }
  for (const Sum* sum : order) {
    const CallReport& r = sum->worst;
    text += format("%10lld x ", static_cast<long long>(sum->calls)) + call_text(r) + ": " + answer_of(r);
    if (sum->in_less_memory > 0) text += format(", %s in a smaller workspace", calls_text(sum->in_less_memory).c_str());
    if (sum->repaired > 0) text += format(", %lld elements in FP64", static_cast<long long>(sum->repaired));
    if (sum->skipped > 0)
      text += format(", %lld samples skipped: ", static_cast<long long>(sum->skipped)) + r.why_no_sample;
    text += time_text(r);
    if (r.native_seconds > 0) text += format(" (native %.3g s)", r.native_seconds);
    text += " [" + site_of(r.caller) + "]\n";
  }
  return text;
}

Totals Record::totals() const {
  const std::lock_guard lock(mutex_);
  return totals_;
}

std::vector<const Record::Sum*> Record::in_order() const {
  std::vector<const Sum*> order;
  for (const auto& [key, sum] : sums_) order.push_back(&sum);
  std::stable_sort(order.begin(), order.end(),
                   [](const Sum* x, const Sum* y) { return x->worst.seconds > y->worst.seconds; });
  return order;
}

std::string Record::json() const {
  const std::lock_guard lock(mutex_);
  std::string text;
  for (const Sum* sum : in_order()) {
    const CallReport& r = sum->worst;
    JsonLine line;
    line.field("event", "calls")
        .field("routine", r.name)
        .field("options", r.options)
        .field("m", r.m)
        .field("n", r.n)
        .field("k", r.k)
        .field("products", r.num_products)
        .field("site", site_of(r.caller))
        .field("calls", sum->calls)
        .field("seconds", r.seconds)
        .field("is_predicted", r.is_predicted)
        .field("predicted_native_seconds", r.native_seconds);
    if (!r.why_native.empty()) {
      line.field("answer", "native").field("why_native", r.why_native);
    } else {
      line.field("answer", to_string(r.outcome.scheme))
          .field("engine", r.outcome.engine)
          .field("moduli", r.outcome.moduli)
          .field("bound", r.outcome.bound)
          .field("gauge", to_string(r.outcome.gauge))
          .field("repaired", sum->repaired)
          .field("native_blocks", r.native_products);
      if (!(r.worst_ratio < 0)) line.field("error_over_bound", r.worst_ratio);
    }
    text += line.line();
  }
  return text;
}

int write_text(const std::string& path, std::string_view text) {
  constexpr int kFlags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY;
  const int file = path.empty() ? STDERR_FILENO : open(path.c_str(), kFlags | O_NONBLOCK, 0666);
  if (file < 0) return errno;
  if (!path.empty()) fcntl(file, F_SETFL, O_APPEND);  // a FIFO that somebody reads is waited for
  int error = 0;
  while (!text.empty() && error == 0) {
    const ssize_t written = write(file, text.data(), text.size());
    if (written > 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (written == 0 || errno != EINTR) {
      error = written == 0 ? EIO : errno;
    }
  }
  if (!path.empty() && close(file) != 0 && error == 0 && errno != EINTR) error = errno;
  return error;
}

void write_log(const std::string& path, const std::string& line) {
  static std::atomic<bool> is_said{false};
  const int error = write_text(path, line);
  if (error == 0 || path.empty() || is_said.exchange(true)) return;
  (void)write_text("", "kizami: KIZAMI_LOG = " + in_quotes(path) + ": " + std::strerror(error) +
                           "; calls that it does not take are not logged\n");
}

void write_summary(const std::string& path, const std::string& text) {
  const int error = write_text(path, text);
  if (error == 0 || path.empty()) return;
  (void)write_text("", "kizami: KIZAMI_SUMMARY = " + in_quotes(path) + ": " + std::strerror(error) +
                           "; the summary goes to stderr\n" + text);
}

namespace {

constinit base::PerProcess<Record> record;

/// When the library is loaded: atexit() takes a lock of the C library, which no fork waits for.
[[gnu::constructor]] void prepare_summary() {
  std::atexit([] {
    Record* const known = record.known();
    if (known == nullptr) return;
    const Configuration& configuration = process_configuration();
    if (!configuration.is_summary_wanted) return;
    write_summary(configuration.summary_path,
                  is_json_path(configuration.summary_path) ? report_text(true) : known->text());
  });
}

}  // namespace

Record& process_record() { return record.get(); }

}  // namespace kizami::dropin
