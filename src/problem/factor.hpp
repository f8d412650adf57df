// SPDX-License-Identifier: MIT
// alpha or beta of a device call: a value, or a place in device memory that is read when the call runs (cuBLAS calls that
// pointer mode device).
#pragma once

#include "kizami/host_device.hpp"

namespace kizami::problem {

template <class T>
struct Factor {
  T value{};
  const T* device = nullptr;  ///< device memory, or null: `value` is meant

  [[nodiscard]] KIZAMI_HOST_DEVICE T load() const { return device == nullptr ? value : *device; }
};

}  // namespace kizami::problem
