// SPDX-License-Identifier: MIT
// The instructions of the kernel, sm_80 and newer: copies to shared memory in the background, and mma.sync with an FP32
// accumulator. One function per instruction; no policy.
#pragma once

#include <cstdint>

#include "num/tensor_core.hpp"

namespace kizami::engines::mma {

[[nodiscard]] __device__ __forceinline__ std::uint32_t shared_address(const void* pointer) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}

/// 16 bytes if any of `bits` is in `bit`, else zeros.
__device__ __forceinline__ void copy_16_bytes_if(std::uint32_t to, const void* from, std::uint32_t bits,
                                                 std::uint32_t bit) {
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      ".reg .b32 n;\n"
      "and.b32 n, %2, %3;\n"
      "setp.ne.u32 p, n, 0;\n"
      "selp.b32 n, 16, 0, p;\n"
      "cp.async.cg.shared.global [%0], [%1], 16, n;\n"
      "}\n" ::"r"(to),
      "l"(from), "r"(bits), "r"(bit)
      : "memory");
}

#define KIZAMI_MMA(shape_and_types)                                           \
  asm volatile("mma.sync.aligned." shape_and_types                            \
               ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, " \
               "%2, %3};\n"                                                   \
               : "+f"(acc[0]), "+f"(acc[1]), "+f"(acc[2]), "+f"(acc[3])       \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1))

/// acc += 16 lines of A times 8 lines of B, 32 bytes of k. Register 2 h + b of the accumulator of lane l is line
/// 8 h + l / 4 of A, line 2 (l % 4) + b of B.
template <num::FloatType kType>
__device__ __forceinline__ void multiply(float (&acc)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                                         std::uint32_t b1) {
  if constexpr (kType == num::FloatType::kFp16) {
    KIZAMI_MMA("m16n8k16.row.col.f32.f16.f16");
  } else if constexpr (kType == num::FloatType::kBf16) {
    KIZAMI_MMA("m16n8k16.row.col.f32.bf16.bf16");
  } else {
    KIZAMI_MMA("m16n8k8.row.col.f32.tf32.tf32");
  }
}
#undef KIZAMI_MMA

/// The same of signed bytes in INT32, at acc[0..3]; sums wrap.
__device__ __forceinline__ void multiply_s8(std::int32_t* acc, const std::uint32_t (&a)[4], std::uint32_t b0,
                                            std::uint32_t b1) {
  asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
      "%3};\n"
      : "+r"(acc[0]), "+r"(acc[1]), "+r"(acc[2]), "+r"(acc[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

}  // namespace kizami::engines::mma
