// SPDX-License-Identifier: MIT
// Products of signed bytes on the CPU's vector units: packed operands, register tiles, cache blocks, threads. The
// kernel is chosen by what the processor offers; every kernel gives the same bits.
#pragma once

#include <span>
#include <string_view>

#include "product/product.hpp"

namespace kizami::engines {

/// The engine with the best kernel that this processor supports.
[[nodiscard]] const product::Engine& cpu_simd_engine();
/// Name of that kernel, e.g. "avx512_vnni".
[[nodiscard]] std::string_view cpu_simd_kernel_name();

/// An engine bound to one kernel; its name() is "cpu_simd/" + name.
struct CpuSimdVariant {
  std::string_view name;
  bool is_supported = false;  ///< otherwise query() refuses and run() returns kUnsupported
  const product::Engine* engine = nullptr;
};
/// Every kernel compiled into this build, best first; the last one is "portable" and always supported.
[[nodiscard]] std::span<const CpuSimdVariant> cpu_simd_variants();

}  // namespace kizami::engines
