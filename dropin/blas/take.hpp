// SPDX-License-Identifier: MIT
// Who answers a call: Kizami, if the configuration and the planner say so; else the native library, by `forward`, which
// passes the arguments on as they came.
#pragma once

#include <chrono>
#include <string>

#include "dropin/blas/audit.hpp"
#include "dropin/blas/call.hpp"
#include "dropin/blas/native.hpp"
#include "dropin/policy/answer.hpp"

namespace kizami::dropin::blas {

/// What is to be done with a call that Kizami has not answered.
struct Rest {
  bool is_answered = false;
  bool is_recorded = false;
  std::string why_native;  ///< of a recorded call
  double native_seconds = 0;
};

/// Answers the call, or leaves it untouched. @queue blocks; safe from any thread and after fork()
template <class T>
[[nodiscard]] Rest answer(const Call<T>& call) noexcept;

/// Records what the native library has done.
template <class T>
void record_native(const Call<T>& call, const Rest& rest, double seconds) noexcept;

/// For a function that the native library does not have: by native gemm, trmm and trsm of any name. An argument that is
/// not valid is reported to xerbla_, with the number that it has in Fortran.
template <class T>
void answer_for_missing(const Call<T>& call) noexcept;

/// The call as it came; nothing where nothing is audited.
template <class... Number>
[[nodiscard, gnu::always_inline]] inline TinyCall tiny_call(const NativeFunction& native, const void* caller,
                                                            Number... numbers) {
  if (audit_state.load(std::memory_order_relaxed) != AuditState::kOn) return {};
  return {&native, caller, packed(numbers...)};
}

/// A call that is only counted. @param arguments  as the native function takes them, the lengths of Fortran's letters
/// included
template <class... Argument>
[[gnu::always_inline]] inline void forwarded(TinyTable* table, const NativeFunction& native,
                                             Argument... arguments) noexcept {
  const WithinNative within(table);
  native.known<void(Argument...)>()(arguments...);
}

template <class T, class Forward>
void take_audited(const Call<T>& call, const TinyCall& tiny, bool is_native_there, const Forward& forward) noexcept {
  TinyTable* const table = tiny_table();
  if (table != nullptr && table->is_within && is_native_there) return forward();
  const Inside inside;
  AuditedCall<T> audited(call, is_native_there ? tiny : TinyCall{});
  {
    const WithinNative within(table);
    is_native_there ? forward() : answer_for_missing(call);
  }
  audited.finish();
}

/// @param tiny    the same call as it came
/// @param forward calls the native function, or is not called if there is none
template <class T, class Forward>
void take(const Call<T>& call, const TinyCall& tiny, bool is_native_there, const Forward& forward) noexcept {
  if (depth > 0 && is_native_there) return forward();
  if (is_audited()) return take_audited(call, tiny, is_native_there, forward);
  const Inside inside;
  const Rest rest = answer(call);
  if (rest.is_answered) return;
  const auto begin = rest.is_recorded ? std::chrono::steady_clock::now() : std::chrono::steady_clock::time_point{};
  if (is_native_there) {
    forward();
  } else {
    answer_for_missing(call);
  }
  if (rest.is_recorded)
    record_native(call, rest, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
}

}  // namespace kizami::dropin::blas
