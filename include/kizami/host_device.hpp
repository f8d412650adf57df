// SPDX-License-Identifier: MIT
// What lets one constexpr function serve the host and the device: the attribute pair nvcc wants, and a bit_cast that
// needs no --expt-relaxed-constexpr (std::bit_cast is a host function to nvcc). No CUDA header is included here.
#pragma once

#include "kizami/cxx20.hpp"  // before all else

#include <type_traits>

#if defined(__CUDACC__)
#define KIZAMI_HOST_DEVICE __host__ __device__
#else
#define KIZAMI_HOST_DEVICE
#endif

namespace kizami {

/// Reinterprets the bits of `from` as a To, as std::bit_cast does.
template <class To, class From>
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr To bit_cast(const From& from) noexcept {
  static_assert(sizeof(To) == sizeof(From) && std::is_trivially_copyable_v<To> && std::is_trivially_copyable_v<From>);
  return __builtin_bit_cast(To, from);
}

}  // namespace kizami
