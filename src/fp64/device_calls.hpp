// SPDX-License-Identifier: MIT
// device.hpp for the products of a batch, all in one launch.
#pragma once

#include <cstdint>

#include "device/writes_c.hpp"
#include "fp64/device.hpp"
#include "kizami/host_device.hpp"

namespace kizami::fp64 {

/// The calls of a batch, by their first. Arrays are device memory, of pointers to the matrices of each call; where they
/// are null, matrices are so many elements apart.
template <class T>
struct DeviceCalls {
  static constexpr std::int64_t kMost = 1024;

  DeviceCall<T> first;  ///< its state is [num_calls]; its effort that of all
  std::int64_t num_calls = 1;
  const T* const* a_array = nullptr;
  const T* const* b_array = nullptr;
  T* const* c_array = nullptr;
  std::int64_t a_step = 0;
  std::int64_t b_step = 0;
  std::int64_t c_step = 0;
  std::int64_t a_stats_step = 0;
  std::int64_t b_stats_step = 0;

  /// Where arrays are null, also for the host.
  [[nodiscard]] KIZAMI_HOST_DEVICE DeviceCall<T> at(std::int64_t i) const {
    DeviceCall<T> call = first;
    call.a.data = a_array == nullptr ? first.a.data + i * a_step : a_array[i];
    call.b.data = b_array == nullptr ? first.b.data + i * b_step : b_array[i];
    call.c.data = c_array == nullptr ? first.c.data + i * c_step : c_array[i];
    call.a_stats += i * a_stats_step;
    call.b_stats += i * b_stats_step;
    call.state += i;
    return call;
  }
};

/// answer_exceptions() of all calls in one launch, for FP32 and complex FP32.
/// @range 1 <= num_calls <= DeviceCalls::kMost, without repairs
template <class T>
Status answer_exceptions_of_all(const DeviceCalls<T>& calls, int num_sms, product::Queue queue);

/// answer_signs() of all calls in one launch, for the same types. @range they have one alpha
template <class T>
Status answer_signs_of_all(const DeviceCalls<T>& calls, int num_sms, product::Queue queue);

/// answer_left() of all calls.
template <class T>
[[nodiscard]] Status answer_left_of_all(const DeviceCalls<T>& left, int num_sms, product::Queue queue) {
  KIZAMI_RETURN_IF_ERROR(device::writes_c(answer_exceptions_of_all(left, num_sms, queue)));
  if (left.first.alpha.device == nullptr) return {};
  DeviceCalls<T> signs = left;
  signs.first.effort = {};  // has been told
  return device::writes_c(answer_signs_of_all(signs, num_sms, queue));
}

}  // namespace kizami::fp64
