// SPDX-License-Identifier: MIT
// Who answers a call: Kizami, if the configuration and the planner say so; else the native library, by `forward`, which
// passes the arguments on as they came.
#pragma once

#include <cstddef>
#include <span>

#include "dropin/cublas/audit.hpp"
#include "dropin/cublas/call.hpp"
#include "dropin/policy/answer.hpp"
#include "dropin/policy/operand_names.hpp"

namespace kizami::dropin::cublas {

/// What is to be done with calls after answer().
struct Rest {
  std::size_t first = 0;                          ///< calls before this one are answered
  cublasStatus_t status = CUBLAS_STATUS_SUCCESS;  ///< if all are
  bool is_recorded = false;
  const char* why_native = nullptr;  ///< of a recorded call
  bool is_short_of_memory = false;   ///< why it is native
};

/// Answers the calls, which one entry point was given together, or leaves them untouched: all of them, or, where Kizami
/// refuses one that the planner had accepted, that one and those after it. If a product fails in its midst, the rest of
/// the calls is as its own C.
/// @param  names of the operands of the call, where it is a single one
/// @queue asynchronous and capturable; safe from any thread
[[nodiscard]] Rest answer(std::span<const Call> calls, const CallNames& names = {}) noexcept;

/// Records what the native library was left with.
void record_native(std::span<const Call> calls, const Rest& rest) noexcept;

/// @param forward  calls the native function with the calls from this one on, and returns its status
/// @param native   the native function, or null: without cuBLAS no handle is one
template <class Forward>
cublasStatus_t take(std::span<const Call> calls, bool is_native_there, const Forward& forward) noexcept {
  if (!is_native_there) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (depth > 0) return forward(std::size_t{0});
  const Inside inside;
  const CallNames names = take_names();
  if (is_audited()) {
    AuditedCalls audited(calls);
    const cublasStatus_t status = forward(std::size_t{0});
    audited.finish(status);
    return status;
  }
  const Rest rest = answer(calls, names);
  if (rest.first == calls.size() && !calls.empty()) return rest.status;
  const cublasStatus_t status = forward(rest.first);
  if (rest.is_recorded) record_native(calls.subspan(rest.first), rest);
  return status;
}

}  // namespace kizami::dropin::cublas
