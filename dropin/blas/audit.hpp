// SPDX-License-Identifier: MIT
// One call under an audit (KIZAMI_AUDIT): timed, and now and then sampled, around the native library's answer.
#pragma once

#include <chrono>
#include <optional>

#include "dropin/blas/call.hpp"
#include "dropin/policy/audit.hpp"

namespace kizami::dropin::blas {

/// Whether this process is audited.
[[nodiscard]] bool is_audited() noexcept;

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
  bool is_timed_ = true;
  std::chrono::steady_clock::time_point begin_;
};

}  // namespace kizami::dropin::blas
