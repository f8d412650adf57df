// SPDX-License-Identifier: MIT
// What happened to the calls of a process: a line for each call that asks for it, and a summary by routine, shape and
// place of the call at the end of the process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "dropin/policy/configuration.hpp"
#include "kizami/outcome.hpp"

namespace kizami::dropin {

struct CallReport {
  std::string name;     ///< as called: "dgemm_"
  std::string options;  ///< letters of side, triangle, operations and diagonal
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::int64_t num_products = 1;  ///< of this shape, of a batch
  const void* caller = nullptr;
  std::string why_native;  ///< empty: emulated
  Outcome outcome;         ///< of an emulated call: the worst of its products
  /// blocks of an emulated call that Kizami refused, and the native library answered
  std::int64_t native_products = 0;
  /// The call goes on when its report is made: its time is the planner's, and its moduli are the fewest that may be
  /// used.
  bool is_predicted = false;
  /// Bytes that the planner was left with where memory for what it wished was not to be had; 0: it had what it wished.
  std::size_t workspace_limit = 0;
  bool is_short_of_memory = false;  ///< native for that reason, down to the least workspace
  double seconds = 0;
  double native_seconds = 0;  ///< of the native library, as the planner predicts it; 0: not known
  double worst_ratio = -1;    ///< error / bound of the sample that was computed again; < 0: none was
  std::string why_no_sample;  ///< where a sample was to be taken and was not
};

/// Whether the sample is not within its bound: NaN is not.
[[nodiscard]] inline bool is_beyond_bound(const CallReport& report) {
  return !(report.worst_ratio < 0) && !(report.worst_ratio <= 1);
}

/// "ozaki2 on cpu_simd, 14 moduli, bound 3.6e-15 entry", or "native: REASON".
[[nodiscard]] std::string answer_of(const CallReport& report);
/// One line without its end.
[[nodiscard]] std::string log_line(const CallReport& report);

/// Of all calls.
struct Totals {
  std::int64_t emulated = 0;
  std::int64_t native = 0;
  double seconds = 0;         ///< of emulated calls; of an audit, of all
  double native_seconds = 0;  ///< of the native library for emulated ones, as predicted
  bool is_predicted = false;  ///< whether seconds are

  [[nodiscard]] std::int64_t calls() const { return emulated + native; }
  friend Totals operator+(const Totals& x, const Totals& y) {
    return {x.emulated + y.emulated, x.native + y.native, x.seconds + y.seconds, x.native_seconds + y.native_seconds,
            x.is_predicted || y.is_predicted};
  }
};

/// Sums of reports by name, shape, place and answer. Safe to use from any thread.
class Record {
 public:
  void add(const CallReport& report);
  /// What the workspaces of calls hold at most, so far. @units bytes
  void note_workspaces(std::size_t most_held);
  /// Several lines, the longest times first; empty if there was no call.
  [[nodiscard]] std::string text() const;
  /// A line of JSON for each kind of calls.
  [[nodiscard]] std::string json() const;
  [[nodiscard]] Totals totals() const;

 private:
  struct Sum {
    std::int64_t calls = 0;
    CallReport worst;  ///< with the largest bound and ratio, and sums of times
    std::int64_t repaired = 0;
    std::int64_t skipped = 0;  ///< samples
    std::int64_t in_less_memory = 0;
    std::int64_t short_of_memory = 0;
  };
  using Key = std::tuple<std::string, std::int64_t, std::int64_t, std::int64_t, std::int64_t, const void*, std::string>;

  /// Kinds of calls that are told apart; more are counted together.
  static constexpr std::size_t kMaxKinds = 4096;

  mutable std::mutex mutex_;
  /// The longest times first. @range the mutex is held
  [[nodiscard]] std::vector<const Sum*> in_order() const;

  std::map<Key, Sum> sums_;
  Totals totals_;
  std::size_t most_held_ = 0;
};

/// Appends to the file, or writes to stderr if `path` is empty. In one write, so that processes do not mix. Does not
/// wait for somebody to open a FIFO. @return 0, or the errno of what went wrong
[[nodiscard]] int write_text(const std::string& path, std::string_view text);

/// A line of the log. The first one that the file does not take is said on stderr, once in a process.
void write_log(const std::string& path, const std::string& line);

/// The summary; on stderr, with the reason, if the file does not take it.
void write_summary(const std::string& path, const std::string& text);

/// The record of this process, the child of a fork has its own; the summary is written when the process ends, if the
/// configuration wants it.
[[nodiscard]] Record& process_record();

}  // namespace kizami::dropin
