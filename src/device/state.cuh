// SPDX-License-Identifier: MIT
// How kernels make and write the state of a call.
#pragma once

#include <complex>

#include "device/state.hpp"
#include "kizami/types.hpp"
#include "num/exponent.hpp"

namespace kizami::device {

/// DeviceState::takes_signs of a call with this alpha.
template <class T>
[[nodiscard]] __device__ bool takes_signs(const T& alpha) {
  if constexpr (kIsComplex<T>) {
    return !num::is_finite(alpha.real()) || !num::is_finite(alpha.imag());
  } else {
    return !num::is_finite(alpha);
  }
}

/// The selection, past the L1 cache. A kernel that begins early may run where blocks of the kernel before it read the state, and have it
/// in that cache as it was before another of its blocks changed it.
[[nodiscard]] __device__ inline num::Selection newest_selection(const DeviceState& state) {
  const volatile num::Selection& there = state.selection;
  num::Selection selection;
  selection.rung = there.rung;
  selection.equilibrated = there.equilibrated;
  selection.num_repaired = there.num_repaired;
  return selection;
}

/// *to = state by one thread, in words of 16 bytes: a kernel of one thread has nothing else to do, and a call waits for
/// it.
__device__ inline void write_state(DeviceState* to, const DeviceState& state) {
  static_assert(alignof(DeviceState) == sizeof(uint4) && sizeof(DeviceState) % sizeof(uint4) == 0);
  for (std::size_t i = 0; i < sizeof(DeviceState) / sizeof(uint4); ++i)
    reinterpret_cast<uint4*>(to)[i] = uint4{};  // the padding as well: read_device_outcome() copies it
  *to = state;
}

}  // namespace kizami::device
