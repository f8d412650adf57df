// SPDX-License-Identifier: MIT
// Whether a call on a device has enqueued anything that writes C. Where it fails before that, C is as it was, and
// somebody else may answer the call.
#pragma once

#include "kizami/status.hpp"

namespace kizami::device {

/// Of the call that this thread enqueues or has enqueued last.
inline constinit thread_local bool t_writes_c = false;

/// A step that writes C, in one launch: refused, it is not enqueued. @return status
[[nodiscard]] inline Status writes_c(Status status) {
  t_writes_c = t_writes_c || status.ok();
  return status;
}

/// What a call as a whole came to. kOutOfMemory is for calls that leave C as it was: behind that, a kernel for which there
/// was no memory is an error of CUDA like others.
[[nodiscard]] inline Status of_enqueued(const Status& status) {
  if (status.code() != StatusCode::kOutOfMemory || !t_writes_c) return status;
  return {StatusCode::kInternal, status.reason() + ", and the call is enqueued in part"};
}

}  // namespace kizami::device
