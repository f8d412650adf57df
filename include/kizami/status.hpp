// SPDX-License-Identifier: MIT
// Outcome of every fallible call of the library: a code, and for errors one sentence that names the argument, its value
// and the limit it broke. The core never throws, prints or aborts; only the front doors may turn a Status into an
// exception or an integer.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "kizami/names.hpp"

namespace kizami {

enum class StatusCode {
  kOk = 0,
  kInvalidArgument,      ///< an argument breaks its documented limit
  kUnsupported,          ///< the request is well-formed, but no scheme or engine here can carry it
  kAccuracyUnreachable,  ///< the forced scheme cannot guarantee the wanted accuracy
  kWorkspaceTooSmall,    ///< the caller's workspace limit is below the smallest possible workspace
  kOutOfMemory,          ///< the system refused an allocation
  kNonFinite,            ///< the policy rejects NaN and Inf, and an operand holds one
  kInternal,             ///< a broken invariant of the library itself: please report it
};
template <>
struct Names<StatusCode> {
  static constexpr std::string_view kAll[] = {
      "ok",         "invalid_argument", "unsupported", "accuracy_unreachable", "workspace_too_small", "out_of_memory",
      "non_finite", "internal"};
};

/// A code and, unless it is kOk, the reason in one sentence.
class [[nodiscard]] Status {
 public:
  Status() noexcept = default;
  Status(StatusCode code, std::string reason) : code_(code), reason_(std::move(reason)) {}

  [[nodiscard]] bool ok() const noexcept { return code_ == StatusCode::kOk; }
  [[nodiscard]] StatusCode code() const noexcept { return code_; }
  [[nodiscard]] const std::string& reason() const noexcept { return reason_; }

 private:
  StatusCode code_ = StatusCode::kOk;
  std::string reason_;
};

/// Either a value or the Status that says why there is none.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}          // NOLINT(google-explicit-constructor)
  Result(Status status) : status_(std::move(status)) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] bool ok() const noexcept { return value_.has_value(); }
  [[nodiscard]] const Status& status() const noexcept { return status_; }
  /// @range only when ok().
  [[nodiscard]] T& value() & { return *value_; }
  [[nodiscard]] const T& value() const& { return *value_; }
  [[nodiscard]] T&& value() && { return std::move(*value_); }

 private:
  std::optional<T> value_;
  Status status_;
};

}  // namespace kizami

/// Leaves the calling function with the Status of `expr` unless it is ok.
#define KIZAMI_RETURN_IF_ERROR(expr)                 \
  do {                                               \
    ::kizami::Status kizami_status_ = (expr);        \
    if (!kizami_status_.ok()) return kizami_status_; \
  } while (false)
