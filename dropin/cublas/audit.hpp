// SPDX-License-Identifier: MIT
// Calls under an audit (KIZAMI_AUDIT): timed by events of their stream, and now and then sampled, around cuBLAS' answer.
// No call waits: what events say, and what was copied for a sample, is looked at by later calls and when a report is
// written. A sampled call whose matrices or factors are found by addresses in device memory waits for its stream to read
// these. Calls that a stream captures are counted alone.
#pragma once

#include <span>

#include "dropin/cublas/call.hpp"
#include "dropin/policy/audit.hpp"

namespace kizami::dropin::cublas {

struct Timing;

class AuditedCalls {
 public:
  /// Before cuBLAS answers the calls of one entry point. They outlive this.
  explicit AuditedCalls(std::span<const Call> calls) noexcept;
  /// After it has.
  void finish(cublasStatus_t status) noexcept;

 private:
  /// @return whether the stream is known
  [[nodiscard]] bool read_context();
  void begin();
  void record_end();

  std::span<const Call> calls_;
  unsigned num_noted_ = 1;  ///< calls that these stand for; 0: they are only counted
  bool is_captured_ = false;
  Context context_;
  const char* note_ = nullptr;  ///< of the handle
  Timing* timing_ = nullptr;    ///< null: they are not timed
};

/// As if nothing had been timed: for tests.
void forget_timings();

/// A call that waits for its results itself, and took so long. @units seconds
void note_waiting_call(const Call& call, double seconds) noexcept;

}  // namespace kizami::dropin::cublas
