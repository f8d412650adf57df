// SPDX-License-Identifier: MIT
// One call under an audit (KIZAMI_AUDIT): timed, and now and then sampled, around the native library's answer.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>

#include "dropin/blas/call.hpp"
#include "dropin/policy/audit.hpp"

namespace kizami::dropin::blas {

enum class AuditState : std::uint8_t { kUnknown, kOff, kOn };
inline constinit std::atomic<AuditState> audit_state{AuditState::kUnknown};
/// is_audited(), asked for the first time.
[[nodiscard]] bool ask_audited() noexcept;

/// Whether this process is audited.
[[nodiscard]] inline bool is_audited() noexcept {
  const AuditState state = audit_state.load(std::memory_order_relaxed);
  return state == AuditState::kUnknown ? ask_audited() : state == AuditState::kOn;
}

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
