// SPDX-License-Identifier: MIT
// What is left of a call on a device behind its products.
#pragma once

#include "device/writes_c.hpp"
#include "fp64/device.hpp"
#include "kizami/status.hpp"

namespace kizami::fp64 {

/// fp64::answer_exceptions(); and where only the device knows alpha, behind it fp64::answer_signs(), which ends at once
/// for a finite one. Where the host knows it, the call is answered by signs alone, or has no need of them.
/// @queue enqueues one kernel, or two
template <class T>
[[nodiscard]] Status answer_left(const DeviceCall<T>& left, int num_sms, product::Queue queue) {
  KIZAMI_RETURN_IF_ERROR(device::writes_c(answer_exceptions(left, num_sms, queue)));
  if (left.alpha.device == nullptr) return {};
  DeviceCall<T> signs = left;
  signs.effort = {};  // has been told
  signs.look = {};
  return device::writes_c(answer_signs(signs, num_sms, queue));
}

}  // namespace kizami::fp64
