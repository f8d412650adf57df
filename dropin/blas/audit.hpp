// SPDX-License-Identifier: MIT
// One call under an audit (KIZAMI_AUDIT): timed, and now and then sampled, around the native library's answer.
#pragma once

#include <chrono>
#include <optional>

#include "dropin/blas/call.hpp"
#include "dropin/policy/audit.hpp"

namespace kizami::dropin::blas {

template <class T>
class AuditedCall {
 public:
  /// Before the native library answers. The call outlives this.
  explicit AuditedCall(const Call<T>& call) noexcept;
  /// After it has.
  void finish() noexcept;

 private:
  const Call<T>& call_;
  AuditKey key_;
  std::optional<Sample<T>> sample_;
  double sample_seconds_ = 0;
  double terms_ = 0;
  unsigned num_noted_ = 1;  ///< calls that this one stands for; 0: it is only counted
  std::chrono::steady_clock::time_point begin_;
};

}  // namespace kizami::dropin::blas
