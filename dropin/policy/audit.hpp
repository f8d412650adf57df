// SPDX-License-Identifier: MIT
// What an audit keeps (KIZAMI_AUDIT): calls of an unchanged program, answered by its own library, by place, routine and
// shape; their times; and of sampled ones, what their elements ask for and how far the library was from the exact
// result. Samples keep to a share of the time that the process has run.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "dropin/policy/call.hpp"
#include "dropin/policy/record.hpp"
#include "dropin/policy/sample.hpp"

namespace kizami::dropin {

/// Calls that are one row of the report.
struct AuditKey {
  const void* caller = nullptr;
  const char* name = "";  ///< of the function, one text for each
  Shape shape;
};

/// Of one sampled call.
struct AuditSample {
  double ratio =
      -1;  ///< error / (k u |A||B|) of the worst element (2 k for parts of complex ones); < 0: none was finite
  Needs needs;
  double seconds = 0;  ///< that the sample took
  double terms = 0;    ///< of all its elements
};

/// How many elements of the next call of the kind may be looked at, in the time that samples may take: kMostElements, 1 or
/// 0. Asked once before each call. @param terms  of one element, 4 for a complex one
inline constexpr int kMostElements = 4;
[[nodiscard]] int elements_to_sample(const AuditKey& key, std::int64_t terms,
                                     std::chrono::steady_clock::time_point now) noexcept;

/// @param calls      of the thread since it told last: this one, and those that were only counted
/// @param predicted  seconds that Kizami is predicted to take, of a sampled call; 0: not known
void note_audited(const AuditKey& key, std::int64_t calls, double seconds, const AuditSample* sample,
                  double predicted) noexcept;
/// A call that was not timed: its time is the mean of those of its kind that were.
void note_counted(const AuditKey& key) noexcept;

/// About how many: those that note_audited() was told of.
[[nodiscard]] std::int64_t audited_calls() noexcept;
[[nodiscard]] Totals audit_totals();
/// The lines of the report; empty if there was no call.
[[nodiscard]] std::string audit_json();

}  // namespace kizami::dropin
