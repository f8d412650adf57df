// SPDX-License-Identifier: MIT
// One call under an audit (KIZAMI_AUDIT): timed, and now and then sampled, around the native library's answer. Of tiny
// calls (tiny_calls.hpp) those are here that a thread does not only count.
#pragma once

#include <chrono>
#include <optional>

#include "dropin/blas/call.hpp"
#include "dropin/policy/audit.hpp"
#include "dropin/policy/tiny_calls.hpp"

namespace kizami::dropin::blas {

template <class T>
class AuditedCall {
 public:
  /// Before the native library answers. The call outlives this.
  /// @param tiny  the same call as it came; without numbers: none of its kind is ever only counted
  AuditedCall(const Call<T>& call, const TinyCall& tiny) noexcept;
  /// After it has.
  void finish() noexcept;

 private:
  /// Of the call, and of those that it stands for.
  [[nodiscard]] double seconds_until(std::chrono::steady_clock::time_point end) const;
  void note_timed(std::chrono::steady_clock::time_point end) noexcept;

  const Call<T>& call_;
  AuditKey key_;
  std::optional<Sample<T>> sample_;
  double sample_seconds_ = 0;
  double terms_ = 0;
  TinyCall tiny_;             ///< without numbers: the call is not tiny
  TinyKind* kind_ = nullptr;  ///< whose time is due, or null
  unsigned num_noted_ = 1;    ///< calls of the thread since it noted last; 0: this one is only counted
  std::chrono::steady_clock::time_point begin_;
};

}  // namespace kizami::dropin::blas
